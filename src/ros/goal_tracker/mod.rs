//! The thread that owns the GoalTracker and all clients and publishers.

mod effects;
mod handle;
mod input;
mod outbox;
mod owner;
mod panics;
mod publishers;

pub use handle::GoalTrackerHandle;
pub(super) use input::{Input, InputSender, Message};
pub(super) use panics::guarded;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use super::takeover::Takeover;
use super::{Clock, RosError, RosHandle};
use crate::bt::panic_text;
use crate::goal::GoalOptions;
use crate::robot_name;
use owner::Owner;

/// The thread that owns the GoalTracker. It handles the commands of ticks, the messages of servers and deadlines, and
/// sends the resulting messages at once, so no cancel waits for a tick.
#[derive(Debug)]
pub struct GoalTrackerThread {
    handle: GoalTrackerHandle,
    thread: Option<JoinHandle<()>>,
}

impl GoalTrackerThread {
    /// Starts the thread. `robot`: see [`RosHandle::goal_ids`]. `options` are for goals that were found, not started,
    /// by this node.
    ///
    /// # Errors
    /// [`RosError::Context`] if the thread cannot be started.
    pub fn start(
        ros: &RosHandle,
        clock: &Clock,
        robot: &str,
        options: GoalOptions,
    ) -> Result<Self, RosError> {
        let (sender, receiver) = channel();
        let ids = ros.goal_ids(robot, "");
        let handle = GoalTrackerHandle {
            inputs: InputSender(sender),
            outbox: None,
            board: Arc::default(),
            servers: Arc::default(),
            takeover: Arc::new(Takeover::new()),
            guarded: Arc::default(),
            mark: ids.mark(),
            clock: clock.clone(),
            ros: ros.clone(),
        };
        let owner = Owner::new(ids, options, &handle);
        let fault = ros.clone();
        let thread = std::thread::Builder::new()
            .name("goal-tracker".to_owned())
            .spawn(robot_name::inherit(move || {
                let mut owner = owner;
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| owner.run(&receiver))) {
                    let mut left = owner.left_goals();
                    left.cancel(&mut owner.actions);
                    fault.fail(&format!("error in the GoalTracker: {}", panic_text(&*panic)));
                    owner.send_messages_without_leaves();
                    left.serve_until_the_end(&mut owner.actions, &mut owner.publishers, &receiver, &fault);
                }
            }))
            .map_err(|error| RosError::Context(error.to_string()))?;
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }

    /// Access to the GoalTracker.
    pub fn handle(&self) -> &GoalTrackerHandle {
        &self.handle
    }
}

impl Drop for GoalTrackerThread {
    fn drop(&mut self) {
        self.handle.inputs().send(Input::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;
    use std::time::Duration;

    use super::*;
    use crate::bt::{HaltReason, Time};
    use crate::goal::{CancelTag, Command, GoalId, GoalStatus, Selection, ServerId, Ticket, WireEvent};
    use crate::nav::{Payload, TopicId};
    use crate::ros::interfaces::{ActionTransport, Publish};
    use crate::ros::spin::Task;
    use crate::ros::{PendingRequests, guardian};

    const SERVER: ServerId = ServerId(1);
    const PATIENCE: Duration = Duration::from_secs(60);

    /// The state visible to other threads while a goal request leaves.
    #[derive(PartialEq, Eq, Debug)]
    struct Seen {
        is_at_work: bool,
        is_in_view: bool,
        may_have_goals: bool,
    }

    /// A fake client of an action server: calls the function for each goal.
    struct Client(Box<dyn FnMut() + Send>);

    impl ActionTransport for Client {
        fn hear_feedback(&self) -> Task {
            Box::new(|_| ())
        }
        fn send_goal(&mut self, _: GoalId, _: &Payload) -> Result<(), RosError> {
            (self.0)();
            Ok(())
        }
        fn cancel(&mut self, _: CancelTag, _: Selection) -> Result<(), RosError> {
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

    fn start() -> GoalTrackerThread {
        let (ros, clock) = (RosHandle::of_nobody(), Clock::new(false));
        GoalTrackerThread::start(&ros, &clock, "", GoalOptions::default()).unwrap()
    }

    /// Adds a server that is present. Its client calls `on_goal` for each goal.
    fn add_server(handle: &GoalTrackerHandle, on_goal: impl FnMut() + Send + 'static) {
        handle.put(Input::Named(SERVER, Arc::from("/spin")));
        handle.put(Input::Action(SERVER, Box::new(Client(Box::new(on_goal)))));
        handle.inputs().wire(WireEvent::ServerBack { server: SERVER });
    }

    fn start_goal(handle: &GoalTrackerHandle) {
        handle.submit(Input::Commands(vec![Command::Start {
            ticket: Ticket(1),
            server: SERVER,
            leaf: Arc::from("leaf"),
            payload: Payload::new(()),
            options: GoalOptions::default(),
        }]));
    }

    /// Stalls the thread until the returned sender is dropped.
    fn stall(handle: &GoalTrackerHandle) -> Sender<()> {
        let (release, released) = channel();
        let (stalls, stalled) = channel();
        handle.send(move || {
            stalls.send(()).unwrap();
            let _ = released.recv_timeout(PATIENCE);
        });
        stalled.recv_timeout(PATIENCE).unwrap();
        release
    }

    fn wait_until(is_done: impl Fn() -> bool) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while !is_done() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(is_done());
    }

    #[test]
    fn g3_a_goal_is_not_sent_if_its_halt_has_arrived_behind_a_message_of_its_tick() {
        let thread = start();
        let handle = thread.handle();
        let (goals, sent) = channel();
        add_server(handle, move || goals.send(()).unwrap());
        let release = stall(handle);
        start_goal(handle);
        // The feedback and the log of the tick that starts the goal.
        handle.send(|| ());
        publish(handle, 1, false);
        handle.halt_all(HaltReason::GoalCanceled);
        drop(release);
        wait_until(|| !handle.has_unhandled());
        assert!(sent.try_recv().is_err());
    }

    #[test]
    fn g2_messages_and_goals_leave_in_the_order_of_their_leaves() {
        let (limit, goal, stop) = (1, 0, 2);
        for is_of_leaf in [true, false] {
            let thread = start();
            let handle = thread.handle();
            let (sender, left) = channel();
            let goals = sender.clone();
            add_server(handle, move || goals.send(goal).unwrap());
            handle.put(Input::Advertised(TOPIC, Arc::from("/speed_limit")));
            handle.put(Input::Publisher(TOPIC, Box::new(Numbers(sender))));
            let release = stall(handle);
            publish(handle, limit, is_of_leaf);
            start_goal(handle);
            publish(handle, stop, is_of_leaf);
            drop(release);
            let order = [(); 3].map(|()| left.recv_timeout(PATIENCE));
            assert_eq!(order, [limit, goal, stop].map(Ok));
        }
    }

    #[test]
    fn g11_a_goal_whose_request_stalls_is_known_although_it_was_not_shown_yet() {
        let thread = start();
        let handle = thread.handle();
        assert!(!handle.may_have_goals());
        handle.guard(guardian::list_of_goals("/bt_navigator"));
        let (seen, look) = channel();
        let looking = handle.clone();
        add_server(handle, move || {
            let state = Seen {
                is_at_work: !looking.beats().is_multiple_of(2),
                is_in_view: !looking.view().live.is_empty(),
                may_have_goals: looking.may_have_goals(),
            };
            seen.send(state).unwrap();
        });
        start_goal(handle);
        let stalled = Seen {
            is_at_work: true,
            is_in_view: false,
            may_have_goals: true,
        };
        assert_eq!(look.recv_timeout(PATIENCE), Ok(stalled));
    }

    #[test]
    fn g3_inputs_that_a_stalled_thread_has_not_handled_are_known() {
        let thread = start();
        let handle = thread.handle();
        let release = stall(handle);
        assert!(!handle.has_unhandled());
        handle.submit(Input::Commands(Vec::new()));
        assert!(handle.has_unhandled());
        assert!(!handle.is_settled(|_| true));
        drop(release);
        wait_until(|| !handle.has_unhandled());
        assert!(handle.is_settled(|_| true));
    }

    /// A publisher that records the published numbers.
    pub(super) struct Numbers(pub(super) Sender<u32>);

    impl Publish for Numbers {
        fn publish(&self, payload: &Payload) -> Result<(), RosError> {
            self.0.send(*payload.get::<u32>().unwrap()).unwrap();
            Ok(())
        }
    }

    pub(super) const TOPIC: TopicId = TopicId(1);

    fn publish(handle: &GoalTrackerHandle, number: u32, is_of_leaf: bool) {
        handle.put(Input::Message(Message::Publish {
            topic: TOPIC,
            payload: Payload::new(number),
            depth: 10,
            is_of_leaf,
        }));
    }

    #[test]
    fn g8_messages_of_leaves_are_dropped_between_the_halt_of_all_and_the_next_session() {
        let thread = start();
        let handle = thread.handle();
        let (sender, published) = channel();
        let publish = |number, is_of_leaf| publish(handle, number, is_of_leaf);
        handle.put(Input::Advertised(TOPIC, Arc::from("/lights")));
        handle.put(Input::Publisher(TOPIC, Box::new(Numbers(sender))));
        publish(1, true);
        handle.halt_all(HaltReason::GoalCanceled);
        publish(2, true);
        publish(3, false);
        handle.submit(Input::Commands(vec![Command::BeginSession]));
        publish(4, true);
        assert_eq!(
            [(); 3].map(|()| published.recv_timeout(PATIENCE)),
            [1, 3, 4].map(Ok)
        );
    }

    #[test]
    fn g8_messages_of_leaves_that_wait_for_their_publisher_end_with_the_halt_of_all() {
        let thread = start();
        let handle = thread.handle();
        let (sender, published) = channel();
        let publish = |number, is_of_leaf| publish(handle, number, is_of_leaf);
        handle.put(Input::Advertised(TOPIC, Arc::from("/lights")));
        publish(1, true);
        publish(2, false);
        handle.halt_all(HaltReason::GoalCanceled);
        handle.submit(Input::Commands(vec![Command::BeginSession]));
        publish(3, true);
        handle.put(Input::Publisher(TOPIC, Box::new(Numbers(sender))));
        handle.submit(Input::Commands(Vec::new()));
        assert_eq!([(); 2].map(|()| published.recv_timeout(PATIENCE)), [2, 3].map(Ok));
    }

    #[test]
    fn a_late_status_of_a_closed_server_has_no_effect() {
        let (ros, thread) = (RosHandle::of_nobody(), start());
        let mut owner = Owner::new(ros.goal_ids("", ""), GoalOptions::default(), thread.handle());
        let before = format!("{:?}", owner.goal_tracker);
        let goals = vec![(GoalId::ZERO, GoalStatus::Executing)];
        owner.take_wire(
            WireEvent::Status {
                server: SERVER,
                goals,
            },
            Time::ZERO,
        );
        assert_eq!(format!("{:?}", owner.goal_tracker), before);
    }

    /// A message that is not a command of a tick: here a result for a client.
    #[test]
    fn g3_whatever_the_thread_sends_counts_as_work_until_it_waits_again() {
        let thread = start();
        let handle = thread.handle();
        let (seen, look) = channel();
        let looking = handle.clone();
        handle.send(move || seen.send(looking.beats()).unwrap());
        let at_work = look.recv_timeout(PATIENCE).unwrap();
        assert_eq!(at_work % 2, 1);
        wait_until(|| handle.beats() != at_work);
        assert_eq!(handle.beats(), at_work + 1, "it waits");
    }
}
