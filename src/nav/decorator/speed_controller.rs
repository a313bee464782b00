//! `SpeedController`: ticks its child at a rate that depends on the robot's speed.

use std::time::Duration;

use crate::bt::{
    Behavior, Context, HaltReason, Input, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, PortRange,
    Ports, Tick, Time,
};
use crate::msg::duration::from_seconds;
use crate::nav::condition::open_odometry;
use crate::nav::endpoint::world;
use crate::nav::goal_watch::{GoalPorts, SeenGoal};
use crate::nav::{OdometrySmoother, World};

/// Ticks its child at a rate between two limits, in proportion to the robot's speed.
#[derive(Debug)]
pub struct SpeedController {
    min_rate: Input<f64>,
    max_rate: Input<f64>,
    min_speed: Input<f64>,
    max_speed: Input<f64>,
    goal: GoalPorts,
}

#[derive(Default)]
struct SpeedState {
    seen: SeenGoal,
    start: Time,
    period: Duration,
    ticked: bool,
}

impl Node for SpeedController {
    const ID: &'static str = "SpeedController";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child when it is activated, when the goal changes, while the child is \
        running, and at a rate that increases with the robot's speed. Otherwise RUNNING. The speed is the mean \
        of the last moments (parameter filter_duration), even from an earlier navigation.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        ports.former("filter_duration", "Nav2 Jazzy");
        let node = Self {
            min_rate: ports
                .input("min_rate")
                .unit("Hz")
                .default("0.1")
                .doc("Rate at min_speed and below.")
                .bind(),
            max_rate: ports
                .input("max_rate")
                .unit("Hz")
                .default("1.0")
                .doc("Rate at max_speed and above.")
                .bind(),
            min_speed: ports
                .input("min_speed")
                .range(PortRange::at_least(0.0))
                .unit("m/s")
                .default("0.0")
                .doc("Minimum speed.")
                .bind(),
            max_speed: ports
                .input("max_speed")
                .range(PortRange::above(0.0))
                .unit("m/s")
                .default("0.5")
                .doc("Maximum speed.")
                .bind(),
            goal: GoalPorts::bind(ports),
        };
        for rate in [&node.min_rate, &node.max_rate] {
            if rate.literal().is_some_and(|rate| *rate <= 0.0) {
                let fault = format!("`{}` must be greater than 0", rate.name());
                ports.problem_of(rate.name(), fault);
            }
        }
        for [least, most] in [
            [&node.min_rate, &node.max_rate],
            [&node.min_speed, &node.max_speed],
        ] {
            if let (Some(low), Some(high)) = (least.literal(), most.literal())
                && low > high
            {
                let message = format!(
                    "`{}` is {low}, above `{}`, which is {high}: swap them",
                    least.name(),
                    most.name()
                );
                ports.doubt_of(least.name(), message);
            }
        }
        node
    }
}

impl SpeedController {
    fn period(&self, cx: &mut Context<'_>) -> Result<Duration, crate::bt::Thrown> {
        let min_rate = self.min_rate.require(cx)?;
        let max_rate = self.max_rate.require(cx)?;
        let min_speed = self.min_speed.require(cx)?;
        let max_speed = self.max_speed.require(cx)?;
        let world: &World = world!(cx);
        let speed = world.odometry().map_or(0.0, OdometrySmoother::speed);
        let rate = (speed - min_speed) / (max_speed - min_speed) * (max_rate - min_rate) + min_rate;
        // The rate is NaN if both speed limits and the speed are equal.
        let rate = if rate.is_nan() { min_rate } else { rate };
        // `clamp` would panic if a tree exchanges the limits.
        Ok(from_seconds(1.0 / rate.min(max_rate).max(min_rate)))
    }
}

impl Behavior for SpeedController {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let now = cx.now();
        let mut state = cx.take_state::<SpeedState>();
        let result = self.run(cx, &mut state, now);
        cx.put_state(state);
        match result? {
            true => cx.tick_child(0),
            false => Ok(NodeStatus::Running),
        }
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.halt_children(reason);
    }

    fn attach(&self, cx: &mut Context<'_>) {
        open_odometry(cx);
    }

    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(kind, children).or(Outcomes::RUNNING)
    }
}

impl SpeedController {
    /// Whether the child must be ticked.
    fn run(
        &self,
        cx: &mut Context<'_>,
        state: &mut SpeedState,
        now: Time,
    ) -> Result<bool, crate::bt::Thrown> {
        let fresh = cx.is_fresh();
        if fresh {
            state.seen = self.goal.see(cx);
        }
        if fresh || self.goal.changed(cx, &mut state.seen) {
            state.start = now;
            state.period = from_seconds(1.0 / self.max_rate.require(cx)?);
            state.ticked = false;
        }
        cx.set_status(NodeStatus::Running);
        let elapsed = now.since(state.start) >= state.period;
        if elapsed {
            state.period = self.period(cx)?;
            state.start = now;
        }
        let due = elapsed || !state.ticked || cx.child_status(0) == NodeStatus::Running;
        state.ticked |= due;
        if !due {
            cx.wake_at(state.start + state.period);
        }
        Ok(due)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::Running;
    use crate::msg::action::Wait;
    use crate::msg::{Header, Odometry, Pose, PoseStamped, Stamp, Twist};
    use crate::nav::testing::{Bench, Plan};
    use std::sync::Arc;

    fn bench() -> Bench {
        let mut bench = Bench::new(
            "<PipelineSequence><SpeedController min_rate=\"0.1\" max_rate=\"1.0\" min_speed=\"0.0\" max_speed=\"1.0\">
               <Script code=\"count:=count+1\"/></SpeedController><Wait/></PipelineSequence>",
        )
        .period(500);
        bench.action::<Wait>("wait", |_| Plan::endless());
        bench.set("count", 0.0);
        bench
    }

    fn drive(bench: &mut Bench, speed: f64) {
        let stamp = Stamp::from_nanos(bench.now().as_nanos() as i64);
        bench.publish(
            "odom",
            Odometry {
                header: Header::new(stamp, "odom"),
                twist: Twist::planar(speed, 0.0),
                ..Default::default()
            },
        );
    }

    /// The ticks, counted from 0, in which the child was ticked.
    fn ticked(bench: &mut Bench, speed: f64, ticks: usize) -> Vec<usize> {
        let mut before: f64 = bench.get("count").unwrap();
        let mut ticked = Vec::new();
        for tick in 0..ticks {
            drive(bench, speed);
            assert_eq!(bench.tick(), Running);
            let count: f64 = bench.get("count").unwrap();
            if count > before {
                ticked.push(tick);
            }
            before = count;
        }
        ticked
    }

    #[test]
    fn test_speed_controller() {
        // The first period is the shortest. After it, full speed is 1 Hz, and a stopped robot 0.1 Hz.
        assert_eq!(ticked(&mut bench(), 1.0, 7), [0, 2, 4, 6]);
        assert_eq!(ticked(&mut bench(), 0.0, 24), [0, 2, 22]);
        // 0.45 m/s: 0.505 Hz, that is 1.98 s.
        assert_eq!(ticked(&mut bench(), 0.45, 11), [0, 2, 6, 10]);
    }

    #[test]
    fn a_new_goal_ticks_the_child_at_once() {
        let mut bench = bench();
        assert_eq!(ticked(&mut bench, 0.0, 4), [0, 2]);
        let goal = PoseStamped::in_frame("map", Pose::planar(1.0, 0.0, 0.0));
        bench.set("goal", Arc::new(goal));
        assert_eq!(ticked(&mut bench, 0.0, 3), [0, 2]);
    }

    #[test]
    #[should_panic(expected = "must be greater than 0")]
    fn a_rate_of_zero_is_refused_at_load() {
        Bench::new("<SpeedController min_rate=\"0\"><AlwaysSuccess/></SpeedController>");
    }
}
