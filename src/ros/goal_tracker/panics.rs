//! Faults on the GoalTracker's thread: one effect that panics, and the GoalTracker itself (guarantee G8).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::Input;
use super::publishers::Publishers;
use crate::bt::{Time, panic_text};
use crate::goal::{CancelCode, CancelTag, Effect, GoalId, Selection, ServerId, WireEvent};
use crate::nav::Payload;
use crate::ros::RosHandle;
use crate::ros::interfaces::ActionTransport;

/// The clients of action servers.
pub(super) type Actions = FxHashMap<ServerId, Box<dyn ActionTransport>>;

/// Calls `act`, and logs a panic. `None` after a panic.
pub(in crate::ros) fn guarded<T>(what: &str, act: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(act))
        .map_err(|panic| tracing::error!("{what} has panicked: {}", panic_text(&*panic)))
        .ok()
}

/// Carries out an effect. After a panic, returns the failure for the GoalTracker: only that goal fails.
pub(super) fn attempt(
    effect: Effect<Payload>,
    act: impl FnOnce(Effect<Payload>),
) -> Option<WireEvent<Payload>> {
    let (what, failure) = match &effect {
        Effect::SendGoal { goal, .. } => ("a goal request", Some(WireEvent::SendFailed { goal: *goal })),
        Effect::SendCancel {
            tag: CancelTag::Leaf(ticket),
            ..
        } => ("a cancel", Some(WireEvent::CallFailed { ticket: *ticket })),
        Effect::SendCancel { .. } => ("a cancel", None),
        Effect::CallService { ticket, .. } => ("a request", Some(WireEvent::CallFailed { ticket: *ticket })),
        Effect::RequestResult { .. } => ("a request for a result", None),
        Effect::ForgetCall { .. } | Effect::ForgetGoal { .. } => ("the end of a request", None),
        Effect::Notify(_) => ("a notice to a leaf", None),
        Effect::Report(_) => ("a report", None),
        Effect::SendMessage => ("a message", None),
    };
    match guarded(what, || act(effect)) {
        Some(()) => None,
        None => failure,
    }
}

/// The goals that were live when the GoalTracker panicked.
pub(super) struct LeftGoals {
    goals: FxHashMap<GoalId, ServerId>,
    /// The number of rounds of cancels.
    attempts: u32,
}

impl LeftGoals {
    pub(super) fn new(goals: impl IntoIterator<Item = (GoalId, ServerId)>) -> Self {
        Self {
            goals: goals.into_iter().collect(),
            attempts: 0,
        }
    }

    /// Sends a cancel for each goal.
    pub(super) fn cancel(&mut self, actions: &mut Actions) {
        self.attempts += 1;
        for (goal, server) in &self.goals {
            cancel(actions, *server, *goal, self.attempts);
        }
    }

    /// Does the necessary work of this thread until the process ends, without the GoalTracker: sends results to
    /// clients, cancels goals that are accepted now (guarantee G3), and repeats cancels until their servers have
    /// answered, because the middleware may lose one.
    pub(super) fn serve_until_the_end(
        &mut self,
        actions: &mut Actions,
        publishers: &mut Publishers,
        inputs: &Receiver<Input>,
        ros: &RosHandle,
    ) {
        // Those that leaves sent in ticks could move the robot.
        publishers.drop_messages_of_leaves();
        let mut next = Instant::now() + RETRY;
        loop {
            if Instant::now() >= next {
                self.cancel(actions);
                next = Instant::now() + RETRY;
            }
            match inputs.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Input::Wire(event)) => self.hear(&event, actions),
                // The tree that is halted may publish a stop, also by a publisher that is created now. A message of a
                // leaf that was ticked could move the robot.
                Ok(Input::Message(message)) if !message.is_of_leaf() => message.send(publishers, Time::ZERO),
                Ok(Input::Task(task)) => {
                    ros.post(task);
                }
                Ok(Input::Publisher(topic, publisher)) => {
                    publishers.open(topic, publisher, Time::ZERO);
                }
                Ok(Input::End) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn hear(&mut self, event: &WireEvent<Payload>, actions: &mut Actions) {
        match event {
            WireEvent::Accepted { server, goal, .. } => {
                self.goals.insert(*goal, *server);
                cancel(actions, *server, *goal, self.attempts);
            }
            // An unknown goal may still be under way to its server, and a server that refuses may accept later.
            WireEvent::CancelAnswered {
                tag: CancelTag::Goal { goal, .. },
                code: CancelCode::None | CancelCode::GoalTerminated,
                ..
            }
            | WireEvent::Rejected { goal }
            | WireEvent::Result { goal, .. } => {
                self.goals.remove(goal);
            }
            WireEvent::Status { goals, .. } => {
                for (goal, _) in goals.iter().filter(|(_, status)| !status.is_active()) {
                    self.goals.remove(goal);
                }
            }
            _ => {}
        }
    }
}

/// The same period as the guardian's.
const RETRY: Duration = Duration::from_millis(250);

fn cancel(actions: &mut Actions, server: ServerId, goal: GoalId, attempt: u32) {
    let Some(transport) = actions.get_mut(&server) else {
        return;
    };
    let tag = CancelTag::Goal { goal, attempt };
    let sent = guarded("a cancel", || transport.cancel(tag, Selection::Goal(goal)));
    if let Some(Err(error)) = sent {
        tracing::error!("goal {goal} not cancelled: {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::super::Message;
    use super::*;
    use crate::goal::GoalStatus;
    use crate::ros::spin::Task;
    use crate::ros::{PendingRequests, RosError};

    const SERVER: ServerId = ServerId(1);

    /// Records each cancel; the cancel of goal 1 panics.
    struct Client(Sender<GoalId>);

    impl ActionTransport for Client {
        fn hear_feedback(&self) -> Task {
            Box::new(|_| ())
        }
        fn send_goal(&mut self, _: GoalId, _: &Payload) -> Result<(), RosError> {
            Ok(())
        }
        fn cancel(&mut self, _: CancelTag, selection: Selection) -> Result<(), RosError> {
            let Selection::Goal(goal) = selection else {
                panic!("not asked for");
            };
            assert_ne!(goal, id(1));
            self.0.send(goal).unwrap();
            Ok(())
        }
        fn request_result(&mut self, _: GoalId) -> Result<(), RosError> {
            Ok(())
        }
        fn forget(&mut self, _: GoalId) {}
        fn pending_requests(&self) -> PendingRequests {
            PendingRequests::default()
        }
        fn awaits_answers(&self) -> bool {
            false
        }
    }

    fn id(number: u8) -> GoalId {
        GoalId([number; 16])
    }

    #[test]
    fn g8_an_effect_that_panics_is_its_own_goals_failure() {
        let send = || Effect::SendGoal {
            server: SERVER,
            goal: id(7),
            payload: Payload::new(()),
        };
        assert!(attempt(send(), |_| ()).is_none());
        let failure = attempt(send(), |_| panic!("r2r has an unwrap"));
        assert!(matches!(failure, Some(WireEvent::SendFailed { goal }) if goal == id(7)));
    }

    /// Clients that record their cancels.
    fn clients() -> (Actions, Receiver<GoalId>) {
        let (cancels, cancelled) = channel();
        let mut actions = Actions::default();
        actions.insert(SERVER, Box::new(Client(cancels)));
        (actions, cancelled)
    }

    #[test]
    fn g8_every_goal_is_cancelled_without_the_goal_tracker_and_messages_still_leave() {
        let (mut actions, cancelled) = clients();
        let mut left = LeftGoals::new([1, 2, 3].map(|number| (id(number), SERVER)));
        left.cancel(&mut actions);
        let mut first: Vec<_> = cancelled.try_iter().collect();
        first.sort_unstable();
        assert_eq!(first, [id(2), id(3)]);

        let mut left = LeftGoals::new([]);
        let (inputs, received) = channel();
        let (say, said) = channel();
        inputs
            .send(Input::Message(Message::Send(Box::new(|| panic!("no publisher")))))
            .unwrap();
        inputs
            .send(Input::Message(Message::Send(Box::new(move || {
                say.send("a result").unwrap();
            }))))
            .unwrap();
        let accepted = WireEvent::Accepted {
            server: SERVER,
            goal: id(4),
        };
        inputs.send(Input::Wire(accepted)).unwrap();
        inputs.send(Input::End).unwrap();
        left.serve_until_the_end(
            &mut actions,
            &mut Publishers::default(),
            &received,
            &RosHandle::of_nobody(),
        );
        assert_eq!(said.try_iter().collect::<Vec<_>>(), ["a result"]);
        assert_eq!(cancelled.try_iter().collect::<Vec<_>>(), [id(4)], "accepted late");
    }

    #[test]
    fn g8_cancels_are_sent_without_the_goal_tracker_until_their_servers_have_answered() {
        let (mut actions, cancelled) = clients();
        let mut left = LeftGoals::new((2..=6).map(|number| (id(number), SERVER)));
        let answered = |number, code| WireEvent::CancelAnswered {
            tag: CancelTag::Goal {
                goal: id(number),
                attempt: 1,
            },
            code,
            canceling: Vec::new(),
        };
        let over = [(id(4), GoalStatus::Canceled), (id(5), GoalStatus::Executing)];
        let (inputs, received) = channel();
        for event in [
            answered(2, CancelCode::None),
            answered(3, CancelCode::Rejected),
            WireEvent::Status {
                server: SERVER,
                goals: over.to_vec(),
            },
            answered(6, CancelCode::UnknownGoal),
        ] {
            inputs.send(Input::Wire(event)).unwrap();
        }
        let server = std::thread::spawn(move || {
            let patience = Duration::from_secs(30);
            let mut heard: Vec<_> = std::iter::from_fn(|| cancelled.recv_timeout(patience).ok())
                .take(9)
                .collect();
            inputs.send(Input::End).unwrap();
            heard.sort_unstable();
            heard
        });
        left.serve_until_the_end(
            &mut actions,
            &mut Publishers::default(),
            &received,
            &RosHandle::of_nobody(),
        );
        let heard = server.join().unwrap();
        assert_eq!(heard, [3, 5, 6].map(|number| [id(number); 3]).concat());
    }
}
