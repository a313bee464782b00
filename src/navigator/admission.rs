//! Passes goals from the action servers to the tick thread. Goals are accepted at once; a separate thread reads their
//! trees.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::admission_epoch::SHUT;
use super::goal::{ClientGoal, NavigationError, NavigationResult, Request};
use super::goal_log;
use super::thread::AtEnd;
use super::{AdmissionPermit, Handle, NavigatorKind, TreeLibrary};
use crate::bt::{Time, TreeDef};
use crate::fault;
use crate::goal::GoalId;
use crate::msg::PoseStamped;
use crate::sync::mpsc::{Receiver, Sender, channel};
use crate::sync::{Mutex, MutexGuard, PoisonError, thread};

/// Error message for goals that were not started when the process ended.
pub(crate) const ENDED: &str = "the node shut down before the goal started";

/// Reading time of a tree above which a warning is logged.
const LONG: Duration = Duration::from_secs(1);

/// An accepted goal whose tree is not read yet.
pub(crate) struct WantedGoal {
    pub(crate) kind: NavigatorKind,
    pub(crate) poses: Vec<PoseStamped>,
    /// A file or a tree ID. Empty: the default tree.
    pub(crate) tree: String,
    /// See [`Request::accepted`].
    pub(crate) accepted: Time,
    pub(crate) client: Box<dyn ClientGoal>,
}

impl WantedGoal {
    pub(crate) fn refuse(self, error: NavigationError, reason: &str) {
        let Self { kind, client, .. } = self;
        tracing::warn!(
            "{}: goal {} aborted before it started: {reason}",
            kind.action(),
            client.id()
        );
        client.finish_now(NavigationResult::aborted(error.code(kind), reason));
    }
}

/// Goals whose trees are being read or wait to be read. A disk may take any time, and a cancel or deactivation does not
/// wait for it (guarantee G8). Clones share the queue.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<Line>>);

#[derive(Default)]
struct Line {
    /// Number of goals so far. It identifies a goal here, because the goal ids of two clients may be equal.
    count: u64,
    goals: Vec<(u64, AdmissionPermit, WantedGoal)>,
    /// The reader thread is awake and checks the queue again before it sleeps. Then no further wake message is sent:
    /// otherwise goals that are sent and cancelled while a disk hangs would fill the memory with messages.
    is_awake: bool,
}

impl Line {
    fn take(&mut self, wanted: impl Fn(u64, &WantedGoal) -> bool) -> Option<(AdmissionPermit, WantedGoal)> {
        let position = self
            .goals
            .iter()
            .position(|(place, _, goal)| wanted(*place, goal))?;
        let (_, pass, goal) = self.goals.remove(position);
        Some((pass, goal))
    }
}

impl Waiting {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a goal. Returns whether to wake the reader thread. If goals are refused by now, the goal is returned as an
    /// error: it would not end before its tree is read.
    fn enter(&self, pass: AdmissionPermit, goal: WantedGoal) -> Result<bool, WantedGoal> {
        let mut line = self.line();
        // Checked under the lock: a later shutdown of the admission also removes the goals in this queue.
        if !pass.holds() {
            return Err(goal);
        }
        line.count += 1;
        let place = line.count;
        line.goals.push((place, pass, goal));
        Ok(!std::mem::replace(&mut line.is_awake, true))
    }

    /// The oldest goal: its number, its kind and the name of its tree. `None`: the thread may sleep.
    fn first(&self) -> Option<(u64, NavigatorKind, String)> {
        let mut line = self.line();
        let first = line.goals.first();
        let first = first.map(|(place, _, goal)| (*place, goal.kind, goal.tree.clone()));
        line.is_awake = first.is_some();
        first
    }

    /// Passes the goal with this number to the tick thread, if it was not cancelled.
    fn hand_in(&self, place: u64, tree: Result<Arc<TreeDef>, String>) {
        // Under the lock: a cancel that does not find the goal here reaches the tick thread after the goal.
        let mut line = self.line();
        if let Some((pass, goal)) = line.take(|of, _| of == place) {
            pass.hand_in(Request {
                kind: goal.kind,
                poses: goal.poses,
                tree,
                accepted: goal.accepted,
                run_accepted: goal.accepted,
                client: goal.client,
            });
        }
    }

    fn remove(&self, goal: GoalId) -> Option<WantedGoal> {
        let taken = self.line().take(|_, wanted| wanted.client.id() == goal);
        taken.map(|(_, goal)| goal)
    }

    fn refuse_all(&self, reason: &str) {
        let goals = std::mem::take(&mut self.line().goals);
        for (_, _, goal) in goals {
            goal.refuse(NavigationError::None, reason);
        }
    }
}

/// Error message for goals after the end of the reader thread.
const NOBODY_READS: &str = "the thread that loads trees has ended";

/// Reads trees one after the other, which keeps the order of the goals.
struct Reader {
    library: Arc<TreeLibrary>,
    waiting: Waiting,
}

impl Reader {
    fn run(self, inbox: Receiver<()>) {
        // Dropped before the reader itself, also by a panic. The drop of the reader then finds all remaining goals.
        let inbox = inbox;
        while inbox.recv().is_ok() {
            fault::point();
            while let Some((place, kind, name)) = self.waiting.first() {
                let tree = self.read(kind, &name);
                self.waiting.hand_in(place, tree);
            }
        }
    }

    fn read(&self, kind: NavigatorKind, name: &str) -> Result<Arc<TreeDef>, String> {
        let began = Instant::now();
        let tree = self.library.for_goal(kind, name);
        let took = began.elapsed();
        if took > LONG {
            let action = kind.action();
            let name = if name.is_empty() { "the default tree" } else { name };
            tracing::warn!(
                "{action}: loading {name} took {took:.1?}; goals that arrived meanwhile had to wait"
            );
        }
        tree
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // The next goal tries to wake this thread and gets an error.
        self.waiting.line().is_awake = false;
        self.waiting.refuse_all(NOBODY_READS);
    }
}

/// Takes goals while the node is active. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Admission {
    /// Wakes the reader thread.
    wake: Sender<()>,
    waiting: Waiting,
    navigator: Handle,
}

impl Admission {
    /// Starts the reader thread. The thread ends when the last clone is dropped. `tell` is called at its end, by a
    /// panic or otherwise.
    pub(crate) fn start(
        library: Arc<TreeLibrary>,
        navigator: Handle,
        tell: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (wake, inbox) = channel();
        let waiting = Waiting::default();
        let reader = Reader {
            library,
            waiting: waiting.clone(),
        };
        thread::Builder::new().name("trees".to_owned()).spawn(move || {
            let _tell = AtEnd::new(tell);
            reader.run(inbox);
        })?;
        // Goals are refused until the node is active.
        navigator.shut();
        Ok(Self {
            wake,
            waiting,
            navigator,
        })
    }

    /// Accepts or refuses goals from now on. A refusal includes goals whose trees are being read; their clients get the
    /// result at once.
    pub(crate) fn set_active(&self, active: bool) {
        if active {
            self.navigator.open();
        } else {
            self.refuse(SHUT);
        }
    }

    /// Refuses all goals because the process ends.
    pub(crate) fn end(&self) {
        self.refuse(ENDED);
    }

    fn refuse(&self, reason: &str) {
        self.navigator.shut();
        self.waiting.refuse_all(reason);
    }

    /// A permit for one goal, while the node is active.
    pub(crate) fn admit(&self) -> Option<AdmissionPermit> {
        self.navigator.admit()
    }

    /// Takes an accepted goal.
    pub(crate) fn goal(&self, pass: AdmissionPermit, goal: WantedGoal) {
        match self.waiting.enter(pass, goal) {
            Ok(false) => {}
            Ok(true) => {
                if self.wake.send(()).is_err() {
                    self.waiting.refuse_all(NOBODY_READS);
                }
            }
            Err(goal) => goal.refuse(NavigationError::None, SHUT),
        }
    }

    /// Cancels a goal without waiting for its tree.
    pub(crate) fn cancel(&self, goal: GoalId) {
        match self.waiting.remove(goal) {
            Some(wanted) => {
                let report = NavigationResult::canceled("cancelled before its tree was read");
                goal_log::ended(wanted.kind, goal, &report);
                wanted.client.finish_now(report);
            }
            None => self.navigator.cancel(goal),
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::goal::TerminalStatus;
    use super::super::test_harness::{bench, load, registry, request};
    use super::super::thread_tests::{PATIENCE, Remote};
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
        admission: Admission,
        folder: PathBuf,
        /// The leaf of the slow tree is made when this is dropped.
        let_go: Option<Sender<()>>,
        /// Receives a message when the leaf is about to be made.
        reading: Receiver<()>,
    }

    impl Gateway {
        fn new(name: &str) -> Self {
            let (let_go, held) = channel::<()>();
            let (begin, reading) = channel();
            let held = Mutex::new(held);
            let is_registered = Arc::new(AtomicBool::new(false));
            let (mut registry, is_armed): (Registry, _) = (registry(), Arc::clone(&is_registered));
            registry
                .register_with("IsMadeLate", NodeKind::Condition, (0, 0), "", move |_| {
                    if is_armed.load(Ordering::SeqCst) {
                        let _ = begin.send(());
                        let _ = held.lock().unwrap().recv_timeout(PATIENCE);
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
            for (file, leaf) in [("slow.xml", "IsMadeLate"), ("quick.xml", "Endless")] {
                let text =
                    format!(r#"<root BTCPP_format="4"><BehaviorTree ID="T"><{leaf}/></BehaviorTree></root>"#);
                std::fs::write(folder.join(file), text).unwrap();
            }
            let library = TreeLibrary::new(registry, Vec::new(), false, || bench().link());
            let remote = Remote::new();
            let admission =
                Admission::start(Arc::new(library), remote.thread.handle().clone(), || ()).unwrap();
            admission.set_active(true);
            Self {
                remote,
                admission,
                folder,
                let_go: Some(let_go),
                reading,
            }
        }

        fn wanted(&self, number: u8, file: &str) -> WantedGoal {
            WantedGoal {
                kind: NavigatorKind::ThroughPoses,
                poses: Vec::new(),
                tree: self.folder.join(file).to_str().unwrap().to_owned(),
                accepted: Time::ZERO,
                client: request(
                    number,
                    &load(&registry(), "<AlwaysSuccess/>"),
                    &self.remote.clients,
                )
                .client,
            }
        }

        fn send(&self, number: u8, file: &str) {
            let pass = self.admission.admit().unwrap();
            self.admission.goal(pass, self.wanted(number, file));
        }

        fn cancel(&self, number: u8) {
            self.admission.cancel(GoalId([number; 16]));
        }

        /// The next answered client, with its status and message.
        fn answer(&self) -> (u8, TerminalStatus, String) {
            let (client, report) = self.remote.reports.recv_timeout(PATIENCE).unwrap();
            (client, report.status, report.error_message)
        }

        /// Waits until all trees are read that were requested so far. Returns the clients answered meanwhile.
        fn read(&mut self) -> Vec<(u8, TerminalStatus)> {
            const LAST: u8 = 99;
            self.let_go = None;
            self.send(LAST, "nowhere.xml");
            std::iter::from_fn(|| {
                let (client, ending, _) = self.answer();
                (client != LAST).then_some((client, ending))
            })
            .collect()
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
            "cancelled before its tree was read".to_owned(),
        )
    }

    #[test]
    fn g8_clients_whose_trees_are_not_read_are_answered_when_goals_are_refused() {
        for end in [false, true] {
            let mut gateway = Gateway::new(if end { "ended" } else { "inactive" });
            gateway.send(1, "slow.xml");
            gateway.reading.recv_timeout(PATIENCE).unwrap();
            gateway.send(2, "quick.xml");
            let late = gateway.admission.admit().unwrap();
            let text = if end { ENDED } else { SHUT };
            if end {
                gateway.admission.end();
            } else {
                gateway.admission.set_active(false);
            }
            for client in [1, 2] {
                assert_eq!(
                    gateway.answer(),
                    (client, TerminalStatus::Aborted, text.to_owned())
                );
            }
            // Admitted before the shutdown, and passed on after it.
            gateway.admission.goal(late, gateway.wanted(3, "quick.xml"));
            assert_eq!(gateway.answer(), (3, TerminalStatus::Aborted, SHUT.to_owned()));
            assert!(gateway.admission.admit().is_none());
            gateway.admission.set_active(true);
            assert_eq!(gateway.read(), []);
            assert!(!gateway.remote.is_running());
            assert!(gateway.remote.reports.try_recv().is_err(), "answered twice");
        }
    }

    #[test]
    fn goals_that_come_and_go_while_a_tree_is_read_leave_no_messages() {
        let gateway = Gateway::new("flooded");
        let waiting = Waiting::default();
        let enter = |number| {
            let pass = gateway.admission.admit().unwrap();
            waiting.enter(pass, gateway.wanted(number, "quick.xml")).ok()
        };
        assert_eq!(enter(1), Some(true));
        for number in 2..100 {
            assert_eq!(enter(number), Some(false));
            assert!(waiting.remove(GoalId([number; 16])).is_some());
        }
        assert!(waiting.first().is_some());
        assert_eq!(enter(2), Some(false), "the first is being read");
        for number in [1, 2] {
            assert!(waiting.first().is_some());
            assert!(waiting.remove(GoalId([number; 16])).is_some());
        }
        assert!(waiting.first().is_none());
        assert_eq!(enter(3), Some(true));
    }

    #[test]
    fn g8_a_cancel_waits_for_no_tree_that_is_read() {
        let mut gateway = Gateway::new("cancelled");
        gateway.send(1, "quick.xml");
        gateway.send(2, "slow.xml");
        gateway.reading.recv_timeout(PATIENCE).unwrap();
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
}
