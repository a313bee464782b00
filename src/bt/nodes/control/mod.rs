//! Nodes with several children.

mod fallback;
mod if_then_else;
mod parallel;
mod parallel_all;
mod parallel_policy;
mod random;
mod reactive_fallback;
mod reactive_sequence;
mod sequence;
mod sequence_with_memory;
mod stateful;
mod switch;
mod try_catch;
mod walk;
mod while_do_else;

pub use fallback::{AsyncFallback, Fallback};
pub use if_then_else::IfThenElse;
pub use parallel::Parallel;
pub use parallel_all::ParallelAll;
pub use parallel_policy::{ParallelMajority, ParallelMofN};
pub use random::{Random, RandomSelector};
pub use reactive_fallback::ReactiveFallback;
pub use reactive_sequence::ReactiveSequence;
pub use sequence::{AsyncSequence, Sequence};
pub use sequence_with_memory::{SequenceStar, SequenceWithMemory};
pub use stateful::{StatefulParallel, StatefulSelector, StatefulSequence};
pub use switch::Switch;
pub use try_catch::TryCatch;
pub use while_do_else::WhileDoElse;

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
    registry.register::<Parallel>()?;
    registry.register_v3::<Parallel>("Parallel");
    registry.register::<ParallelAll>()?;
    registry.register::<IfThenElse>()?;
    registry.register::<WhileDoElse>()?;
    registry.register::<Switch<2>>()?;
    registry.register::<Switch<3>>()?;
    registry.register::<Switch<4>>()?;
    registry.register::<Switch<5>>()?;
    registry.register::<Switch<6>>()?;
    registry.register::<TryCatch>()?;
    registry.register::<ParallelMofN>()?;
    registry.register::<ParallelMajority>()?;
    registry.register::<Random>()?;
    registry.register::<RandomSelector>()?;
    registry.register::<StatefulSequence>()?;
    registry.register::<StatefulSelector>()?;
    registry.register::<StatefulParallel>()?;
    Ok(())
}
