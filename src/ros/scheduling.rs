//! Sets the scheduling of the middleware's threads.

use std::ffi::c_int;
use std::path::Path;

// From glibc and musl. A crate for two functions would be an additional dependency to trust.
#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn sched_getscheduler(thread: c_int) -> c_int;
    fn sched_setscheduler(thread: c_int, policy: c_int, parameter: *const c_int) -> c_int;
}

/// The default policy of all threads.
#[cfg(target_os = "linux")]
const SCHED_OTHER: c_int = 0;

/// The policy for long computations: such a thread never preempts a running one. It needs no privilege.
#[cfg(target_os = "linux")]
const SCHED_BATCH: c_int = 3;

/// The name of Fast DDS's thread for timed events: heartbeats, acknowledgements, leases. The kernel cuts names after 15
/// bytes, and Fast DDS appends the participant's number.
const TIMED_EVENTS: &str = "dds.ev.";

/// Prevents the middleware's timer threads from preempting a thread that sends. Fast DDS wakes them during the send of
/// each message that needs an acknowledgement. On two cores they preempted the GoalTracker 90 times a second, and each
/// of fifty cancels in a row took a third longer. Their deadlines are milliseconds away, so a short delay is
/// acceptable.
///
/// Returns the number of changed threads; 0 with another middleware. A thread with another policy than the default
/// keeps it: with a real-time policy it must not lose to threads without one. Call it when there is a node.
pub(super) fn yield_timed_events() -> usize {
    yield_all(Path::new("/proc/self/task"), TIMED_EVENTS)
}

fn yield_all(threads: &Path, prefix: &str) -> usize {
    let Ok(threads) = std::fs::read_dir(threads) else {
        return 0;
    };
    threads
        .flatten()
        .filter(|thread| {
            std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.starts_with(prefix))
        })
        .filter_map(|thread| thread.file_name().to_str()?.parse().ok())
        .filter(|thread| yields(*thread))
        .count()
}

#[cfg(target_os = "linux")]
fn yields(thread: c_int) -> bool {
    // SAFETY: queries a thread; a thread that does not exist has no policy.
    if unsafe { sched_getscheduler(thread) } != SCHED_OTHER {
        return false;
    }
    let priority: c_int = 0;
    // SAFETY: the third argument points to a `sched_param`, which is one int and is only read.
    unsafe { sched_setscheduler(thread, SCHED_BATCH, &raw const priority) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn yields(_: c_int) -> bool {
    false
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc::{Sender, channel};
    use std::thread::JoinHandle;

    use super::*;

    /// A thread with that name, which ends when this is dropped; its id, and its folder in `/proc`.
    struct Probe {
        id: c_int,
        path: PathBuf,
        end: Option<Sender<()>>,
        thread: Option<JoinHandle<()>>,
    }

    impl Probe {
        fn new(name: &str) -> Self {
            let (end, ended) = channel::<()>();
            let (say, said) = channel();
            let thread = std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || {
                    say.send(std::fs::read_link("/proc/thread-self").unwrap())
                        .unwrap();
                    let _ = ended.recv();
                })
                .unwrap();
            let link = said.recv().unwrap();
            Self {
                id: link.file_name().unwrap().to_str().unwrap().parse().unwrap(),
                path: Path::new("/proc").join(link),
                end: Some(end),
                thread: Some(thread),
            }
        }

        fn policy(&self) -> c_int {
            let text = std::fs::read_to_string(self.path.join("stat")).unwrap();
            // Field 41; the second one, a name in parentheses, may contain any character.
            let (_, after_name) = text.rsplit_once(')').unwrap();
            let field = after_name.split_ascii_whitespace().nth(38).unwrap();
            field.parse().unwrap()
        }

        /// False without the privilege.
        fn set_policy(&self, policy: c_int, priority: c_int) -> bool {
            // SAFETY: the third argument points to a `sched_param`, which is one int and is only read.
            unsafe { sched_setscheduler(self.id, policy, &raw const priority) == 0 }
        }
    }

    impl Drop for Probe {
        fn drop(&mut self) {
            self.end = None;
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }

    fn yield_probes(prefix: &str) -> usize {
        yield_all(Path::new("/proc/self/task"), prefix)
    }

    #[test]
    fn only_threads_of_that_name_yield() {
        let probe = Probe::new("probe.ev.7");
        assert_eq!(probe.policy(), SCHED_OTHER);
        assert_eq!(yield_probes("probe.ev."), 1);
        assert_eq!(probe.policy(), SCHED_BATCH);
    }

    #[test]
    fn a_thread_with_a_policy_of_its_own_keeps_it() {
        const SCHED_FIFO: c_int = 1;
        const SCHED_IDLE: c_int = 5;
        let probe = Probe::new("own.ev.7");
        // If allowed: only the second one needs a privilege.
        for (policy, priority) in [(SCHED_IDLE, 0), (SCHED_FIFO, 1)] {
            if probe.set_policy(policy, priority) {
                assert_eq!(yield_probes("own.ev."), 0);
                assert_eq!(probe.policy(), policy);
            }
        }
        assert_ne!(probe.policy(), SCHED_OTHER, "the first needs none");
    }
}
