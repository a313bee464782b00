//! `InitialPoseReceived`: checks whether the robot has an initial pose.

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
    const DOC: &'static str = "SUCCESS if the flag is true. Only the owner of the tree sets it. It remains set \
        across navigations, because the robot is not localized again for each one.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            received: ports
                .input("initial_pose_received")
                .default("{initial_pose_received}")
                .doc("Whether the robot has an initial pose.")
                .bind(),
        }
    }
}

impl Behavior for InitialPoseReceived {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        Ok(verdict(self.received.get_or(cx, false)))
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::Bench;

    #[test]
    fn test_initial_pose_received() {
        for xml in [
            "<InitialPoseReceived/>",
            "<InitialPoseReceived initial_pose_received=\"{flag}\"/>",
        ] {
            let mut bench = Bench::new(xml);
            assert_eq!(bench.tick(), Failure);
            for (flag, status) in [(false, Failure), (true, Success)] {
                bench.set("initial_pose_received", flag);
                bench.set("flag", flag);
                assert_eq!(bench.tick(), status);
            }
        }
    }
}
