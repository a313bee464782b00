//! The node: lifecycle, the navigate actions, preemption, swap, tick loop.
