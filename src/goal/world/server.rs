//! The server of a world, and its messages.

use super::{Message, SERVER, World};
use crate::goal::{
    CancelCode, CancelTag, GoalId, GoalStatus, Phase, ResultAnswer, Selection, Stamp, TerminalStatus,
    WireEvent,
};

impl World {
    /// The code of a client for a server that does not know the goal.
    pub(super) fn unknown_goal_code(&self) -> CancelCode {
        if self.has_second_endpoint {
            CancelCode::UnknownToOne
        } else {
            CancelCode::UnknownGoal
        }
    }

    pub(super) fn deliver(&mut self, message: Message) {
        match message {
            Message::GoalRequest(goal) => {
                if self.is_server_up && self.store_goal(goal) {
                    self.messages.insert(Message::Accepted(goal));
                }
            }
            Message::CancelRequest(goal, attempt) => {
                if self.is_server_up {
                    let answer = self.table.cancel(Selection::Goal(goal), |_| true);
                    let code = match answer.code {
                        CancelCode::UnknownGoal => self.unknown_goal_code(),
                        code => code,
                    };
                    self.answer_cancel(goal, attempt, code);
                    if !answer.canceling.is_empty() {
                        self.publish_status();
                    }
                }
            }
            Message::ResultRequest(goal) => {
                if self.is_server_up && !self.result_requests.contains(&goal) {
                    match self.table.result(goal, goal) {
                        ResultAnswer::Ready { end, .. } => {
                            self.messages.insert(Message::Result(goal, end));
                        }
                        ResultAnswer::Unknown { .. } if self.has_second_endpoint => {}
                        ResultAnswer::Unknown { .. } => {
                            self.messages.insert(Message::ResultUnknown(goal));
                        }
                        ResultAnswer::Later => {
                            self.result_requests.insert(goal);
                        }
                    }
                }
            }
            Message::Accepted(goal) => {
                self.wire(WireEvent::Accepted { server: SERVER, goal });
            }
            Message::Rejected(goal) => self.wire(WireEvent::Rejected { goal }),
            Message::Canceled(goal, attempt, code) => self.wire(WireEvent::CancelAnswered {
                tag: CancelTag::Goal { goal, attempt },
                code,
                canceling: Vec::new(),
            }),
            Message::Result(goal, end) => {
                if end == TerminalStatus::Canceled {
                    self.record_foreign_cancel(goal);
                }
                self.wire(WireEvent::Result {
                    goal,
                    end,
                    payload: self.payloads.get(&goal).copied().unwrap_or(0),
                });
            }
            Message::ResultUnknown(goal) => self.wire(WireEvent::ResultUnknown { goal }),
            Message::Status(goals) => {
                self.has_status_list |= self.goal_tracker.is_present(SERVER);
                for (goal, status) in &goals {
                    if matches!(status, GoalStatus::Canceling | GoalStatus::Canceled) {
                        self.record_foreign_cancel(*goal);
                    }
                }
                self.wire(WireEvent::Status {
                    server: SERVER,
                    goals,
                });
            }
        }
    }

    /// A message that shows a cancelled goal arrives.
    pub(super) fn record_foreign_cancel(&mut self, goal: GoalId) {
        let Some((ticket, _)) = self.running else {
            return;
        };
        let live = self.goal_tracker.live_goals();
        let is_waited_for = live.iter().any(|live| {
            let waits = matches!(
                live.phase,
                Phase::Sent | Phase::Executing | Phase::Finishing | Phase::Replaced
            );
            live.goal == goal && live.ticket == Some(ticket) && waits
        });
        if is_waited_for && self.foreign_canceled.contains(&goal) {
            self.stopped_activation = Some(ticket);
        }
    }

    /// The server answers a cancel of this node.
    pub(super) fn answer_cancel(&mut self, goal: GoalId, attempt: u32, code: CancelCode) {
        if self.repeated_cancels.remove(&(goal, attempt)) {
            return;
        }
        self.messages.insert(Message::Canceled(goal, attempt, code));
        let is_late = attempt == 1 && code == CancelCode::GoalTerminated;
        let is_canceled = matches!(
            self.table.status(goal),
            GoalStatus::Canceling | GoalStatus::Canceled
        );
        let is_only_cancel = self.goal_tracker.cancels(goal) == Some(1);
        if is_only_cancel
            && is_late
            && is_canceled
            && self.foreign_canceled.contains(&goal)
            && !self.has_told_of_cancel
        {
            self.untold_cancel = Some(goal);
        }
    }

    /// Adds a goal to the server. False if it was there before.
    pub(super) fn store_goal(&mut self, goal: GoalId) -> bool {
        if self.table.accept(goal, Stamp::ZERO).is_err() {
            return false;
        }
        if self.has_status_list && !self.is_of_this_run(goal) {
            self.accepted_late.insert(goal);
        }
        self.publish_status();
        true
    }

    pub(super) fn publish_status(&mut self) {
        self.messages
            .retain(|message| !matches!(message, Message::Status(_)));
        self.must_repeat_status = false;
        let goals = self
            .table
            .statuses()
            .into_iter()
            .map(|(goal, _, status)| (goal, status))
            .collect();
        self.messages.insert(Message::Status(goals));
    }
}
