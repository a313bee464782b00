//! The root of a subtree instance.

use crate::bt::{Behavior, Context, NodeStatus, Tick};

/// Passes ticks on to the tree that it instantiates; the instance's key space was resolved when the definition was
/// compiled, so nothing is left to do at run time.
#[derive(Debug)]
pub struct SubTree;

impl Behavior for SubTree {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        cx.tick_child(0)
    }
}
