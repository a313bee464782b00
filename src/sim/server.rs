//! An action server as a pure state machine: acceptance, execution and end of its goals, with the faults. The ROS layer
//! passes goals and cancels to it and executes its events.

use std::time::Duration;

use crate::bt::Time;
use crate::msg::{Action, duration::from_seconds};

use super::faults::ActionPlan;
use super::world::World;
pub use crate::goal::TerminalStatus;

/// One goal of one server, numbered from 1 in order of arrival. Faults are planned by this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoalNumber(pub u64);

/// The outcome of one step of an execution.
pub enum Progress<A: Action> {
    /// Not finished.
    Running(A::Feedback),
    /// The goal succeeded.
    Succeeded(A::Result),
    /// The goal failed.
    Aborted(A::Result),
}

/// The execution of one goal.
pub trait Execution: Sized {
    /// The served action.
    type Action: Action;
    /// The name of its server.
    const SERVER: &'static str;

    /// Starts. `previous` is the execution of the goal that this one replaces.
    ///
    /// # Errors
    /// The result with which the goal is aborted at once.
    fn start(
        goal: &<Self::Action as Action>::Goal,
        previous: Option<&Self>,
        world: &mut World,
    ) -> Result<Self, <Self::Action as Action>::Result>;

    /// Advances by one step of the world.
    fn step(&mut self, world: &mut World) -> Progress<Self::Action>;

    /// Stops after a cancel.
    fn cancel(&mut self, world: &mut World) -> <Self::Action as Action>::Result;
}

/// An event for the ROS layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<A: Action> {
    /// Send the acceptance of the goal to the client.
    Accepted(GoalNumber),
    /// Send the refusal of the goal to the client.
    Refused(GoalNumber),
    /// Never answer the request; the goal does not exist.
    Ignored(GoalNumber),
    /// Send feedback.
    Feedback(GoalNumber, A::Feedback),
    /// Send the result.
    Ended(GoalNumber, TerminalStatus, A::Result),
    /// Remove the server from the network without a message; its goals are dropped.
    Vanished,
    /// Restore the server.
    Returned,
}

/// The state of an action server.
pub struct Server<E: Execution> {
    plan: ActionPlan,
    goal_count: u64,
    pending: Vec<PendingGoal<E>>,
    active: Option<Active<E>>,
    return_time: Option<Option<Time>>,
}

struct PendingGoal<E: Execution> {
    number: GoalNumber,
    goal: <E::Action as Action>::Goal,
    answer_at: Time,
}

struct Active<E: Execution> {
    number: GoalNumber,
    since: Time,
    execution: E,
    cancel_at: Option<Time>,
    feedback_at: Time,
}

impl<E: Execution> Default for Server<E> {
    fn default() -> Self {
        Self {
            plan: ActionPlan::default(),
            goal_count: 0,
            pending: Vec::new(),
            active: None,
            return_time: None,
        }
    }
}

impl<E: Execution> Server<E> {
    /// Sets a fault plan. Goal numbers continue.
    pub fn configure(&mut self, plan: ActionPlan) {
        self.plan = plan;
    }

    /// Takes a goal. An event of a later [`Server::step`] answers it.
    pub fn receive(&mut self, goal: <E::Action as Action>::Goal, now: Time) -> GoalNumber {
        self.goal_count += 1;
        let number = GoalNumber(self.goal_count);
        if self.is_gone() {
            // The goal was sent when the server vanished: there is no server to answer.
            return number;
        }
        let delay = if self.plan.delay.contains(number.0) {
            self.plan.accept_delay
        } else {
            Duration::ZERO
        };
        self.pending.push(PendingGoal {
            number,
            goal,
            answer_at: now + delay,
        });
        number
    }

    /// Takes a cancel and returns whether it is accepted. Only the active goal can be cancelled.
    pub fn cancel(&mut self, number: GoalNumber, now: Time) -> bool {
        let Some(active) = self.active.as_mut().filter(|active| active.number == number) else {
            return false;
        };
        if self.plan.refuse_cancel.contains(number.0) {
            return false;
        }
        if !self.plan.ignore_cancel.contains(number.0) && active.cancel_at.is_none() {
            active.cancel_at = Some(now + self.plan.cancel_delay);
        }
        true
    }

    /// The active goal.
    pub fn active(&self) -> Option<GoalNumber> {
        self.active.as_ref().map(|active| active.number)
    }

    /// Returns whether a fault has removed the server from the network.
    pub fn is_gone(&self) -> bool {
        self.return_time.is_some()
    }

    /// Advances by one step of the world. The events are appended to `events`, in order.
    pub fn step(&mut self, world: &mut World, events: &mut Vec<Event<E::Action>>) {
        if let Some(return_time) = self.return_time {
            if return_time.is_some_and(|return_time| return_time <= world.now()) {
                self.return_time = None;
                events.push(Event::Returned);
            }
            return;
        }
        self.admit(world, events);
        self.step_active_goal(world, events);
    }

    /// Answers the goals whose answer is due, between two steps, so a client need not wait for the next step.
    pub fn admit(&mut self, world: &mut World, events: &mut Vec<Event<E::Action>>) {
        let now = world.now();
        while let Some(index) = self.pending.iter().position(|pending| pending.answer_at <= now) {
            let pending = self.pending.remove(index);
            self.answer(&pending, world, events);
        }
    }

    fn answer(&mut self, pending: &PendingGoal<E>, world: &mut World, events: &mut Vec<Event<E::Action>>) {
        let number = pending.number;
        if self.plan.refuse.contains(number.0) {
            events.push(Event::Refused(number));
            return;
        }
        if self.plan.ignore.contains(number.0) {
            events.push(Event::Ignored(number));
            return;
        }
        events.push(Event::Accepted(number));
        // As in Nav2's servers: one goal at a time, and a newer one aborts the older one with an empty result.
        let previous = self.active.take();
        if let Some(previous) = &previous {
            let empty = <E::Action as Action>::Result::default();
            events.push(Event::Ended(previous.number, TerminalStatus::Aborted, empty));
        }
        match E::start(
            &pending.goal,
            previous.as_ref().map(|previous| &previous.execution),
            world,
        ) {
            Ok(execution) => {
                self.active = Some(Active {
                    number,
                    since: world.now(),
                    execution,
                    cancel_at: None,
                    feedback_at: Time::ZERO,
                });
            }
            Err(result) => events.push(Event::Ended(number, TerminalStatus::Aborted, result)),
        }
    }

    fn step_active_goal(&mut self, world: &mut World, events: &mut Vec<Event<E::Action>>) {
        let now = world.now();
        let Some(active) = &mut self.active else {
            return;
        };
        let number = active.number;
        let since = now.since(active.since);
        if self.plan.vanish.contains(number.0) && since >= self.plan.vanish_after {
            self.active = None;
            self.pending.clear();
            self.return_time = Some(self.plan.return_after.map(|pause| now + pause));
            events.push(Event::Vanished);
            return;
        }
        let ended = if active.cancel_at.is_some_and(|at| at <= now) {
            Some((TerminalStatus::Canceled, active.execution.cancel(world)))
        } else if self.plan.abort.contains(number.0) && since >= self.plan.abort_after {
            active.execution.cancel(world);
            let result = E::Action::failure(self.plan.abort_code, "aborted by the fault plan of nav_sim");
            Some((TerminalStatus::Aborted, result))
        } else if self.plan.hang.contains(number.0) {
            None
        } else {
            match active.execution.step(world) {
                Progress::Running(feedback) => {
                    if now >= active.feedback_at {
                        // Half a step early, which allows rates that divide the control rate.
                        let pause = 1.0 / world.settings.feedback_rate - 0.5 / world.settings.control_rate;
                        active.feedback_at = now + from_seconds(pause);
                        events.push(Event::Feedback(number, feedback));
                    }
                    None
                }
                Progress::Succeeded(result) => Some((TerminalStatus::Succeeded, result)),
                Progress::Aborted(result) => Some((TerminalStatus::Aborted, result)),
            }
        };
        if let Some((status, result)) = ended {
            self.active = None;
            events.push(Event::Ended(number, status, result));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Execution, GoalNumber, TerminalStatus};
    use crate::msg::action::{Spin, SpinGoal, Wait, WaitGoal};
    use crate::msg::{Action, duration::from_seconds};
    use crate::sim::behaviors::{Spinning, Waiting};
    use crate::sim::faults::ActionFaults;
    use crate::sim::settings::Base;
    use crate::sim::testing::Bench;

    const FIRST: GoalNumber = GoalNumber(1);
    const SECOND: GoalNumber = GoalNumber(2);

    fn wait(seconds: f64) -> WaitGoal {
        WaitGoal {
            time: from_seconds(seconds),
        }
    }

    fn waiting(faults: &ActionFaults) -> Bench<Waiting> {
        Bench::with_faults(Base::default(), faults)
    }

    /// The events except feedback, with results reduced to their code.
    fn log<E: Execution>(bench: &Bench<E>) -> Vec<String> {
        let events = bench.events.iter().filter_map(|event| match event {
            Event::Accepted(number) => Some(format!("{} accepted", number.0)),
            Event::Refused(number) => Some(format!("{} refused", number.0)),
            Event::Ignored(number) => Some(format!("{} ignored", number.0)),
            Event::Ended(number, status, result) => Some(format!(
                "{} {status:?} {}",
                number.0,
                E::Action::error_code(result)
            )),
            Event::Vanished => Some("vanished".into()),
            Event::Returned => Some("returned".into()),
            Event::Feedback(..) => None,
        });
        events.collect()
    }

    #[test]
    fn a_newer_goal_replaces_the_older_one() {
        let mut bench = waiting(&ActionFaults::default());
        bench.send(wait(5.0));
        bench.run(1.0);
        bench.send(wait(1.0));
        bench.run(2.0);
        assert_eq!(
            log(&bench),
            ["1 accepted", "2 accepted", "1 Aborted 0", "2 Succeeded 0"]
        );
    }

    #[test]
    fn cancels() {
        let mut bench = waiting(&ActionFaults {
            cancel_delay: 0.5,
            ..ActionFaults::default()
        });
        bench.send(wait(5.0));
        assert!(!bench.server.cancel(FIRST, bench.world.now()), "not accepted yet");
        bench.run(1.0);
        assert!(!bench.server.cancel(SECOND, bench.world.now()), "unknown");
        assert!(bench.server.cancel(FIRST, bench.world.now()));
        bench.run(0.48);
        assert_eq!(log(&bench), ["1 accepted"]);
        bench.run(0.1);
        assert_eq!(log(&bench), ["1 accepted", "1 Canceled 0"]);
        assert!(!bench.server.cancel(FIRST, bench.world.now()), "ended");
    }

    #[test]
    fn fault_refuse() {
        let mut bench = waiting(&ActionFaults {
            refuse_goals: "2".into(),
            ..ActionFaults::default()
        });
        bench.send(wait(0.5));
        bench.send(wait(0.5));
        bench.run(1.0);
        assert_eq!(log(&bench), ["1 accepted", "2 refused", "1 Succeeded 0"]);
    }

    #[test]
    fn fault_ignore() {
        let mut bench = waiting(&ActionFaults {
            ignore_goals: "1".into(),
            ..ActionFaults::default()
        });
        bench.send(wait(0.5));
        bench.send(wait(0.5));
        bench.run(1.0);
        assert_eq!(log(&bench), ["1 ignored", "2 accepted", "2 Succeeded 0"]);
    }

    #[test]
    fn fault_delayed_acceptance() {
        let faults = ActionFaults {
            accept_delay: 0.5,
            delay_goals: "1".into(),
            ..ActionFaults::default()
        };
        let mut bench = waiting(&faults);
        bench.send(wait(1.0));
        bench.run(0.48);
        assert!(log(&bench).is_empty());
        bench.run(0.1);
        assert_eq!(log(&bench), ["1 accepted"]);
        bench.run(1.0);
        bench.send(wait(0.1));
        bench.step();
        assert_eq!(log(&bench)[2..], ["2 accepted"]);
    }

    #[test]
    fn fault_abort_with_code() {
        let faults = ActionFaults {
            abort_goals: "2".into(),
            abort_code: i64::from(Spin::COLLISION_AHEAD),
            abort_after: 0.5,
            ..ActionFaults::default()
        };
        let mut bench = Bench::<Spinning>::with_faults(Base::default(), &faults);
        let goal = SpinGoal {
            target_yaw: 1.0,
            ..SpinGoal::default()
        };
        bench.send(goal.clone());
        assert_eq!(bench.until_end(5.0).0, TerminalStatus::Succeeded);
        bench.send(goal);
        let (status, result) = bench.until_end(0.6);
        assert_eq!((status, result.error_code), (TerminalStatus::Aborted, 703));
        bench.run(1.0);
        assert_eq!(bench.world.robot.turn, 0.0, "an aborted behavior stops the robot");
    }

    #[test]
    fn fault_hang_ends_only_by_cancel() {
        let mut bench = waiting(&ActionFaults {
            hang_goals: "all".into(),
            ..ActionFaults::default()
        });
        bench.send(wait(0.1));
        bench.run(9.0);
        assert_eq!(bench.server.active(), Some(FIRST));
        assert!(bench.server.cancel(FIRST, bench.world.now()));
        assert_eq!(bench.until_end(0.1).0, TerminalStatus::Canceled);
        assert!(bench.feedback(|_| ()).is_empty());
    }

    #[test]
    fn fault_cancel_refused_and_ignored() {
        let faults = ActionFaults {
            refuse_cancel_goals: "1".into(),
            ignore_cancel_goals: "2".into(),
            ..ActionFaults::default()
        };
        let mut bench = waiting(&faults);
        for number in [FIRST, SECOND] {
            bench.send(wait(1.0));
            bench.run(0.5);
            assert_eq!(bench.server.cancel(number, bench.world.now()), number == SECOND);
            assert_eq!(bench.until_end(1.0).0, TerminalStatus::Succeeded);
        }
    }

    #[test]
    fn fault_vanish_and_return() {
        let faults = ActionFaults {
            vanish_goals: "1".into(),
            vanish_after: 1.0,
            return_after: 2.0,
            ..ActionFaults::default()
        };
        let mut bench = waiting(&faults);
        bench.send(wait(5.0));
        bench.run(1.1);
        assert!(bench.server.is_gone() && bench.server.active().is_none());
        bench.run(2.0);
        bench.send(wait(0.1));
        bench.run(0.5);
        assert_eq!(
            log(&bench),
            [
                "1 accepted",
                "vanished",
                "returned",
                "2 accepted",
                "2 Succeeded 0"
            ]
        );
    }

    #[test]
    fn feedback_keeps_its_rate() {
        let mut bench = Bench::<Waiting>::new(Base {
            feedback_rate: 5.0,
            ..Base::default()
        });
        bench.send(wait(2.0));
        bench.run(3.0);
        assert_eq!(bench.feedback(|_| ()).len(), 10);
        assert_eq!((Waiting::SERVER, Wait::TYPE), ("wait", "nav2_msgs/action/Wait"));
    }
}
