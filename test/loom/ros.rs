//! Tests of the data passed between the threads of the network and the tick thread.

#[path = "../../src/ros/goals_view.rs"]
mod goals_view;
#[path = "../../src/ros/inbox.rs"]
mod inbox;
#[path = "../../src/ros/ready.rs"]
mod ready;
#[path = "../../src/ros/shared_subscription.rs"]
mod shared_subscription;
#[path = "../../src/ros/wake.rs"]
mod wake;

use std::sync::Arc;
use std::time::{Duration, Instant};

use goals_view::{GoalsBoard, GoalsView};
use inbox::Inbox;
use loom::thread;
use ready::{Haste, Mark, Ready};
use shared_subscription::SharedSubscription;
use wake::Wake;

use crate::bt::Time;
use crate::explore;
use crate::goal::{GoalId, LiveGoal, Notice, Outcome, Phase, ServerId, Ticket};
use crate::nav::{Event, Form, Payload, TopicId, TopicSpec};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::mpsc::channel;

/// A deadline so late that only a notification ends the sleep.
fn never() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

#[test]
fn a_notification_ends_the_sleep_whenever_it_comes() {
    explore(|| {
        let wake = Wake::new();
        let notifier = wake.clone();
        let thread = thread::spawn(move || notifier.notify());
        assert!(wake.sleep_until(never()));
        thread.join().unwrap();
    });
}

#[test]
fn an_input_before_a_notification_is_visible_after_the_sleep() {
    explore(|| {
        let (wake, inbox) = (Wake::new(), Arc::new(Inbox::default()));
        let threads = [1, 2].map(|ticket| {
            let (notifier, filled) = (wake.clone(), Arc::clone(&inbox));
            thread::spawn(move || {
                filled.notice(accepted(ticket));
                notifier.notify();
            })
        });
        let mut seen = Vec::new();
        while seen.len() < 2 {
            assert!(wake.sleep_until(never()));
            inbox.drain(&mut seen);
        }
        assert_eq!(seen.len(), 2, "each input arrives once");
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn notices_of_one_goal_come_once_and_in_order_while_ticks_take_them() {
    explore(|| {
        let inbox = Arc::new(Inbox::default());
        let filled = Arc::clone(&inbox);
        let network = thread::spawn(move || {
            filled.notice(accepted(1));
            filled.notice(feedback(1, 1));
            filled.notice(feedback(1, 2));
            filled.notice(finished(1));
        });
        let mut seen = Vec::new();
        inbox.drain(&mut seen);
        inbox.drain(&mut seen);
        network.join().unwrap();
        inbox.drain(&mut seen);
        let words: Vec<String> = seen.iter().map(word).collect();
        let latest_feedback = ["accepted", "feedback 2", "finished"];
        let all = ["accepted", "feedback 1", "feedback 2", "finished"];
        assert!(words == latest_feedback || words == all, "{words:?}");
    });
}

#[test]
fn a_subscriber_that_joins_during_a_message_receives_it_once() {
    explore(|| {
        let (shared_subscription, inbox) = (
            Arc::new(SharedSubscription::default()),
            Arc::new(Inbox::default()),
        );
        let topic = topic();
        let (delivering, to) = (Arc::clone(&shared_subscription), topic.clone());
        let network =
            thread::spawn(move || delivering.deliver(TopicId(1), &to, &Payload::new(7_u32), Time::ZERO));
        shared_subscription.join(TopicId(1), &topic, &inbox);
        network.join().unwrap();
        let mut seen = Vec::new();
        inbox.drain(&mut seen);
        assert_eq!(seen.iter().map(word).collect::<Vec<_>>(), ["message 7"]);
    });
}

#[test]
fn a_subscriber_may_leave_during_a_message() {
    explore(|| {
        let (shared_subscription, stays) = (
            Arc::new(SharedSubscription::default()),
            Arc::new(Inbox::default()),
        );
        let leaves = Arc::new(Inbox::default());
        let topic = topic();
        shared_subscription.join(TopicId(1), &topic, &leaves);
        shared_subscription.join(TopicId(1), &topic, &stays);
        let (delivering, to) = (Arc::clone(&shared_subscription), topic.clone());
        let network =
            thread::spawn(move || delivering.deliver(TopicId(1), &to, &Payload::new(7_u32), Time::ZERO));
        drop(leaves);
        network.join().unwrap();
        let mut seen = Vec::new();
        stays.drain(&mut seen);
        assert_eq!(seen.iter().map(word).collect::<Vec<_>>(), ["message 7"]);
    });
}

/// The tick thread submits a halt. The GoalTracker's thread handles it and publishes its effect: the goal no longer
/// executes.
#[test]
fn a_thread_that_finds_goals_settled_finds_the_effects_of_its_request() {
    explore(|| {
        let board = Arc::new(GoalsBoard::default());
        let stopped = Arc::new(AtomicBool::new(false));
        let (inputs, inbox) = channel();
        let (shown, effect) = (Arc::clone(&board), Arc::clone(&stopped));
        board.show(executing());
        let goal_tracker = thread::spawn(move || {
            if inbox.recv_timeout(Duration::MAX).is_ok() {
                effect.store(true, Ordering::Relaxed);
                shown.show(GoalsView::default());
                shown.count_out(1);
            }
        });
        board.count_in();
        inputs.send(()).unwrap();
        if board.is_settled(|_| true) {
            assert!(
                stopped.load(Ordering::Relaxed),
                "settled before the halt was handled"
            );
        }
        goal_tracker.join().unwrap();
        assert!(board.is_settled(|_| true));
    });
}

/// The same with a request that starts a goal: the board is not settled before the request is handled.
#[test]
fn an_unhandled_request_is_not_settled() {
    explore(|| {
        let board = Arc::new(GoalsBoard::default());
        let (inputs, inbox) = channel();
        let shown = Arc::clone(&board);
        let wake = Wake::new();
        let notified = wake.clone();
        board.on_change(Box::new(move || notified.notify()));
        let goal_tracker = thread::spawn(move || {
            if inbox.recv_timeout(Duration::MAX).is_ok() && shown.show(executing()) {
                shown.count_out(1);
                shown.notify_change();
            }
        });
        board.count_in();
        inputs.send(()).unwrap();
        assert!(!board.is_settled(|_| true));
        assert!(wake.sleep_until(never()), "a change notifies");
        goal_tracker.join().unwrap();
        assert!(!board.is_settled(|_| true));
    });
}

/// Two entities get messages, the first one from two threads of the middleware. The node's thread sleeps until it has
/// taken all of them.
#[test]
fn no_message_of_an_entity_is_missed() {
    explore(|| {
        let ready = Ready::default();
        let marks = [0, 1].map(|entity| Arc::new(Mark::new(&ready, entity, Haste::Always)));
        let (one, both) = (Arc::clone(&marks[0]), marks.clone());
        let threads = [
            thread::spawn(move || one.add(1)),
            thread::spawn(move || both.iter().for_each(|mark| mark.add(1))),
        ];
        let (mut taken, mut marked) = ([0, 0], Vec::new());
        while taken != [2, 1] {
            ready.sleep_until(never());
            ready.take(&mut marked);
            for entity in marked.iter().map(|entity| *entity as usize) {
                taken[entity] += marks[entity].take();
            }
        }
        for thread in threads {
            thread.join().unwrap();
        }
        ready.take(&mut marked);
        assert!(marked.is_empty());
    });
}

#[test]
fn a_message_that_waits_is_taken_when_the_rest_of_the_node_ends() {
    explore(|| {
        let ready = Ready::default();
        ready.set_at_rest(true);
        let mark = Arc::new(Mark::new(&ready, 0, Haste::AtWork));
        let (arrived, working) = (Arc::clone(&mark), ready.clone());
        let threads = [
            thread::spawn(move || arrived.add(1)),
            thread::spawn(move || working.set_at_rest(false)),
        ];
        let (mut taken, mut marked) = (0, Vec::new());
        while taken < 1 {
            ready.sleep_until(never());
            ready.take(&mut marked);
            taken += marked.iter().map(|_| mark.take()).sum::<usize>();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_task_wakes_the_thread_of_a_node_whenever_it_comes() {
    explore(|| {
        let ready = Ready::default();
        let mark = Mark::new(&ready, 0, Haste::Always);
        let (tasks, inbox) = channel();
        let other = ready.clone();
        let threads = [
            thread::spawn(move || {
                tasks.send(()).unwrap();
                other.wake();
            }),
            thread::spawn(move || mark.add(1)),
        ];
        let (mut has_task, mut has_mark, mut marked) = (false, false, Vec::new());
        while !(has_task && has_mark) {
            ready.sleep_until(never());
            has_task |= inbox.try_recv().is_ok();
            ready.take(&mut marked);
            has_mark |= !marked.is_empty();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

fn executing() -> GoalsView {
    GoalsView {
        live: vec![LiveGoal {
            goal: GoalId([1; 16]),
            server: ServerId(1),
            ticket: Some(Ticket(1)),
            leaf: "tree/leaf".into(),
            phase: Phase::Executing,
            halted: None,
            holds_back: false,
            is_denied_again: false,
            is_presumed_lost: false,
            is_over: false,
        }],
        servers: vec!["server".into()],
        ..GoalsView::default()
    }
}

fn topic() -> TopicSpec {
    TopicSpec {
        name: "map".into(),
        type_name: "nav_msgs/msg/OccupancyGrid".into(),
        depth: 1,
        reliable: true,
        transient_local: true,
        form: Form::Plain,
    }
}

fn accepted(ticket: u64) -> Notice<Payload> {
    Notice::Accepted {
        ticket: Ticket(ticket),
        goal: GoalId::ZERO,
    }
}

fn feedback(ticket: u64, number: u32) -> Notice<Payload> {
    Notice::Feedback {
        ticket: Ticket(ticket),
        payload: Payload::new(number),
    }
}

fn finished(ticket: u64) -> Notice<Payload> {
    Notice::Finished {
        ticket: Ticket(ticket),
        updates: 0,
        outcome: Outcome::Rejected,
    }
}

fn word(event: &Event) -> String {
    let number = |payload: &Payload| payload.get::<u32>().copied().unwrap_or_default();
    match event {
        Event::Notice(Notice::Accepted { .. }) => "accepted".to_owned(),
        Event::Notice(Notice::Feedback { payload, .. }) => format!("feedback {}", number(payload)),
        Event::Notice(Notice::Canceling { .. }) => "canceling".to_owned(),
        Event::Notice(Notice::Finished { .. }) => "finished".to_owned(),
        Event::Message { payload, .. } => format!("message {}", number(payload)),
    }
}
