//! The checks of the graph for the servers of clients. The middleware has no callback for a change of the graph: the
//! checks ask whether it has changed, and read it only then.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::node::{Group, writers};
use super::rcl;
use super::server_watch::{Probe, Watch};

/// A check of the graph, with the number of its changes. Returns whether to check again soon.
type BusyCheck = Box<dyn FnMut(&rcl::Node, u64) -> bool + Send>;

/// What [`ServerChecks::look`] has found.
pub(super) struct Found {
    /// There is something to report.
    pub(super) is_checked: bool,
    /// A server that was present is absent.
    pub(super) is_absence: bool,
}

/// The watched servers of a node, and the times of their checks.
pub(super) struct ServerChecks {
    watches: Vec<(Option<Group>, Watch)>,
    /// The next check for servers, and the end of the phase with frequent checks.
    next_check: Instant,
    fast_checks_until: Instant,
    /// The number of changes of the graph at the last check.
    changes: u64,
    /// The checks until then, and one after it, read the graph although it has not changed.
    unsettled_until: Option<Instant>,
    /// The next check of absent servers in a graph that has not changed.
    next_unprompted: Instant,
    /// Checks of the graph for servers that may have a goal. Each returns whether its server has one.
    busy_checks: Vec<(Option<Group>, BusyCheck)>,
    next_busy_check: Instant,
    is_busy: bool,
}

impl ServerChecks {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            watches: Vec::new(),
            next_check: now,
            fast_checks_until: now,
            changes: 0,
            unsettled_until: None,
            next_unprompted: now,
            busy_checks: Vec::new(),
            next_busy_check: now,
            is_busy: false,
        }
    }

    /// Watches the servers of some clients; see [`RosNode::watch`](super::RosNode::watch).
    pub(super) fn watch(
        &mut self,
        group: Option<Group>,
        probes: impl IntoIterator<Item = Probe>,
        callback: impl FnMut(bool) + Send + 'static,
    ) {
        self.watches.push((group, Watch::new(probes, callback)));
        self.check_soon();
    }

    /// Watches the publishers of a server's topic; see
    /// [`RosNode::watch_publishers`](super::RosNode::watch_publishers).
    pub(super) fn watch_publishers(
        &mut self,
        group: Option<Group>,
        topic: String,
        busy: impl Fn() -> bool + Send + 'static,
        changed: impl Fn() + Send + 'static,
    ) {
        let mut known = None;
        let check = move |node: &rcl::Node, changes| {
            if !busy() {
                known = None;
                return false;
            }
            if known.as_ref().is_some_and(|(at, _)| *at == changes) {
                return true;
            }
            if let Ok(publishers) = node.publishers(&topic, false) {
                let found: BTreeSet<_> = publishers.into_iter().map(|one| one.gid).collect();
                let before = known.replace((changes, found.clone()));
                let before = before.map_or_else(|| found.clone(), |(_, before)| before);
                if !found.is_subset(&before) || found.is_empty() && !before.is_empty() {
                    changed();
                }
            }
            true
        };
        self.busy_checks.push((group, Box::new(check)));
    }

    /// Ends the checks of a group.
    pub(super) fn end(&mut self, group: Group) {
        self.watches.retain(|(of, _)| *of != Some(group));
        self.busy_checks.retain(|(of, _)| *of != Some(group));
    }

    /// Starts frequent checks: a server was opened or lost, and a leaf may be waiting for it.
    pub(super) fn check_soon(&mut self) {
        let now = Instant::now();
        self.next_check = now;
        self.fast_checks_until = now + FAST_CHECK_DURATION;
        self.unsettled_until = Some(now + SETTLING_TIME);
    }

    /// The time of the next check.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let check = (!self.watches.is_empty()).then_some(self.next_check);
        let busy = self.is_busy.then_some(self.next_busy_check);
        check.into_iter().chain(busy).min()
    }

    /// Makes the checks that are due. [`ServerChecks::report`] reports what they have found.
    pub(super) fn look(&mut self, node: &rcl::Node, now: Instant) -> Found {
        let is_due = self.next_check <= now && !self.watches.is_empty();
        let is_busy_due = self.next_busy_check <= now;
        let mut is_checked = false;
        if is_due || is_busy_due {
            let read = node.read_in_turn(|changes| {
                if is_due {
                    is_checked = self.check_servers(node, changes, now);
                }
                if is_busy_due {
                    self.check_busy_servers(node, changes, now);
                }
            });
            if read.is_none() {
                self.wait_for_turn(is_due, is_busy_due, now + TURN_PERIOD);
            }
        }
        Found {
            is_checked,
            is_absence: is_checked && self.watches.iter().any(|(_, watch)| watch.has_found_absence()),
        }
    }

    /// Returns whether the graph was read.
    fn check_servers(&mut self, node: &rcl::Node, changes: u64, now: Instant) -> bool {
        let fast = now < self.fast_checks_until;
        self.next_check = now + if fast { FAST_CHECK_PERIOD } else { CHECK_PERIOD };
        if !self.is_to_be_read(changes, now) {
            return false;
        }
        let writers = |topic: &str| writers(node, topic);
        for (_, watch) in &mut self.watches {
            watch.look(&writers);
        }
        self.next_unprompted = now + unprompted_pause(now.elapsed());
        true
    }

    fn check_busy_servers(&mut self, node: &rcl::Node, changes: u64, now: Instant) {
        self.is_busy = false;
        for (_, check) in &mut self.busy_checks {
            self.is_busy |= check(node, changes);
        }
        self.next_busy_check = now + BUSY_CHECK_PERIOD;
    }

    /// Makes the checks that are due at this time instead.
    fn wait_for_turn(&mut self, is_due: bool, is_busy_due: bool, at: Instant) {
        if is_due {
            self.next_check = at;
        }
        if is_busy_due {
            // Whether a server is busy is not known before the check.
            (self.is_busy, self.next_busy_check) = (true, at);
        }
    }

    /// Whether a check has to read the graph, which has changed this number of times.
    fn is_to_be_read(&mut self, changes: u64, now: Instant) -> bool {
        let mut watches = self.watches.iter();
        if self.changes != changes || watches.any(|(_, watch)| watch.is_undecided()) {
            self.changes = changes;
            self.unsettled_until = Some(now + SETTLING_TIME);
        }
        let is_unsettled = self.unsettled_until.is_some();
        self.unsettled_until = self.unsettled_until.filter(|until| now < *until);
        let is_absent = |(_, watch): &(_, Watch)| !watch.is_present();
        is_unsettled || self.next_unprompted <= now && self.watches.iter().any(is_absent)
    }

    /// Reports the changes that the last check has found.
    pub(super) fn report(&mut self) {
        let mut is_gone = false;
        for (_, watch) in &mut self.watches {
            is_gone |= watch.report() == Some(false);
        }
        if is_gone {
            self.check_soon();
        }
    }
}

fn unprompted_pause(check: Duration) -> Duration {
    check
        .saturating_mul(UNPROMPTED_SHARE)
        .clamp(UNPROMPTED_PERIOD, MAX_UNPROMPTED_PERIOD)
}

/// The graph knows an endpoint before the middleware has matched it with ours, and nothing tells of the match.
const SETTLING_TIME: Duration = Duration::from_secs(1);
/// The time after which a check asks again for its turn to read the graph.
pub(super) const TURN_PERIOD: Duration = Duration::from_millis(25);
/// The period of the checks of absent servers in a graph that has not changed, in case that a match takes longer than
/// [`SETTLING_TIME`].
const UNPROMPTED_PERIOD: Duration = Duration::from_secs(2);
/// Such a check is followed by a pause of at least this number of times its duration. It matters with a hundred robots in
/// one process, where a check of one walks through tens of thousands of endpoints.
const UNPROMPTED_SHARE: u32 = 200;
/// The maximum of that pause: the thread may have been without a processor during the check.
const MAX_UNPROMPTED_PERIOD: Duration = Duration::from_secs(10);
/// The period of the checks for servers. The absence of a server that shuts down is detected within twice this period,
/// which is less than the default time for a server's answer; that of a killed server when the middleware's lease on it
/// ends.
const CHECK_PERIOD: Duration = Duration::from_millis(400);
/// The same for servers that have a goal.
const BUSY_CHECK_PERIOD: Duration = Duration::from_millis(100);
/// The same during `FAST_CHECK_DURATION` after a server was opened or lost: a goal may be waiting for it.
const FAST_CHECK_PERIOD: Duration = Duration::from_millis(10);
/// The duration of frequent checks.
const FAST_CHECK_DURATION: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g6_an_absent_server_is_looked_for_again_soon_however_long_a_check_has_taken() {
        let pauses =
            [1, 20, 60_000].map(|milliseconds| unprompted_pause(Duration::from_millis(milliseconds)));
        assert_eq!(pauses, [2, 4, 10].map(Duration::from_secs));
    }
}
