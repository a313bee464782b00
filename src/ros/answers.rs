//! Answers to requests, given again when the middleware refuses them.
//!
//! A client may see a service as ready before the service has found the reader of the client's answers. The middleware
//! then waits for a tenth of a second, within the call, and refuses the answer: the client would wait for ever.

use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use r2r::{ServiceRequest, WrappedServiceTypeSupport};

/// After a refusal, and then each time twice as long: the reader is found within a few milliseconds, mostly.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// After so long an answer is given up: its client is gone, or not of this network.
const PATIENCE: Duration = Duration::from_secs(3);

/// What became of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Attempt {
    Given,
    /// Worth another one.
    Refused(String),
    /// The service is gone.
    Pointless,
}

type Give = Box<dyn FnMut() -> Attempt + Send>;

/// Answers from a thread that may wait a moment: the node's own. What is refused is given again from another thread.
pub(super) fn answer<S>(request: ServiceRequest<S>, response: S::Response)
where
    S: WrappedServiceTypeSupport + 'static,
    S::Response: Send,
{
    let mut give = giving(request, response);
    if let Attempt::Refused(_) = give() {
        hand_on(give);
    }
}

/// Answers from a thread that must not wait at all, such as the one that ticks.
pub(super) fn answer_later<S>(request: ServiceRequest<S>, response: S::Response)
where
    S: WrappedServiceTypeSupport + 'static,
    S::Response: Send,
{
    hand_on(giving(request, response));
}

/// Waits until every answer was tried at least once, at most so long: for the end of a process.
pub(super) fn flush(patience: Duration) {
    let (done, all_tried) = mpsc::channel::<()>();
    if let Some(Some(queue)) = QUEUE.get()
        && queue.send(Errand::Flush(done)).is_ok()
    {
        let _ = all_tried.recv_timeout(patience);
    }
}

fn giving<S>(mut request: ServiceRequest<S>, response: S::Response) -> Give
where
    S: WrappedServiceTypeSupport + 'static,
    S::Response: Send,
{
    let type_name = std::any::type_name::<S>();
    // Copied with each attempt, and of no use for it.
    request.message = S::Request::default();
    // The request is `Send`, its message need not be: the closure takes the whole of it.
    Box::new(move || {
        let request: &ServiceRequest<S> = &request;
        match request.clone().respond(response.clone()) {
            Ok(()) => Attempt::Given,
            Err(r2r::Error::RCL_RET_ACTION_SERVER_INVALID) => Attempt::Pointless,
            Err(error) => Attempt::Refused(format!("{type_name}: {error}")),
        }
    })
}

enum Errand {
    Give(Give),
    Flush(Sender<()>),
}

/// One thread a process, made when it is first needed; `None` where none could be had.
static QUEUE: OnceLock<Option<Sender<Errand>>> = OnceLock::new();

fn hand_on(give: Give) {
    let queue = QUEUE.get_or_init(|| {
        let (queue, errands) = mpsc::channel();
        std::thread::Builder::new()
            .name("answers".to_owned())
            .spawn(move || run(&errands))
            .map_err(|error| tracing::error!("no thread for answers: {error}"))
            .ok()
            .map(|_| queue)
    });
    if let Some(queue) = queue {
        let _ = queue.send(Errand::Give(give));
    }
}

fn run(errands: &Receiver<Errand>) {
    let started = Instant::now();
    let mut refused = Refused::default();
    loop {
        let received = match refused.next_due() {
            None => errands.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => errands.recv_timeout(due.saturating_sub(started.elapsed())),
        };
        match received {
            Ok(Errand::Give(give)) => refused.take(give, started.elapsed()),
            // Whatever came before it was tried when it was taken.
            Ok(Errand::Flush(done)) => drop(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        for reason in refused.try_again(started.elapsed()) {
            tracing::warn!("an answer is given up after {PATIENCE:?}, its client does not take it: {reason}");
        }
    }
}

/// The answers that were refused. Times are those since the thread's start.
#[derive(Default)]
struct Refused(Vec<Waiting>);

struct Waiting {
    give: Give,
    first: Duration,
    due: Duration,
    pause: Duration,
}

impl Refused {
    /// Tries an answer, and keeps it if it is refused.
    fn take(&mut self, mut give: Give, now: Duration) {
        if let Attempt::Refused(_) = give() {
            self.0.push(Waiting {
                give,
                first: now,
                due: now + FIRST_PAUSE,
                pause: FIRST_PAUSE,
            });
        }
    }

    fn next_due(&self) -> Option<Duration> {
        self.0.iter().map(|waiting| waiting.due).min()
    }

    /// Tries what is due again; the reasons of those that are given up.
    fn try_again(&mut self, now: Duration) -> Vec<String> {
        let mut given_up = Vec::new();
        self.0.retain_mut(|waiting| {
            if now < waiting.due {
                return true;
            }
            match (waiting.give)() {
                Attempt::Given | Attempt::Pointless => false,
                Attempt::Refused(reason) if now >= waiting.first + PATIENCE => {
                    given_up.push(reason);
                    false
                }
                Attempt::Refused(_) => {
                    waiting.pause *= 2;
                    waiting.due = now + waiting.pause;
                    true
                }
            }
        });
        given_up
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// An answer that is taken at the given attempt, and how often it was tried.
    fn taken_at(number: usize) -> (Give, Arc<AtomicUsize>) {
        let tried = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tried);
        let give = Box::new(move || {
            if count.fetch_add(1, Ordering::Relaxed) + 1 >= number {
                Attempt::Given
            } else {
                Attempt::Refused("nobody is there".to_owned())
            }
        });
        (give, tried)
    }

    /// Every moment at which something was tried, in milliseconds, and what was given up.
    fn run_through(give: Give) -> (Vec<u128>, Vec<String>) {
        let mut refused = Refused::default();
        refused.take(give, Duration::ZERO);
        let (mut moments, mut given_up) = (vec![0], Vec::new());
        while let Some(due) = refused.next_due() {
            moments.push(due.as_millis());
            given_up.extend(refused.try_again(due));
        }
        (moments, given_up)
    }

    #[test]
    fn an_answer_that_is_refused_is_given_again_until_it_is_taken() {
        let (give, tried) = taken_at(4);
        assert_eq!(run_through(give), (vec![0, 10, 30, 70], Vec::new()));
        assert_eq!(tried.load(Ordering::Relaxed), 4, "and never twice");
    }

    #[test]
    fn an_answer_that_nobody_takes_is_given_up() {
        let (give, _) = taken_at(usize::MAX);
        let (moments, given_up) = run_through(give);
        assert_eq!(moments, [0, 10, 30, 70, 150, 310, 630, 1270, 2550, 5110]);
        assert_eq!(given_up, ["nobody is there"]);
    }

    #[test]
    fn others_are_not_tried_before_their_time() {
        let mut refused = Refused::default();
        let (never, _) = taken_at(usize::MAX);
        let (second, tried) = taken_at(3);
        refused.take(never, Duration::ZERO);
        refused.take(second, Duration::from_millis(5));
        assert!(refused.try_again(Duration::from_millis(10)).is_empty());
        assert_eq!(tried.load(Ordering::Relaxed), 1);
        refused.try_again(Duration::from_millis(15));
        assert_eq!(tried.load(Ordering::Relaxed), 2);
    }
}
