//! One step of a world.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{Action, Message, NOW, REASON, SERVER, Seen, Setup, World};
use crate::bt::Time;
use crate::goal::{
    Command, Effect, GoalId, GoalIds, GoalTable, GoalTracker, Selection, TerminalStatus, Ticket, WireEvent,
};

/// The search window for goals of an earlier run. As with the other times, production has a longer one and the same
/// rule.
const SEARCH_WINDOW: Duration = Duration::from_secs(2);

impl World {
    pub(crate) fn act(&mut self, setup: &Setup, action: Action) {
        self.seen = Seen::default();
        match action {
            Action::Start => {
                self.started += 1;
                self.updated = 0;
                self.is_notified_of_cancel = false;
                let ticket = Ticket(self.started);
                self.running = Some((ticket, Duration::ZERO));
                self.command(Command::Start {
                    ticket,
                    server: SERVER,
                    leaf: Arc::from("leaf"),
                    payload: 0,
                    options: setup.options(),
                });
            }
            Action::Update => {
                self.used_faults.updates += 1;
                self.updated += 1;
                let payload = self.updated;
                if let Some((ticket, _)) = self.running {
                    self.command(Command::Update { ticket, payload });
                }
            }
            Action::Halt => {
                if let Some((ticket, _)) = self.running.take() {
                    self.finished.insert(ticket, Duration::ZERO);
                    // The tree drops earlier notices for this ticket, after the navigation has looked at them.
                    let effects = std::mem::take(&mut self.effects);
                    let mut has_read_cancel = false;
                    for effect in effects {
                        match effect {
                            Effect::Notify(notice) if notice.ticket() == ticket => {
                                self.record_told_cancel(&notice);
                                has_read_cancel |= notice.is_cancel();
                            }
                            effect => self.effects.push(effect),
                        }
                    }
                    if has_read_cancel {
                        self.command(Command::ReadCancel { ticket });
                    }
                    self.command(Command::Halt {
                        ticket,
                        reason: REASON,
                    });
                }
            }
            Action::Deliver(message) => {
                self.messages.remove(&message);
                self.deliver(message);
            }
            Action::Reject(goal) => {
                self.messages.remove(&Message::GoalRequest(goal));
                self.messages.insert(Message::Rejected(goal));
            }
            Action::Refuse(goal, attempt) => {
                self.messages.remove(&Message::CancelRequest(goal, attempt));
                let answer = self.table.cancel(Selection::Goal(goal), |_| false);
                self.answer_cancel(goal, attempt, answer.code);
            }
            Action::AcceptEarly(goal) => {
                self.used_faults.early_acceptances += 1;
                self.messages.remove(&Message::GoalRequest(goal));
                self.messages.insert(Message::Accepted(goal));
                self.accepted_early = Some(goal);
            }
            Action::StoreGoal => {
                if let Some(goal) = self.accepted_early.take() {
                    self.store_goal(goal);
                }
            }
            Action::Lose(message) => {
                self.used_faults.losses += 1;
                self.messages.remove(&message);
                self.must_repeat_status |= matches!(message, Message::Status(_));
            }
            Action::Repeat(message) => {
                self.used_faults.duplicates += 1;
                let repeated = match &message {
                    Message::CancelRequest(goal, attempt) => Some((*goal, *attempt)),
                    _ => None,
                };
                self.deliver(message);
                self.repeated_cancels.extend(repeated);
            }
            Action::RepeatStatus => self.publish_status(),
            Action::Finish(goal, end) => {
                // The server has not stopped the robot for the other client.
                self.untold_cancel = self
                    .untold_cancel
                    .filter(|untold| *untold != goal || end == TerminalStatus::Canceled);
                self.result_requests.remove(&goal);
                let waiters = self.table.finish(goal, end, 0, Time::ZERO).unwrap();
                for goal in waiters {
                    self.messages.insert(Message::Result(goal, end));
                }
                self.publish_status();
            }
            Action::CancelByAnother(goal) => {
                self.used_faults.foreign_cancels += 1;
                self.foreign_canceled.insert(goal);
                self.table.cancel(Selection::Goal(goal), |_| true);
                self.publish_status();
            }
            Action::DropResults => {
                self.used_faults.dropped_results += 1;
                self.table.expire(NOW);
                self.publish_status();
            }
            Action::CrashServer => {
                self.used_faults.server_crashes += 1;
                self.is_server_up = false;
                self.has_server_changed = false;
                self.accepted_early = None;
                self.table = GoalTable::new(Duration::ZERO);
                self.result_requests.clear();
                self.must_repeat_status = false;
            }
            Action::RestartServer => {
                self.is_server_up = true;
                self.has_server_changed = self.goal_tracker.is_present(SERVER);
                self.has_second_endpoint |= self.has_server_changed;
            }
            Action::AddSecondServer => {
                self.used_faults.second_servers += 1;
                (self.has_second_server, self.has_second_endpoint) = (true, true);
                self.has_server_changed = self.goal_tracker.is_present(SERVER);
            }
            Action::RemoveSecondServer => (self.has_second_server, self.has_second_endpoint) = (false, false),
            Action::AnswerFromSecondServer(message) => {
                self.messages.remove(&message);
                if let Message::CancelRequest(goal, attempt) = message {
                    let answer = self.table.cancel(Selection::Goal(goal), |_| true);
                    if !answer.canceling.is_empty() {
                        self.publish_status();
                    }
                    let unknown_goal_code = self.unknown_goal_code();
                    self.messages
                        .insert(Message::Canceled(goal, attempt, unknown_goal_code));
                }
            }
            Action::NoticeChange => self.lose_server(),
            Action::NoticePresence if self.is_server_up => {
                self.wire(WireEvent::ServerBack { server: SERVER });
            }
            Action::NoticePresence => self.lose_server(),
            Action::Partition => {
                self.used_faults.partitions += 1;
                self.lose_server();
            }
            Action::CrashProcess => self.crash_process(setup),
            Action::AllowAdoption => {
                self.is_adoption_allowed = true;
                self.command(Command::AllowAdoption { allowed: true });
            }
            Action::DelayEffects => {
                self.used_faults.delayed_effects += 1;
                self.has_delayed_effects = true;
            }
            Action::ReleaseEffects => {
                self.has_delayed_effects = false;
                self.run_tracker(|goal_tracker, out| goal_tracker.advance(NOW, out));
            }
            Action::Wait => self.wait(setup),
        }
        self.check(setup);
        self.simplify();
    }

    pub(super) fn lose_server(&mut self) {
        self.has_server_changed = false;
        self.wire(WireEvent::ServerGone { server: SERVER });
        self.has_status_list = false;
    }

    /// Removes state without further effect, so equal situations are the same state.
    pub(super) fn simplify(&mut self) {
        self.goal_tracker.forget_history(NOW);
        let live = self.goal_tracker.live_goals();
        let known = |goal: &GoalId| live.iter().any(|live| live.goal == *goal);
        self.finished
            .retain(|ticket, _| live.iter().any(|live| live.ticket == Some(*ticket)));
        let arriving: BTreeSet<GoalId> = self
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::GoalRequest(goal) | Message::Accepted(goal) => Some(*goal),
                _ => None,
            })
            .chain(self.accepted_early)
            .collect();
        let table = &self.table;
        self.messages.retain(|message| match message {
            Message::GoalRequest(_) | Message::Accepted(_) | Message::Status(_) => true,
            Message::CancelRequest(goal, _) => {
                known(goal) || arriving.contains(goal) || table.status(*goal).is_active()
            }
            Message::ResultRequest(goal)
            | Message::Rejected(goal)
            | Message::Canceled(goal, ..)
            | Message::Result(goal, _)
            | Message::ResultUnknown(goal) => known(goal) || arriving.contains(goal),
        });
        self.payloads
            .retain(|goal, _| known(goal) || arriving.contains(goal) || table.status(*goal).is_active());
        for goals in [
            &mut self.reported_slow,
            &mut self.abandoned,
            &mut self.accepted_late,
            &mut self.foreign_canceled,
        ] {
            goals.retain(|goal| known(goal) || arriving.contains(goal) || table.status(*goal).is_active());
        }
        self.stopped_activation = self
            .stopped_activation
            .filter(|stopped| matches!(self.running, Some((ticket, _)) if ticket == *stopped));
        self.is_notified_of_cancel &= self.running.is_some();
    }

    /// Crashes the process with the GoalTracker. Answers to it are lost; its requests are still under way. The next
    /// process must discover the server first, because the wire may be cut.
    pub(super) fn crash_process(&mut self, setup: &Setup) {
        self.used_faults.process_crashes += 1;
        self.running = None;
        self.finished.clear();
        self.has_delayed_effects = false;
        self.effects.clear();
        self.messages.retain(|message| {
            matches!(
                message,
                Message::GoalRequest(_) | Message::CancelRequest(..) | Message::ResultRequest(_)
            )
        });
        let run = u64::from(self.used_faults.process_crashes);
        self.goal_tracker = GoalTracker::new(GoalIds::new(1, run), setup.options());
        self.has_status_list = false;
        self.has_server_changed = false;
        self.is_adoption_allowed = false;
        self.accepted_late.clear();
        self.must_repeat_status = !self.table.statuses().is_empty();
        self.command(Command::Adopt {
            server: SERVER,
            window: SEARCH_WINDOW,
            delay: Duration::from_secs(1),
        });
    }

    pub(super) fn wait(&mut self, setup: &Setup) {
        let Some(due) = self.next_time() else {
            return;
        };
        let passed = due.since(NOW);
        // The GoalTracker does not wait longer for the answer to the first cancel.
        let is_answer_late = |goal: GoalId| {
            let mut messages = self.messages.iter();
            messages.any(|message| matches!(message, Message::Canceled(of, 1, _) if *of == goal))
        };
        self.untold_cancel = self.untold_cancel.filter(|goal| !is_answer_late(*goal));
        self.goal_tracker.shift_back(passed);
        if let Some((_, age)) = &mut self.running {
            *age += passed;
        }
        for age in self.finished.values_mut() {
            *age = (*age + passed).min(setup.max_tracking_time() + Duration::from_secs(1));
        }
        self.run_tracker(|goal_tracker, out| goal_tracker.advance(NOW, out));
        if self.goal_tracker.next_deadline() == Some(NOW) {
            self.violation = Some("a deadline that has been handled is due again");
        }
    }

    pub(super) fn command(&mut self, command: Command<u8>) {
        self.run_tracker(|goal_tracker, out| goal_tracker.command(command, NOW, out));
    }

    pub(super) fn wire(&mut self, event: WireEvent<u8>) {
        self.run_tracker(|goal_tracker, out| goal_tracker.wire(event, NOW, out));
    }

    pub(super) fn run_tracker(&mut self, input: impl FnOnce(&mut GoalTracker<u8>, &mut Vec<Effect<u8>>)) {
        input(&mut self.goal_tracker, &mut self.effects);
        if !self.has_delayed_effects {
            let out = std::mem::take(&mut self.effects);
            let read = out.iter().filter_map(|effect| match effect {
                Effect::Notify(notice) if notice.is_cancel() => Some(notice.ticket()),
                _ => None,
            });
            let read: Vec<_> = read.collect();
            self.apply_effects(out);
            for ticket in read {
                self.command(Command::ReadCancel { ticket });
            }
        }
    }
}
