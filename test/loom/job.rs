//! Tests of the data passed between a tick and the future of its job.

#[path = "../../src/job/cancel.rs"]
mod cancel;
#[path = "../../src/job/handle.rs"]
mod handle;

use loom::future::block_on;
use loom::thread;

use cancel::CancellationToken;
use handle::{Job, Progress};
use navtree::job::{BoxFuture, Spawn};

use crate::explore;

/// Runs each future on its own loom thread.
struct Threads;

impl Spawn for Threads {
    fn spawn(&self, future: BoxFuture) {
        thread::spawn(move || block_on(future));
    }
}

#[test]
fn a_cancel_ends_every_wait_on_its_token() {
    explore(|| {
        let token = CancellationToken::new();
        let waiting = token.clone();
        let waiter = thread::spawn(move || block_on(waiting.cancelled()));
        token.cancel();
        waiter.join().unwrap();
        assert!(token.is_cancelled());
    });
}

#[test]
fn a_cancel_wakes_all_waiting_tasks() {
    explore(|| {
        let token = CancellationToken::new();
        let waiters = [token.clone(), token.clone()]
            .map(|waiting| thread::spawn(move || block_on(waiting.cancelled())));
        token.cancel();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn a_result_arrives_once_and_complete() {
    explore(|| {
        let job = Job::start(&Threads, CancellationToken::new(), async { [7_u64; 4] });
        let mut results = 0;
        loop {
            match job.poll() {
                Progress::Running => thread::yield_now(),
                Progress::Done(result) => {
                    assert_eq!(result, [7; 4]);
                    results += 1;
                }
                Progress::Lost => break,
            }
        }
        assert_eq!(
            results, 1,
            "a job that was done is lost only after its result was taken"
        );
    });
}

#[test]
fn dropping_a_job_ends_its_future_in_every_state() {
    explore(|| {
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let (sender, seen) = crate::sync::mpsc::channel();
        let job = Job::start(&Threads, cancel, async move {
            token.cancelled().await;
            let _ = sender.send("cleaned up");
        });
        drop(job);
        assert_eq!(seen.recv_timeout(std::time::Duration::MAX), Ok("cleaned up"));
    });
}

#[test]
fn a_job_whose_future_is_dropped_is_lost() {
    explore(|| {
        let executor = |future: BoxFuture| {
            thread::spawn(move || drop(future));
        };
        let job = Job::start(&Elsewhere(executor), CancellationToken::new(), async { 7 });
        while job.poll() == Progress::Running {
            thread::yield_now();
        }
        assert_eq!(job.poll(), Progress::Lost);
    });
}

struct Elsewhere<F>(F);

impl<F: Fn(BoxFuture) + Send + Sync + 'static> Spawn for Elsewhere<F> {
    fn spawn(&self, future: BoxFuture) {
        (self.0)(future);
    }
}
