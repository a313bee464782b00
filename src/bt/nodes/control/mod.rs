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

pub use sequence_with_memory::SequenceStar;

use super::table::nodes;

nodes! {
    fallback: AsyncFallback, Fallback;
    if_then_else: IfThenElse;
    parallel: Parallel;
    parallel_all: ParallelAll;
    parallel_policy: ParallelMajority, ParallelMofN;
    random: Random, RandomSelector;
    reactive_fallback: ReactiveFallback;
    reactive_sequence: ReactiveSequence;
    sequence: AsyncSequence, Sequence;
    sequence_with_memory: SequenceWithMemory;
    stateful: StatefulParallel, StatefulSelector, StatefulSequence;
    switch: Switch of (2, 3, 4, 5, 6);
    try_catch: TryCatch;
    while_do_else: WhileDoElse;
    "SequenceStar": SequenceStar;
    "Parallel": Parallel;
}
