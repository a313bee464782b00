//! A client of one service, with its pending and unanswered requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{PendingRequests, Probe, RosError};

/// Sends a request, and returns its number.
type Sender = Box<dyn Fn(&dyn std::any::Any) -> Result<i64, RosError> + Send + Sync>;
type Done<R> = Box<dyn FnOnce(R) + Send>;

/// The number of unanswered requests of one client at which a new goal or call is refused: each is kept until its answer
/// comes.
pub(super) const MAX_UNANSWERED: usize = 1_000;

/// How often a full client still sends a request, to find out whether its server answers again.
const TRIAL_PERIOD: Duration = Duration::from_secs(10);

/// A client of one service. Sends from any thread; delivers the answers on the node's thread.
pub struct Caller<R> {
    send: Sender,
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
    pub(super) fn new(send: Sender, probe: Option<Probe>) -> Self {
        Self {
            send,
            pending: Arc::default(),
            probe,
            lives: Lives::default(),
        }
    }

    /// The function that delivers an answer, by the number of its request. Answers to unknown requests are dropped.
    pub(super) fn deliver(&self) -> impl FnMut(i64, R) + Send + use<R>
    where
        R: Send,
    {
        let pending = Arc::clone(&self.pending);
        move |number, answer| {
            // Not under the lock, because `done` may send another request.
            let done = lock(&pending).take_answered(number);
            if let Some(done) = done {
                done(answer);
            }
        }
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
        done: impl FnOnce(R) + Send + 'static,
    ) -> Result<(), RosError> {
        // Under the lock: the answer may arrive before the number is stored.
        let mut pending = lock(&self.pending);
        let number = (self.send)(request)?;
        pending.calls.push(PendingCall {
            key,
            life: self.lives.current(),
            number,
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

    /// Forgets the requests with a key: their answers are dropped. They still count as unanswered until then.
    pub fn forget(&self, key: u64) {
        let mut pending = lock(&self.pending);
        pending.forget(0, key);
        for call in pending.set_aside.iter_mut().filter(|call| call.key == key) {
            call.done = None;
            call.owed = !call.written_off;
        }
        pending.drop_useless();
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

    /// Whether there are unanswered requests to the present life of the server.
    pub fn awaits_answers(&self) -> bool {
        let life = self.lives.current();
        let pending = lock(&self.pending);
        let mut counted = pending.counted();
        counted.any(|call| call.life == life)
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
    /// Requests that are forgotten or written off.
    set_aside: Vec<PendingCall<R>>,
    written_off: u64,
    /// The time of the last request of a full client.
    trial: Option<Instant>,
}

impl<R> Default for Pending<R> {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            set_aside: Vec::new(),
            written_off: 0,
            trial: None,
        }
    }
}

struct PendingCall<R> {
    key: u64,
    /// The life of the server at the time of the request.
    life: u64,
    /// The number of the request.
    number: i64,
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

impl<R> Pending<R> {
    /// Removes an answered request, and returns what to do with the answer.
    fn take_answered(&mut self, number: i64) -> Option<Done<R>> {
        let is_it = |call: &PendingCall<R>| call.number == number;
        let Some(index) = self.calls.iter().position(is_it) else {
            let index = self.set_aside.iter().position(is_it)?;
            return self.set_aside.swap_remove(index).done;
        };
        let PendingCall { key, life, done, .. } = self.calls.remove(index);
        for call in &mut self.set_aside {
            call.settled |= call.key == key;
        }
        if self.unanswered() >= MAX_UNANSWERED {
            // The server answers again: it was restarted unnoticed, and does not know the old requests.
            self.write_off(life + 1);
        }
        done
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
        self.drop_useless();
    }

    /// Drops the requests that do not count and whose answers have no effect, and the oldest ones that were written off: a
    /// silent server may be restarted again and again. A goal of such a request is found by the list of its server.
    fn drop_useless(&mut self) {
        self.set_aside
            .retain(|call| call.done.is_some() || !call.written_off);
        let written_off = self.set_aside.iter().filter(|call| call.written_off).count();
        let mut surplus = written_off.saturating_sub(MAX_UNANSWERED);
        if surplus > 0 {
            self.set_aside.sort_unstable_by_key(|call| call.number);
            self.set_aside.retain(|call| {
                let is_kept = surplus == 0 || !call.written_off;
                surplus -= usize::from(!is_kept);
                is_kept
            });
        }
    }

    fn unanswered(&self) -> usize {
        self.counted().count()
    }

    /// The requests that count as unanswered.
    fn counted(&self) -> impl Iterator<Item = &PendingCall<R>> {
        self.calls
            .iter()
            .chain(self.set_aside.iter().filter(|call| call.owed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The open requests, by their numbers, and what delivers an answer.
    struct Server {
        questions: Arc<Mutex<Vec<i64>>>,
        deliver: Box<dyn FnMut(i64, u32)>,
    }

    impl Server {
        /// Answers the open request with this index.
        fn answer(&mut self, index: usize) {
            let number = self.questions.lock().unwrap().remove(index);
            (self.deliver)(number, 7);
        }

        fn open(&self) -> usize {
            self.questions.lock().unwrap().len()
        }
    }

    /// A caller whose server is the test.
    fn caller() -> (Caller<u32>, Server) {
        let questions: Arc<Mutex<Vec<i64>>> = Arc::default();
        let (asked, next) = (Arc::clone(&questions), AtomicU64::new(1));
        let send = Box::new(move |_: &dyn std::any::Any| {
            let number = next.fetch_add(1, Ordering::Relaxed) as i64;
            asked.lock().unwrap().push(number);
            Ok(number)
        });
        let caller = Caller::new(send, None);
        let deliver = Box::new(caller.deliver());
        (caller, Server { questions, deliver })
    }

    #[test]
    fn an_answer_is_delivered_once_and_a_forgotten_one_is_dropped() {
        let (caller, mut server) = caller();
        let told = Arc::new(Mutex::new(Vec::new()));
        for key in 0..3 {
            let told = Arc::clone(&told);
            caller
                .call(key, &(), move |answer| {
                    told.lock().unwrap().push((key, answer));
                })
                .unwrap();
        }
        caller.forget(1);
        assert_eq!(
            caller.pending_requests().unanswered,
            3,
            "the forgotten one may still be answered"
        );
        server.answer(1);
        server.answer(0);
        (server.deliver)(1, 8);
        (server.deliver)(99, 8);
        assert_eq!(*told.lock().unwrap(), [(0, 7)]);
        assert_eq!(caller.pending_requests().unanswered, 1);
    }

    #[test]
    fn result_requests_of_a_long_goal_do_not_count_as_unanswered() {
        let (caller, mut server) = caller();
        let now = Instant::now();
        for _ in 0..2 * MAX_UNANSWERED {
            caller.forget_but(7, 1);
            caller.call(1, &(), |_| {}).unwrap();
        }
        assert_eq!(caller.pending_requests().unanswered, 8);
        assert_eq!(caller.make_room(now), Ok(()));
        // The server answers them all when the goal ends.
        while server.open() > 0 {
            server.answer(0);
        }
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
        let (caller, mut server) = caller();
        for _ in 0..MAX_UNANSWERED + 50 {
            caller.forget_but(7, 1);
            caller.call(1, &(), |_| {}).unwrap();
        }
        server.answer(server.open() - 1);
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
        let (caller, mut server) = caller();
        let now = Instant::now();
        for key in 0..MAX_UNANSWERED as u64 {
            caller.make_room(now).unwrap();
            caller.call(key, &(), |_| {}).unwrap();
            caller.forget(key);
        }
        assert_eq!(caller.make_room(now), Err(RosError::Unanswered(MAX_UNANSWERED)));
        // A late answer makes room, also for a forgotten request.
        server.answer(5);
        assert_eq!(caller.make_room(now), Ok(()));
        assert_eq!(caller.pending_requests().unanswered, MAX_UNANSWERED - 1);
    }

    #[test]
    fn a_restarted_server_receives_requests_again() {
        let (caller, _server) = caller();
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
    fn requests_that_are_written_off_and_forgotten_use_no_memory() {
        let (caller, _server) = caller();
        let now = Instant::now();
        for life in 0..10 {
            for key in 0..MAX_UNANSWERED as u64 {
                caller.call(key, &(), |_| {}).unwrap();
                if life % 2 == 0 {
                    caller.forget(key);
                }
            }
            caller.lives().end();
            caller.make_room(now).unwrap();
            (0..MAX_UNANSWERED as u64).for_each(|key| caller.forget(key));
        }
        assert_eq!(lock(&caller.pending).set_aside.len(), 0);
        let pending_requests = PendingRequests {
            unanswered: 0,
            written_off: 10 * MAX_UNANSWERED as u64,
        };
        assert_eq!(caller.pending_requests(), pending_requests);
    }

    #[test]
    fn requests_that_are_written_off_use_bounded_memory() {
        let (caller, _server) = caller();
        let now = Instant::now();
        for key in 0..10 * MAX_UNANSWERED as u64 {
            caller.make_room(now).unwrap();
            caller.call(key, &(), |_| {}).unwrap();
            if key % 100 == 99 {
                caller.lives().end();
            }
        }
        assert!(lock(&caller.pending).set_aside.len() <= MAX_UNANSWERED);
    }

    #[test]
    fn the_answers_of_an_earlier_server_are_not_awaited() {
        let (caller, _server) = caller();
        caller.call(1, &(), |_| {}).unwrap();
        assert!(caller.awaits_answers());
        caller.forget(1);
        assert!(caller.awaits_answers());
        caller.lives().end();
        assert!(!caller.awaits_answers());
        assert_eq!(caller.pending_requests().unanswered, 1);
        caller.call(2, &(), |_| {}).unwrap();
        assert!(caller.awaits_answers());
    }

    #[test]
    fn an_unnoticed_restart_is_detected_by_trial_requests() {
        let (caller, mut server) = caller();
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
        server.answer(MAX_UNANSWERED);
        caller.make_room(begin + TRIAL_PERIOD).unwrap();
        assert_eq!(caller.pending_requests().written_off, MAX_UNANSWERED as u64);
        // G3: a goal of the first server that is accepted later is not missed.
        server.answer(3);
        assert_eq!(*told.lock().unwrap(), [9_999, 3]);
    }
}
