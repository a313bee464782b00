//! The effects of the GoalTracker, and the invariants.

use std::time::Duration;

use super::{Message, NOW, SERVER, Setup, UsedFaults, World};
use crate::goal::{CancelTag, Effect, GoalId, GoalIds, IncidentKind, Notice, Outcome, Phase, UpdatePolicy};

impl World {
    pub(super) fn apply_effects(&mut self, effects: Vec<Effect<u8>>) {
        for effect in effects {
            match effect {
                Effect::SendGoal { goal, payload, .. } => {
                    if self.stopped_activation.is_some() {
                        self.violation =
                            Some("G3: a goal was sent after another client had stopped the robot");
                    }
                    if payload != 0 {
                        self.payloads.insert(goal, payload);
                    }
                    let live = self.goal_tracker.live_goals();
                    let live = live.iter().find(|live| live.goal == goal);
                    let leaf = live
                        .filter(|live| live.phase == Phase::Sent)
                        .map(|live| live.ticket);
                    if leaf != Some(self.running.map(|(ticket, _)| ticket)) {
                        self.violation = Some("a goal was sent for a leaf that was halted or has finished");
                    }
                    self.messages.insert(Message::GoalRequest(goal));
                }
                Effect::SendCancel {
                    tag: CancelTag::Goal { goal, attempt },
                    ..
                } => {
                    // The answers do not show any more which cancel was the first.
                    self.untold_cancel = self.untold_cancel.filter(|untold| *untold != goal);
                    self.messages.insert(Message::CancelRequest(goal, attempt));
                }
                Effect::RequestResult { goal, .. } => {
                    self.messages.insert(Message::ResultRequest(goal));
                }
                Effect::Notify(notice) => self.notify(&notice),
                Effect::Report(report) => {
                    if report.what.is_loss() {
                        self.untold_cancel = None;
                    }
                    let Some(goal) = report.goal else {
                        continue;
                    };
                    match report.what {
                        IncidentKind::AcceptedLate => self.seen.cancelled_late = true,
                        IncidentKind::Adopted => {
                            self.seen.adopted = true;
                            if !self.is_adoption_allowed {
                                self.violation =
                                    Some("G3: a goal of a node that may be driving was cancelled");
                            }
                            self.abandoned.remove(&goal);
                        }
                        IncidentKind::AcceptedAfterGivingUp
                        | IncidentKind::FoundAfterGivingUp
                        | IncidentKind::RetriedAfterGivingUp => {
                            self.seen.found_again |= report.what == IncidentKind::FoundAfterGivingUp;
                            self.seen.retried |= report.what == IncidentKind::RetriedAfterGivingUp;
                            self.abandoned.remove(&goal);
                        }
                        IncidentKind::NotStoppedInTime => {
                            self.reported_slow.insert(goal);
                        }
                        IncidentKind::GaveUpStopping | IncidentKind::GaveUpDenied => {
                            self.seen.gave_up = true;
                            self.reported_slow.insert(goal);
                            self.abandoned.insert(goal);
                        }
                        IncidentKind::GaveUpUnanswered | IncidentKind::GaveUpUnreachable => {
                            self.seen.gave_up = true;
                            self.reported_slow.insert(goal);
                        }
                        _ => {}
                    }
                }
                Effect::SendCancel { .. }
                | Effect::CallService { .. }
                | Effect::ForgetCall { .. }
                | Effect::ForgetGoal { .. }
                | Effect::SendMessage => {}
            }
        }
    }

    /// The navigation learns from this notice that another client cancelled a goal.
    pub(super) fn record_told_cancel(&mut self, notice: &Notice<u8>) {
        if notice.is_cancel() {
            if self.used_faults.foreign_cancels == 0 {
                self.violation = Some("the navigation was told of a cancel that nobody has requested");
            }
            self.has_told_of_cancel = true;
            self.untold_cancel = None;
        }
    }

    pub(super) fn notify(&mut self, notice: &Notice<u8>) {
        self.record_told_cancel(notice);
        match self.running {
            Some((ticket, _)) if ticket == notice.ticket() => {
                if let Notice::Canceling { .. } = notice {
                    self.is_notified_of_cancel = true;
                    self.seen.canceled_by_another = true;
                }
                if let Notice::Finished { updates, outcome, .. } = notice {
                    match outcome {
                        _ if self.stopped_activation == Some(ticket)
                            && !notice.is_cancel()
                            && !self.is_notified_of_cancel =>
                        {
                            self.violation =
                                Some("G3: a leaf was not told that another client cancelled its goal");
                        }
                        Outcome::Succeeded(payload) if u64::from(*payload) != *updates => {
                            self.violation = Some("a leaf was told the success of a goal of other inputs");
                        }
                        Outcome::Succeeded(_) => self.seen.succeeded = true,
                        Outcome::ServerGone => self.seen.server_gone = true,
                        Outcome::ResultLost => self.seen.result_lost = true,
                        _ => {}
                    }
                    self.running = None;
                    self.finished.insert(ticket, Duration::ZERO);
                }
            }
            _ if matches!(notice, Notice::Canceling { .. }) => self.seen.told_after_halt = true,
            _ => self.violation = Some("G4: a notice for a leaf that was halted or has finished"),
        }
    }

    /// Checks the invariants that hold after every step.
    pub(super) fn check(&mut self, setup: &Setup) {
        if let Some((_, age)) = self.running {
            if self.goal_tracker.next_deadline().is_none() && !self.has_delayed_effects {
                self.violation = Some("G6: a leaf waits and nothing is due");
            }
            if age > setup.max_leaf_wait() {
                self.violation = Some("G6: a leaf waits longer than its timeouts allow");
            }
        }
        for live in self.goal_tracker.live_goals() {
            let age = live.ticket.and_then(|ticket| self.finished.get(&ticket));
            if age.is_some_and(|age| *age > setup.max_tracking_time()) {
                self.violation = Some("G3: a goal without a leaf is tracked beyond its deadline");
            }
        }
        let executing: Vec<GoalId> = self
            .table
            .active()
            .into_iter()
            .filter(|goal| !self.reported_slow.contains(goal))
            .filter(|goal| self.is_of_this_run(*goal))
            .collect();
        let allowed = match setup.update_policy {
            UpdatePolicy::ServerPreempts if self.used_faults.updates > 0 => 2,
            _ => 1,
        };
        if executing.len() > allowed {
            self.violation = Some("G5: more goals on the server than the policy allows");
        }
        let window_is_over = self
            .goal_tracker
            .adopts_until(SERVER)
            .is_none_or(|until| until < NOW);
        let is_known = |goal: &GoalId| {
            self.abandoned.contains(goal) || self.accepted_late.contains(goal) && window_is_over
        };
        let is_faultless = self.used_faults
            == UsedFaults {
                foreign_cancels: self.used_faults.foreign_cancels,
                updates: self.used_faults.updates,
                delayed_effects: self.used_faults.delayed_effects,
                ..UsedFaults::default()
            };
        if self.is_quiet() && self.untold_cancel.is_some() && is_faultless {
            self.violation = Some("G3: the navigation was not told that another client had cancelled a goal");
        }
        if self.is_quiet() && !self.table.active().iter().all(is_known) {
            self.violation = Some("G3: a goal without a leaf executes and was not reported");
        }
    }

    pub(super) fn is_of_this_run(&self, goal: GoalId) -> bool {
        !GoalIds::new(1, u64::from(self.used_faults.process_crashes)).is_predecessor(goal)
    }
}
