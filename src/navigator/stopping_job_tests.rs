//! Tests of the time of the result if jobs of a navigation need time to stop.

use std::sync::Arc;
use std::time::Duration;

use super::goal::TerminalStatus;
use super::test_harness::{Rig, load, navigation, registry};
use super::{NavigatorKind, Options};
use crate::bt::{HaltReason, NodeStatus, TreeDef};
use crate::job::{self, CancellationToken, Local};
use crate::nav::Settings;

/// A tree whose job brakes after its cancel until the gate opens.
struct Braking {
    rig: Rig,
    executor: Local,
    gate: CancellationToken,
    tree: Arc<TreeDef>,
}

impl Braking {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let (executor, gate) = (Local::new(), CancellationToken::new());
        let mut registry = registry();
        let until = gate.clone();
        job::register_function(&mut registry, "Arm", executor.clone(), move |cancel| {
            let until = until.clone();
            async move {
                cancel.cancelled().await;
                until.cancelled().await;
                NodeStatus::Success
            }
        })
        .unwrap();
        let tree = load(&registry, r#"<Arm name="arm"/>"#);
        let mut braking = Self {
            rig: Rig::with(Settings::default(), options),
            executor,
            gate,
            tree,
        };
        braking.rig.goal(1, &braking.tree);
        braking.ticks(3);
        braking
    }

    fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            self.rig.ticks(1);
            self.executor.run_until_stalled();
        }
    }

    fn cancel(&mut self, number: u8) {
        let now = self.rig.now();
        self.rig.navigator.cancel(navigation(number), now);
        self.rig.navigator.hand_over();
    }

    /// The results since the last call: number, status, error code and message.
    fn told(&self) -> Vec<(u8, TerminalStatus, u16, String)> {
        let reports = self.rig.reports.try_iter();
        let tell = reports.map(|(number, it)| (number, it.status, it.error_code, it.error_message));
        tell.collect()
    }
}

fn canceled(number: u8, code: u16, message: &str) -> (u8, TerminalStatus, u16, String) {
    (number, TerminalStatus::Canceled, code, message.to_owned())
}

#[test]
fn g3_a_client_is_told_canceled_when_the_job_of_its_tree_has_ended() {
    let mut braking = Braking::new();
    braking.cancel(1);
    braking.ticks(20);
    assert_eq!(braking.told(), []);
    assert!(braking.rig.navigator.is_stopping());
    braking.gate.cancel();
    braking.ticks(2);
    assert_eq!(braking.told(), [canceled(1, 0, "")]);
}

const LEFT: &str = "not known to have stopped in time: job of arm (cancelled, not ended)";

#[test]
fn g3_a_job_that_does_not_end_in_time_is_named_to_the_client() {
    let mut braking = Braking::new();
    braking.cancel(1);
    braking.ticks(299);
    assert_eq!(braking.told(), []);
    braking.ticks(2);
    assert_eq!(braking.told(), [canceled(1, 9103, LEFT)]);
    // A later session does not wait for it, and lists it as long as it runs.
    let quick = load(&registry(), "<AlwaysSuccess/>");
    braking.rig.goal(2, &quick);
    braking.ticks(1);
    assert_eq!(
        braking.told(),
        [(2, TerminalStatus::Succeeded, 9103, LEFT.to_owned())]
    );
    // The client of a goal that has not started may also take its motion for that of its own goal.
    braking
        .rig
        .goal_to(4, NavigatorKind::ThroughPoses, "dock", 1.0, &quick);
    braking.cancel(4);
    assert_eq!(
        braking.told(),
        [canceled(4, 9103, &format!("cancelled before it started; {LEFT}"))]
    );
    braking.gate.cancel();
    braking.ticks(1);
    braking.rig.goal(3, &quick);
    braking.ticks(1);
    assert_eq!(braking.told(), [(3, TerminalStatus::Succeeded, 0, String::new())]);
}

#[test]
fn g3_another_tree_begins_when_the_job_of_the_old_one_has_ended() {
    let mut braking = Braking::new();
    let quick = load(&registry(), "<AlwaysSuccess/>");
    braking.rig.goal(2, &quick);
    braking.ticks(20);
    assert_eq!(braking.told(), []);
    braking.gate.cancel();
    braking.ticks(3);
    let succeeded = (2, TerminalStatus::Succeeded, 0, String::new());
    assert_eq!(
        braking.told(),
        [(1, TerminalStatus::Aborted, 0, REPLACED.to_owned()), succeeded]
    );
}

#[test]
fn a_stop_timeout_of_zero_waits_for_no_job() {
    let mut braking = Braking::with(Options {
        stop_timeout: Duration::ZERO,
        ..Options::default()
    });
    braking.cancel(1);
    assert_eq!(braking.told(), [canceled(1, 0, "")]);
}

const REPLACED: &str = "replaced by a newer goal";

#[test]
fn g3_a_goal_that_waits_for_another_to_stop_is_not_canceled_before_that_has() {
    let mut braking = Braking::new();
    let quick = load(&registry(), "<AlwaysSuccess/>");
    braking.rig.goal(2, &quick);
    braking.cancel(2);
    braking.ticks(20);
    assert_eq!(braking.told(), []);
    assert!(!braking.rig.navigator.has_goals());
    braking.gate.cancel();
    braking.ticks(2);
    let replaced = (1, TerminalStatus::Aborted, 0, REPLACED.to_owned());
    assert_eq!(
        braking.told(),
        [replaced, canceled(2, 0, "cancelled before it started")]
    );
    assert!(braking.rig.navigator.is_idle());
}

#[test]
fn a_goal_that_waits_and_is_replaced_ends_at_once_and_the_one_that_drove_when_it_has_stopped() {
    let mut braking = Braking::new();
    let quick = load(&registry(), "<AlwaysSuccess/>");
    braking.rig.goal(2, &quick);
    braking.rig.goal(3, &quick);
    braking.ticks(20);
    let replaced = |number| (number, TerminalStatus::Aborted, 0, REPLACED.to_owned());
    assert_eq!(braking.told(), [replaced(2)], "it never drove");
    assert!(braking.rig.navigator.has_goals(), "a newer goal has its place");
    braking.gate.cancel();
    braking.ticks(3);
    let reached = (3, TerminalStatus::Succeeded, 0, String::new());
    assert_eq!(braking.told(), [replaced(1), reached]);
}

#[test]
fn g3_the_client_of_a_goal_that_waits_for_another_reads_what_did_not_stop() {
    let mut braking = Braking::new();
    let quick = load(&registry(), "<AlwaysSuccess/>");
    braking.rig.goal(2, &quick);
    let now = braking.rig.now();
    braking.rig.navigator.stop_all(HaltReason::Deactivated, now);
    braking.rig.navigator.hand_over();
    braking.ticks(20);
    assert_eq!(braking.told(), []);
    braking.ticks(300);
    let told = braking.told();
    let ended: Vec<_> = told
        .iter()
        .map(|(number, ending, code, _)| (*number, *ending, *code))
        .collect();
    assert_eq!(
        ended,
        [
            (1, TerminalStatus::Aborted, 9103),
            (2, TerminalStatus::Aborted, 9103)
        ]
    );
    assert!(
        told.iter().all(|(.., message)| message.ends_with(LEFT)),
        "{told:?}"
    );
}
