//! The goals of one of our action servers.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{CancelCode, GoalId, GoalStatus, Selection, Stamp, TerminalStatus};
use crate::bt::Time;

/// Maximum number of goals of one server that have not ended. It bounds the memory for a client that sends goals in a
/// loop: while a tree is being read or a transform is missing, each goal is kept with its poses.
const MAX_ACTIVE: usize = 256;
/// Maximum number of kept results. The results of the goals that ended first are dropped as expired.
const MAX_RESULTS: usize = 1000;
/// Maximum number of waiting result requests for one goal. The oldest is dropped without an answer: an answer before the
/// end of the goal would be a false result. A client that repeats a request does not need the answer to its earlier one.
const MAX_WAITERS: usize = 100;

/// All goals of one action server, from acceptance to the expiry of the result.
///
/// `R` is the result. `W` is a waiting result request: the data with which the transport answers it later. The rules
/// are those of `rcl_action`: the goals that a cancel request selects, the code of the answer, and the answer for an
/// unknown goal. The retention of a result starts at the end of the goal and needs no expiry timer. The memory that
/// clients can use is bounded; rcl has no such bound.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GoalTable<R, W> {
    /// Time from the end of a goal until its result expires.
    retention: Duration,
    goals: BTreeMap<GoalId, TableGoal<R, W>>,
    /// Orders the status list by acceptance.
    accepted: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct TableGoal<R, W> {
    order: u64,
    stamp: Stamp,
    state: GoalState<R>,
    waiters: VecDeque<W>,
    /// Time from the end of the goal until its result expires.
    retention: Duration,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum GoalState<R> {
    Accepted,
    Executing,
    Canceling,
    Over {
        end: TerminalStatus,
        result: R,
        at: Time,
    },
}

impl<R> GoalState<R> {
    fn status(&self) -> GoalStatus {
        match self {
            Self::Accepted => GoalStatus::Accepted,
            Self::Executing => GoalStatus::Executing,
            Self::Canceling => GoalStatus::Canceling,
            Self::Over { end, .. } => end.status(),
        }
    }
}

impl<R, W> TableGoal<R, W> {
    /// The time of its end. `None` if it has not ended.
    fn ended_at(&self) -> Option<Time> {
        match self.state {
            GoalState::Over { at, .. } => Some(at),
            GoalState::Accepted | GoalState::Executing | GoalState::Canceling => None,
        }
    }
}

/// The reason why an operation on a goal is not possible.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum TableError {
    /// A goal with that id is already known: reject the request.
    #[error("a goal with this ID exists already")]
    Duplicate,
    /// Too many goals have not ended: reject the request.
    #[error("this server already has {MAX_ACTIVE} active goals")]
    TooMany,
    /// There is no goal with that id.
    #[error("no goal has this ID")]
    Unknown,
    /// The goal has ended.
    #[error("the goal has ended")]
    Over,
    /// A goal ends as cancelled only after an accepted cancel.
    #[error("the goal is not being cancelled")]
    NotCanceling,
}

/// The answer to a cancel request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CancelAnswer {
    /// The return code.
    pub code: CancelCode,
    /// The goals that are now cancelling because of this request, with the stamps of their acceptance.
    pub canceling: Vec<(GoalId, Stamp)>,
}

/// The answer to a result request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ResultAnswer<'a, R, W> {
    /// The goal has ended: answer now.
    Ready {
        /// The request.
        waiter: W,
        /// The terminal status.
        end: TerminalStatus,
        /// The result.
        result: &'a R,
    },
    /// The goal has not ended: [`GoalTable::finish`] returns the request later.
    Later,
    /// There is no such goal: answer now with status 0 and a default result, as rcl does.
    Unknown {
        /// The request.
        waiter: W,
    },
}

impl<R, W> GoalTable<R, W> {
    /// Creates an empty table. rcl keeps results for 10 s on Jazzy and for 15 min on earlier releases.
    pub fn new(retention: Duration) -> Self {
        Self {
            retention,
            goals: BTreeMap::new(),
            accepted: 0,
        }
    }

    /// Adds an accepted goal. `stamp` is for the answer and the status list. A server that rejects a goal does not call
    /// this.
    ///
    /// # Errors
    /// [`TableError::Duplicate`], [`TableError::TooMany`]: the request must be rejected.
    pub fn accept(&mut self, goal: GoalId, stamp: Stamp) -> Result<(), TableError> {
        if self.goals.contains_key(&goal) {
            return Err(TableError::Duplicate);
        }
        let active = self.goals.values().filter(|entry| entry.ended_at().is_none());
        if active.count() >= MAX_ACTIVE {
            return Err(TableError::TooMany);
        }
        self.accepted += 1;
        self.goals.insert(
            goal,
            TableGoal {
                order: self.accepted,
                stamp,
                state: GoalState::Accepted,
                waiters: VecDeque::new(),
                retention: self.retention,
            },
        );
        Ok(())
    }

    /// Limits the retention of the result of one goal.
    pub fn keep_for(&mut self, goal: GoalId, most: Duration) {
        if let Some(entry) = self.goals.get_mut(&goal) {
            entry.retention = entry.retention.min(most);
        }
    }

    /// Marks a goal as executing. A goal that is already cancelling stays cancelling.
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Over`].
    pub fn execute(&mut self, goal: GoalId) -> Result<(), TableError> {
        let entry = self.goals.get_mut(&goal).ok_or(TableError::Unknown)?;
        match entry.state {
            GoalState::Accepted => entry.state = GoalState::Executing,
            GoalState::Executing | GoalState::Canceling => {}
            GoalState::Over { .. } => return Err(TableError::Over),
        }
        Ok(())
    }

    /// Answers a cancel request. `allow` is called, oldest first, for each selected goal that can be cancelled
    /// (accepted or executing); those allowed become cancelling.
    pub fn cancel(&mut self, selection: Selection, mut allow: impl FnMut(GoalId) -> bool) -> CancelAnswer {
        let mut meant: Vec<GoalId> = Vec::new();
        for goal in self.in_order() {
            let Some(entry) = self.goals.get(&goal) else {
                continue;
            };
            let selected = match selection {
                Selection::All => true,
                Selection::AcceptedUntil(stamp) => entry.stamp <= stamp,
                Selection::Goal(wanted) => goal == wanted,
                Selection::GoalAndUntil(wanted, stamp) => goal == wanted || entry.stamp <= stamp,
            };
            if selected && matches!(entry.state, GoalState::Accepted | GoalState::Executing) {
                meant.push(goal);
            }
        }
        // Only a request for exactly one goal can fail to find it; any other request that selects no goal succeeds.
        if let (Selection::Goal(goal), true) = (selection, meant.is_empty()) {
            let code = if self.goals.contains_key(&goal) {
                CancelCode::GoalTerminated
            } else {
                CancelCode::UnknownGoal
            };
            return CancelAnswer {
                code,
                canceling: Vec::new(),
            };
        }
        let mut canceling = Vec::new();
        for goal in &meant {
            if allow(*goal)
                && let Some(entry) = self.goals.get_mut(goal)
            {
                entry.state = GoalState::Canceling;
                canceling.push((*goal, entry.stamp));
            }
        }
        let code = if canceling.is_empty() && !meant.is_empty() {
            CancelCode::Rejected
        } else {
            CancelCode::None
        };
        CancelAnswer { code, canceling }
    }

    /// Ends a goal and returns the result requests to answer now.
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Over`], and [`TableError::NotCanceling`] for an end as cancelled without
    /// an accepted cancel. A goal that is cancelling may still succeed or abort.
    pub fn finish(
        &mut self,
        goal: GoalId,
        end: TerminalStatus,
        result: R,
        now: Time,
    ) -> Result<Vec<W>, TableError> {
        let entry = self.goals.get_mut(&goal).ok_or(TableError::Unknown)?;
        match entry.state {
            GoalState::Over { .. } => return Err(TableError::Over),
            GoalState::Accepted | GoalState::Executing if end == TerminalStatus::Canceled => {
                return Err(TableError::NotCanceling);
            }
            GoalState::Accepted | GoalState::Executing | GoalState::Canceling => {}
        }
        entry.state = GoalState::Over { end, result, at: now };
        let waiters = std::mem::take(&mut entry.waiters);
        self.make_room_for_results();
        Ok(waiters.into())
    }

    fn make_room_for_results(&mut self) {
        let over = self
            .goals
            .iter()
            .filter_map(|(goal, entry)| Some((entry.ended_at()?, entry.order, *goal)));
        if over.clone().count() > MAX_RESULTS
            && let Some((_, _, first)) = over.min()
        {
            self.goals.remove(&first);
        }
    }

    /// Answers a result request, or keeps it until the goal ends.
    pub fn result(&mut self, goal: GoalId, waiter: W) -> ResultAnswer<'_, R, W> {
        match self.goals.get_mut(&goal) {
            None => ResultAnswer::Unknown { waiter },
            Some(entry) => match &entry.state {
                GoalState::Over { end, result, .. } => ResultAnswer::Ready {
                    waiter,
                    end: *end,
                    result,
                },
                GoalState::Accepted | GoalState::Executing | GoalState::Canceling => {
                    if entry.waiters.len() >= MAX_WAITERS {
                        entry.waiters.pop_front();
                    }
                    entry.waiters.push_back(waiter);
                    ResultAnswer::Later
                }
            },
        }
    }

    /// The content of the status topic, in the order of acceptance. Must be published after every change.
    pub fn statuses(&self) -> Vec<(GoalId, Stamp, GoalStatus)> {
        self.in_order()
            .into_iter()
            .filter_map(|goal| {
                let entry = self.goals.get(&goal)?;
                Some((goal, entry.stamp, entry.state.status()))
            })
            .collect()
    }

    /// The status of one goal. [`GoalStatus::Unknown`] for an unknown goal.
    pub fn status(&self, goal: GoalId) -> GoalStatus {
        self.goals
            .get(&goal)
            .map_or(GoalStatus::Unknown, |entry| entry.state.status())
    }

    /// Goals that have not ended, oldest first.
    pub fn active(&self) -> Vec<GoalId> {
        let mut goals = self.in_order();
        goals.retain(|goal| self.status(*goal).is_active());
        goals
    }

    /// Removes goals whose results have expired. True if there were any, because the status list has changed then.
    pub fn expire(&mut self, now: Time) -> bool {
        let before = self.goals.len();
        self.goals
            .retain(|_, entry| entry.ended_at().is_none_or(|at| at + entry.retention > now));
        self.goals.len() != before
    }

    /// The next time to call [`GoalTable::expire`].
    pub fn next_deadline(&self) -> Option<Time> {
        self.goals
            .values()
            .filter_map(|entry| Some(entry.ended_at()? + entry.retention))
            .min()
    }

    fn in_order(&self) -> Vec<GoalId> {
        let mut goals: Vec<_> = self
            .goals
            .iter()
            .map(|(goal, entry)| (entry.order, *goal))
            .collect();
        goals.sort_unstable();
        goals.into_iter().map(|(_, goal)| goal).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Table = GoalTable<&'static str, u8>;

    const A: GoalId = GoalId([1; 16]);
    const B: GoalId = GoalId([2; 16]);
    const C: GoalId = GoalId([3; 16]);

    fn stamp(seconds: i32) -> Stamp {
        Stamp::from_parts(seconds, 0)
    }

    /// A at 1 s, B at 2 s, C at 3 s, all executing.
    fn table() -> Table {
        let mut table = Table::new(Duration::from_secs(10));
        for (seconds, goal) in [(1, A), (2, B), (3, C)] {
            table.accept(goal, stamp(seconds)).unwrap();
            table.execute(goal).unwrap();
        }
        table
    }

    fn canceling(answer: &CancelAnswer) -> Vec<GoalId> {
        answer.canceling.iter().map(|(goal, _)| *goal).collect()
    }

    #[test]
    fn cancel_requests_mean_the_goals_that_rcl_says() {
        for (goal, time, expected) in [
            (GoalId::ZERO, Stamp::ZERO, vec![A, B, C]),
            (GoalId::ZERO, stamp(2), vec![A, B]),
            (GoalId::ZERO, stamp(0), vec![A, B, C]),
            (C, Stamp::ZERO, vec![C]),
            (C, stamp(1), vec![A, C]),
        ] {
            let selection = Selection::from_wire(goal, time);
            assert_eq!(selection.to_wire(), (goal, time));
            let answer = table().cancel(selection, |_| true);
            assert_eq!((answer.code, canceling(&answer)), (CancelCode::None, expected));
        }
    }

    #[test]
    fn cancel_codes_are_those_of_rcl() {
        let mut table = table();
        let code = |table: &mut Table, selection, allow: bool| table.cancel(selection, |_| allow).code;
        assert_eq!(code(&mut table, Selection::Goal(A), false), CancelCode::Rejected);
        assert_eq!(code(&mut table, Selection::All, false), CancelCode::Rejected);
        assert_eq!(code(&mut table, Selection::Goal(A), true), CancelCode::None);
        // Already cancelling, so not cancelable. rcl answers as if the goal had ended.
        assert_eq!(
            code(&mut table, Selection::Goal(A), true),
            CancelCode::GoalTerminated
        );
        table
            .finish(B, TerminalStatus::Succeeded, "b", Time::ZERO)
            .unwrap();
        assert_eq!(
            code(&mut table, Selection::Goal(B), true),
            CancelCode::GoalTerminated
        );
        assert_eq!(
            code(&mut table, Selection::Goal(GoalId([9; 16])), true),
            CancelCode::UnknownGoal
        );
        // A request for many goals that finds none does not fail.
        let mut empty = Table::new(Duration::ZERO);
        assert_eq!(code(&mut empty, Selection::All, true), CancelCode::None);
    }

    #[test]
    fn only_some_of_many_may_be_cancelled() {
        let mut table = table();
        let answer = table.cancel(Selection::All, |goal| goal == B);
        assert_eq!((answer.code, canceling(&answer)), (CancelCode::None, vec![B]));
        assert_eq!(table.status(A), GoalStatus::Executing);
        assert_eq!(table.status(B), GoalStatus::Canceling);
    }

    #[test]
    fn a_result_request_waits_for_the_end_and_later_ones_are_answered_at_once() {
        let mut table = table();
        assert_eq!(table.result(A, 1), ResultAnswer::Later);
        assert_eq!(table.result(A, 2), ResultAnswer::Later);
        assert_eq!(
            table.finish(A, TerminalStatus::Aborted, "a", Time::ZERO),
            Ok(vec![1, 2])
        );
        assert_eq!(
            table.result(A, 3),
            ResultAnswer::Ready {
                waiter: 3,
                end: TerminalStatus::Aborted,
                result: &"a"
            }
        );
        assert_eq!(
            table.result(GoalId([9; 16]), 4),
            ResultAnswer::Unknown { waiter: 4 }
        );
    }

    #[test]
    fn of_many_result_requests_for_one_goal_the_newest_hundred_wait() {
        let mut table = table();
        for waiter in 0..250_u8 {
            assert_eq!(table.result(A, waiter), ResultAnswer::Later);
        }
        assert_eq!(table.result(B, 0), ResultAnswer::Later);
        let waiters = table.finish(A, TerminalStatus::Aborted, "a", Time::ZERO).unwrap();
        assert!(waiters.into_iter().eq(150..250), "the first waiter first");
    }

    /// The id of a goal, and the result of accepting the goal.
    fn accepted(table: &mut Table, number: usize) -> Result<GoalId, TableError> {
        let mut id = [5; 16];
        id[..8].copy_from_slice(&number.to_be_bytes());
        table.accept(GoalId(id), stamp(1)).map(|()| GoalId(id))
    }

    #[test]
    fn no_more_goals_are_accepted_while_many_are_not_over() {
        let mut table = Table::new(Duration::from_secs(10));
        let first = accepted(&mut table, 0).unwrap();
        assert!((1..MAX_ACTIVE).all(|number| accepted(&mut table, number).is_ok()));
        assert_eq!(accepted(&mut table, MAX_ACTIVE), Err(TableError::TooMany));
        table
            .finish(first, TerminalStatus::Aborted, "", Time::ZERO)
            .unwrap();
        assert!(accepted(&mut table, MAX_ACTIVE).is_ok());
    }

    #[test]
    fn of_many_results_those_of_the_goals_that_ended_last_are_kept() {
        let mut table = Table::new(Duration::from_secs(900));
        let late = accepted(&mut table, 0).unwrap();
        let ended: Vec<GoalId> = (1..=3 * MAX_RESULTS)
            .map(|number| {
                let goal = accepted(&mut table, number).unwrap();
                let now = Time::from_millis(number as u64);
                table.finish(goal, TerminalStatus::Aborted, "", now).unwrap();
                goal
            })
            .collect();
        let known = |table: &Table| -> Vec<GoalId> {
            let all = table.statuses().into_iter();
            all.filter(|(_, _, status)| !status.is_active())
                .map(|(goal, _, _)| goal)
                .collect()
        };
        assert_eq!(known(&table), ended[2 * MAX_RESULTS..]);
        assert!(table.status(late).is_active());
        // The last to end, though accepted first.
        table
            .finish(late, TerminalStatus::Succeeded, "", Time::from_millis(3_600_000))
            .unwrap();
        assert_eq!(table.status(late), GoalStatus::Succeeded);
        assert_eq!(known(&table).len(), MAX_RESULTS);
    }

    #[test]
    fn a_goal_ends_once_and_as_cancelled_only_when_asked() {
        let mut table = table();
        assert_eq!(
            table.finish(A, TerminalStatus::Canceled, "", Time::ZERO),
            Err(TableError::NotCanceling)
        );
        let _ = table.cancel(Selection::Goal(A), |_| true);
        assert_eq!(table.execute(A), Ok(()));
        assert_eq!(table.status(A), GoalStatus::Canceling);
        assert_eq!(
            table.finish(A, TerminalStatus::Canceled, "", Time::ZERO),
            Ok(vec![])
        );
        assert_eq!(
            table.finish(A, TerminalStatus::Aborted, "", Time::ZERO),
            Err(TableError::Over)
        );
        assert_eq!(table.execute(A), Err(TableError::Over));
        assert_eq!(
            table.finish(GoalId([9; 16]), TerminalStatus::Aborted, "", Time::ZERO),
            Err(TableError::Unknown)
        );
        // A goal that is cancelling may still succeed.
        let _ = table.cancel(Selection::Goal(B), |_| true);
        assert_eq!(
            table.finish(B, TerminalStatus::Succeeded, "", Time::ZERO),
            Ok(vec![])
        );
        assert_eq!(table.active(), [C]);
    }

    #[test]
    fn results_are_kept_for_a_time_after_the_end_not_after_the_acceptance() {
        let mut table = table();
        assert_eq!(table.next_deadline(), None);
        table
            .finish(A, TerminalStatus::Succeeded, "a", Time::from_millis(60_000))
            .unwrap();
        assert_eq!(table.next_deadline(), Some(Time::from_millis(70_000)));
        assert!(!table.expire(Time::from_millis(69_999)));
        assert_eq!(table.statuses().len(), 3);
        assert!(table.expire(Time::from_millis(70_000)));
        assert_eq!(table.status(A), GoalStatus::Unknown);
        assert_eq!(table.next_deadline(), None);
        assert_eq!(table.result(A, 1), ResultAnswer::Unknown { waiter: 1 });
    }

    #[test]
    fn a_result_without_a_client_is_kept_for_a_shorter_time() {
        let mut table = table();
        let second = Duration::from_secs(1);
        table.keep_for(A, second);
        table.keep_for(B, 60 * second);
        for goal in [A, B] {
            table
                .finish(goal, TerminalStatus::Succeeded, "", Time::ZERO)
                .unwrap();
        }
        assert_eq!(table.next_deadline(), Some(Time::ZERO + second));
        assert!(table.expire(Time::ZERO + second));
        assert_eq!(table.next_deadline(), Some(Time::ZERO + 10 * second));
    }

    #[test]
    fn the_status_list_is_in_the_order_of_acceptance() {
        let mut table = Table::new(Duration::ZERO);
        table.accept(C, stamp(1)).unwrap();
        table.accept(A, stamp(2)).unwrap();
        assert_eq!(table.accept(A, stamp(3)), Err(TableError::Duplicate));
        table.execute(A).unwrap();
        assert_eq!(
            table.statuses(),
            [
                (C, stamp(1), GoalStatus::Accepted),
                (A, stamp(2), GoalStatus::Executing)
            ]
        );
    }
}
