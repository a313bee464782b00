//! Checks whether the server of some clients is present, and notices when another one takes its place.

use std::collections::BTreeSet;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::node::Gid;

pub(super) type Register = Box<dyn Fn() -> Option<BoxFuture<'static, bool>> + Send>;

/// Checks whether the server of one client is present, and which server it is.
pub struct Probe {
    pub(super) register: Register,
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
/// The state of one probe. r2r only reports "became available", and only at the start of a spin. So a query without an
/// answer in the next spin means no. The query stays open, because a new one would be added to it, not replace it.
pub(super) struct ProbeState {
    probe: Probe,
    pending: Option<BoxFuture<'static, bool>>,
    present: bool,
    /// The endpoints that answered when the server was last found.
    known: BTreeSet<Gid>,
}

impl ProbeState {
    fn new(probe: Probe) -> Self {
        Self {
            probe,
            pending: None,
            present: false,
            known: BTreeSet::new(),
        }
    }

    fn ask(&mut self) {
        if self.pending.is_none() {
            self.pending = (self.probe.register)();
        }
    }

    /// Whether there is an endpoint that did not exist when the server was found.
    fn is_replaced(&self, writers: Writers<'_>) -> bool {
        !self.known.is_empty() && !writers(&self.probe.replies).is_subset(&self.known)
    }

    /// Whether the query was answered with yes. A query without an answer means that the server is absent.
    fn poll(&mut self) -> bool {
        let Some(pending) = &mut self.pending else {
            return false;
        };
        let answer = pending.now_or_never();
        self.present = answer == Some(true);
        if answer.is_some() {
            self.pending = None;
        }
        self.present
    }
}

/// Finds the endpoints of a DDS topic.
pub(super) type Writers<'a> = &'a dyn Fn(&str) -> BTreeSet<Gid>;

/// Watches the services of one server. Each query walks through the whole graph, and an open query does so in every
/// spin: with all three queries open for every absent server, they used half of the node's processor time. So one query
/// is open for all, in turn, until its answer changes.
///
/// A server that is killed and restarted is never absent: the graph keeps the endpoints of the dead one until its lease
/// ends, 20 s by default. So a new endpoint counts as a server that has disappeared and come back: requests to the dead
/// one are no longer answered.
pub(super) struct Watch {
    probes: Vec<ProbeState>,
    turn: usize,
    pub(super) present: bool,
    /// The number of checks in which all queries were answered with yes and endpoints were missing.
    incomplete: u32,
    callback: Box<dyn FnMut(bool) + Send>,
}

/// The result of [`Watch::end`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Nothing,
    /// More queries can be sent at once.
    Hint,
    Change(bool),
}

impl Watch {
    pub(super) fn new(
        probes: impl IntoIterator<Item = Probe>,
        callback: impl FnMut(bool) + Send + 'static,
    ) -> Self {
        Self {
            probes: probes.into_iter().map(ProbeState::new).collect(),
            turn: 0,
            present: false,
            incomplete: 0,
            callback: Box::new(callback),
        }
    }

    pub(super) fn is_query_open(&self) -> bool {
        self.probes.iter().any(|probe| probe.pending.is_some())
    }

    /// Sends the next query. Returns whether the server was replaced by another one.
    pub(super) fn begin(&mut self, writers: Writers<'_>) -> bool {
        if self.is_query_open() || self.probes.is_empty() {
            return false;
        }
        self.turn = (self.turn + 1) % self.probes.len();
        let Some(probe) = self.probes.get_mut(self.turn) else {
            return false;
        };
        let replaced = self.present && probe.is_replaced(writers);
        probe.ask();
        if replaced {
            self.change(false);
        }
        replaced
    }

    fn change(&mut self, present: bool) {
        self.present = present;
        if !present {
            // One service is absent: all must be found again.
            self.probes.iter_mut().for_each(|probe| probe.present = false);
        }
        (self.callback)(present);
    }

    /// Whether all endpoints of the present server are known; if so, stores them. Endpoints are discovered one after
    /// the other, and those of a dead server hide that some are missing. If some stay missing, the server counts as
    /// complete after [`MAX_INCOMPLETE`] checks.
    fn is_complete(&mut self, writers: Writers<'_>) -> bool {
        let current = self.probes.iter().map(|probe| writers(&probe.probe.replies));
        let current: Vec<_> = current.collect();
        let mut counts = current.iter().map(BTreeSet::len).filter(|count| *count > 0);
        let first = counts.next();
        let equal = counts.all(|count| Some(count) == first);
        if !equal && self.incomplete < MAX_INCOMPLETE {
            self.incomplete += 1;
            // Query them again.
            self.probes.iter_mut().for_each(|probe| probe.present = false);
            return false;
        }
        self.incomplete = 0;
        for (probe, current) in self.probes.iter_mut().zip(current) {
            probe.known = current;
        }
        true
    }

    pub(super) fn end(&mut self, writers: Writers<'_>) -> Found {
        let mut answered = false;
        for probe in &mut self.probes {
            answered |= probe.poll();
        }
        let mut present = self.probes.iter().all(|probe| probe.present);
        if present && !self.present {
            present = self.is_complete(writers);
            if !present {
                return Found::Nothing;
            }
        }
        if present != self.present {
            self.change(present);
            return Found::Change(present);
        }
        if answered && !present && !self.is_query_open() {
            let missing = self.probes.iter_mut().filter(|probe| !probe.present);
            missing.for_each(ProbeState::ask);
            return Found::Hint;
        }
        Found::Nothing
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use futures::channel::oneshot;

    use super::*;

    /// A fake of r2r's service: keeps the queries, and answers them when the service becomes available.
    #[derive(Clone, Default)]
    struct Service {
        waiting: Arc<Mutex<Vec<oneshot::Sender<bool>>>>,
        asked: Arc<AtomicUsize>,
    }

    impl Service {
        fn probe(&self) -> Probe {
            self.probe_named("")
        }

        fn probe_named(&self, replies: &str) -> Probe {
            let service = self.clone();
            let register = Box::new(move || {
                let (sender, receiver) = oneshot::channel();
                service.waiting.lock().unwrap().push(sender);
                service.asked.fetch_add(1, Ordering::Relaxed);
                Some(receiver.map(|answer| answer.unwrap_or(false)).boxed())
            });
            Probe {
                register,
                replies: replies.to_owned(),
            }
        }

        fn poll(&self, there: bool) {
            if there {
                for sender in self.waiting.lock().unwrap().drain(..) {
                    let _ = sender.send(true);
                }
            }
        }

        fn waiting(&self) -> usize {
            self.waiting.lock().unwrap().len()
        }
    }

    #[test]
    fn one_query_is_open_at_a_time_and_none_is_sent_twice() {
        let services: [Service; 3] = Default::default();
        let unknown = |_: &str| BTreeSet::new();
        let mut watch = Watch::new(services.iter().map(Service::probe), |_| {});
        let mut round = |there: [bool; 3]| {
            watch.begin(&unknown);
            for (service, there) in services.iter().zip(there) {
                service.poll(there);
            }
            watch.end(&unknown)
        };
        for _ in 0..5 {
            assert_eq!(round([false; 3]), Found::Nothing);
            assert_eq!(services.iter().map(Service::waiting).sum::<usize>(), 1);
        }
        assert_eq!(round([true, true, false]), Found::Hint);
        assert_eq!(
            round([true, true, false]),
            Found::Nothing,
            "two of three are not enough"
        );
        assert_eq!(round([true; 3]), Found::Change(true));
        let before: usize = services.iter().map(|s| s.asked.load(Ordering::Relaxed)).sum();
        for _ in 0..6 {
            assert_eq!(round([true; 3]), Found::Nothing);
        }
        let after: usize = services.iter().map(|s| s.asked.load(Ordering::Relaxed)).sum();
        assert_eq!(after - before, 6);
        assert_eq!(round([false; 3]), Found::Change(false));
        assert_eq!(round([false; 3]), Found::Nothing);
        assert_eq!(round([true; 3]), Found::Hint);
        assert_eq!(round([true; 3]), Found::Change(true));
    }

    /// A watch of a server with two services. Their dead predecessors stay on the graph, so every query is answered
    /// with yes. Each call does six checks of the endpoints and returns the reported changes.
    fn watched() -> impl FnMut(&[u8], &[u8]) -> Vec<bool> {
        let services: [Service; 2] = Default::default();
        let reported = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&reported);
        let probes = services.iter().zip(["goal", "result"]);
        let mut watch = Watch::new(
            probes.map(|(service, replies)| service.probe_named(replies)),
            move |present| sink.lock().unwrap().push(present),
        );
        move |goal: &[u8], result: &[u8]| {
            let writers = |topic: &str| {
                let of = if topic == "goal" { goal } else { result };
                of.iter().map(|gid| Gid::from([*gid])).collect()
            };
            for _ in 0..6 {
                watch.begin(&writers);
                services.iter().for_each(|service| service.poll(true));
                watch.end(&writers);
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
