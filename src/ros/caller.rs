//! A client of one service, with its pending and unanswered requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{PendingRequests, Probe, RosError};

pub(super) type Answer<R> = Result<R, RosError>;
pub(super) type Sender<R> =
    Box<dyn Fn(&dyn std::any::Any) -> Result<BoxFuture<'static, Answer<R>>, RosError> + Send + Sync>;
type Done<R> = Box<dyn FnOnce(Answer<R>) + Send>;

/// The number of unanswered requests of one client at which a new goal or call is refused. r2r keeps about a hundred
/// bytes for each until its answer comes, forever if none comes. Pending requests here are checked in every spin.
pub(super) const MAX_UNANSWERED: usize = 1_000;

/// How often a full client still sends a request, to find out whether its server answers again.
const TRIAL_PERIOD: Duration = Duration::from_secs(10);

/// A client of one service. Sends from any thread; delivers the answers on the node's thread.
pub struct Caller<R> {
    send: Sender<R>,
    pending: Arc<Mutex<Pending<R>>>,
    probe: Option<Probe>,
    lives: Lives,
}

/// How often the server of some clients has disappeared. A restarted server does not answer requests to the earlier
/// one.
#[derive(Clone, Debug, Default)]
pub struct Lives(Arc<AtomicU64>);

impl Lives {
    /// Records that the server has disappeared.
    pub fn end(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    fn current(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

impl<R> std::fmt::Debug for Caller<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Caller")
    }
}

impl<R: 'static> Caller<R> {
    pub(super) fn new(send: Sender<R>, probe: Option<Probe>) -> Self {
        Self {
            send,
            pending: Arc::default(),
            probe,
            lives: Lives::default(),
        }
    }

    /// The action after each spin: delivers the answers that have arrived. Returns whether there were any.
    pub(super) fn drain(&self) -> Box<dyn FnMut() -> bool + Send> {
        let pending = Arc::clone(&self.pending);
        Box::new(move || {
            let ready = lock(&pending).take_ready();
            let any = !ready.is_empty();
            for (answer, done) in ready {
                done(answer);
            }
            any
        })
    }

    /// Sends a request. `done` is called on the node's thread when the answer arrives, unless the request is forgotten
    /// before. Without an answer, `done` is never called.
    ///
    /// # Errors
    /// [`RosError::Send`]; then `done` is not called.
    pub fn call<Q: 'static>(
        &self,
        key: u64,
        request: &Q,
        done: impl FnOnce(Answer<R>) + Send + 'static,
    ) -> Result<(), RosError> {
        // Under the lock: the answer may arrive before the future is stored.
        let mut pending = lock(&self.pending);
        let future = (self.send)(request)?;
        pending.calls.push(PendingCall {
            key,
            life: self.lives.current(),
            future,
            done: Some(Box::new(done)),
            owed: true,
            settled: false,
            written_off: false,
        });
        Ok(())
    }

    /// Whether another request without a limit of its own may be sent. A full client may send one every `TRIAL_PERIOD`:
    /// the absence of a server that is killed and restarted may go unnoticed.
    ///
    /// # Errors
    /// [`RosError::Unanswered`].
    pub fn make_room(&self, now: Instant) -> Result<(), RosError> {
        let mut pending = lock(&self.pending);
        if pending.unanswered() >= MAX_UNANSWERED {
            pending.write_off(self.lives.current());
            pending.write_off_where(|call| call.settled);
        }
        let count = pending.unanswered();
        if count < MAX_UNANSWERED {
            pending.trial = None;
            return Ok(());
        }
        match pending.trial {
            Some(last) if now < last + TRIAL_PERIOD => Err(RosError::Unanswered(count)),
            before => {
                pending.trial = Some(now);
                before.map(|_| ()).ok_or(RosError::Unanswered(count))
            }
        }
    }

    /// Forgets the requests with a key: their answers are dropped. They still count as unanswered, because r2r keeps
    /// waiting.
    pub fn forget(&self, key: u64) {
        let mut pending = lock(&self.pending);
        pending.forget(0, key);
        for call in pending.set_aside.iter_mut().filter(|call| call.key == key) {
            call.done = None;
            call.owed = !call.written_off;
        }
    }

    /// Forgets all requests with a key except the newest `newest`. They request the same, and the server answers them
    /// together, so the older ones count as unanswered only after the last one is forgotten.
    pub fn forget_but(&self, newest: usize, key: u64) {
        lock(&self.pending).forget(newest, key);
    }

    /// The number of unanswered requests.
    pub fn pending_requests(&self) -> PendingRequests {
        let pending = lock(&self.pending);
        PendingRequests {
            unanswered: pending.unanswered(),
            written_off: pending.written_off,
        }
    }

    /// The counter to increase when the server disappears.
    pub fn lives(&self) -> Lives {
        self.lives.clone()
    }

    /// The probe for [`RosNode::watch`](super::RosNode::watch). `None` after the first call.
    pub fn take_probe(&mut self) -> Option<Probe> {
        self.probe.take()
    }
}

fn lock<R>(pending: &Mutex<Pending<R>>) -> MutexGuard<'_, Pending<R>> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Pending<R> {
    calls: Vec<PendingCall<R>>,
    /// Requests that are forgotten or written off; checked only every `SWEEP` spins.
    set_aside: Vec<PendingCall<R>>,
    written_off: u64,
    /// Spins since the last check of `set_aside`.
    spins: u32,
    /// The time of the last request of a full client.
    trial: Option<Instant>,
}

impl<R> Default for Pending<R> {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            set_aside: Vec::new(),
            written_off: 0,
            spins: 0,
            trial: None,
        }
    }
}

struct PendingCall<R> {
    key: u64,
    /// The life of the server at the time of the request.
    life: u64,
    future: BoxFuture<'static, Answer<R>>,
    /// `None` after the request was forgotten. Kept when it was written off: a goal that is accepted later must be
    /// cancelled (guarantee G3).
    done: Option<Done<R>>,
    /// Whether the request counts as unanswered.
    owed: bool,
    /// The request is forgotten, and a later request with the same key was answered: this one was answered too, or
    /// never will be.
    settled: bool,
    written_off: bool,
}

/// The period, in spins, of the checks of `set_aside`.
const SWEEP: u32 = 100;

impl<R> Pending<R> {
    fn take_ready(&mut self) -> Vec<(Answer<R>, Done<R>)> {
        let mut ready = Vec::new();
        self.spins += 1;
        if self.spins >= SWEEP {
            self.spins = 0;
            take_answered(&mut self.set_aside, &mut ready);
        }
        let answered = take_answered(&mut self.calls, &mut ready);
        let Some((_, life)) = answered.last() else {
            return ready;
        };
        for call in &mut self.set_aside {
            call.settled |= answered.iter().any(|(key, _)| *key == call.key);
        }
        if self.unanswered() >= MAX_UNANSWERED {
            // The server answers again: it was restarted unnoticed, and does not know the old requests.
            self.write_off(life + 1);
        }
        ready
    }

    fn forget(&mut self, newest: usize, key: u64) {
        let of_key = self.calls.iter().filter(|call| call.key == key).count();
        let mut left = of_key.saturating_sub(newest);
        let gone = self.calls.extract_if(.., |call| {
            let goes = call.key == key && left > 0;
            left -= usize::from(goes);
            goes
        });
        self.set_aside.extend(gone.map(|call| PendingCall {
            done: None,
            owed: false,
            ..call
        }));
    }

    /// Requests to earlier lives of the server no longer count.
    fn write_off(&mut self, life: u64) {
        let old = self.calls.extract_if(.., |call| call.life < life);
        self.set_aside.extend(old);
        self.write_off_where(|call| call.life < life);
    }

    fn write_off_where(&mut self, is_lost: impl Fn(&PendingCall<R>) -> bool) {
        for call in &mut self.set_aside {
            if call.owed && is_lost(call) {
                call.owed = false;
                call.written_off = true;
                self.written_off += 1;
            }
        }
    }

    fn unanswered(&self) -> usize {
        self.calls.len() + self.set_aside.iter().filter(|call| call.owed).count()
    }
}

/// Moves the answers that have arrived into `ready`. Returns the keys of their requests and the lives of the server at
/// the time of the request, in the order of the requests.
fn take_answered<R>(
    calls: &mut Vec<PendingCall<R>>,
    ready: &mut Vec<(Answer<R>, Done<R>)>,
) -> Vec<(u64, u64)> {
    let mut answered = Vec::new();
    calls.retain_mut(|call| match (&mut call.future).now_or_never() {
        Some(answer) => {
            answered.push((call.key, call.life));
            ready.extend(call.done.take().map(|done| (answer, done)));
            false
        }
        None => true,
    });
    answered
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::channel::oneshot;

    type Questions = Arc<Mutex<Vec<oneshot::Sender<u32>>>>;

    /// A caller whose server is the test.
    fn caller() -> (Caller<u32>, Questions) {
        let questions: Questions = Arc::default();
        let asked = Arc::clone(&questions);
        let send = Box::new(move |_: &dyn std::any::Any| {
            let (sender, receiver) = oneshot::channel();
            asked.lock().unwrap().push(sender);
            Ok(receiver.map(|answer| answer.map_err(|_| RosError::Down)).boxed())
        });
        (Caller::new(send, None), questions)
    }

    fn answer(questions: &Questions, index: usize) {
        let question = questions.lock().unwrap().remove(index);
        question.send(7).unwrap();
    }

    #[test]
    fn an_answer_is_delivered_once_and_a_forgotten_one_is_dropped() {
        let (caller, questions) = caller();
        let told = Arc::new(Mutex::new(Vec::new()));
        for key in 0..3 {
            let told = Arc::clone(&told);
            caller
                .call(key, &(), move |answer| {
                    told.lock().unwrap().push((key, answer.unwrap()));
                })
                .unwrap();
        }
        let mut drain = caller.drain();
        assert!(!drain());
        caller.forget(1);
        assert_eq!(
            caller.pending_requests().unanswered,
            3,
            "r2r waits for the forgotten one too"
        );
        answer(&questions, 1);
        answer(&questions, 0);
        assert!(drain() && !drain());
        assert_eq!(*told.lock().unwrap(), [(0, 7)]);
        for _ in 0..SWEEP {
            drain();
        }
        assert_eq!(caller.pending_requests().unanswered, 1);
    }

    #[test]
    fn result_requests_of_a_long_goal_do_not_count_as_unanswered() {
        let (caller, questions) = caller();
        let now = Instant::now();
        for _ in 0..2 * MAX_UNANSWERED {
            caller.forget_but(7, 1);
            caller.call(1, &(), |_| {}).unwrap();
        }
        assert_eq!(caller.pending_requests().unanswered, 8);
        assert_eq!(caller.make_room(now), Ok(()));
        // The server answers them all when the goal ends.
        questions
            .lock()
            .unwrap()
            .drain(..)
            .for_each(|question| question.send(7).unwrap());
        caller.drain()();
        assert_eq!(caller.pending_requests().unanswered, 0);
        // If the server had been restarted, they would count.
        for _ in 0..20 {
            caller.forget_but(7, 2);
            caller.call(2, &(), |_| {}).unwrap();
        }
        caller.forget(2);
        assert_eq!(caller.pending_requests().unanswered, 20);
    }

    #[test]
    fn lost_requests_to_a_restarted_server_do_not_block_later_goals() {
        let (caller, questions) = caller();
        for _ in 0..MAX_UNANSWERED + 50 {
            caller.forget_but(7, 1);
            caller.call(1, &(), |_| {}).unwrap();
        }
        let newest = questions.lock().unwrap().len() - 1;
        answer(&questions, newest);
        caller.drain()();
        caller.forget(1);
        assert!(
            caller.pending_requests().unanswered >= MAX_UNANSWERED,
            "they may still be answered"
        );
        assert_eq!(caller.make_room(Instant::now()), Ok(()));
        let pending_requests = caller.pending_requests();
        assert_eq!(
            pending_requests.unanswered as u64 + pending_requests.written_off,
            MAX_UNANSWERED as u64 + 49
        );
        assert!(pending_requests.unanswered < 10, "{pending_requests:?}");
    }

    #[test]
    fn unanswered_requests_are_counted_and_bounded() {
        let (caller, questions) = caller();
        let now = Instant::now();
        for key in 0..MAX_UNANSWERED as u64 {
            caller.make_room(now).unwrap();
            caller.call(key, &(), |_| {}).unwrap();
            caller.forget(key);
        }
        assert_eq!(caller.make_room(now), Err(RosError::Unanswered(MAX_UNANSWERED)));
        // A late answer makes room, also for a forgotten request.
        answer(&questions, 5);
        let mut drain = caller.drain();
        for _ in 0..SWEEP {
            drain();
        }
        assert_eq!(caller.make_room(now), Ok(()));
        assert_eq!(caller.pending_requests().unanswered, MAX_UNANSWERED - 1);
    }

    #[test]
    fn a_restarted_server_receives_requests_again() {
        let (caller, _questions) = caller();
        let now = Instant::now();
        for key in 0..MAX_UNANSWERED as u64 {
            caller.call(key, &(), |_| {}).unwrap();
        }
        assert!(caller.make_room(now).is_err());
        caller.lives().end();
        assert_eq!(caller.make_room(now), Ok(()));
        let pending_requests = PendingRequests {
            unanswered: 0,
            written_off: MAX_UNANSWERED as u64,
        };
        assert_eq!(caller.pending_requests(), pending_requests);
    }

    #[test]
    fn an_unnoticed_restart_is_detected_by_trial_requests() {
        let (caller, questions) = caller();
        let begin = Instant::now();
        let told = Arc::new(Mutex::new(Vec::new()));
        let ask = |key: u64| {
            let told = Arc::clone(&told);
            let done = move |_| told.lock().unwrap().push(key);
            caller.call(key, &(), done).unwrap();
        };
        (0..MAX_UNANSWERED as u64).for_each(ask);
        assert!(caller.make_room(begin).is_err());
        assert!(caller.make_room(begin + TRIAL_PERIOD / 2).is_err());
        caller.make_room(begin + TRIAL_PERIOD).unwrap();
        ask(9_999);
        assert!(caller.make_room(begin + TRIAL_PERIOD).is_err());
        answer(&questions, MAX_UNANSWERED);
        let mut drain = caller.drain();
        drain();
        caller.make_room(begin + TRIAL_PERIOD).unwrap();
        assert_eq!(caller.pending_requests().written_off, MAX_UNANSWERED as u64);
        // G3: a goal of the first server that is accepted later is not missed.
        answer(&questions, 3);
        for _ in 0..SWEEP {
            drain();
        }
        assert_eq!(*told.lock().unwrap(), [9_999, 3]);
    }
}
