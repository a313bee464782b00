//! The thread that reads the trees of goals. A disk may take any time, and no tick, cancel or deactivation waits for it
//! (guarantees G1, G8). The thread exists while there are trees to read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::goal::NavigationError;
use super::{GoalQueue, Handle, NavigatorKind, TreeLibrary};
use crate::bt::TreeDef;
use crate::worker::{Refused, Worker};

/// Loading time of a tree above which a warning is logged.
const LONG_LOAD_TIME: Duration = Duration::from_secs(1);

/// Reads the trees of the goals of this tick thread from now on. `on_panic` is called with the text of a panic.
pub fn load_trees(
    library: Arc<TreeLibrary>,
    navigator: Handle,
    on_panic: impl Fn(&str) + Send + Sync + 'static,
) {
    let cached_trees = Arc::clone(&library);
    let queue = navigator.queue().clone();
    queue.find_in_memory(move |kind, name| cached_trees.in_memory(kind, name));
    let worker = Worker::new("trees", 1, on_panic, move |_: Option<()>| {
        give_trees(
            navigator.queue(),
            |kind, name| load(&library, kind, name),
            || navigator.wake(),
        );
        None
    });
    queue.on_tree_requested(move |queue| {
        // One request is enough for all trees that are to be read.
        if let Err(Refused::NoThread((), error)) = worker.put(()) {
            let reason = format!("the thread that reads trees does not start: {error}");
            give_trees(queue, |_, _| Err(reason.clone()), || ());
        }
    });
}

/// Gives all goals that wait for a tree theirs, or ends them. `given` is called after each.
fn give_trees(
    queue: &GoalQueue,
    find: impl Fn(NavigatorKind, &str) -> Result<Arc<TreeDef>, String>,
    given: impl Fn(),
) {
    while let Some((number, kind, name)) = queue.begin_loading() {
        if let Some((request, reason)) = queue.loaded(number, find(kind, &name)) {
            request.refuse_now(NavigationError::FailedToLoadBehaviorTree, &reason);
        }
        given();
    }
}

fn load(library: &TreeLibrary, kind: NavigatorKind, name: &str) -> Result<Arc<TreeDef>, String> {
    let start = Instant::now();
    let tree = library.for_goal(kind, name);
    let load_time = start.elapsed();
    if load_time > LONG_LOAD_TIME {
        let action = kind.action();
        let name = if name.is_empty() { "the default tree" } else { name };
        tracing::warn!(
            "{action}: loading {name} took {load_time:.1?}; goals that arrived meanwhile had to wait"
        );
    }
    tree
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::super::goal::{Request, RequestedTree, TerminalStatus};
    use super::super::goal_queue::SHUT;
    use super::super::test_harness::{bench, load, navigation, registry, request};
    use super::super::thread_tests::{Remote, TIMEOUT};
    use super::*;
    use crate::bt::{Behavior, Context, NodeKind, NodeStatus, Registry, Tick};

    struct Endless;

    impl Behavior for Endless {
        fn tick(&self, _: &mut Context<'_>) -> Tick {
            Ok(NodeStatus::Running)
        }
    }

    /// A tick thread with its admission, and trees. The test controls when one of the trees is read.
    struct Gateway {
        remote: Remote,
        folder: PathBuf,
        /// The leaf of the slow tree is made when this is dropped.
        release: Option<Sender<()>>,
        /// Receives a message when the leaf is about to be made.
        reading: Receiver<()>,
    }

    impl Gateway {
        fn new(name: &str) -> Self {
            let (release, waiting_for_release) = channel::<()>();
            let (begin, reading) = channel();
            let waiting_for_release = Mutex::new(waiting_for_release);
            let is_registered = Arc::new(AtomicBool::new(false));
            let (mut registry, is_armed): (Registry, _) = (registry(), Arc::clone(&is_registered));
            registry
                .register_with("IsMadeLate", NodeKind::Condition, (0, 0), "", move |_| {
                    if is_armed.load(Ordering::SeqCst) {
                        let _ = begin.send(());
                        let _ = waiting_for_release.lock().unwrap().recv_timeout(TIMEOUT);
                    }
                    Box::new(Endless)
                })
                .unwrap();
            registry
                .register_with("Endless", NodeKind::Action, (0, 0), "", |_| Box::new(Endless))
                .unwrap();
            is_registered.store(true, Ordering::SeqCst);
            let folder = std::env::temp_dir().join(format!("navtree-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            for (file, leaf) in [
                ("slow.xml", "IsMadeLate"),
                ("quick.xml", "Endless"),
                ("default.xml", "Endless"),
            ] {
                let text =
                    format!(r#"<root BTCPP_format="4"><BehaviorTree ID="T"><{leaf}/></BehaviorTree></root>"#);
                std::fs::write(folder.join(file), text).unwrap();
            }
            let library = TreeLibrary::new(registry, Vec::new(), false, || bench().link());
            let default = folder.join("default.xml");
            library
                .set_default(NavigatorKind::ThroughPoses, default.to_str().unwrap())
                .unwrap();
            let remote = Remote::new();
            load_trees(Arc::new(library), remote.thread.handle().clone(), |_| ());
            Self {
                remote,
                folder,
                release: Some(release),
                reading,
            }
        }

        fn request(&self, number: u8, file: &str) -> Request {
            let any = load(&registry(), "<AlwaysSuccess/>");
            let mut request = request(number, &any, &self.remote.clients);
            let file = self.folder.join(file);
            request.tree = RequestedTree::Named(file.to_str().unwrap().to_owned());
            request
        }

        fn send(&self, number: u8, file: &str) {
            let permit = self.remote.thread.handle().admit().unwrap();
            permit.submit(self.request(number, file));
        }

        fn cancel(&self, number: u8) {
            self.remote.thread.handle().cancel(navigation(number));
        }

        /// The next answered client, with its status and message.
        fn answer(&self) -> (u8, TerminalStatus, String) {
            let (client, report) = self.remote.reports.recv_timeout(TIMEOUT).unwrap();
            (client, report.status, report.error_message)
        }

        /// Waits until all trees are read that were requested so far. Returns the clients answered meanwhile.
        fn read(&mut self) -> Vec<(u8, TerminalStatus)> {
            const LAST: u8 = 99;
            self.release = None;
            self.send(LAST, "nowhere.xml");
            let mut answered: Vec<_> = std::iter::from_fn(|| {
                let (client, ending, _) = self.answer();
                (client != LAST).then_some((client, ending))
            })
            .collect();
            // The thread that reads trees has answered the last goal. The tick thread has taken the trees before it now.
            self.remote.is_running();
            let more = self.remote.reports.try_iter();
            answered.extend(more.map(|(client, report)| (client, report.status)));
            answered
        }
    }

    impl Drop for Gateway {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    fn canceled(client: u8) -> (u8, TerminalStatus, String) {
        (
            client,
            TerminalStatus::Canceled,
            "cancelled before it started; an earlier goal is still active".to_owned(),
        )
    }

    #[test]
    fn g8_clients_whose_trees_are_not_read_are_answered_when_goals_are_refused() {
        let mut gateway = Gateway::new("refused");
        let handle = gateway.remote.thread.handle().clone();
        gateway.send(1, "slow.xml");
        gateway.reading.recv_timeout(TIMEOUT).unwrap();
        gateway.send(2, "quick.xml");
        let late = handle.admit().unwrap();
        handle.shut();
        for client in [1, 2] {
            assert_eq!(
                gateway.answer(),
                (client, TerminalStatus::Aborted, SHUT.to_owned())
            );
        }
        // Admitted before the shutdown, and passed on after it.
        late.submit(gateway.request(3, "quick.xml"));
        assert_eq!(gateway.answer(), (3, TerminalStatus::Aborted, SHUT.to_owned()));
        assert!(handle.admit().is_none());
        handle.open();
        assert_eq!(gateway.read(), []);
        assert!(!gateway.remote.is_running());
        assert!(gateway.remote.reports.try_recv().is_err(), "answered twice");
    }

    #[test]
    fn g8_a_cancel_waits_for_no_tree_that_is_read() {
        let mut gateway = Gateway::new("cancelled");
        gateway.send(1, "quick.xml");
        gateway.send(2, "slow.xml");
        gateway.reading.recv_timeout(TIMEOUT).unwrap();
        assert!(gateway.remote.is_running(), "the one before it");
        for number in [3, 4] {
            gateway.send(number, "quick.xml");
        }
        gateway.cancel(3);
        assert_eq!(gateway.answer(), canceled(3));
        gateway.cancel(2);
        assert_eq!(gateway.answer(), canceled(2));
        assert!(gateway.remote.is_running(), "the one before them");
        // A cancel of an unknown or ended goal has no effect.
        for number in [2, 3, 9] {
            gateway.cancel(number);
        }
        // The newest of the other goals has replaced the first one.
        assert_eq!(gateway.read(), [(1, TerminalStatus::Aborted)]);
        assert!(gateway.remote.is_running());
        gateway.cancel(4);
        let (client, ending, text) = gateway.answer();
        assert_eq!((client, ending), (4, TerminalStatus::Canceled), "{text}");
        assert!(gateway.remote.reports.try_recv().is_err(), "answered twice");
    }

    #[test]
    fn g6_a_goal_for_the_default_tree_waits_for_no_tree_that_is_read() {
        let gateway = Gateway::new("default");
        gateway.send(1, "slow.xml");
        gateway.reading.recv_timeout(TIMEOUT).unwrap();
        let mut request = gateway.request(2, "");
        request.tree = RequestedTree::Named(String::new());
        gateway.remote.thread.handle().goal(request);
        let (client, status, text) = gateway.answer();
        assert_eq!((client, status), (1, TerminalStatus::Aborted), "{text}");
        assert!(gateway.remote.is_running());
    }
}
