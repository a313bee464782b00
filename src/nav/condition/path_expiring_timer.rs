//! `PathExpiringTimer`: checks whether a path is old.

use std::sync::Arc;

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, PortRange, Ports, Tick, Time};
use crate::msg::Path;
use crate::msg::duration::from_seconds;
use crate::nav::goal_watch::same;

/// Measures the time since the path was new or this node last succeeded.
#[derive(Debug)]
pub struct PathExpiringTimer {
    seconds: Input<f64>,
    path: Input<Arc<Path>>,
}

#[derive(Default)]
struct TimerState {
    start: Option<Time>,
    sequence: u64,
    path: Option<Arc<Path>>,
}

impl Node for PathExpiringTimer {
    const ID: &'static str = "PathExpiringTimer";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS each time the given time has passed since the path was new or this node \
        last succeeded. Only a new path restarts the time.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            seconds: ports
                .input("seconds")
                .range(PortRange::at_least(0.0))
                .unit("s")
                .default("1.0")
                .doc("Period.")
                .bind(),
            path: ports.input("path").doc("Path to watch.").bind(),
        }
    }
}

impl Behavior for PathExpiringTimer {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let period = from_seconds(self.seconds.require(cx)?);
        let now = cx.now();
        let sequence = self.path.sequence(cx);
        let state = cx.state::<TimerState>();
        let Some(start) = state.start else {
            let path = self.path.get(cx).ok();
            *cx.state() = TimerState {
                start: Some(now),
                sequence,
                path,
            };
            return Ok(verdict(false));
        };
        if state.sequence != sequence {
            let path = self.path.get(cx).ok();
            let state = cx.state::<TimerState>();
            state.sequence = sequence;
            if !same(&state.path, &path) {
                state.path = path;
                state.start = Some(now);
                return Ok(verdict(false));
            }
        }
        let expired = now.since(start) >= period;
        if expired {
            cx.state::<TimerState>().start = Some(now);
        }
        Ok(verdict(expired))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::{Header, Pose};
    use crate::nav::testing::Bench;

    #[test]
    fn test_path_expiring_timer() {
        let path = |x| {
            Arc::new(Path::through(
                Header::in_frame("map"),
                [Pose::planar(x, 0.0, 0.0)],
            ))
        };
        let mut bench = Bench::new("<PathExpiringTimer seconds=\"1.0\" path=\"{path}\"/>").period(500);
        bench.set("path", path(1.0));
        for tick in 0..20 {
            assert_eq!(
                bench.tick(),
                if tick > 0 && tick % 2 == 0 {
                    Success
                } else {
                    Failure
                },
                "{tick}"
            );
        }
        bench.set("path", path(2.0));
        assert_eq!(bench.tick(), Failure);
        bench.wait(1000);
        assert_eq!(bench.tick(), Success);
        bench.set("path", path(2.0));
        bench.halt();
        bench.wait(500);
        assert_eq!(
            bench.tick(),
            Success,
            "neither the same path nor a halt restarts the time"
        );
    }
}
