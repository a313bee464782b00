//! `InitialPoseReceived`: whether the robot was told where it is.

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, Ports, Tick};

/// Reads a flag.
#[derive(Debug)]
pub struct InitialPoseReceived {
    received: Input<bool>,
}

impl Node for InitialPoseReceived {
    const ID: &'static str = "InitialPoseReceived";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the flag is true. Nobody but the tree's owner sets it.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            received: ports
                .input("initial_pose_received")
                .default("{initial_pose_received}")
                .doc("The flag.")
                .bind(),
        }
    }
}

impl Behavior for InitialPoseReceived {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        Ok(verdict(self.received.get_or(cx, false)))
    }
}
