//! Nodes with children in an order of their own.

mod fallback;
mod reactive_fallback;
mod reactive_sequence;
mod sequence;
mod sequence_with_memory;

pub use fallback::{AsyncFallback, Fallback};
pub use reactive_fallback::ReactiveFallback;
pub use reactive_sequence::ReactiveSequence;
pub use sequence::{AsyncSequence, Sequence};
pub use sequence_with_memory::{SequenceStar, SequenceWithMemory};

use crate::bt::registry::{Registry, RegistryError};

pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<Sequence>()?;
    registry.register::<AsyncSequence>()?;
    registry.register::<SequenceWithMemory>()?;
    registry.register_v3::<SequenceStar>("SequenceStar");
    registry.register::<Fallback>()?;
    registry.register::<AsyncFallback>()?;
    registry.register::<ReactiveSequence>()?;
    registry.register::<ReactiveFallback>()?;
    Ok(())
}
