//! The search for goals of an earlier run on a server, and their cancels.

use std::time::Duration;

use crate::bt::Time;
use crate::goal::GoalId;

/// The goals of an earlier run that a server shows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Adoption {
    window: Window,
    delay: Duration,
    /// The active ones in its latest list.
    left: Vec<GoalId>,
    /// The time of their cancels.
    due: Option<Time>,
}

/// The search window for goals of an earlier run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Window {
    /// No search was requested.
    #[default]
    Off,
    /// The window of this length opens with the first status list that arrives while the server is present. Before
    /// that, however long the wire is cut, only old messages can arrive.
    Awaiting(Duration),
    /// The window is open until this time.
    Open { until: Time, length: Duration },
}

impl Adoption {
    pub(super) fn new(window: Duration, delay: Duration) -> Self {
        Self {
            window: Window::Awaiting(window),
            delay,
            ..Self::default()
        }
    }

    /// Handles a status list that shows these goals active. They are kept while adoption is not allowed.
    pub(super) fn see(&mut self, left: Vec<GoalId>, present: bool, allowed: bool, now: Time) {
        if self.window == Window::Off || allowed && !self.update_window(present, now) {
            return;
        }
        if left.is_empty() {
            self.due = None;
        } else {
            self.due.get_or_insert(now + self.delay);
        }
        self.left = left;
    }

    /// Whether goals of an earlier run in a list are to be cancelled.
    fn update_window(&mut self, present: bool, now: Time) -> bool {
        match self.window {
            Window::Off => false,
            Window::Awaiting(length) => {
                if present {
                    let until = now + length;
                    self.window = Window::Open { until, length };
                }
                true
            }
            Window::Open { until, .. } => now <= until,
        }
    }

    /// Whether goals may still be found, or wait for their cancels.
    pub(super) fn is_open(&self, now: Time) -> bool {
        self.due.is_some() || matches!(self.window, Window::Open { until, .. } if now <= until)
    }

    /// The time of the cancels, if adoption is allowed.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Takes the goals to cancel now, if adoption is allowed.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<GoalId> {
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        self.due = None;
        std::mem::take(&mut self.left)
    }

    /// Restarts the search: the server was out of reach, or adoption was not allowed.
    pub(super) fn reopen_window(&mut self) {
        if let Window::Open { length, .. } = self.window {
            self.window = Window::Awaiting(length);
        }
    }
}

#[cfg(test)]
impl Adoption {
    /// The end of the search window, if it has one.
    pub(super) fn until(&self) -> Option<Time> {
        match self.window {
            Window::Open { until, .. } => Some(until),
            Window::Off | Window::Awaiting(_) => None,
        }
    }

    /// Removes the times of a closed window and of goals that are due, which have no effect any more.
    pub(super) fn forget_history(&mut self, now: Time) {
        if let Window::Open { until, .. } = &mut self.window
            && *until < now
        {
            *until = Time::ZERO;
        }
        self.due = self.due.map(|due| due.max(now));
    }

    /// Shifts all times back by `by`.
    pub(super) fn shift_back(&mut self, by: Duration) {
        let back = |time: Time| Time::from_nanos(time.as_nanos().saturating_sub(by.as_nanos() as u64));
        if let Window::Open { until, .. } = &mut self.window {
            *until = back(*until);
        }
        self.due = self.due.map(back);
    }
}
