//! `SingleTrigger`: runs its child once.

use crate::bt::{Behavior, Context, Node, NodeKind, NodeStatus, Ports, Tick};

/// Ticks its child until it has completed once.
///
/// Memory: `index` is 1 after that.
#[derive(Debug)]
pub struct SingleTrigger;

impl Node for SingleTrigger {
    const ID: &'static str = "SingleTrigger";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child until it has completed once, and returns its result. After that \
        FAILURE, until its parent resets it.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for SingleTrigger {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.is_fresh() {
            cx.memory().index = 0;
        }
        cx.set_status(NodeStatus::Running);
        if cx.memory().index == 1 {
            return Ok(NodeStatus::Failure);
        }
        let status = cx.tick_child(0)?;
        cx.memory().index = u32::from(status.is_completed());
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::Running;
    use crate::msg::action::{Spin, Wait};
    use crate::nav::testing::{Bench, Plan};

    #[test]
    fn test_single_trigger_node() {
        let mut bench =
            Bench::new("<PipelineSequence><SingleTrigger><Wait/></SingleTrigger><Spin/></PipelineSequence>");
        bench.action::<Wait>("wait", |_| Plan::success());
        bench.action::<Spin>("spin", |_| Plan::endless());
        // R, S (then the spin is running), then F, which ends the pipeline and resets the trigger.
        assert_eq!(bench.letters(3), "RRF");
        assert_eq!(bench.goals::<Wait>("wait").len(), 1);
        assert_eq!(bench.tick(), Running);
        assert_eq!(bench.goals::<Wait>("wait").len(), 2);
    }
}
