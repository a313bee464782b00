//! Checks whether the server of some clients is present, and notices when another one takes its place.

use std::collections::{BTreeMap, BTreeSet};

use super::node::Gid;

/// Checks whether the server of one client is present, and which server it is.
pub struct Probe {
    /// `None` if the graph cannot be read.
    pub(super) is_available: Box<dyn Fn() -> Option<bool> + Send>,
    /// The DDS topic of the server's answers.
    pub(super) replies: String,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Probe")
    }
}

/// The maximum number of checks of a server that answers but lacks endpoints: half a second of frequent checks.
const MAX_INCOMPLETE: u32 = 50;

/// The state of one probe.
struct ProbeState {
    probe: Probe,
    is_present: bool,
    /// The endpoints that answered when the server was last found, in the order in which they were found: a later one has a
    /// higher number. Those with the highest number are live. The others may be of a server that was killed.
    known: BTreeMap<Gid, u64>,
    /// The last check could not read the graph, or missed endpoints that may come back.
    is_unread: bool,
}

impl ProbeState {
    fn ask(&mut self) -> bool {
        // A graph that cannot be read, as when the memory is short for a moment, changes nothing.
        match (self.probe.is_available)() {
            Some(is_present) => self.is_present = is_present,
            None => self.is_unread = true,
        }
        self.is_present
    }

    /// Whether a live endpoint that answered when the server was found is still there, and no other one.
    ///
    /// rcl is asked only if no endpoint was found. When the lease on a dead server ends, its endpoints are removed one after
    /// the other, and in between rcl denies the live server as well: it compares their numbers.
    fn is_unchanged(&mut self, writers: Writers<'_>, is_graph_rebuilt: bool) -> bool {
        if self.known.is_empty() {
            return self.ask();
        }
        let Some(current) = writers(&self.probe.replies) else {
            // A graph that cannot be read shows no change.
            self.is_unread = true;
            return true;
        };
        if current.iter().any(|gid| !self.known.contains_key(gid)) {
            return false;
        }
        let live = self.known.values().max();
        let is_live = current.iter().any(|gid| self.known.get(gid) == live);
        self.is_unread |= !is_live && is_graph_rebuilt;
        is_live || is_graph_rebuilt
    }

    /// The server was found with these endpoints.
    fn find(&mut self, current: BTreeSet<Gid>) {
        let known = std::mem::take(&mut self.known);
        let next = known.values().max().map_or(0, |last| last + 1);
        let number = |gid: &Gid| known.get(gid).copied().unwrap_or(next);
        let numbered = current.into_iter().map(|gid| (gid.clone(), number(&gid)));
        self.known = numbered.collect();
    }
}

/// Finds the endpoints of a DDS topic. `None` if the graph cannot be read.
pub(super) type Writers<'a> = &'a dyn Fn(&str) -> Option<BTreeSet<Gid>>;

/// Watches the services of one server. Each query walks through the whole graph. So a check ends with the first answer
/// that is no.
///
/// A server that is killed and restarted is never absent: the graph keeps the endpoints of the dead one until its lease
/// ends, 20 s by default. So a new endpoint counts as a server that has disappeared and come back: requests to the dead
/// one are no longer answered.
pub(super) struct Watch {
    probes: Vec<ProbeState>,
    is_present: bool,
    /// What the last check has found, until it is reported.
    found: bool,
    /// The number of checks in which all queries were answered with yes and endpoints were missing.
    incomplete: u32,
    callback: Box<dyn FnMut(bool) + Send>,
}

impl Watch {
    pub(super) fn new(
        probes: impl IntoIterator<Item = Probe>,
        callback: impl FnMut(bool) + Send + 'static,
    ) -> Self {
        let state = |probe| ProbeState {
            probe,
            is_present: false,
            known: BTreeMap::new(),
            is_unread: false,
        };
        Self {
            probes: probes.into_iter().map(state).collect(),
            is_present: false,
            found: false,
            incomplete: 0,
            callback: Box::new(callback),
        }
    }

    /// Checks the server. [`Watch::report`] reports the result, after the messages that have arrived by now are handled.
    ///
    /// `is_graph_rebuilt`: endpoints that are missing may come back, so a server without them stays present.
    pub(super) fn look(&mut self, writers: Writers<'_>, is_graph_rebuilt: bool) {
        self.probes.iter_mut().for_each(|probe| probe.is_unread = false);
        self.found = if self.is_present {
            self.probes
                .iter_mut()
                .all(|probe| probe.is_unchanged(writers, is_graph_rebuilt))
        } else {
            self.probes
                .iter_mut()
                .all(|probe| probe.is_present || probe.ask())
                && self.is_complete(writers)
        };
    }

    /// Whether the server counts as present.
    pub(super) fn is_present(&self) -> bool {
        self.is_present
    }

    /// Whether the last check has found that the server is absent, and that is not reported yet.
    pub(super) fn has_found_absence(&self) -> bool {
        self.is_present && !self.found
    }

    /// Reports the result of the last check, if it has changed, and returns it then.
    pub(super) fn report(&mut self) -> Option<bool> {
        if self.found == self.is_present {
            return None;
        }
        self.is_present = self.found;
        if !self.is_present {
            // One service is absent: all must be found again.
            self.probes.iter_mut().for_each(|probe| probe.is_present = false);
        }
        (self.callback)(self.is_present);
        Some(self.is_present)
    }

    /// Whether to check again although the graph has not changed: it could not be read, or endpoints are missing.
    pub(super) fn is_undecided(&self) -> bool {
        self.incomplete > 0 || self.probes.iter().any(|probe| probe.is_unread)
    }

    /// Whether all endpoints of the present server are known; if so, stores them. Endpoints are discovered one after
    /// the other, and those of a dead server hide that some are missing. If some stay missing, the server counts as
    /// complete after [`MAX_INCOMPLETE`] checks. It is not complete while the graph cannot be read: a later server would
    /// not be told from this one.
    fn is_complete(&mut self, writers: Writers<'_>) -> bool {
        let current = self.probes.iter().map(|probe| writers(&probe.probe.replies));
        let Some(current) = current.collect::<Option<Vec<_>>>() else {
            for probe in &mut self.probes {
                (probe.is_present, probe.is_unread) = (false, true);
            }
            return false;
        };
        let mut counts = current.iter().map(BTreeSet::len);
        let first = counts.next();
        let equal = counts.all(|count| Some(count) == first);
        if !equal && self.incomplete < MAX_INCOMPLETE {
            self.incomplete += 1;
            // Query them again.
            self.probes.iter_mut().for_each(|probe| probe.is_present = false);
            return false;
        }
        self.incomplete = 0;
        for (probe, current) in self.probes.iter_mut().zip(current) {
            probe.find(current);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A service, and the number of queries for it.
    #[derive(Clone, Default)]
    struct Service {
        is_there: Arc<AtomicBool>,
        asked: Arc<AtomicUsize>,
    }

    impl Service {
        fn probe(&self, replies: &str) -> Probe {
            let service = self.clone();
            Probe {
                is_available: Box::new(move || {
                    service.asked.fetch_add(1, Ordering::Relaxed);
                    Some(service.is_there.load(Ordering::Relaxed))
                }),
                replies: replies.to_owned(),
            }
        }
    }

    fn gids(endpoints: &[u8]) -> BTreeSet<Gid> {
        endpoints.iter().map(|gid| Gid::from([*gid])).collect()
    }

    #[test]
    fn a_check_asks_until_the_first_no() {
        let services: [Service; 3] = Default::default();
        let unknown = |_: &str| Some(BTreeSet::new());
        let mut watch = Watch::new(services.iter().map(|service| service.probe("")), |_| {});
        let mut round = |there: [bool; 3]| {
            for (service, there) in services.iter().zip(there) {
                service.is_there.store(there, Ordering::Relaxed);
                service.asked.store(0, Ordering::Relaxed);
            }
            watch.look(&unknown, false);
            let asked = |service: &Service| service.asked.load(Ordering::Relaxed);
            (watch.report(), services.iter().map(asked).sum::<usize>())
        };
        assert_eq!(round([false; 3]), (None, 1));
        assert_eq!(round([false, true, true]), (None, 1));
        assert_eq!(round([true, true, false]), (None, 3));
        assert_eq!(
            round([true, true, false]),
            (None, 1),
            "two of three are not enough"
        );
        assert_eq!(round([true; 3]), (Some(true), 1));
        assert_eq!(round([true; 3]), (None, 3));
        assert_eq!(round([true, false, true]), (Some(false), 2));
        assert_eq!(round([true; 3]), (Some(true), 3));
    }

    /// A watch of a server with two services. Their dead predecessors stay on the graph, so every query is answered
    /// with yes. Each call does six checks of the endpoints and returns the reported changes.
    fn watched() -> impl FnMut(&[u8], &[u8]) -> Vec<bool> {
        let services: [Service; 2] = Default::default();
        services
            .iter()
            .for_each(|service| service.is_there.store(true, Ordering::Relaxed));
        let reported = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&reported);
        let probes = services.iter().zip(["goal", "result"]);
        let mut watch = Watch::new(
            probes.map(|(service, replies)| service.probe(replies)),
            move |present| sink.lock().unwrap().push(present),
        );
        move |goal: &[u8], result: &[u8]| {
            let writers = |topic: &str| {
                let of = if topic == "goal" { goal } else { result };
                (!of.is_empty()).then(|| gids(of))
            };
            for _ in 0..6 {
                watch.look(&writers, false);
                watch.report();
            }
            std::mem::take(&mut *reported.lock().unwrap())
        }
    }

    #[test]
    fn g6_a_server_that_was_killed_and_started_again_is_gone_and_back() {
        let mut check = watched();
        assert_eq!(check(&[1], &[2]), [true]);
        assert_eq!(check(&[1], &[2]), [false; 0]);
        assert_eq!(
            check(&[1, 3], &[2]),
            [false],
            "not all of the new one is known yet"
        );
        assert_eq!(check(&[1, 3], &[2, 4]), [true]);
        assert_eq!(
            check(&[3], &[4]),
            [false; 0],
            "the lease on the dead one has ended"
        );
        assert_eq!(check(&[3, 5], &[4, 6]), [false, true]);
        assert_eq!(
            check(&[3], &[4]),
            [false, true],
            "the new one has left, and the lease on its predecessor has not ended"
        );
    }

    /// rcl denies a server while it finds more endpoints of one kind than of the other.
    #[test]
    fn g6_a_server_stays_present_while_the_endpoints_of_a_dead_one_are_removed() {
        let service = Service::default();
        service.is_there.store(true, Ordering::Relaxed);
        let mut watch = Watch::new([service.probe("")], |_| {});
        let mut check = |endpoints: &[u8]| {
            watch.look(&|_| Some(gids(endpoints)), false);
            watch.report()
        };
        assert_eq!(check(&[1, 2]), Some(true));
        service.is_there.store(false, Ordering::Relaxed);
        assert_eq!(check(&[1, 2]), None);
        assert_eq!(check(&[2]), None);
        assert_eq!(check(&[]), Some(false));
    }

    /// Two servers of one name were started, and the second one has ended.
    #[test]
    fn g6_the_exit_of_a_server_is_noticed_after_another_one_has_come_and_gone() {
        let mut check = watched();
        assert_eq!(check(&[1], &[2]), [true]);
        assert_eq!(check(&[1, 3], &[2, 4]), [false, true], "the first one was killed");
        assert_eq!(check(&[1, 3, 5], &[2, 4, 6]), [false, true]);
        assert_eq!(check(&[1, 3], &[2, 4]), [false, true]);
        assert_eq!(check(&[1], &[2]), [false, true]);
    }

    /// A process that was stopped has removed the endpoints of all servers, and finds them again.
    #[test]
    fn g6_a_server_stays_present_while_the_graph_is_rebuilt() {
        let service = Service::default();
        service.is_there.store(true, Ordering::Relaxed);
        let mut watch = Watch::new([service.probe("")], |_| {});
        let mut check = |endpoints: &[u8], is_graph_rebuilt| {
            watch.look(&|_| Some(gids(endpoints)), is_graph_rebuilt);
            (watch.report(), watch.is_undecided())
        };
        assert_eq!(check(&[1], false), (Some(true), false));
        service.is_there.store(false, Ordering::Relaxed);
        assert_eq!(check(&[], true), (None, true));
        assert_eq!(check(&[1], true), (None, false));
        assert_eq!(check(&[1], false), (None, false));
        assert_eq!(check(&[], true), (None, true));
        assert_eq!(check(&[], false), (Some(false), false));
        service.is_there.store(true, Ordering::Relaxed);
        assert_eq!(check(&[1], true), (Some(true), false));
        assert_eq!(
            check(&[1, 2], true),
            (Some(false), false),
            "it was started again meanwhile"
        );
    }

    /// An empty list: the graph cannot be read.
    #[test]
    fn g6_a_restart_is_noticed_although_the_graph_could_not_be_read_before() {
        let mut check = watched();
        for _ in 0..MAX_INCOMPLETE {
            assert_eq!(
                check(&[], &[]),
                [false; 0],
                "it would not be known which one it is"
            );
        }
        assert_eq!(check(&[1], &[2]), [true]);
        assert_eq!(check(&[], &[]), [false; 0], "nothing has changed");
        assert_eq!(check(&[1, 3], &[2, 4]), [false, true]);
    }

    #[test]
    fn g6_a_server_is_not_complete_while_only_some_services_have_endpoints() {
        let services: [Service; 3] = Default::default();
        let probes = services.iter().zip(["goal", "cancel", "result"]);
        let mut watch = Watch::new(probes.map(|(service, name)| service.probe(name)), |_| {});
        let mut round = |endpoints: [u8; 3]| {
            services
                .iter()
                .for_each(|service| service.is_there.store(true, Ordering::Relaxed));
            let writers = |topic: &str| {
                let index = ["goal", "cancel", "result"]
                    .iter()
                    .position(|name| *name == topic)?;
                Some((0..endpoints[index]).map(|gid| Gid::from([gid])).collect())
            };
            watch.look(&writers, false);
            watch.report()
        };
        assert_eq!(
            round([0, 0, 1]),
            None,
            "the others have just vanished, or are not known yet"
        );
        assert_eq!(round([1, 1, 1]), Some(true));
    }

    #[test]
    fn g6_a_server_with_missing_endpoints_counts_as_present_after_a_while() {
        let mut check = watched();
        assert_eq!(
            check(&[1, 3], &[2]),
            [false; 0],
            "a dead one, and half of its successor"
        );
        assert_eq!(check(&[1, 3], &[2, 4]), [true]);
        assert_eq!(check(&[3, 5], &[4]), [false]);
        let reported: Vec<bool> = (0..MAX_INCOMPLETE).flat_map(|_| check(&[3, 5], &[4])).collect();
        assert_eq!(reported, [true]);
        assert_eq!(check(&[3, 5], &[4, 6]), [false, true]);
    }
}
