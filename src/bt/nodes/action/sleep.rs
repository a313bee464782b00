//! `Sleep`: waits for some time.

use std::time::Duration;

use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick, Time,
};

/// Waits for some time.
#[derive(Debug)]
pub struct Sleep {
    msec: Input<u32>,
}

impl Node for Sleep {
    const ID: &'static str = "Sleep";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "RUNNING for msec, then SUCCESS. SUCCESS at once for 0.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            msec: ports
                .input::<u32>("msec")
                .required()
                .unit("ms")
                .doc("Duration.")
                .bind(),
        }
    }
}

impl Behavior for Sleep {
    /// `memory.mark` is the end.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        match cx.status() {
            NodeStatus::Idle | NodeStatus::Skipped => {
                let time = self.msec.require(cx)?;
                if time == 0 {
                    return Ok(NodeStatus::Success);
                }
                let end = cx.now() + Duration::from_millis(time.into());
                cx.memory().mark = end.as_nanos();
                cx.wake_at(end);
                Ok(NodeStatus::Running)
            }
            NodeStatus::Running => {
                let end = Time::from_nanos(cx.memory().mark);
                if cx.now() < end {
                    cx.wake_at(end);
                    return Ok(NodeStatus::Running);
                }
                Ok(NodeStatus::Success)
            }
            completed => Ok(completed),
        }
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects {
            starts: true,
            ..NodeEffects::always(Outcomes::SUCCESS | Outcomes::RUNNING)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::Time;
    use crate::bt::builder::leaf;
    use crate::bt::testing::{Running, Scene};

    #[test]
    fn it_succeeds_after_its_time() {
        let scene = Scene::new(leaf("Sleep").port("msec", 100));
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check("=\n @5 R\n @104 R");
        assert_eq!(run.tree.wake_at(), Some(Time::from_millis(105)));
        run.check("=\n @105 S\n @106 R\n @150 R\n @200 halt\n @210 R\n @309 R\n @310 S");
        Scene::new(leaf("Sleep").port("msec", 0)).check("=\n S");
    }
}
