//! Faults on the Custodian's thread: one effect that panics, and the Custodian itself (guarantee G8).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;

use rustc_hash::FxHashMap;

use super::custodian_task::Input;
use super::interfaces::ActionTransport;
use crate::bt::panic_text;
use crate::goal::{CancelTag, Effect, GoalId, Selection, ServerId, WireEvent};
use crate::nav::Payload;

/// The clients of action servers.
pub(super) type Actions = FxHashMap<ServerId, Box<dyn ActionTransport>>;

/// Does something, and logs a panic. `None` where it panicked.
pub(super) fn guarded<T>(what: &str, act: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(act))
        .map_err(|panic| tracing::error!("{what} has panicked: {}", panic_text(&*panic)))
        .ok()
}

/// Carries out an effect. What the Custodian is told of one that panics: it is that goal's failure, and no other's.
pub(super) fn attempt(
    effect: Effect<Payload>,
    act: impl FnOnce(Effect<Payload>),
) -> Option<WireEvent<Payload>> {
    let (what, failure) = match &effect {
        Effect::SendGoal { goal, .. } => ("a goal request", Some(WireEvent::SendFailed { goal: *goal })),
        Effect::SendCancel { tag, .. } => ("a cancel", Some(WireEvent::CancelFailed { tag: *tag })),
        Effect::CallService { ticket, .. } => ("a request", Some(WireEvent::CallFailed { ticket: *ticket })),
        Effect::RequestResult { .. } => ("a request for a result", None),
        Effect::ForgetCall { .. } | Effect::ForgetGoal { .. } => ("the end of a request", None),
        Effect::Notify(_) => ("a notice to a leaf", None),
        Effect::Report(_) => ("a report", None),
    };
    match guarded(what, || act(effect)) {
        Some(()) => None,
        None => failure,
    }
}

/// Sends a cancel for each goal.
pub(super) fn cancel(actions: &mut Actions, goals: impl IntoIterator<Item = (ServerId, GoalId)>) {
    for (server, goal) in goals {
        let Some(transport) = actions.get_mut(&server) else {
            continue;
        };
        let tag = CancelTag::Goal { goal, attempt: 1 };
        let sent = guarded("a cancel", || transport.cancel(tag, Selection::Goal(goal)));
        if let Some(Err(error)) = sent {
            tracing::error!("goal {goal} not cancelled: {error}");
        }
    }
}

/// Does what the process needs of this thread until it ends, without the Custodian: clients are told their results, and
/// a goal that is accepted now is cancelled (guarantee G3).
pub(super) fn serve_until_the_end(actions: &mut Actions, inputs: &Receiver<Input>) {
    while let Ok(input) = inputs.recv() {
        match input {
            Input::Wire(WireEvent::Accepted { server, goal, .. }) => cancel(actions, [(server, goal)]),
            Input::Send(send) => {
                guarded("a message", send);
            }
            Input::End => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;
    use crate::goal::Stamp;
    use crate::ros::spin::Errand;
    use crate::ros::{Debts, RosError};

    const SERVER: ServerId = ServerId(1);

    /// Tells of each cancel; that of goal 1 panics.
    struct Client(Sender<GoalId>);

    impl ActionTransport for Client {
        fn hear_feedback(&self) -> Errand {
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
        fn debts(&self) -> Debts {
            Debts::default()
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

    #[test]
    fn g8_every_goal_is_cancelled_without_the_custodian_and_messages_still_leave() {
        let (cancels, cancelled) = channel();
        let mut actions = Actions::default();
        actions.insert(SERVER, Box::new(Client(cancels)));
        cancel(&mut actions, [1, 2, 3].map(|number| (SERVER, id(number))));
        assert_eq!(cancelled.try_iter().collect::<Vec<_>>(), [id(2), id(3)]);

        let (inputs, received) = channel();
        let (say, said) = channel();
        inputs
            .send(Input::Send(Box::new(|| panic!("no publisher"))))
            .unwrap();
        inputs
            .send(Input::Send(Box::new(move || say.send("a result").unwrap())))
            .unwrap();
        let accepted = WireEvent::Accepted {
            server: SERVER,
            goal: id(4),
            stamp: Stamp::ZERO,
        };
        inputs.send(Input::Wire(accepted)).unwrap();
        inputs.send(Input::End).unwrap();
        serve_until_the_end(&mut actions, &received);
        assert_eq!(said.try_iter().collect::<Vec<_>>(), ["a result"]);
        assert_eq!(cancelled.try_iter().collect::<Vec<_>>(), [id(4)], "accepted late");
    }
}
