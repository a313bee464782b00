//! Goals of an earlier run on a server: for how long they are looked for, and when they are stopped.

use std::time::Duration;

use crate::bt::Time;
use crate::goal::GoalId;

/// Goals of an earlier run that a server shows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Adoption {
    window: Window,
    delay: Duration,
    /// Those that its latest list shows active.
    left: Vec<GoalId>,
    /// From when on they are cancelled.
    due: Option<Time>,
}

/// Whether goals of an earlier run that a server shows are stopped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Window {
    /// Nobody asked for it.
    #[default]
    Off,
    /// So long from the first status list on that comes while the server is there. Until then nothing can be seen,
    /// however long the wire is cut, but what was on its way.
    Awaiting(Duration),
    /// Until then.
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

    /// A status list has come that shows these active. They are kept while they may not be stopped.
    pub(super) fn see(&mut self, left: Vec<GoalId>, present: bool, allowed: bool, now: Time) {
        if self.window == Window::Off || allowed && !self.look(present, now) {
            return;
        }
        if left.is_empty() {
            self.due = None;
        } else {
            self.due.get_or_insert(now + self.delay);
        }
        self.left = left;
    }

    /// Whether what a list shows of an earlier run is to be stopped.
    fn look(&mut self, present: bool, now: Time) -> bool {
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

    /// When goals are to be stopped, if they may be.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// The goals to be stopped now, if they may be.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<GoalId> {
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        self.due = None;
        std::mem::take(&mut self.left)
    }

    /// What the server shows from now on is new again: it was out of reach, or its goals were not to be stopped.
    pub(super) fn look_anew(&mut self) {
        if let Window::Open { length, .. } = self.window {
            self.window = Window::Awaiting(length);
        }
    }
}

#[cfg(test)]
impl Adoption {
    /// Until when new goals are looked for, where that has an end.
    pub(super) fn until(&self) -> Option<Time> {
        match self.window {
            Window::Open { until, .. } => Some(until),
            Window::Off | Window::Awaiting(_) => None,
        }
    }

    /// When a window was over makes no difference, nor when goals became due.
    pub(super) fn forget_history(&mut self, now: Time) {
        if let Window::Open { until, .. } = &mut self.window
            && *until < now
        {
            *until = Time::ZERO;
        }
        self.due = self.due.map(|due| due.max(now));
    }

    /// As if everything had happened that much earlier.
    pub(super) fn shift_back(&mut self, by: Duration) {
        let back = |time: Time| Time::from_nanos(time.as_nanos().saturating_sub(by.as_nanos() as u64));
        if let Window::Open { until, .. } = &mut self.window {
            *until = back(*until);
        }
        self.due = self.due.map(back);
    }
}
