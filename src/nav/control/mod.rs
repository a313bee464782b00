//! Control nodes; one file per node.

mod nonblocking_sequence;
mod pause_resume_controller;
mod persistent_sequence;
mod pipeline_sequence;
mod recovery_node;
mod round_robin;

pub use nonblocking_sequence::NonblockingSequence;
pub use pause_resume_controller::PauseResumeController;
pub use persistent_sequence::PersistentSequence;
pub use pipeline_sequence::PipelineSequence;
pub use recovery_node::RecoveryNode;
pub use round_robin::RoundRobin;

use crate::bt::{Registry, RegistryError};

/// Registers every node of this folder.
pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<NonblockingSequence>()?;
    registry.register::<PauseResumeController>()?;
    registry.register::<PersistentSequence>()?;
    registry.register::<PipelineSequence>()?;
    registry.register::<RecoveryNode>()?;
    registry.register::<RoundRobin>()
}
