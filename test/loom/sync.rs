//! The names of the library's `sync`, as loom has them.

pub(crate) use std::sync::PoisonError;

pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
pub(crate) use loom::thread;

/// `std::sync::mpsc` over loom's locks: loom's own knows neither that the other end is gone nor timeouts.
pub(crate) mod mpsc {
    use std::collections::VecDeque;
    use std::sync::Arc;
    pub(crate) use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError};
    use std::time::Duration;

    use loom::sync::{Condvar, Mutex, MutexGuard};

    struct Channel<T> {
        state: Mutex<State<T>>,
        condition: Condvar,
    }

    struct State<T> {
        queue: VecDeque<T>,
        senders: usize,
        received: bool,
    }

    impl<T> Channel<T> {
        fn lock(&self) -> MutexGuard<'_, State<T>> {
            self.state.lock().unwrap()
        }
    }

    pub(crate) struct Sender<T>(Arc<Channel<T>>);

    #[derive(Debug)]
    pub(crate) struct Receiver<T>(Arc<Channel<T>>);

    pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let channel = Arc::new(Channel {
            state: Mutex::new(State {
                queue: VecDeque::new(),
                senders: 1,
                received: true,
            }),
            condition: Condvar::new(),
        });
        (Sender(Arc::clone(&channel)), Receiver(channel))
    }

    impl<T> std::fmt::Debug for Channel<T> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Channel")
        }
    }

    impl<T> Sender<T> {
        pub(crate) fn send(&self, message: T) -> Result<(), SendError<T>> {
            let mut state = self.0.lock();
            if !state.received {
                drop(state);
                return Err(SendError(message));
            }
            state.queue.push_back(message);
            drop(state);
            self.0.condition.notify_all();
            Ok(())
        }
    }

    impl<T> Clone for Sender<T> {
        fn clone(&self) -> Self {
            self.0.lock().senders += 1;
            Self(Arc::clone(&self.0))
        }
    }

    impl<T> Drop for Sender<T> {
        fn drop(&mut self) {
            self.0.lock().senders -= 1;
            self.0.condition.notify_all();
        }
    }

    impl<T> Receiver<T> {
        pub(crate) fn try_recv(&self) -> Result<T, TryRecvError> {
            let mut state = self.0.lock();
            match state.queue.pop_front() {
                Some(message) => Ok(message),
                None if state.senders == 0 => Err(TryRecvError::Disconnected),
                None => Err(TryRecvError::Empty),
            }
        }

        pub(crate) fn recv(&self) -> Result<T, RecvError> {
            self.recv_timeout(Duration::MAX).map_err(|_| RecvError)
        }

        /// A timeout of nothing has passed already; any other never does.
        pub(crate) fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
            let mut state = self.0.lock();
            loop {
                if let Some(message) = state.queue.pop_front() {
                    return Ok(message);
                }
                if state.senders == 0 {
                    return Err(RecvTimeoutError::Disconnected);
                }
                if timeout == Duration::ZERO {
                    return Err(RecvTimeoutError::Timeout);
                }
                state = self.0.condition.wait(state).unwrap();
            }
        }
    }

    impl<T> Drop for Receiver<T> {
        fn drop(&mut self) {
            let mut state = self.0.lock();
            state.received = false;
            let left = std::mem::take(&mut state.queue);
            drop(state);
            // Outside of the lock: a message may hold the sender of another channel, or of this one.
            drop(left);
        }
    }
}
