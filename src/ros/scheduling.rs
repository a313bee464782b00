//! How the system's scheduler treats threads that are not ours.

use std::ffi::c_int;
use std::path::Path;

// Of glibc and of musl. A crate for two functions would be one more to trust.
#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn sched_getscheduler(thread: c_int) -> c_int;
    fn sched_setscheduler(thread: c_int, policy: c_int, parameter: *const c_int) -> c_int;
}

/// What every thread has, unless the process or the thread was given another policy.
#[cfg(target_os = "linux")]
const SCHED_OTHER: c_int = 0;

/// What a thread that computes for long asks for: it is never let in front of one that runs, and nobody needs a
/// privilege to be that modest.
#[cfg(target_os = "linux")]
const SCHED_BATCH: c_int = 3;

/// Fast DDS's thread for what is due some time: heartbeats, acknowledgements, leases. The kernel cuts names after 15
/// bytes, and Fast DDS puts the participant's number behind it.
const TIMED_EVENTS: &str = "dds.ev.";

/// Has the middleware's timers take no processor from a thread that sends. Fast DDS wakes them with each message that is
/// to be acknowledged, in the middle of sending it; on two cores they went in front of the GoalTracker 90 times a second,
/// and of fifty cancels in a row each took a third longer. They have milliseconds: a moment later is early enough.
/// Returns how many threads heeded it; none where another middleware is used. A thread with another policy than the
/// default keeps it: under a real-time policy it must not lose to every thread without one.
///
/// To be called when there is a node.
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
    // SAFETY: asks about a thread; one that is not there has no policy.
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

    /// A thread of that name, which ends when this is dropped; its id, and where its state is.
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
            // Field 41; the second, a name in parentheses, may hold anything.
            let (_, after_name) = text.rsplit_once(')').unwrap();
            let field = after_name.split_ascii_whitespace().nth(38).unwrap();
            field.parse().unwrap()
        }

        /// False where the process has no right to it.
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
        // Whoever may: only the second needs a privilege.
        for (policy, priority) in [(SCHED_IDLE, 0), (SCHED_FIFO, 1)] {
            if probe.set_policy(policy, priority) {
                assert_eq!(yield_probes("own.ev."), 0);
                assert_eq!(probe.policy(), policy);
            }
        }
        assert_ne!(probe.policy(), SCHED_OTHER, "the first needs none");
    }
}
