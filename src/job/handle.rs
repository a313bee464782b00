//! The handle of a future that runs on an executor.

use std::future::Future;

use super::{BoxFuture, CancellationToken, Spawn};
use crate::sync::mpsc::{Receiver, TryRecvError, channel};

/// The progress of a job.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress<T> {
    /// The job has not ended.
    Running,
    /// The result. Returned once.
    Done(T),
    /// The executor dropped the job, or the job panicked.
    Lost,
}

/// The handle of a job: the only data that the tick and the running future share. Dropping it cancels the job.
#[derive(Debug)]
pub struct Job<T> {
    result: Receiver<T>,
    cancel: CancellationToken,
}

impl<T: Send + 'static> Job<T> {
    /// Starts a future on an executor.
    pub fn start<F>(executor: &dyn Spawn, cancel: CancellationToken, future: F) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (job, future) = Self::prepare(cancel, future);
        executor.spawn(future);
        job
    }

    /// Prepares a job without passing its future to an executor.
    pub(super) fn prepare<F>(cancel: CancellationToken, future: F) -> (Self, BoxFuture)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (sender, result) = channel();
        let future = Box::pin(async move {
            // Without a receiver the job was dropped, and its late result is discarded.
            let _ = sender.send(future.await);
        });
        (Self { result, cancel }, future)
    }

    /// Cancels the future. [`Job::poll`] still shows whether it has ended.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Whether the job is cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Returns the progress without waiting.
    pub fn poll(&self) -> Progress<T> {
        match self.result.try_recv() {
            Ok(result) => Progress::Done(result),
            Err(TryRecvError::Empty) => Progress::Running,
            Err(TryRecvError::Disconnected) => Progress::Lost,
        }
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::Local;
    use super::*;

    #[test]
    fn a_result_is_there_once() {
        let executor = Local::new();
        let job = Job::start(&executor, CancellationToken::new(), async { 7 });
        assert_eq!(job.poll(), Progress::Running);
        executor.run_until_stalled();
        assert_eq!(job.poll(), Progress::Done(7));
    }

    #[test]
    fn a_dropped_job_cancels_and_its_future_may_clean_up() {
        let executor = Local::new();
        let (sender, seen) = channel();
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let job = Job::start(&executor, cancel, async move {
            token.cancelled().await;
            let _ = sender.send("cleaned up");
        });
        executor.run_until_stalled();
        assert!(seen.try_recv().is_err());
        drop(job);
        executor.run_until_stalled();
        assert_eq!(seen.try_recv(), Ok("cleaned up"));
    }

    #[test]
    fn a_future_that_its_executor_drops_is_lost() {
        let refuse = |future: BoxFuture| drop(future);
        let job = Job::start(&refuse, CancellationToken::new(), async { 7 });
        assert_eq!(job.poll(), Progress::Lost);
    }

    #[test]
    fn a_token_cancels_a_waiting_future() {
        let executor = Local::new();
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let job = Job::start(&executor, CancellationToken::new(), async move {
            token.run(std::future::pending::<()>()).await
        });
        executor.run_until_stalled();
        assert_eq!(job.poll(), Progress::Running);
        cancel.cancel();
        executor.run_until_stalled();
        assert_eq!(job.poll(), Progress::Done(None));
    }
}
