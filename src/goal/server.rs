//! The other side: the goals of an action server of ours.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{CancelCode, End, GoalId, GoalStatus, Selection, Stamp};
use crate::bt::Time;

/// Every goal of one action server, from its acceptance until its result is no longer kept.
///
/// `R` is the result. `W` is a waiting result request: whatever the transport needs to answer it later.
/// The rules are those of `rcl_action`: which goals a cancel request means, which code answers it, and what
/// is said about an unknown goal. The lifetime of a result is counted from the end of the goal, and nothing
/// here needs an expiry timer to run on time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GoalTable<R, W> {
    /// How long a result is kept after its goal ended.
    retention: Duration,
    goals: BTreeMap<GoalId, TableGoal<R, W>>,
    /// Orders the status list by acceptance.
    accepted: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct TableGoal<R, W> {
    order: u64,
    stamp: Stamp,
    state: State<R>,
    waiters: Vec<W>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum State<R> {
    Accepted,
    Executing,
    Canceling,
    Over { end: End, result: R, at: Time },
}

impl<R> State<R> {
    fn status(&self) -> GoalStatus {
        match self {
            Self::Accepted => GoalStatus::Accepted,
            Self::Executing => GoalStatus::Executing,
            Self::Canceling => GoalStatus::Canceling,
            Self::Over { end, .. } => end.status(),
        }
    }
}

/// Why something cannot be done to a goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum TableError {
    /// A goal of that id is known already: reject the request.
    #[error("a goal of that id is known already")]
    Duplicate,
    /// No goal of that id.
    #[error("no goal of that id")]
    Unknown,
    /// The goal is over.
    #[error("the goal is over")]
    Over,
    /// A goal ends as cancelled only after a cancel was accepted.
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
    /// The goal is over: answer now.
    Ready {
        /// The request, handed back.
        waiter: W,
        /// How it ended.
        end: End,
        /// The result.
        result: &'a R,
    },
    /// The goal is not over: [`GoalTable::finish`] hands the request back.
    Later,
    /// No such goal: answer now with status 0 and a default result, as rcl does.
    Unknown {
        /// The request, handed back.
        waiter: W,
    },
}

impl<R, W> GoalTable<R, W> {
    /// An empty table. rcl keeps results for 10 s on Jazzy and for 15 min before.
    pub fn new(retention: Duration) -> Self {
        Self {
            retention,
            goals: BTreeMap::new(),
            accepted: 0,
        }
    }

    /// Takes a goal; `stamp` goes into the answer and the status list. A server that rejects a goal does not
    /// call this.
    ///
    /// # Errors
    /// [`TableError::Duplicate`]: the request must be rejected.
    pub fn accept(&mut self, goal: GoalId, stamp: Stamp) -> Result<(), TableError> {
        if self.goals.contains_key(&goal) {
            return Err(TableError::Duplicate);
        }
        self.accepted += 1;
        self.goals.insert(
            goal,
            TableGoal {
                order: self.accepted,
                stamp,
                state: State::Accepted,
                waiters: Vec::new(),
            },
        );
        Ok(())
    }

    /// Work on a goal begins. A goal that is cancelling already stays so.
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Over`].
    pub fn execute(&mut self, goal: GoalId) -> Result<(), TableError> {
        let entry = self.goals.get_mut(&goal).ok_or(TableError::Unknown)?;
        match entry.state {
            State::Accepted => entry.state = State::Executing,
            State::Executing | State::Canceling => {}
            State::Over { .. } => return Err(TableError::Over),
        }
        Ok(())
    }

    /// Answers a cancel request. `allow` is asked for each goal that the request means and that can be
    /// cancelled (accepted or executing), oldest first; those allowed are cancelling afterwards.
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
            if selected && matches!(entry.state, State::Accepted | State::Executing) {
                meant.push(goal);
            }
        }
        // Only a request for exactly one goal can miss it; any other that means nothing has done its work.
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
                entry.state = State::Canceling;
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

    /// Ends a goal and hands back the result requests that are to be answered with it now.
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Over`], and [`TableError::NotCanceling`] for an end as
    /// cancelled that nobody asked for. A goal that is cancelling may yet succeed or abort.
    pub fn finish(&mut self, goal: GoalId, end: End, result: R, now: Time) -> Result<Vec<W>, TableError> {
        let entry = self.goals.get_mut(&goal).ok_or(TableError::Unknown)?;
        match entry.state {
            State::Over { .. } => return Err(TableError::Over),
            State::Accepted | State::Executing if end == End::Canceled => {
                return Err(TableError::NotCanceling);
            }
            State::Accepted | State::Executing | State::Canceling => {}
        }
        entry.state = State::Over { end, result, at: now };
        Ok(std::mem::take(&mut entry.waiters))
    }

    /// Answers a result request, or keeps it until the goal is over.
    pub fn result(&mut self, goal: GoalId, waiter: W) -> ResultAnswer<'_, R, W> {
        match self.goals.get_mut(&goal) {
            None => ResultAnswer::Unknown { waiter },
            Some(entry) => match &entry.state {
                State::Over { end, result, .. } => ResultAnswer::Ready {
                    waiter,
                    end: *end,
                    result,
                },
                State::Accepted | State::Executing | State::Canceling => {
                    entry.waiters.push(waiter);
                    ResultAnswer::Later
                }
            },
        }
    }

    /// The content of the status topic, in the order of acceptance; to be published after every change.
    pub fn statuses(&self) -> Vec<(GoalId, Stamp, GoalStatus)> {
        self.in_order()
            .into_iter()
            .filter_map(|goal| {
                let entry = self.goals.get(&goal)?;
                Some((goal, entry.stamp, entry.state.status()))
            })
            .collect()
    }

    /// The status of one goal; [`GoalStatus::Unknown`] for one that is not known.
    pub fn status(&self, goal: GoalId) -> GoalStatus {
        self.goals
            .get(&goal)
            .map_or(GoalStatus::Unknown, |entry| entry.state.status())
    }

    /// Goals that are not over, oldest first.
    pub fn active(&self) -> Vec<GoalId> {
        let mut goals = self.in_order();
        goals.retain(|goal| self.status(*goal).is_active());
        goals
    }

    /// Forgets goals whose results have been kept long enough. True if there were any: the status list has
    /// changed.
    pub fn expire(&mut self, now: Time) -> bool {
        let before = self.goals.len();
        let retention = self.retention;
        self.goals.retain(|_, entry| match entry.state {
            State::Over { at, .. } => at + retention > now,
            State::Accepted | State::Executing | State::Canceling => true,
        });
        self.goals.len() != before
    }

    /// When [`GoalTable::expire`] has something to do next.
    pub fn next_deadline(&self) -> Option<Time> {
        self.goals
            .values()
            .filter_map(|entry| match entry.state {
                State::Over { at, .. } => Some(at + self.retention),
                State::Accepted | State::Executing | State::Canceling => None,
            })
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
