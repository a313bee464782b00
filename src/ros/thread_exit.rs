//! Exit status of the threads that own nodes.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The end of the first thread that has ended, and the functions to call then.
#[derive(Default)]
pub(super) struct ThreadExit(Mutex<ExitState>);

#[derive(Default)]
struct ExitState {
    /// The fault, if it was one. `None` while all threads run.
    end: Option<Result<(), String>>,
    callbacks: Vec<Box<dyn FnOnce() + Send>>,
}

impl std::fmt::Debug for ThreadExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ThreadExit").field(&self.result()).finish()
    }
}

impl ThreadExit {
    /// `None` while all threads run.
    pub(super) fn result(&self) -> Option<Result<(), String>> {
        self.lock().end.clone()
    }

    /// Calls `callback` when a thread ends, or at once if one has ended. The reason is in [`ThreadExit::result`].
    pub(super) fn on_exit(&self, callback: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.callbacks.push(Box::new(callback));
        } else {
            drop(state);
            callback();
        }
    }

    /// Records the end of a thread, with its fault if there was one. The first record stays.
    pub(super) fn record(&self, end: Result<(), String>) {
        let mut state = self.lock();
        state.end.get_or_insert(end);
        let callbacks = std::mem::take(&mut state.callbacks);
        drop(state);
        callbacks.into_iter().for_each(|callback| callback());
    }

    fn lock(&self) -> MutexGuard<'_, ExitState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn each_callback_is_called_once_and_gets_the_first_result() {
        let thread_exit = Arc::new(ThreadExit::default());
        let (sender, callbacks) = channel();
        let register = || {
            let (sender, exit) = (sender.clone(), Arc::clone(&thread_exit));
            thread_exit.on_exit(move || sender.send(exit.result()).unwrap());
        };
        register();
        assert!(thread_exit.result().is_none() && callbacks.try_recv().is_err());
        thread_exit.record(Err("a fault".to_owned()));
        thread_exit.record(Ok(()));
        register();
        let first = Some(Err("a fault".to_owned()));
        assert_eq!(callbacks.try_iter().collect::<Vec<_>>(), [first.clone(), first]);
    }
}
