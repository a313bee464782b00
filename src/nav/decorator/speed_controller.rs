//! `SpeedController`: ticks its child the more often the faster the robot is.

use std::time::Duration;

use crate::bt::{Behavior, Context, HaltReason, Input, Node, NodeKind, NodeStatus, Ports, Tick, Time};
use crate::msg::duration::from_seconds;
use crate::nav::World;
use crate::nav::condition::open_odometry;
use crate::nav::endpoint::world;
use crate::nav::goal_watch::{GoalPorts, SeenGoal};

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
struct State {
    seen: SeenGoal,
    start: Time,
    period: Duration,
    ticked: bool,
}

impl Node for SpeedController {
    const ID: &'static str = "SpeedController";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child when it is activated, when the goal changes, while the child runs, and \
        at a rate that grows with the robot's speed. In between: RUNNING.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            min_rate: ports
                .input("min_rate")
                .unit("Hz")
                .default("0.1")
                .doc("The rate at the least speed and below.")
                .bind(),
            max_rate: ports
                .input("max_rate")
                .unit("Hz")
                .default("1.0")
                .doc("The rate at the greatest speed and above.")
                .bind(),
            min_speed: ports
                .input("min_speed")
                .unit("m/s")
                .default("0.0")
                .doc("The least speed.")
                .bind(),
            max_speed: ports
                .input("max_speed")
                .unit("m/s")
                .default("0.5")
                .doc("The greatest speed.")
                .bind(),
            goal: GoalPorts::bind(ports),
        };
        for rate in [&node.min_rate, &node.max_rate] {
            if rate.literal().is_some_and(|rate| *rate <= 0.0) {
                ports.problem(format!("'{}' has to be greater than 0", rate.name()));
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
        let speed = world.odometry().map_or(0.0, |odometry| odometry.speed());
        let rate = (speed - min_speed) / (max_speed - min_speed) * (max_rate - min_rate) + min_rate;
        // Not `clamp`, which panics where a tree has the limits the wrong way round; no number is the least rate.
        Ok(from_seconds(1.0 / rate.min(max_rate).max(min_rate)))
    }
}

impl Behavior for SpeedController {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let now = cx.now();
        let mut state = cx.take_state::<State>();
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
}

impl SpeedController {
    /// Whether the child is due.
    fn run(&self, cx: &mut Context<'_>, state: &mut State, now: Time) -> Result<bool, crate::bt::Thrown> {
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
