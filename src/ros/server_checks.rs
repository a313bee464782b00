//! When the servers of a node are checked.

use std::time::{Duration, Instant};

use super::node::writers;
use super::server_watch::{Found, Watch};

/// A check of the graph. Returns whether to check again soon.
type BusyCheck = Box<dyn FnMut(&r2r::Node) -> bool + Send>;

/// The checks whether servers are present, and their times.
pub(super) struct ServerChecks {
    watches: Vec<Watch>,
    /// The next check whether servers are present (`next`), the earliest time for it if the thread is awake for another
    /// reason (`earliest`), and the end of the phase with frequent checks (`fast_until`).
    next: Instant,
    earliest: Instant,
    fast_until: Instant,
    /// Checks of the graph for servers that may have a goal. Each returns whether its server has one.
    busy_checks: Vec<BusyCheck>,
    next_busy: Instant,
    is_busy: bool,
}

impl ServerChecks {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            watches: Vec::new(),
            next: now,
            earliest: now,
            fast_until: now,
            busy_checks: Vec::new(),
            next_busy: now,
            is_busy: false,
        }
    }

    /// Adds a server to watch.
    pub(super) fn watch(&mut self, watch: Watch) {
        self.watches.push(watch);
        self.check_fast();
    }

    /// Adds a check of a server that may have a goal.
    pub(super) fn watch_busy(&mut self, check: impl FnMut(&r2r::Node) -> bool + Send + 'static) {
        self.busy_checks.push(Box::new(check));
    }

    /// Starts frequent checks.
    pub(super) fn check_fast(&mut self) {
        let now = Instant::now();
        self.next = now;
        self.earliest = now;
        self.fast_until = now + FAST_CHECK_DURATION;
    }

    /// The times of the next checks.
    pub(super) fn due(&self) -> impl Iterator<Item = Instant> {
        let check = (!self.watches.is_empty()).then_some(self.next);
        let busy = self.is_busy.then_some(self.next_busy);
        check.into_iter().chain(busy)
    }

    /// Sends the queries that are due, before a spin. Returns whether the spin must not wait: a leaf may be waiting for
    /// an absent server, so the answer is read at once. For a present server, the answer can be read after the wait,
    /// which saves a second wait per check.
    pub(super) fn begin(&mut self, node: &r2r::Node, now: Instant) -> bool {
        let mut is_urgent = false;
        if self.earliest <= now {
            let fast = now < self.fast_until;
            self.next = now + if fast { FAST_CHECK_PERIOD } else { CHECK_PERIOD };
            self.earliest = now + if fast { FAST_CHECK_PERIOD } else { MIN_CHECK_PERIOD };
            let writers = |topic: &str| writers(node, topic);
            let mut replaced = false;
            for watch in &mut self.watches {
                replaced |= watch.begin(&writers);
            }
            if replaced {
                self.check_fast();
            }
            is_urgent = self.watches.iter().any(|watch| !watch.present);
        }
        if self.next_busy <= now {
            self.is_busy = false;
            for check in &mut self.busy_checks {
                self.is_busy |= check(node);
            }
            self.next_busy = now + BUSY_CHECK_PERIOD;
        }
        is_urgent
    }

    /// Reads the answers after a spin that began at `now`.
    pub(super) fn end(&mut self, node: &r2r::Node, now: Instant) {
        let mut gone = false;
        let writers = |topic: &str| writers(node, topic);
        for watch in &mut self.watches {
            match watch.end(&writers) {
                Found::Nothing | Found::Change(true) => {}
                Found::Hint => (self.next, self.earliest) = (now, now),
                Found::Change(false) => gone = true,
            }
        }
        if gone {
            self.check_fast();
        }
    }
}

/// The period of the checks for servers. The result is known at the end of the spin that sent the check. The absence of
/// a server that shuts down is detected within twice this period, which is less than the default time for a server's
/// answer; that of a killed server when the middleware's lease on it ends. Every check wakes the thread: ten per second
/// used 0.3 % of a core.
const CHECK_PERIOD: Duration = Duration::from_millis(400);
/// The same if the thread is awake for another reason: a check then costs little.
const MIN_CHECK_PERIOD: Duration = Duration::from_millis(250);
/// The same for servers that have a goal.
const BUSY_CHECK_PERIOD: Duration = Duration::from_millis(100);
/// The same during `FAST_CHECK_DURATION` after a server was opened or lost: a goal may be waiting for it.
const FAST_CHECK_PERIOD: Duration = Duration::from_millis(10);
/// The duration of frequent checks.
const FAST_CHECK_DURATION: Duration = Duration::from_secs(5);
