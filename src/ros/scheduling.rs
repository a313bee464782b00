//! How the system's scheduler treats threads that are not ours.

use std::ffi::c_int;
use std::path::Path;

// Of glibc and of musl. A crate for one function would be one more to trust.
#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn sched_setscheduler(thread: c_int, policy: c_int, parameter: *const c_int) -> c_int;
}

/// What a thread that computes for long asks for: it is never let in front of one that runs, and nobody needs a
/// privilege to be that modest.
#[cfg(target_os = "linux")]
const SCHED_BATCH: c_int = 3;

/// Fast DDS's thread for what is due some time: heartbeats, acknowledgements, leases. The kernel cuts names after 15
/// bytes, and Fast DDS puts the participant's number behind it.
const TIMED_EVENTS: &str = "dds.ev.";

/// Has the middleware's timers take no processor from a thread that sends. Fast DDS wakes them with each message that is
/// to be acknowledged, in the middle of sending it; on two cores they went in front of the Custodian 90 times a second,
/// and of fifty cancels in a row each took a third longer. They have milliseconds: a moment later is early enough.
/// Returns how many threads heeded it; none where another middleware is used.
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
    let priority: c_int = 0;
    // SAFETY: the third argument points to a `sched_param`, which is one int and is only read.
    unsafe { sched_setscheduler(thread, SCHED_BATCH, &raw const priority) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn yields(_: c_int) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn only_threads_of_that_name_yield() {
        let (end, ended) = channel::<()>();
        let (say, said) = channel();
        let thread = std::thread::Builder::new()
            .name("probe.ev.7".to_owned())
            .spawn(move || {
                say.send(std::fs::read_link("/proc/thread-self").unwrap())
                    .unwrap();
                let _ = ended.recv();
            })
            .unwrap();
        let path = Path::new("/proc").join(said.recv().unwrap());
        let policy = || {
            let text = std::fs::read_to_string(path.join("stat")).unwrap();
            // Field 41; the second, a name in parentheses, may hold anything.
            let (_, after_name) = text.rsplit_once(')').unwrap();
            after_name.split_ascii_whitespace().nth(38).unwrap().to_owned()
        };
        assert_eq!(policy(), "0");
        assert_eq!(yield_all(Path::new("/proc/self/task"), "probe.ev."), 1);
        assert_eq!(policy(), SCHED_BATCH.to_string());
        drop(end);
        thread.join().unwrap();
    }
}
