//! Control nodes; one file per node.

mod nonblocking_sequence;
mod pause_resume_controller;
mod persistent_sequence;
mod pipeline_sequence;
mod recovery_node;
mod round_robin;

use super::table::nodes;

nodes! {
    nonblocking_sequence: NonblockingSequence,
    pause_resume_controller: PauseResumeController,
    persistent_sequence: PersistentSequence,
    pipeline_sequence: PipelineSequence,
    recovery_node: RecoveryNode,
    round_robin: RoundRobin,
}
