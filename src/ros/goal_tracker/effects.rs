//! Carries out the effects of the GoalTracker: sends requests and notices, logs incidents.

use super::owner::Owner;
use super::panics::attempt;
use crate::bt::Time;
use crate::goal::{CancelTag, Effect, GoalIncident, Notice, ServerId, Severity, WireEvent};
use crate::nav::Payload;
use crate::ros::RosError;
use crate::ros::goals_view::GoalsView;

impl Owner {
    /// Not after each input of a batch: a later one may halt a goal that has not left. Messages keep their place among the requests: when a
    /// client reads its result, the cancels were sent.
    pub(super) fn carry_out(&mut self, now: Time) {
        // Some effects fail. The GoalTracker handles each failure, which causes new effects.
        while !self.effects.is_empty() {
            let mut failures = Vec::new();
            for effect in std::mem::take(&mut self.effects) {
                let failure = attempt(effect, |effect| self.carry_out_one(effect, now, &mut failures));
                failures.extend(failure);
            }
            for failure in failures {
                self.goal_tracker.wire(failure, now, &mut self.effects);
            }
        }
    }

    fn carry_out_one(&mut self, effect: Effect<Payload>, now: Time, failures: &mut Vec<WireEvent<Payload>>) {
        let absent = || RosError::Send("the client is not created yet".to_owned());
        match effect {
            Effect::SendGoal {
                server,
                goal,
                payload,
            } => {
                if let Some(guarded) = &mut self.guarded {
                    guarded.add(server, goal);
                }
                let sent = match self.actions.get_mut(&server) {
                    Some(transport) => transport.send_goal(goal, &payload),
                    None => Err(absent()),
                };
                if !self.was_sent(server, "goal", &sent) {
                    failures.push(WireEvent::SendFailed { goal });
                }
            }
            Effect::SendCancel {
                server,
                tag,
                selection,
            } => {
                let sent = match self.actions.get_mut(&server) {
                    Some(transport) => transport.cancel(tag, selection),
                    None => Err(absent()),
                };
                if let Err(error) = sent {
                    self.say_unsent(server, "cancel", &error);
                    // The next cancel of a goal is sent when it is due.
                    if let CancelTag::Leaf(ticket) = tag {
                        failures.push(WireEvent::CallFailed { ticket });
                    }
                }
            }
            Effect::RequestResult { server, goal } => {
                let sent = match self.actions.get_mut(&server) {
                    Some(transport) => transport.request_result(goal),
                    None => Err(absent()),
                };
                if let Err(error) = sent {
                    tracing::error!("{}: result not requested: {error}", self.name(server));
                }
            }
            Effect::CallService {
                ticket,
                server,
                payload,
            } => {
                let sent = match self.services.get_mut(&server) {
                    Some(transport) => transport.call(ticket, &payload),
                    None => Err(absent()),
                };
                if !self.was_sent(server, "request", &sent) {
                    failures.push(WireEvent::CallFailed { ticket });
                }
            }
            Effect::ForgetCall { ticket, server } => {
                self.changed = true;
                if let Some(transport) = self.services.get_mut(&server) {
                    transport.forget(ticket);
                }
            }
            Effect::ForgetGoal { server, goal } => {
                self.changed = true;
                if let Some(transport) = self.actions.get_mut(&server) {
                    transport.forget(goal);
                }
            }
            Effect::Notify(notice) => {
                self.changed |= matches!(notice, Notice::Finished { .. });
                let is_cancel = notice.is_cancel();
                if let Some(inbox) = self.links.get(&notice.ticket().link()) {
                    inbox.notice(notice);
                }
                if is_cancel {
                    // Also if no goal changes: the goal may have ended before.
                    self.board.notify_change();
                }
            }
            Effect::Report(report) => self.report(report),
            Effect::SendMessage => self.send_message(now),
        }
    }

    /// Logs a failed send.
    fn was_sent(&mut self, server: ServerId, what: &str, sent: &Result<(), RosError>) -> bool {
        match sent {
            Ok(()) => {
                self.refused.remove(&server);
                true
            }
            Err(error) => {
                self.say_unsent(server, what, error);
                false
            }
        }
    }

    /// A server that answers no requests causes a refusal at each attempt of a leaf. That is logged once, until a
    /// request is sent again.
    fn say_unsent(&mut self, server: ServerId, what: &str, error: &RosError) {
        if !matches!(error, RosError::Unanswered(_)) || self.refused.insert(server) {
            tracing::error!("{}: {what} not sent: {error}", self.name(server));
        }
    }

    fn report(&mut self, report: GoalIncident) {
        // Only a deadline shows that a goal did not stop in time.
        self.changed = true;
        self.abandoned.report(&report);
        let name = self.name(report.server);
        match report.what.severity() {
            Severity::Info => tracing::info!("{name}: {report}"),
            Severity::Warning => tracing::warn!("{name}: {report}"),
            Severity::Error => tracing::error!("{name}: {report}"),
        }
        let mut view = self.board.view();
        if view.reports.len() >= GoalsView::REPORTS {
            view.reports.pop_front();
        }
        view.reports.push_back(report);
    }
}
