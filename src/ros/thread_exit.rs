//! Exit status of the threads that own nodes.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The end of the first thread that has ended, and the functions to call then.
#[derive(Default)]
pub(super) struct ThreadExit(Mutex<ExitState>);

#[derive(Default)]
struct ExitState {
    /// The fault, if it was one. `None` while all threads run.
    end: Option<Result<(), String>>,
    tell: Vec<Box<dyn FnOnce() + Send>>,
}

impl std::fmt::Debug for ThreadExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ThreadExit").field(&self.look()).finish()
    }
}

impl ThreadExit {
    /// `None` while all threads run.
    pub(super) fn look(&self) -> Option<Result<(), String>> {
        self.lock().end.clone()
    }

    /// Calls `tell` when a thread ends, or at once if one has ended. The reason is in [`ThreadExit::look`].
    pub(super) fn tell(&self, tell: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.tell.push(Box::new(tell));
        } else {
            drop(state);
            tell();
        }
    }

    /// Records the end of a thread, with its fault if there was one. The first record stays.
    pub(super) fn note(&self, end: Result<(), String>) {
        let mut state = self.lock();
        state.end.get_or_insert(end);
        let told = std::mem::take(&mut state.tell);
        drop(state);
        told.into_iter().for_each(|tell| tell());
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
    fn whoever_asked_is_told_once_and_sees_the_first_end_whenever_he_asked() {
        let thread_exit = Arc::new(ThreadExit::default());
        let (sender, told) = channel();
        let ask = || {
            let (sender, witness) = (sender.clone(), Arc::clone(&thread_exit));
            thread_exit.tell(move || sender.send(witness.look()).unwrap());
        };
        ask();
        assert!(thread_exit.look().is_none() && told.try_recv().is_err());
        thread_exit.note(Err("a fault".to_owned()));
        thread_exit.note(Ok(()));
        ask();
        let first = Some(Err("a fault".to_owned()));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [first.clone(), first]);
    }
}
