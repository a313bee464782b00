//! `Wait`: stands still.

use crate::bt::{Context, Input, Ports, Thrown};
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_leaf::{ActionNode, count_recovery};

/// Has the behavior server wait.
#[derive(Debug)]
pub struct Wait {
    duration: Input<f64>,
}

impl ActionNode for Wait {
    type Action = actions::Wait;
    const ID: &'static str = "Wait";
    const DOC: &'static str = "Stands still for a while. Counts as a recovery.";
    const SERVER: &'static str = "wait";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            duration: ports
                .input("wait_duration")
                .unit("s")
                .default("1.0")
                .doc("How long; a negative time is taken without its sign.")
                .bind(),
        }
    }

    fn activated(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        count_recovery(cx)
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::WaitGoal, Thrown> {
        Ok(actions::WaitGoal {
            time: from_seconds(self.duration.require(cx)?.abs()),
        })
    }
}
