//! `TransformAvailable`: checks whether two frames are connected.

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Ports, Text, Tick};
use crate::nav::endpoint::world;

/// Checks for a transform until it was found once.
#[derive(Debug)]
pub struct TransformAvailable {
    child: Input<Text>,
    parent: Input<Text>,
}

impl Node for TransformAvailable {
    const ID: &'static str = "TransformAvailable";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if there is a transform between two frames. Once found, it is not checked \
        again in the same navigation.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            child: ports.input("child").doc("First frame.").required().bind(),
            parent: ports.input("parent").doc("Second frame.").required().bind(),
        }
    }
}

impl Behavior for TransformAvailable {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.memory().index == 1 {
            return Ok(NodeStatus::Success);
        }
        let child = self.child.require(cx)?;
        let parent = self.parent.require(cx)?;
        for (name, frame) in [("child", &child), ("parent", &parent)] {
            if frame.is_empty() {
                return Err(cx.throw(format!("port `{name}`: the frame name is empty; set it")));
            }
        }
        let found = world!(cx).transform(&parent, &child, None).is_ok();
        cx.memory().index = u32::from(found);
        Ok(verdict(found))
    }

    /// A transform of an earlier navigation may no longer be valid.
    fn rewind(&self, cx: &mut Context<'_>) {
        cx.memory().index = 0;
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running};
    use crate::msg::Pose;
    use crate::nav::testing::Bench;

    #[test]
    fn test_transform_available() {
        let mut bench = Bench::new(
            "<ReactiveSequence><TransformAvailable child=\"base_link\" parent=\"map\"/><Sleep msec=\"1000\"/>
             </ReactiveSequence>",
        );
        assert_eq!(bench.tick(), Failure);
        bench.transform("map", "base_link", Pose::default());
        assert_eq!(bench.tick(), Running);
        bench.forget_transforms();
        assert_eq!(
            bench.tick(),
            Running,
            "after it was found, it is not checked again"
        );
        bench.halt();
        assert_eq!(bench.tick(), Failure, "an earlier navigation found it");
    }

    #[test]
    fn an_empty_frame_name_is_an_error() {
        let mut bench = Bench::new("<TransformAvailable child=\"\" parent=\"map\"/>");
        assert!(bench.try_tick().is_err());
    }
}
