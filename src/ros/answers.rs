//! Sends answers to requests, and sends them again when the middleware refuses them.
//!
//! A client may see a service as ready before the service has discovered the client's reader for answers. A client with
//! an incompatible quality of service is never discovered. rmw_fastrtps then refuses the answer, and the client would
//! wait forever. With the profile of [`super::middleware`], it refuses at once. With a profile of the user, it first
//! waits for a tenth of a second within the call, which blocks the node's thread. An answer to a client that has left
//! the graph is taken and dropped, not refused.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use r2r::WrappedServiceTypeSupport;

use super::{Reply, RosError};
use crate::robot_name;
use crate::worker::{Refused, Worker};

/// The pause after the first refusal, doubled after each one: usually the reader is found within a few milliseconds.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The time after which an answer is abandoned: its client is gone, or belongs to another network.
const RETRY_TIMEOUT: Duration = Duration::from_secs(3);
/// The minimum number of attempts. If the process was stopped for longer than that time, with its container or by a
/// debugger, the middleware has not found the client either.
const MIN_ATTEMPTS: u32 = 8;

/// The maximum number of refused answers of one robot. It limits the memory for clients that request repeatedly and
/// cannot receive answers and, with a profile of the user, the time on the node's thread.
const MAX_REFUSED: usize = 64;

/// The maximum number of answers that wait for their first attempt. Further ones are dropped without notice to their
/// clients: each refusal may take a tenth of a second, so clients that cannot receive would fill the memory with
/// answers.
const MAX_QUEUED: usize = 4096;

/// The result of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Attempt {
    Sent,
    /// Worth another attempt.
    Refused(String),
    /// The service no longer exists.
    ServiceGone,
}

type SendAttempt = Box<dyn FnMut() -> Attempt + Send>;

/// Answers from a thread that may wait briefly: the node's own. Another thread repeats a refused answer.
pub(super) fn answer<S>(reply: Reply<S>, response: S::Response)
where
    S: WrappedServiceTypeSupport + 'static,
    S::Response: Send,
{
    let mut attempt = send_attempt(reply, response);
    if let Attempt::Refused(_) = attempt() {
        enqueue(attempt);
    }
}

/// Answers from a thread that must not wait, such as the tick thread.
pub(super) fn answer_later<S>(reply: Reply<S>, response: S::Response)
where
    S: WrappedServiceTypeSupport + 'static,
    S::Response: Send,
{
    enqueue(send_attempt(reply, response));
}

/// The time of the last answer.
static LAST: Mutex<Option<Instant>> = Mutex::new(None);

/// The time for the middleware to deliver an answer before the service that sent it ends. A client receives that end on
/// another socket than the answer, and drops messages of a service that it considers gone: on a machine with ten
/// processes per core, one in ten navigations that a signal ended had no result.
const DELIVERY_TIME: Duration = Duration::from_millis(150);

/// Waits, for `patience` at most, until every answer was sent, and then until the last one has had time to arrive. For
/// the end of a process.
pub(super) fn flush(patience: Duration) {
    send_all(patience);
    let last = *LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(last) = last {
        std::thread::sleep(DELIVERY_TIME.saturating_sub(last.elapsed()));
    }
}

fn send_all(patience: Duration) {
    let (done, all_sent) = mpsc::channel::<()>();
    if let Some(worker) = WORKER.get()
        && worker.has_thread()
        && worker.put(Task::Flush(done)).is_ok()
    {
        let _ = all_sent.recv_timeout(patience);
    }
}

fn send_attempt<S>(reply: Reply<S>, response: S::Response) -> SendAttempt
where
    S: WrappedServiceTypeSupport + 'static,
    S::Response: Send,
{
    let type_name = std::any::type_name::<S>();
    Box::new(move || match reply.send(&response) {
        Ok(()) => {
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            Attempt::Sent
        }
        Err(RosError::Down) => Attempt::ServiceGone,
        Err(error) => Attempt::Refused(format!("{type_name}: {error}")),
    })
}

/// The robot that answers.
type Robot = Option<Arc<str>>;

enum Task {
    Send(Robot, SendAttempt),
    Flush(Sender<()>),
}

/// The thread `answers`, one per process. It exists while there are answers to send.
static WORKER: OnceLock<Worker<Task>> = OnceLock::new();

fn enqueue(attempt: SendAttempt) {
    push(WORKER.get_or_init(start_worker), attempt);
}

/// An answer that panics is lost, and does not affect the others.
fn start_worker() -> Worker<Task> {
    let started = Instant::now();
    let mut unsent = Unsent::default();
    let report = |text: &str| tracing::error!("response dropped: it has panicked: {text}");
    let handle = move |task| {
        unsent.take(task, started.elapsed());
        let due = unsent.refused.next_due();
        due.map(|due| due.saturating_sub(started.elapsed()))
    };
    // For all robots, and not for the one that answers first.
    robot_name::with(None, || Worker::new("answers", MAX_QUEUED, report, handle))
}

/// Puts an answer into the queue. If its thread cannot be started, sends the answer at once: its client must not wait
/// forever.
fn push(worker: &Worker<Task>, attempt: SendAttempt) {
    match worker.put(Task::Send(robot_name::current(), attempt)) {
        Ok(()) | Err(Refused::NoThread(Task::Flush(_), _)) => {}
        Err(Refused::Full(_)) => {
            tracing::warn!("response dropped: {MAX_QUEUED} responses already wait to be sent");
        }
        Err(Refused::NoThread(Task::Send(_, attempt), error)) => send_now(attempt, &error),
    }
}

fn send_now(mut attempt: SendAttempt, error: &std::io::Error) {
    if let Attempt::Refused(reason) = attempt() {
        tracing::error!("response dropped: {reason}; the thread for another attempt did not start: {error}");
    }
}

/// What the thread has taken from the queue and could not send.
#[derive(Default)]
struct Unsent {
    refused: RefusedAnswers,
    /// Those that wait until all answers are sent.
    waiting_for_all: Vec<Sender<()>>,
}

impl Unsent {
    fn take(&mut self, task: Option<Task>, now: Duration) {
        match task {
            Some(Task::Send(robot, attempt)) => {
                if let Some(dropped) = self.refused.take(robot, attempt, now) {
                    let reason = &dropped.reason;
                    robot_name::with(dropped.robot.as_ref(), || {
                        tracing::warn!(
                            "response dropped: {MAX_REFUSED} responses already wait for their clients: {reason}"
                        );
                    });
                }
            }
            Some(Task::Flush(done)) => self.waiting_for_all.push(done),
            None => {}
        }
        // Try one, then read the queue again: a result must not wait for ten clients that cannot receive.
        if let Some(dropped) = self.refused.try_again(now) {
            let reason = &dropped.reason;
            robot_name::with(dropped.robot.as_ref(), || {
                tracing::warn!(
                    "response dropped after {RETRY_TIMEOUT:?}: it could not be sent to its client: {reason}"
                );
            });
        }
        if self.refused.0.is_empty() {
            self.waiting_for_all.clear();
        }
    }
}

/// The refused answers. All times are since the start of the thread.
#[derive(Default)]
struct RefusedAnswers(Vec<Waiting>);

struct Waiting {
    robot: Robot,
    attempt: SendAttempt,
    /// The reason of the last refusal.
    reason: String,
    first: Duration,
    due: Duration,
    pause: Duration,
    attempts: u32,
}

impl RefusedAnswers {
    /// Tries an answer and keeps it if it is refused. Returns another one that was dropped to make room.
    fn take(&mut self, robot: Robot, mut attempt: SendAttempt, now: Duration) -> Option<Waiting> {
        let Attempt::Refused(reason) = robot_name::with(robot.as_ref(), &mut attempt) else {
            return None;
        };
        let of_robot = (0..self.0.len()).filter(|index| self.0[*index].robot == robot);
        let is_full = of_robot.clone().count() >= MAX_REFUSED;
        // The one with the most refusals: most likely its client cannot receive.
        let worst = of_robot.max_by_key(|index| self.0[*index].attempts);
        let abandoned = worst.filter(|_| is_full).map(|worst| self.0.swap_remove(worst));
        self.0.push(Waiting {
            robot,
            attempt,
            reason,
            first: now,
            due: now + FIRST_PAUSE,
            pause: FIRST_PAUSE,
            attempts: 1,
        });
        abandoned
    }

    fn next_due(&self) -> Option<Duration> {
        self.0.iter().map(|waiting| waiting.due).min()
    }

    /// Tries the answer again that has been due for longest. Returns it if it is abandoned.
    fn try_again(&mut self, now: Duration) -> Option<Waiting> {
        let due = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, waiting)| waiting.due <= now);
        let (index, _) = due.min_by_key(|(_, waiting)| waiting.due)?;
        // Put back below: an attempt that panics is not made again.
        let mut waiting = self.0.swap_remove(index);
        waiting.attempts += 1;
        match robot_name::with(waiting.robot.as_ref(), &mut waiting.attempt) {
            Attempt::Sent => tracing::debug!("response sent at attempt {}", waiting.attempts),
            Attempt::ServiceGone => {}
            Attempt::Refused(reason) => {
                waiting.reason = reason;
                if now >= waiting.first + RETRY_TIMEOUT && waiting.attempts >= MIN_ATTEMPTS {
                    return Some(waiting);
                }
                waiting.pause *= 2;
                waiting.due = now + waiting.pause;
                self.0.push(waiting);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn an_answer_is_sent_although_its_thread_cannot_be_started() {
        let (attempt, tried) = taken_at(1);
        send_now(attempt, &std::io::ErrorKind::WouldBlock.into());
        assert_eq!(tried.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn g6_an_answer_is_tried_again_although_the_process_was_stopped_in_between() {
        let (attempt, tried) = taken_at(4);
        let mut refused = RefusedAnswers::default();
        refused.take(None, attempt, Duration::ZERO);
        let mut now = Duration::from_secs(60);
        while let Some(due) = refused.next_due() {
            now = now.max(due);
            assert!(refused.try_again(now).is_none());
        }
        assert_eq!(tried.load(Ordering::Relaxed), 4);
        assert!(now < Duration::from_secs(61), "{now:?}");
    }

    #[test]
    fn g8_an_attempt_that_panics_is_not_made_again() {
        let mut refused = RefusedAnswers::default();
        let mut attempts = 0;
        let attempt = move || {
            attempts += 1;
            assert_eq!(attempts, 1, "the second attempt");
            Attempt::Refused("nobody is there".to_owned())
        };
        refused.take(None, Box::new(attempt), Duration::ZERO);
        let again = std::panic::AssertUnwindSafe(|| refused.try_again(FIRST_PAUSE));
        assert!(std::panic::catch_unwind(again).is_err());
        assert_eq!(refused.next_due(), None);
    }

    /// An answer that is accepted at the given attempt, and its number of attempts.
    fn taken_at(number: usize) -> (SendAttempt, Arc<AtomicUsize>) {
        let tried = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tried);
        let attempt = Box::new(move || {
            if count.fetch_add(1, Ordering::Relaxed) + 1 >= number {
                Attempt::Sent
            } else {
                Attempt::Refused("nobody is there".to_owned())
            }
        });
        (attempt, tried)
    }

    /// The times of all attempts, in milliseconds, and the reasons of abandoned answers.
    fn run_through(attempt: SendAttempt) -> (Vec<u128>, Vec<String>) {
        let mut refused = RefusedAnswers::default();
        assert!(refused.take(None, attempt, Duration::ZERO).is_none());
        let (mut moments, mut abandoned) = (vec![0], Vec::new());
        while let Some(due) = refused.next_due() {
            moments.push(due.as_millis());
            abandoned.extend(refused.try_again(due).map(|waiting| waiting.reason));
        }
        (moments, abandoned)
    }

    #[test]
    fn a_refused_answer_is_sent_again_until_it_is_accepted() {
        let (attempt, tried) = taken_at(4);
        assert_eq!(run_through(attempt), (vec![0, 2, 6, 14], Vec::new()));
        assert_eq!(tried.load(Ordering::Relaxed), 4, "and never twice");
    }

    #[test]
    fn an_answer_that_is_always_refused_is_dropped() {
        let (attempt, _) = taken_at(usize::MAX);
        let (moments, abandoned) = run_through(attempt);
        assert_eq!(moments, [0, 2, 6, 14, 30, 62, 126, 254, 510, 1022, 2046, 4094]);
        assert_eq!(abandoned, ["nobody is there"]);
    }

    #[test]
    fn an_answer_is_not_sent_again_before_it_is_due() {
        let mut refused = RefusedAnswers::default();
        let (never, _) = taken_at(usize::MAX);
        let (second, tried) = taken_at(3);
        refused.take(None, never, Duration::ZERO);
        refused.take(None, second, FIRST_PAUSE / 2);
        assert!(refused.try_again(FIRST_PAUSE).is_none());
        assert_eq!(tried.load(Ordering::Relaxed), 1);
        refused.try_again(FIRST_PAUSE * 3 / 2);
        assert_eq!(tried.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn due_answers_are_sent_one_at_a_time_oldest_first() {
        let mut refused = RefusedAnswers::default();
        let answers: Vec<_> = (0..3).map(|_| taken_at(usize::MAX)).collect();
        let tried: Vec<_> = answers.iter().map(|(_, tried)| Arc::clone(tried)).collect();
        for (number, (attempt, _)) in (0..).zip(answers) {
            refused.take(None, attempt, Duration::from_millis(10 - number));
        }
        for expected in [[1, 1, 2], [1, 2, 2], [2, 2, 2], [2, 2, 2]] {
            refused.try_again(Duration::from_millis(20));
            let counts: Vec<_> = tried.iter().map(|tried| tried.load(Ordering::Relaxed)).collect();
            assert_eq!(counts, expected);
        }
    }

    #[test]
    fn the_number_of_refused_answers_is_bounded() {
        let mut refused = RefusedAnswers::default();
        for _ in 0..MAX_REFUSED {
            let (never, _) = taken_at(usize::MAX);
            assert!(refused.take(None, never, Duration::ZERO).is_none());
        }
        let (last, tried) = taken_at(usize::MAX);
        let dropped = refused.take(None, last, Duration::ZERO).unwrap();
        assert_eq!(dropped.reason, "nobody is there");
        assert_eq!(tried.load(Ordering::Relaxed), 1, "every answer is tried once");
    }

    #[test]
    fn refused_answers_of_one_robot_take_no_room_of_another() {
        let mut refused = RefusedAnswers::default();
        let robots = ["/r1/nav", "/r2/nav"].map(|name| Some(Arc::from(name)));
        let never = || taken_at(usize::MAX).0;
        // The only one of the second robot has the most refusals.
        refused.take(robots[1].clone(), never(), Duration::ZERO);
        refused.try_again(FIRST_PAUSE);
        for _ in 1..MAX_REFUSED {
            assert!(refused.take(robots[0].clone(), never(), FIRST_PAUSE).is_none());
        }
        refused.take(robots[0].clone(), never(), FIRST_PAUSE);
        let dropped = refused.take(robots[0].clone(), never(), FIRST_PAUSE).unwrap();
        assert_eq!(dropped.robot, robots[0]);
    }

    #[test]
    fn the_refused_answers_of_many_robots_are_all_kept() {
        let mut refused = RefusedAnswers::default();
        for robot in 0..2 * MAX_REFUSED {
            let robot = Some(Arc::from(format!("/r{robot}/nav").as_str()));
            assert!(
                refused
                    .take(robot, taken_at(usize::MAX).0, Duration::ZERO)
                    .is_none()
            );
        }
    }
}
