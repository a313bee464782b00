//! The possible next steps of a world.

use std::time::Duration;

use super::{NOW, SERVER, Setup, World};
use crate::bt::Time;
use crate::goal::{CancelCode, GoalId, GoalStatus, TerminalStatus};

/// A message under way on the network.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Message {
    GoalRequest(GoalId),
    CancelRequest(GoalId, u32),
    ResultRequest(GoalId),
    Accepted(GoalId),
    Rejected(GoalId),
    Canceled(GoalId, u32, CancelCode),
    Result(GoalId, TerminalStatus),
    ResultUnknown(GoalId),
    /// Only the latest list, as the topic keeps only one.
    Status(Vec<(GoalId, GoalStatus)>),
}

/// A possible next step of the world.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    Start,
    Update,
    Halt,
    Deliver(Message),
    /// The server rejects on delivery. A late acceptance is a late delivery.
    Reject(GoalId),
    Refuse(GoalId, u32),
    AcceptEarly(GoalId),
    /// The server adds the goal that it accepted early to its table. No time passes before this step, so the GoalTracker does not
    /// consider the server gone in between.
    StoreGoal,
    Lose(Message),
    Repeat(Message),
    /// The middleware repeats a status list.
    RepeatStatus,
    Finish(GoalId, TerminalStatus),
    /// Another client cancels the goal.
    CancelByAnother(GoalId),
    DropResults,
    CrashServer,
    RestartServer,
    /// Another server with its name appears; `RemoveSecondServer`: it disappears.
    AddSecondServer,
    RemoveSecondServer,
    /// The other server answers first a request that reaches both. The client receives only that answer.
    AnswerFromSecondServer(Message),
    /// The GoalTracker learns that the server's process is another one, or that there are two servers: it considers the
    /// server gone and then back.
    NoticeChange,
    /// The GoalTracker learns the real presence of the server.
    NoticePresence,
    /// The GoalTracker wrongly learns that the server is absent.
    Partition,
    /// The process with the GoalTracker crashes and another one starts.
    CrashProcess,
    /// The new process is active and the only one with its name.
    AllowAdoption,
    /// Effects of the GoalTracker are not applied before `ReleaseEffects`.
    DelayEffects,
    ReleaseEffects,
    /// Time passes until the next deadline.
    Wait,
}

impl World {
    /// The possible next steps, in a fixed order.
    pub(crate) fn actions(&self, setup: &Setup) -> Vec<Action> {
        let mut actions = Vec::new();
        match self.running {
            None if self.started < setup.activations => actions.push(Action::Start),
            None => {}
            Some(_) => {
                actions.push(Action::Halt);
                if self.used_faults.updates < setup.updates {
                    actions.push(Action::Update);
                }
            }
        }
        for message in &self.messages {
            actions.push(Action::Deliver(message.clone()));
            match message {
                Message::GoalRequest(goal) if self.is_server_up => {
                    actions.push(Action::Reject(*goal));
                    if self.used_faults.early_acceptances < setup.early_acceptances
                        && self.accepted_early.is_none()
                    {
                        actions.push(Action::AcceptEarly(*goal));
                    }
                }
                Message::CancelRequest(goal, attempt) if self.is_server_up && setup.may_refuse_cancels => {
                    actions.push(Action::Refuse(*goal, *attempt));
                }
                _ => {}
            }
            let is_asked = matches!(message, Message::CancelRequest(..) | Message::ResultRequest(_));
            if self.is_server_up && self.has_second_server && is_asked {
                actions.push(Action::AnswerFromSecondServer(message.clone()));
            }
            if self.used_faults.losses < setup.losses {
                actions.push(Action::Lose(message.clone()));
            }
            // A goal request is not repeated: DDS delivers no request twice, and a server that received one twice would
            // reject the goal that it has accepted.
            if self.used_faults.duplicates < setup.duplicates && !matches!(message, Message::GoalRequest(_)) {
                actions.push(Action::Repeat(message.clone()));
            }
        }
        if self.can_repeat_status() {
            actions.push(Action::RepeatStatus);
        }
        for goal in self.table.active() {
            let is_foreign = self.foreign_canceled.contains(&goal);
            let is_canceling = self.table.status(goal) == GoalStatus::Canceling;
            if is_canceling {
                actions.push(Action::Finish(goal, TerminalStatus::Canceled));
            } else if self.used_faults.foreign_cancels < setup.foreign_cancels {
                actions.push(Action::CancelByAnother(goal));
            }
            // A server may finish a goal before it handles the cancel.
            if !is_canceling || is_foreign {
                actions.push(Action::Finish(goal, TerminalStatus::Succeeded));
            }
        }
        let has_ended_goals = self.table.statuses().len() > self.table.active().len();
        if has_ended_goals && self.used_faults.dropped_results < setup.dropped_results {
            actions.push(Action::DropResults);
        }
        if self.is_server_up && self.used_faults.server_crashes < setup.server_crashes {
            actions.push(Action::CrashServer);
        }
        if !self.is_server_up {
            actions.push(Action::RestartServer);
        }
        if self.is_server_up
            && !self.has_second_endpoint
            && self.used_faults.second_servers < setup.second_servers
        {
            actions.push(Action::AddSecondServer);
        }
        if self.has_second_endpoint {
            actions.push(Action::RemoveSecondServer);
        }
        if self.has_server_changed && self.accepted_early.is_none() {
            actions.push(Action::NoticeChange);
        }
        if self.is_server_up != self.goal_tracker.is_present(SERVER) {
            actions.push(Action::NoticePresence);
        } else if self.is_server_up
            && self.accepted_early.is_none()
            && self.used_faults.partitions < setup.partitions
        {
            actions.push(Action::Partition);
        }
        if self.used_faults.process_crashes < setup.process_crashes {
            actions.push(Action::CrashProcess);
        }
        if !self.is_adoption_allowed {
            actions.push(Action::AllowAdoption);
        }
        if self.has_delayed_effects {
            actions.push(Action::ReleaseEffects);
        } else if self.used_faults.delayed_effects < setup.delayed_effects {
            actions.push(Action::DelayEffects);
        }
        if self.accepted_early.is_some() {
            actions.push(Action::StoreGoal);
        } else if !self.has_delayed_effects && self.next_time().is_some() {
            actions.push(Action::Wait);
        }
        actions
    }

    /// The time of the next change without another action: a deadline, or the end of the search window.
    pub(super) fn next_time(&self) -> Option<Time> {
        let window = self
            .goal_tracker
            .adopts_until(SERVER)
            .filter(|until| *until >= NOW);
        let over = window.map(|until| until + Duration::from_secs(1));
        self.goal_tracker.next_deadline().into_iter().chain(over).min()
    }

    /// Whether the reader of the status topic is matched with a writer and lacks its latest list.
    pub(super) fn can_repeat_status(&self) -> bool {
        self.must_repeat_status && self.is_server_up && self.goal_tracker.is_present(SERVER)
    }
}
