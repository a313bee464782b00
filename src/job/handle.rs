//! A future that runs elsewhere, as its starter sees it.

use std::future::Future;

use super::{BoxFuture, CancellationToken, Spawn};
use crate::sync::mpsc::{Receiver, TryRecvError, channel};

/// What has become of a job.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress<T> {
    /// It goes on.
    Running,
    /// It is done. Said once.
    Done(T),
    /// It was dropped by its executor, or it panicked.
    Lost,
}

/// The only thing that the tick and a running future share. Dropping it cancels the job.
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

    /// A job whose future is yet to be handed to an executor.
    pub(super) fn prepare<F>(cancel: CancellationToken, future: F) -> (Self, BoxFuture)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (sender, result) = channel();
        let future = Box::pin(async move {
            // Nobody listens any more where the job was dropped: that is how a late result is kept out.
            let _ = sender.send(future.await);
        });
        (Self { result, cancel }, future)
    }

    /// Tells the future that its result is wanted no more; whether it has ended is still to be had from [`Job::poll`].
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Whether its result is wanted no more.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Looks, without waiting.
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
    fn a_token_ends_a_future_where_it_stands() {
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
