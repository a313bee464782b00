//! `PathExpiringTimer`: whether a path is old.

use std::sync::Arc;

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, Ports, Tick, Time};
use crate::msg::Path;
use crate::msg::duration::from_seconds;
use crate::nav::goal_watch::same;

/// Measures from when the path was new, or this node last succeeded.
#[derive(Debug)]
pub struct PathExpiringTimer {
    seconds: Input<f64>,
    path: Input<Arc<Path>>,
}

#[derive(Default)]
struct State {
    start: Option<Time>,
    sequence: u64,
    path: Option<Arc<Path>>,
}

impl Node for PathExpiringTimer {
    const ID: &'static str = "PathExpiringTimer";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS each time a time has passed since the path was new, or this node last succeeded. \
        Nothing but a new path starts the time anew.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            seconds: ports
                .input("seconds")
                .unit("s")
                .default("1.0")
                .doc("How long.")
                .bind(),
            path: ports.input("path").doc("The path.").bind(),
        }
    }
}

impl Behavior for PathExpiringTimer {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let period = from_seconds(self.seconds.require(cx)?);
        let now = cx.now();
        let sequence = self.path.sequence(cx);
        let state = cx.state::<State>();
        let Some(start) = state.start else {
            let path = self.path.get(cx).ok();
            *cx.state() = State {
                start: Some(now),
                sequence,
                path,
            };
            return Ok(verdict(false));
        };
        if state.sequence != sequence {
            let path = self.path.get(cx).ok();
            let state = cx.state::<State>();
            state.sequence = sequence;
            if !same(&state.path, &path) {
                state.path = path;
                state.start = Some(now);
                return Ok(verdict(false));
            }
        }
        let expired = now.since(start) >= period;
        if expired {
            cx.state::<State>().start = Some(now);
        }
        Ok(verdict(expired))
    }
}
