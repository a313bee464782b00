//! Runs a tree with mocked leaves on a virtual clock, for `trace` and `test`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::mocks::to_value;
use crate::bt::{
    HaltReason, NodeIndex, NodeStatus, Observer, ScopeId, TickError, Time, Tree, TreeDef, Value, is_key,
};

/// The state after one tick.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The tick number, from 1.
    pub(crate) tick: u64,
    /// The status of the root, or the error that the tree raised.
    pub(crate) result: Result<NodeStatus, TickError>,
    /// The stored status of each node, in pre-order.
    pub(crate) statuses: Vec<NodeStatus>,
    /// The nodes that were halted, in the order in which their halts ended.
    pub(crate) halted: Vec<NodeIndex>,
}

/// A tree with its clock and observer.
pub(crate) struct MockRun {
    tree: Tree,
    period: Duration,
    now: Time,
    drain: bool,
    halt_recorder: HaltRecorder,
    /// Number of calls of [`MockRun::tick`]. With `drain`, one call may be several ticks of the tree.
    ticks: u64,
}

impl MockRun {
    pub(crate) fn new(def: Arc<TreeDef>, period: Duration, drain: bool) -> Self {
        let mut tree = Tree::new(def);
        let halt_recorder = HaltRecorder::default();
        tree.set_observer(Some(Box::new(halt_recorder.clone())));
        // A tree that cannot be used reports this when it is ticked.
        let _ = tree.attach(Time::ZERO);
        Self {
            tree,
            period,
            now: Time::ZERO,
            drain,
            halt_recorder,
            ticks: 0,
        }
    }

    /// Adds an observer.
    pub(crate) fn observe(&mut self, observer: impl Observer + 'static) {
        let both = (self.halt_recorder.clone(), observer);
        self.tree.set_observer(Some(Box::new(both)));
    }

    pub(crate) fn definition(&self) -> &Arc<TreeDef> {
        self.tree.definition()
    }

    /// Sets the seed of `Random` and similar nodes; the default is 0.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.tree.set_seed(seed);
    }

    /// Writes a key of the root blackboard.
    pub(crate) fn set(&mut self, key: &str, value: &serde_json::Value) -> Result<(), String> {
        if !is_key(key) {
            return Err(format!(
                "`{key}` is not a key: write a name with at most one `@` before it"
            ));
        }
        if value.is_null() {
            return Err(format!("{key}: no value is given: write a value"));
        }
        let (value, info) = to_value(value);
        self.tree
            .set_value(key, value, info)
            .map_err(|clash| format!("{key}: {clash}"))
    }

    /// Emits an event for the next tick.
    pub(crate) fn emit(&mut self, name: &str, data: &serde_json::Value) {
        let data = if data.is_null() {
            Value::Empty
        } else {
            to_value(data).0
        };
        self.tree.emit(name, data);
    }

    /// Ticks the root once (with `drain` again while it is woken), one period after the last tick.
    pub(crate) fn tick(&mut self) -> Snapshot {
        let result = if self.drain {
            self.tree.tick(self.now)
        } else {
            self.tree.tick_exactly_once(self.now)
        };
        self.now = self.now + self.period;
        self.ticks += 1;
        self.snapshot(result)
    }

    /// Halts the whole tree, like a cancelled goal.
    pub(crate) fn halt(&mut self) -> Snapshot {
        self.tree.halt(HaltReason::GoalCanceled, self.now);
        self.snapshot(Ok(NodeStatus::Idle))
    }

    /// Advances the clock without a tick.
    pub(crate) fn advance(&mut self, duration: Duration) {
        self.now = self.now + duration;
    }

    fn snapshot(&mut self, result: Result<NodeStatus, TickError>) -> Snapshot {
        let statuses = self
            .definition()
            .nodes()
            .map(|(node, _)| self.tree.status(node))
            .collect();
        Snapshot {
            tick: self.ticks,
            result,
            statuses,
            halted: self.halt_recorder.take(),
        }
    }

    /// The root blackboard.
    pub(crate) fn blackboard(&self) -> BTreeMap<String, serde_json::Value> {
        self.tree.export(ScopeId::ROOT).into_iter().collect()
    }
}

/// Records the halted nodes.
#[derive(Clone, Default)]
struct HaltRecorder(Arc<Mutex<Vec<NodeIndex>>>);

impl HaltRecorder {
    fn take(&self) -> Vec<NodeIndex> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for HaltRecorder {
    fn changed(&mut self, _: &TreeDef, _: NodeIndex, _: NodeStatus, _: NodeStatus, _: Time) {}

    fn halted(&mut self, _def: &TreeDef, node: NodeIndex, _reason: HaltReason, _now: Time) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(node);
    }
}
