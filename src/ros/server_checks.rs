//! The checks of the graph for the servers of clients. The middleware has no callback for a change of the graph: the
//! checks ask whether it has changed, and read it only then.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::node::{Gid, Group, writers};
use super::rcl;
use super::server_watch::{Probe, Watch};

/// Watches the publishers of a server's topic while the server may have a goal.
struct PublisherWatch {
    topic: String,
    /// Whether the server may have a goal.
    is_busy: Box<dyn Fn() -> bool + Send>,
    changed: Box<dyn Fn() + Send>,
    /// The publishers of the last reading, and the number of changes of the graph then.
    known: Option<(u64, BTreeSet<Gid>)>,
    /// Whether the server had no goal at the last check.
    was_idle: bool,
}

impl PublisherWatch {
    /// Whether the server may have a goal. What has changed before its first goal does not count.
    fn is_busy(&mut self, changes: u64) -> bool {
        if !(self.is_busy)() {
            self.was_idle = true;
            return false;
        }
        if std::mem::take(&mut self.was_idle) && self.needs_reading(changes) {
            self.known = None;
        }
        true
    }

    /// Whether the graph, which has changed this number of times, has changed since the last reading.
    fn needs_reading(&self, changes: u64) -> bool {
        self.known.as_ref().is_none_or(|(at, _)| *at != changes)
    }

    fn look(&mut self, node: &rcl::Node, changes: u64) {
        let Ok(publishers) = node.publishers(&self.topic, false) else {
            return;
        };
        let found: BTreeSet<_> = publishers.into_iter().map(|one| one.gid).collect();
        let before = self.known.replace((changes, found.clone()));
        let before = before.map_or_else(|| found.clone(), |(_, before)| before);
        if !found.is_subset(&before) || found.is_empty() && !before.is_empty() {
            (self.changed)();
        }
    }
}

/// The time of a check that is repeated.
#[derive(Clone, Copy)]
struct CheckTime {
    /// The check comes from then on, if the thread is awake for another reason.
    earliest: Instant,
    /// The thread wakes for it.
    latest: Instant,
}

impl CheckTime {
    fn at(time: Instant) -> Self {
        Self {
            earliest: time,
            latest: time,
        }
    }

    /// A robot that drives receives transforms and odometry all the time: a check waits for such a message for half of its
    /// period. Without this, two fifths of the wake-ups of its thread were for these checks.
    fn within(now: Instant, period: Duration) -> Self {
        Self {
            earliest: now + period / 2,
            latest: now + period,
        }
    }
}

/// Notices that the process was stopped.
struct Pauses {
    last_look: Instant,
    /// What is left of the time after a pause in which the middleware finds the others again.
    rebuilding: Duration,
}

impl Pauses {
    /// Whether missing endpoints may come back, at a look at this time. The middleware finds nothing during a pause, so a
    /// short pause uses up only [`MIN_PAUSE`] of that time. It does not start the time again: a process that is stopped
    /// again and again would never report a missing server.
    fn is_graph_rebuilt(&mut self, now: Instant) -> bool {
        let gap = now.saturating_duration_since(std::mem::replace(&mut self.last_look, now));
        self.rebuilding = if gap > REBUILDING_TIME || gap > MIN_PAUSE && self.rebuilding.is_zero() {
            REBUILDING_TIME
        } else {
            self.rebuilding.saturating_sub(gap.min(MIN_PAUSE))
        };
        !self.rebuilding.is_zero()
    }
}

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
    next_check: CheckTime,
    fast_checks_until: Instant,
    /// The number of changes of the graph at the last check.
    changes: u64,
    /// The checks until then, and one after it, read the graph although it has not changed.
    unsettled_until: Option<Instant>,
    /// The next check of absent servers in a graph that has not changed.
    next_unprompted: Instant,
    pauses: Pauses,
    publisher_watches: Vec<(Option<Group>, PublisherWatch)>,
    next_publisher_check: CheckTime,
    /// Whether a server may have a goal.
    is_busy: bool,
}

impl ServerChecks {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            watches: Vec::new(),
            next_check: CheckTime::at(now),
            fast_checks_until: now,
            changes: 0,
            unsettled_until: None,
            next_unprompted: now,
            pauses: Pauses {
                last_look: now,
                rebuilding: Duration::ZERO,
            },
            publisher_watches: Vec::new(),
            next_publisher_check: CheckTime::at(now),
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
        is_busy: impl Fn() -> bool + Send + 'static,
        changed: impl Fn() + Send + 'static,
    ) {
        let watch = PublisherWatch {
            topic,
            is_busy: Box::new(is_busy),
            changed: Box::new(changed),
            known: None,
            was_idle: true,
        };
        self.publisher_watches.push((group, watch));
    }

    /// Ends the checks of a group.
    pub(super) fn end(&mut self, group: Group) {
        self.watches.retain(|(of, _)| *of != Some(group));
        self.publisher_watches.retain(|(of, _)| *of != Some(group));
    }

    /// Starts frequent checks: a server was opened or lost, and a leaf may be waiting for it.
    pub(super) fn check_soon(&mut self) {
        let now = Instant::now();
        self.next_check = CheckTime::at(now);
        self.fast_checks_until = now + FAST_CHECK_DURATION;
        self.unsettled_until = Some(now + SETTLING_TIME);
    }

    /// The time of the next check.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let check = (!self.watches.is_empty()).then_some(self.next_check.latest);
        let busy = self.is_busy.then_some(self.next_publisher_check.latest);
        check.into_iter().chain(busy).min()
    }

    /// Makes the checks that are due. [`ServerChecks::report`] reports what they have found.
    pub(super) fn look(&mut self, node: &rcl::Node, now: Instant) -> Found {
        let is_graph_rebuilt = self.pauses.is_graph_rebuilt(now);
        let mut is_due = self.next_check.earliest <= now && !self.watches.is_empty();
        let mut are_publishers_due = self.next_publisher_check.earliest <= now;
        let mut is_checked = false;
        if is_due || are_publishers_due {
            let changes = node.recent_graph_changes();
            // Most checks have nothing to read, so they take no turn.
            if is_due {
                self.set_next_check(now);
                is_due = self.needs_reading(changes, now);
            }
            if are_publishers_due {
                self.next_publisher_check = CheckTime::within(now, BUSY_CHECK_PERIOD);
                are_publishers_due = self.publishers_need_reading(changes);
            }
        }
        if is_due || are_publishers_due {
            let read = node.read_in_turn(|changes| {
                if is_due {
                    self.check_servers(node, changes, now, is_graph_rebuilt);
                    is_checked = true;
                }
                if are_publishers_due {
                    self.check_publishers(node, changes);
                }
            });
            if read.is_none() {
                self.wait_for_turn(is_due, are_publishers_due, now + TURN_PERIOD);
            }
        }
        Found {
            is_checked,
            is_absence: is_checked && self.watches.iter().any(|(_, watch)| watch.has_found_absence()),
        }
    }

    fn set_next_check(&mut self, now: Instant) {
        self.next_check = if now < self.fast_checks_until {
            CheckTime::at(now + FAST_CHECK_PERIOD)
        } else {
            CheckTime::within(now, CHECK_PERIOD)
        };
    }

    fn check_servers(&mut self, node: &rcl::Node, changes: u64, now: Instant, is_graph_rebuilt: bool) {
        if self.has_changed(changes) {
            self.changes = changes;
            self.unsettled_until = Some(now + SETTLING_TIME);
        }
        self.unsettled_until = self.unsettled_until.filter(|until| now < *until);
        let writers = |topic: &str| writers(node, topic);
        for (_, watch) in &mut self.watches {
            watch.look(&writers, is_graph_rebuilt);
        }
        self.next_unprompted = now + unprompted_pause(now.elapsed());
    }

    fn check_publishers(&mut self, node: &rcl::Node, changes: u64) {
        for (_, watch) in &mut self.publisher_watches {
            if watch.is_busy(changes) && watch.needs_reading(changes) {
                watch.look(node, changes);
            }
        }
    }

    /// Makes the checks that have to read the graph at this time instead.
    fn wait_for_turn(&mut self, is_due: bool, are_publishers_due: bool, at: Instant) {
        if is_due {
            self.next_check = CheckTime::at(at);
        }
        if are_publishers_due {
            self.next_publisher_check = CheckTime::at(at);
        }
    }

    /// Whether a check for servers has to read the graph, which has changed this number of times.
    fn needs_reading(&self, changes: u64, now: Instant) -> bool {
        let is_absent = |(_, watch): &(_, Watch)| !watch.is_present();
        self.has_changed(changes)
            || self.unsettled_until.is_some()
            || self.next_unprompted <= now && self.watches.iter().any(is_absent)
    }

    fn has_changed(&self, changes: u64) -> bool {
        self.changes != changes || self.watches.iter().any(|(_, watch)| watch.is_undecided())
    }

    fn publishers_need_reading(&mut self, changes: u64) -> bool {
        let mut need_reading = false;
        self.is_busy = false;
        for (_, watch) in &mut self.publisher_watches {
            if watch.is_busy(changes) {
                self.is_busy = true;
                need_reading |= watch.needs_reading(changes);
            }
        }
        need_reading
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

/// The process was stopped if the thread, which wakes every 0.5 s, did not wake for this long.
const MIN_PAUSE: Duration = Duration::from_secs(2);
/// The time after a pause in which missing endpoints may come back. When a process was stopped for longer than the lease on
/// others (20 s with Fast DDS), the middleware removes all of them at once when it goes on. It finds them again with their
/// announcements, which come every 3 s.
const REBUILDING_TIME: Duration = Duration::from_secs(6);
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
/// The same for servers that have a goal: longer than the period of most odometry, so that its messages bring the checks.
const BUSY_CHECK_PERIOD: Duration = Duration::from_millis(150);
/// The same during `FAST_CHECK_DURATION` after a server was opened or lost: a goal may be waiting for it.
const FAST_CHECK_PERIOD: Duration = Duration::from_millis(10);
/// The duration of frequent checks.
const FAST_CHECK_DURATION: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn g6_the_graph_is_rebuilt_for_a_while_after_a_pause() {
        let start = Instant::now();
        let mut pauses = Pauses {
            last_look: start,
            rebuilding: Duration::ZERO,
        };
        let mut looks = |times: &[f64]| -> Vec<bool> {
            let at = |time: &f64| start + Duration::from_secs_f64(*time);
            times
                .iter()
                .map(|time| pauses.is_graph_rebuilt(at(time)))
                .collect()
        };
        assert_eq!(looks(&[0.5, 1.0, 3.0]), [false; 3]);
        assert_eq!(
            looks(&[26.0, 28.0, 30.0, 31.5, 32.0]),
            [true, true, true, true, false]
        );
        let of_short_pauses = [35.0, 38.0, 40.5, 43.0, 46.0];
        assert_eq!(looks(&of_short_pauses), [true, true, true, false, true]);
        assert_eq!(looks(&[60.0, 72.0, 77.5]), [true; 3], "they are long");
        let of_two_pauses = [100.0, 100.05, 106.0, 108.0, 109.9, 110.0];
        assert_eq!(looks(&of_two_pauses), [true, true, true, true, true, false]);
    }

    #[test]
    fn g6_an_absent_server_is_looked_for_again_soon_however_long_a_check_has_taken() {
        let pauses =
            [1, 20, 60_000].map(|milliseconds| unprompted_pause(Duration::from_millis(milliseconds)));
        assert_eq!(pauses, [2, 4, 10].map(Duration::from_secs));
    }

    #[test]
    fn g6_the_graph_is_read_for_a_server_with_a_goal_at_first_and_after_a_change() {
        let is_busy = Arc::new(AtomicBool::new(false));
        let mut checks = ServerChecks::new();
        let busy = Arc::clone(&is_busy);
        checks.watch_publishers(
            None,
            "status".to_owned(),
            move || busy.load(Ordering::Relaxed),
            || (),
        );
        assert!(!checks.publishers_need_reading(1) && checks.next_due().is_none());
        is_busy.store(true, Ordering::Relaxed);
        assert!(checks.publishers_need_reading(1) && checks.next_due().is_some());
        let known = Some((1, BTreeSet::new()));
        checks
            .publisher_watches
            .iter_mut()
            .for_each(|(_, watch)| watch.known.clone_from(&known));
        assert!(!checks.publishers_need_reading(1) && checks.next_due().is_some());
        assert!(checks.publishers_need_reading(2));
        let known = |checks: &ServerChecks| {
            checks
                .publisher_watches
                .iter()
                .all(|(_, watch)| watch.known.is_some())
        };
        is_busy.store(false, Ordering::Relaxed);
        assert!(!checks.publishers_need_reading(1) && checks.next_due().is_none());
        is_busy.store(true, Ordering::Relaxed);
        assert!(!checks.publishers_need_reading(1) && known(&checks));
        assert!(
            checks.publishers_need_reading(2) && known(&checks),
            "its server may be gone"
        );
        is_busy.store(false, Ordering::Relaxed);
        assert!(!checks.publishers_need_reading(2));
        is_busy.store(true, Ordering::Relaxed);
        assert!(
            checks.publishers_need_reading(2) && !known(&checks),
            "the goal is of a new server"
        );
    }
}
