//! The accepted goals that have not started.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::NavigatorKind;
use super::global_frame::TransformProgress;
use super::goal::{NavigationError, NavigationId, Request, RequestedTree};
use crate::bt::{Time, TreeDef};

/// Error message for goals that were accepted and did not start before the node stopped accepting goals.
pub(super) const SHUT: &str = "the node stopped accepting goals before this goal started";

/// Time to load the tree of a goal, including the trees of the goals before it. A file system may not answer at all.
const MAX_LOADING_TIME: Duration = Duration::from_secs(10);

/// Error message for goals whose tree was not loaded in that time. `loading`: the tree that the thread loads now, perhaps
/// for an earlier goal.
fn not_loaded(loading: Option<&str>) -> String {
    let loading = match loading {
        None => "no tree".to_owned(),
        Some("") => "the default tree".to_owned(),
        Some(name) => format!("`{name}`"),
    };
    format!(
        "its tree is not loaded after 10 s, and {loading} is being loaded: check that the file system answers, and that no \
         custom leaf blocks in its set-up; without always_reload_bt_xml, the default tree is in memory"
    )
}

/// Identifies a goal in the queue: the number of its arrival. The goal IDs of two clients may be equal.
pub type ArrivalNumber = u64;

/// The number of a period in which goals are accepted. A goal that was accepted in an earlier period does not start.
pub type Epoch = u64;

/// The state of a goal that has not started.
enum QueuedState {
    /// Its tree is being read, or waits to be read.
    LoadingTree {
        /// The time after which the goal is refused. `None` before the first check.
        deadline: Option<Time>,
    },
    /// Transforms of its poses to the global frame may be missing.
    WaitingForTransform {
        /// The time after which the goal is refused. `None` before the first check.
        deadline: Option<Time>,
        /// The transform lookups that are done.
        progress: TransformProgress,
    },
}

impl QueuedState {
    fn of(tree: &RequestedTree) -> Self {
        match tree {
            RequestedTree::Named(_) => Self::LoadingTree { deadline: None },
            RequestedTree::Loaded(_) => Self::WaitingForTransform {
                deadline: None,
                progress: TransformProgress::default(),
            },
        }
    }
}

struct QueuedGoal {
    arrival_number: ArrivalNumber,
    request: Request,
    state: QueuedState,
}

/// A navigation that newer goals may replace: its kind and its tree, if it is known.
pub(super) type Replaceable = (NavigatorKind, Option<Arc<TreeDef>>);

/// The readiness of a goal.
pub(super) enum Readiness {
    /// The goal can start; its poses are in the global frame.
    Ready,
    /// The transform of its poses is not complete.
    Unfinished,
    /// A transform is missing and may arrive later.
    TransformMissing(String),
    /// The goal can never start.
    Impossible(NavigationError, String),
}

/// The result of [`GoalQueue::select`].
#[derive(Default)]
pub(super) struct Selection {
    /// The goal to start, with poses in the global frame.
    pub(super) selected: Option<Request>,
    /// The goals older than the goal to start.
    pub(super) displaced: Vec<Request>,
    /// The accepted goals that end before they start, with the reason.
    pub(super) refused: Vec<(Request, NavigationError, String)>,
}

#[derive(Default)]
struct Queue {
    /// In order of arrival.
    goals: VecDeque<QueuedGoal>,
    /// Number of goals so far.
    count: ArrivalNumber,
    /// Even numbers are open, odd numbers are shut.
    epoch: Epoch,
    /// Number of halts that the tick thread has not handled.
    open_halts: usize,
    /// No tree is read any more.
    is_closed: bool,
    /// The name of the tree that is being loaded. Its goal may have ended.
    loading: Option<String>,
}

impl Queue {
    fn is_open(&self) -> bool {
        self.epoch.is_multiple_of(2)
    }

    /// For each goal, the reason why it may not replace an older goal, if there is one. Older goals are the current
    /// navigation, and the earlier goals of the queue that have no such reason themselves.
    fn refusals(
        &self,
        current: Option<Replaceable>,
        refusal: impl Fn(&Replaceable, &Request) -> Option<&'static str>,
    ) -> Vec<Option<&'static str>> {
        let mut older: Vec<Replaceable> = current.into_iter().collect();
        let goals = self.goals.iter().map(|goal| &goal.request);
        goals
            .map(|request| {
                let reason = older.iter().find_map(|older| refusal(older, request));
                if reason.is_none() {
                    // One of each kind: no goal comes here with a known tree that it may not replace.
                    let tree = request.tree.loaded().cloned();
                    match older.iter_mut().find(|(kind, _)| *kind == request.kind) {
                        Some((_, known)) => *known = known.take().or(tree),
                        None => older.push((request.kind, tree)),
                    }
                }
                reason
            })
            .collect()
    }

    fn remove(&mut self, is_wanted: impl Fn(&QueuedGoal) -> bool) -> Option<QueuedGoal> {
        let position = self.goals.iter().position(is_wanted)?;
        self.goals.remove(position)
    }
}

/// Makes another thread read a tree.
type TreeRequested = Box<dyn Fn(&GoalQueue) + Send>;
type InMemory = Box<dyn Fn(NavigatorKind, &str) -> Option<Arc<TreeDef>> + Send + Sync>;

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// The number of goals, which the tick thread reads without the lock.
    length: AtomicUsize,
    /// Called when a tree is to be read. `None` before and after the thread that reads trees.
    tree_requested: Mutex<Option<TreeRequested>>,
    /// Finds trees without reading a file: such a goal does not wait for the trees of other goals.
    in_memory: OnceLock<InMemory>,
}

/// The accepted goals that have not started. All threads share it through clones: a disk that takes long, or a leaf that
/// blocks the tick thread, does not delay the answer to a cancel or a deactivation (guarantee G8).
#[derive(Clone, Default)]
pub struct GoalQueue(Arc<Shared>);

impl GoalQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `change`, and then sets the length for readers without the lock.
    fn with<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        let mut queue = self.lock();
        let result = change(&mut queue);
        self.0.length.store(queue.goals.len(), Ordering::Release);
        result
    }

    /// Returns whether no goal waits for its start.
    pub(super) fn is_empty(&self) -> bool {
        self.0.length.load(Ordering::Acquire) == 0
    }

    /// The current epoch, if goals are accepted.
    pub fn admit(&self) -> Option<Epoch> {
        let queue = self.lock();
        queue.is_open().then_some(queue.epoch)
    }

    /// Accepts goals from now on. A new queue accepts goals.
    pub fn open(&self) {
        let mut queue = self.lock();
        if !queue.is_open() {
            queue.epoch += 1;
        }
    }

    /// Refuses goals from now on. Returns the goals that wait for their start.
    #[must_use]
    pub fn shut(&self) -> Vec<Request> {
        self.with(|queue| {
            if queue.is_open() {
                queue.epoch += 1;
            }
            queue.goals.drain(..).map(|goal| goal.request).collect()
        })
    }

    /// Like [`GoalQueue::shut`]; also ends the thread that reads trees.
    #[must_use]
    pub fn close(&self) -> Vec<Request> {
        self.lock().is_closed = true;
        *self.tree_requested() = None;
        self.shut()
    }

    fn tree_requested(&self) -> MutexGuard<'_, Option<TreeRequested>> {
        self.0
            .tree_requested
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the function that makes another thread read a tree. It must not wait.
    pub(super) fn on_tree_requested(&self, call: impl Fn(&Self) + Send + 'static) {
        *self.tree_requested() = Some(Box::new(call));
    }

    /// Sets the function that finds trees without reading a file.
    pub(super) fn find_in_memory(
        &self,
        find: impl Fn(NavigatorKind, &str) -> Option<Arc<TreeDef>> + Send + Sync + 'static,
    ) {
        let _ = self.0.in_memory.set(Box::new(find));
    }

    /// Adds the newest goal. `epoch` is that of its acceptance.
    ///
    /// # Errors
    /// The goal, if goals are refused by now, or were refused meanwhile.
    pub fn push(&self, epoch: Epoch, mut request: Request) -> Result<(), Request> {
        if let RequestedTree::Named(name) = &request.tree
            && let Some(find) = self.0.in_memory.get()
            && let Some(tree) = find(request.kind, name)
        {
            request.tree = RequestedTree::Loaded(tree);
        }
        self.with(|queue| {
            // Under the lock: a later shutdown also removes the goals in the queue.
            if queue.epoch != epoch || !queue.is_open() {
                return Err(request);
            }
            queue.count += 1;
            queue.goals.push_back(QueuedGoal {
                arrival_number: queue.count,
                state: QueuedState::of(&request.tree),
                request,
            });
            Ok(())
        })?;
        if self.next_name().is_some()
            && let Some(call) = &*self.tree_requested()
        {
            call(self);
        }
        Ok(())
    }

    /// Removes a goal.
    pub fn remove(&self, goal: NavigationId) -> Option<Request> {
        let removed = self.with(|queue| queue.remove(|queued| queued.request.id() == goal));
        removed.map(|queued| queued.request)
    }

    /// Notes the request of a halt, and returns the arrival number of the newest goal so far. Later goals do not start
    /// before [`GoalQueue::halt_handled`]: the halt is for the goals before it.
    pub fn halt_requested(&self) -> ArrivalNumber {
        let mut queue = self.lock();
        queue.open_halts += 1;
        queue.count
    }

    /// Whether a halt is requested that the tick thread has not handled: its message is on its way.
    pub(super) fn is_halt_requested(&self) -> bool {
        self.lock().open_halts > 0
    }

    /// The tick thread has halted its tree.
    pub fn halt_handled(&self) {
        let mut queue = self.lock();
        queue.open_halts = queue.open_halts.saturating_sub(1);
    }

    /// Removes the goals up to an arrival number.
    pub(super) fn drain(&self, newest: ArrivalNumber) -> Vec<Request> {
        self.drain_where(|goal| goal.arrival_number <= newest)
    }

    /// Removes the goals for a tree: those with this tree, and those whose tree is not known yet.
    pub(super) fn drain_tree(&self, kind: NavigatorKind, tree: &Arc<TreeDef>) -> Vec<Request> {
        let is_for_tree = |request: &Request| match &request.tree {
            RequestedTree::Named(_) => true,
            RequestedTree::Loaded(loaded) => Arc::ptr_eq(loaded, tree),
        };
        self.drain_where(|goal| goal.request.kind == kind && is_for_tree(&goal.request))
    }

    fn drain_where(&self, is_wanted: impl Fn(&QueuedGoal) -> bool) -> Vec<Request> {
        self.with(|queue| {
            let (removed, kept) = std::mem::take(&mut queue.goals)
                .into_iter()
                .partition::<VecDeque<_>, _>(is_wanted);
            queue.goals = kept;
            removed.into_iter().map(|goal| goal.request).collect()
        })
    }

    /// A goal whose tree is to be read: the oldest one, which keeps the order of the goals. `None` at the end.
    pub(super) fn next_name(&self) -> Option<(ArrivalNumber, NavigatorKind, String)> {
        let queue = self.lock();
        if queue.is_closed {
            return None;
        }
        queue.goals.iter().find_map(|goal| match &goal.request.tree {
            RequestedTree::Named(name) => Some((goal.arrival_number, goal.request.kind, name.clone())),
            RequestedTree::Loaded(_) => None,
        })
    }

    /// Like [`GoalQueue::next_name`], for the thread that then loads the tree.
    pub(super) fn begin_loading(&self) -> Option<(ArrivalNumber, NavigatorKind, String)> {
        let next = self.next_name()?;
        self.lock().loading = Some(next.2.clone());
        Some(next)
    }

    /// Takes the tree of a goal. Without a tree, the goal ends and is returned with the reason.
    pub(super) fn loaded(
        &self,
        number: ArrivalNumber,
        tree: Result<Arc<TreeDef>, String>,
    ) -> Option<(Request, String)> {
        self.with(|queue| {
            queue.loading = None;
            match tree {
                Ok(tree) => {
                    // A goal that was cancelled meanwhile is not there.
                    let goal = queue
                        .goals
                        .iter_mut()
                        .find(|goal| goal.arrival_number == number)?;
                    goal.request.tree = RequestedTree::Loaded(tree);
                    goal.state = QueuedState::of(&goal.request.tree);
                    None
                }
                Err(reason) => {
                    let goal = queue.remove(|goal| goal.arrival_number == number)?;
                    Some((goal.request, reason))
                }
            }
        })
    }

    /// Refuses goals whose tree is not loaded in time, and goals that may not replace an older one. Checks the other
    /// goals with a tree, the newest first, until one is ready. That goal starts, and all older goals end: a late
    /// transform does not replace a newer goal by an older one. The current navigation is older than all of these.
    /// `deadline` is the end of the wait for transforms for goals that are checked for the first time. `refusal` returns
    /// the reason why a goal may not replace an older one. `check_readiness` gets a goal, the
    /// transform lookups that are done, and whether it is the first check.
    pub(super) fn select(
        &self,
        now: Time,
        first_deadline: Time,
        current: Option<Replaceable>,
        refusal: impl Fn(&Replaceable, &Request) -> Option<&'static str>,
        mut check_readiness: impl FnMut(&mut Request, &mut TransformProgress, bool) -> Readiness,
    ) -> Selection {
        let mut selection = Selection::default();
        self.with(|queue| {
            if queue.open_halts > 0 {
                return;
            }
            let mut reasons = queue.refusals(current, refusal);
            let mut kept = VecDeque::new();
            while let Some(mut goal) = queue.goals.pop_back() {
                let refusal = reasons.pop().flatten();
                if selection.selected.is_some() {
                    selection.displaced.push(goal.request);
                    continue;
                }
                let (deadline, progress) = match &mut goal.state {
                    QueuedState::LoadingTree { deadline } => {
                        if now < *deadline.get_or_insert(now + MAX_LOADING_TIME) {
                            kept.push_front(goal);
                        } else {
                            let error = NavigationError::FailedToLoadBehaviorTree;
                            let reason = not_loaded(queue.loading.as_deref());
                            selection.refused.push((goal.request, error, reason));
                        }
                        continue;
                    }
                    QueuedState::WaitingForTransform { deadline, progress } => (deadline, progress),
                };
                if let Some(reason) = refusal {
                    let error = NavigationError::Unknown;
                    selection.refused.push((goal.request, error, reason.to_owned()));
                    continue;
                }
                let is_first = deadline.is_none();
                let deadline = *deadline.get_or_insert(first_deadline);
                match check_readiness(&mut goal.request, progress, is_first) {
                    Readiness::Ready => selection.selected = Some(goal.request),
                    Readiness::TransformMissing(reason) if now >= deadline => {
                        let error = NavigationError::TransformFailed;
                        selection.refused.push((goal.request, error, reason));
                    }
                    Readiness::TransformMissing(_) | Readiness::Unfinished => kept.push_front(goal),
                    Readiness::Impossible(error, reason) => {
                        selection.refused.push((goal.request, error, reason));
                    }
                }
            }
            queue.goals = kept;
        });
        // In order of arrival.
        selection.displaced.reverse();
        selection
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::super::goal::NavigationResult;
    use super::super::test_harness::{load, navigation, registry, request};
    use super::*;

    fn tree() -> Arc<TreeDef> {
        load(&registry(), "<AlwaysSuccess/>")
    }

    fn unloaded_request(number: u8, clients: &Sender<(u8, NavigationResult)>) -> Request {
        let mut request = request(number, &tree(), clients);
        request.tree = RequestedTree::Named(format!("{number}.xml"));
        request
    }

    fn push(queue: &GoalQueue, request: Request) -> bool {
        queue.push(queue.admit().unwrap_or(0), request).is_ok()
    }

    fn numbers(requests: impl IntoIterator<Item = Request>) -> Vec<u8> {
        let number = |request: Request| request.client.id().0[0];
        requests.into_iter().map(number).collect()
    }

    #[test]
    fn trees_are_read_one_after_the_other_in_the_order_of_their_goals() {
        let (clients, _) = channel();
        let queue = GoalQueue::default();
        for number in 1..=3 {
            assert!(push(&queue, unloaded_request(number, &clients)));
        }
        let (first, _, name) = queue.next_name().unwrap();
        assert_eq!(name, "1.xml");
        for number in [1, 2] {
            assert!(queue.remove(navigation(number)).is_some());
        }
        assert!(queue.loaded(first, Ok(tree())).is_none(), "it is gone");
        let (third, _, name) = queue.next_name().unwrap();
        assert_eq!(name, "3.xml");
        let (request, reason) = queue.loaded(third, Err("no such file".to_owned())).unwrap();
        assert_eq!((numbers([request]), reason.as_str()), (vec![3], "no such file"));
        assert!(queue.is_empty());
        assert!(queue.close().is_empty());
        assert!(queue.next_name().is_none());
        assert!(!push(&queue, unloaded_request(4, &clients)));
    }

    #[test]
    fn the_newest_goal_that_is_ready_starts_and_older_ones_end() {
        let (clients, _) = channel();
        let queue = GoalQueue::default();
        for number in 1..=3 {
            assert!(push(&queue, request(number, &tree(), &clients)));
        }
        assert!(push(&queue, unloaded_request(4, &clients)));
        let select = |ready: u8, now: u64| {
            let check_readiness = |request: &mut Request, _: &mut TransformProgress, _| {
                if request.client.id().0[0] == ready {
                    Readiness::Ready
                } else {
                    Readiness::TransformMissing("no transform".to_owned())
                }
            };
            let (now, deadline) = (Time::from_millis(now), Time::from_millis(10));
            let selection = queue.select(now, deadline, None, |_, _| None, check_readiness);
            let refused = selection.refused.into_iter().map(|(request, ..)| request);
            (
                numbers(selection.selected),
                numbers(selection.displaced),
                numbers(refused),
            )
        };
        assert_eq!(select(0, 0), (vec![], vec![], vec![]));
        assert_eq!(select(2, 0), (vec![2], vec![1], vec![]));
        assert_eq!(select(0, 10), (vec![], vec![], vec![3]));
        assert_eq!(
            select(0, 9_999),
            (vec![], vec![], vec![]),
            "its tree is not read yet"
        );
        assert_eq!(select(0, 10_000), (vec![], vec![], vec![4]));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_goal_whose_tree_is_not_loaded_names_the_tree_that_delays_it() {
        let (clients, _) = channel();
        let queue = GoalQueue::default();
        assert!(push(&queue, unloaded_request(1, &clients)));
        let (first, ..) = queue.begin_loading().unwrap();
        assert!(queue.remove(navigation(1)).is_some());
        assert!(push(&queue, unloaded_request(2, &clients)));
        let refused = |now: u64| {
            let now = Time::from_millis(now);
            let selection = queue.select(now, now, None, |_, _| None, |_, _, _| Readiness::Ready);
            selection.refused.into_iter().map(|(_, _, reason)| reason).next()
        };
        assert_eq!(refused(0), None);
        let reason = refused(10_000).unwrap();
        assert!(
            reason.contains("`1.xml` is being loaded") && reason.contains("no custom leaf blocks"),
            "{reason}"
        );
        assert!(queue.loaded(first, Ok(tree())).is_none());
        assert!(push(&queue, unloaded_request(3, &clients)));
        assert_eq!(refused(10_000), None);
        assert!(refused(20_000).unwrap().contains("no tree is being loaded"));
    }

    #[test]
    fn a_goal_whose_tree_is_read_counts_as_older_unless_it_may_not_start_itself() {
        use NavigatorKind::{ThroughPoses, ToPose};

        let select = |current: Option<NavigatorKind>| {
            let (clients, _) = channel();
            let queue = GoalQueue::default();
            let mut reading = unloaded_request(1, &clients);
            reading.kind = ToPose;
            assert!(push(&queue, reading));
            assert!(push(&queue, request(2, &tree(), &clients)));
            let refusal =
                |(kind, _): &Replaceable, request: &Request| (*kind != request.kind).then_some("no");
            let current = current.map(|kind| (kind, None));
            let selection = queue.select(Time::ZERO, Time::ZERO, current, refusal, |_, _, _| {
                Readiness::Ready
            });
            let refused = selection.refused.into_iter().map(|(request, ..)| request);
            (
                numbers(selection.selected),
                numbers(selection.displaced),
                numbers(refused),
            )
        };
        assert_eq!(select(None), (vec![], vec![], vec![2]));
        assert_eq!(select(Some(ToPose)), (vec![], vec![], vec![2]));
        assert_eq!(select(Some(ThroughPoses)), (vec![2], vec![1], vec![]));
    }

    #[test]
    fn g8_a_goal_of_an_earlier_epoch_does_not_start() {
        let (clients, _) = channel();
        let queue = GoalQueue::default();
        let epoch = queue.admit().unwrap();
        assert!(queue.push(epoch, unloaded_request(1, &clients)).is_ok());
        assert_eq!(numbers(queue.shut()), [1]);
        assert!(queue.admit().is_none());
        assert!(queue.push(epoch, unloaded_request(2, &clients)).is_err());
        queue.open();
        assert!(
            queue.push(epoch, unloaded_request(2, &clients)).is_err(),
            "accepted before"
        );
        assert!(push(&queue, unloaded_request(3, &clients)));
    }
}
