//! One run of a definition.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use super::blackboard::{Blackboard, ScopeId, SlotId, TypeClash};
use super::context::Context;
use super::current_node::CurrentNode;
use super::definition::{NodeIndex, TreeDef};
use super::error::{TickError, panic_text};
use super::globals::{Globals, Sharing};
use super::keys;
use super::observer::Observer;
use super::provenance::Provenance;
use super::random::Random;
use super::resource::{Resource, Resources};
use super::run::Run;
use super::types::PortValue;
use super::value::Value;
use super::{HaltOrder, HaltReason, NodeStatus, Time};

/// One run of a [`TreeDef`]: the state of each node, and the blackboard. Creating one parses nothing.
///
/// One thread owns a tree. Other threads send their requests to this thread.
pub struct Tree {
    def: Arc<TreeDef>,
    run: Run,
    /// The first panic of a node. A panicked node may have left its state half changed, so the tree is not ticked
    /// again.
    poison: Option<Box<TickError>>,
}

/// Maximum number of repeated executions in one call of [`Tree::tick`]. BehaviorTree.CPP's `tickOnce` has no limit, so
/// it never returns if a node always requests another execution.
pub const MAX_WAKE_UPS: usize = 1000;

impl Tree {
    /// Creates a run in its initial state.
    pub fn new(def: Arc<TreeDef>) -> Self {
        let run = Run::new(&def);
        Self {
            def,
            run,
            poison: None,
        }
    }

    /// Adds a resource for the nodes. Call [`Tree::attach`] after the last one.
    pub fn insert_resource<T: Resource>(&mut self, resource: T) {
        self.run.resources.insert(resource);
    }

    /// A resource.
    pub fn resource<T: Resource>(&mut self) -> Option<&mut T> {
        self.run.resources.get()
    }

    /// Takes all resources out, for use by another tree.
    pub fn take_resources(&mut self) -> Resources {
        std::mem::take(&mut self.run.resources)
    }

    /// Installs resources that another tree used before.
    pub fn put_resources(&mut self, resources: Resources) {
        self.run.resources = resources;
    }

    /// Lets every node open its endpoints and resources.
    ///
    /// # Errors
    /// [`TickError`] if a node panicked. The tree cannot be used.
    pub fn attach(&mut self, now: Time) -> Result<(), TickError> {
        self.run.now = now;
        let def = Arc::clone(&self.def);
        for node in 0..def.len() as u32 {
            let mut cx = Context {
                def: &def,
                run: &mut self.run,
                node,
            };
            let behavior = &def.nodes[node as usize].behavior;
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| behavior.attach(&mut cx))) {
                self.poison(NodeIndex(node), &*payload);
            }
        }
        self.sound()
    }

    /// Sets whether halts take effect before starts ([`Context::start_outside`]). A resource has its own setting.
    pub fn set_halt_order(&mut self, order: HaltOrder) {
        self.run.starts.get_or_insert_default().order = order;
    }

    /// The current node of the run, readable by other threads. Created on the first call.
    pub fn current_node(&mut self) -> CurrentNode {
        let def = &self.def;
        let made = || CurrentNode::new(Arc::clone(def));
        self.run.current_node.get_or_insert_with(made).clone()
    }

    /// The first panic of a node. Such a tree can only be halted and dropped.
    pub fn panic(&self) -> Option<&TickError> {
        self.poison.as_deref()
    }

    pub(crate) fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    #[cold]
    fn refuse(&self) -> Result<NodeStatus, TickError> {
        self.sound().map(|()| NodeStatus::Idle)
    }

    #[cold]
    fn sound(&self) -> Result<(), TickError> {
        self.poison
            .as_ref()
            .map_or(Ok(()), |poison| Err((**poison).clone()))
    }

    #[cold]
    fn poison(&mut self, node: NodeIndex, payload: &(dyn Any + Send)) {
        if let Some(place) = &self.run.current_node {
            place.leave(0);
        }
        self.run.failure = None;
        let message = format!("panicked: {}", panic_text(payload));
        let error = self.take_failure(node, &message, true);
        self.poison.get_or_insert_with(|| Box::new(error));
    }

    /// Sets the observer of the run and drops the previous one.
    pub fn set_observer(&mut self, observer: Option<Box<dyn Observer>>) {
        self.run.watches_writes = observer
            .as_ref()
            .is_some_and(|observer| observer.watches_writes());
        self.run.observer = observer;
    }

    /// Tracks whether the result of the run is based on the newest values of these keys of the main tree, see
    /// [`Tree::is_current`]. Works only while there is an observer.
    pub fn track_provenance<'k>(&mut self, keys: impl IntoIterator<Item = &'k str>) {
        let slots = keys.into_iter().filter_map(|key| self.find(ScopeId::ROOT, key));
        let provenance = Provenance::new(&self.def, slots.collect());
        self.run.provenance = Some(Box::new(provenance));
    }

    /// Records that the keys of [`Tree::track_provenance`] were written while the tree runs.
    pub fn renew_sources(&mut self) {
        if let Some(provenance) = &mut self.run.provenance {
            provenance.renew(&self.run.blackboard);
        }
    }

    /// Whether a run that ended with `status` used the values that were written at [`Tree::renew_sources`], directly or
    /// through entries derived from them. False if this is not certain.
    pub fn is_current(&self, status: NodeStatus) -> bool {
        self.run
            .provenance
            .as_ref()
            .is_some_and(|provenance| provenance.is_current(status))
    }

    /// Whether an entry of the main tree is based on the values that were written at [`Tree::renew_sources`], if it was
    /// called in this run. False if this is not certain.
    pub fn is_entry_current(&self, key: &str) -> bool {
        let Some(provenance) = &self.run.provenance else {
            return true;
        };
        let slot = self.find(ScopeId::ROOT, key);
        slot.is_none_or(|slot| provenance.is_entry_current(&self.run.blackboard, slot))
    }

    /// Sets the seed of the random numbers; 0 by default. Give each of several trees its own seed:
    /// [`instance_seed`](super::instance_seed).
    pub fn set_seed(&mut self, seed: u64) {
        self.run.random = Random::new(seed);
    }

    /// Shares the keys that the tree addresses with `@` with all trees that use the same [`Globals`].
    pub fn share(&mut self, globals: Globals) {
        self.run.sharing = Some(Box::new(Sharing::new(globals, &self.def)));
    }

    /// Sends an event to the nodes. Only the next tick sees it.
    pub fn emit(&mut self, name: impl Into<Arc<str>>, data: Value) {
        self.run.events.get_or_insert_default().emit(name.into(), data);
    }

    /// The definition that is run.
    pub fn definition(&self) -> &Arc<TreeDef> {
        &self.def
    }

    /// The stored status of a node.
    pub fn status(&self, node: NodeIndex) -> NodeStatus {
        self.run.statuses[node.index()]
    }

    /// The stored status of the root.
    pub fn root_status(&self) -> NodeStatus {
        self.run.statuses[0]
    }

    /// Executes the root once. A completed root is idle afterwards, so the next tick starts it again.
    ///
    /// # Errors
    /// [`TickError`] if a node raised an error or panicked. Nothing is reset: call [`Tree::halt`]. A tree with a
    /// panicked node is not ticked again ([`Tree::panic`]); every further tick returns the same error.
    pub fn tick_exactly_once(&mut self, now: Time) -> Result<NodeStatus, TickError> {
        if self.poison.is_some() {
            return self.refuse();
        }
        self.begin_tick(now);
        let result = self.execute_root(now);
        self.end_tick(&result, now);
        result
    }

    fn begin_tick(&mut self, now: Time) {
        if let Some(observer) = &mut self.run.observer {
            observer.tick_begins(&self.def, now);
        }
        self.run.begin_tick(&self.def, now);
    }

    fn end_tick(&mut self, result: &Result<NodeStatus, TickError>, now: Time) {
        self.run.end_tick(now);
        if let Some(observer) = &mut self.run.observer {
            observer.tick_ends(&self.def, result.as_ref().copied(), now);
        }
    }

    /// Executes the root. Repeats while the root is running and a node requested another execution, as `tickOnce` does.
    ///
    /// # Errors
    /// As [`Tree::tick_exactly_once`].
    pub fn tick(&mut self, now: Time) -> Result<NodeStatus, TickError> {
        if self.poison.is_some() {
            return self.refuse();
        }
        self.begin_tick(now);
        let mut result = self.execute_root(now);
        for _ in 0..MAX_WAKE_UPS {
            if !matches!(result, Ok(NodeStatus::Running)) || !self.run.woken {
                break;
            }
            result = self.execute_root(now);
        }
        self.end_tick(&result, now);
        result
    }

    fn execute_root(&mut self, now: Time) -> Result<NodeStatus, TickError> {
        let Self { def, run, .. } = self;
        run.now = now;
        run.woken = false;
        run.wake_at = None;
        run.ticks += 1;
        let mut cx = Context { def, run, node: 0 };
        let result = panic::catch_unwind(AssertUnwindSafe(|| cx.tick_node(0)));
        let at = NodeIndex(cx.node);
        match result {
            Ok(Ok(status)) => {
                // A script in `_onHalted` may have failed although the tick continued.
                if let Some(failure) = self.run.failure.take() {
                    return Err(*failure);
                }
                if status.is_completed() {
                    Context {
                        def: &self.def,
                        run: &mut self.run,
                        node: 0,
                    }
                    .store(0, NodeStatus::Idle);
                }
                Ok(status)
            }
            Ok(Err(_)) => Err(self.take_failure(at, "raised an error without a reason", false)),
            Err(payload) => {
                self.poison(at, &*payload);
                self.refuse()
            }
        }
    }

    fn take_failure(&mut self, node: NodeIndex, message: &str, panicked: bool) -> TickError {
        if let Some(failure) = self.run.failure.take() {
            return *failure;
        }
        let info = self.def.node(node);
        TickError {
            path: Arc::clone(&info.path),
            id: Arc::clone(&info.id),
            place: self.def.place(node),
            message: message.to_owned(),
            panicked,
        }
    }

    /// Ends the run. Halts all running nodes (guarantee G2), resets the root and clears what nodes keep between
    /// activations. Returns at once (guarantee G3).
    pub fn halt(&mut self, reason: HaltReason, now: Time) {
        if let Some(observer) = &mut self.run.observer {
            observer.halt_begins(&self.def, reason, now);
        }
        self.run.receive(&self.def, now);
        self.run.resources.begin_tick(now);
        let Self { def, run, .. } = self;
        run.now = now;
        run.woken = false;
        run.wake_at = None;
        let mut panics = Vec::new();
        // Halt the root first, and with it its running descendants. Then halt the remaining running nodes: those left
        // after an error or a panic, or left running by a parent that completed. This is BehaviorTree.CPP's order.
        for node in 0..def.len() as u32 {
            let mut cx = Context { def, run, node };
            let halted = panic::catch_unwind(AssertUnwindSafe(|| {
                if cx.status() == NodeStatus::Running {
                    cx.halt_node(node, reason);
                } else {
                    cx.halt_children(reason);
                }
            }));
            panics.extend(halted.err().map(|payload| (NodeIndex(cx.node), payload)));
            let mut cx = Context { def, run, node };
            let rewound = panic::catch_unwind(AssertUnwindSafe(|| {
                cx.store(node, NodeStatus::Idle);
                def.nodes[node as usize].behavior.rewind(&mut cx);
            }));
            panics.extend(rewound.err().map(|payload| (NodeIndex(node), payload)));
        }
        for (node, payload) in panics {
            self.poison(node, &*payload);
        }
        self.run.failure = None;
        if let Some(provenance) = &mut self.run.provenance {
            provenance.reset();
        }
        if let Some(events) = &mut self.run.events {
            events.forget();
        }
        self.run.end_tick(now);
        if let Some(observer) = &mut self.run.observer {
            observer.halt_ends(&self.def, now);
        }
    }

    /// Loads the state of the run into the CPU cache. Useful for a host of thousands of trees, where no tree stays in
    /// the cache: a pass over ten thousand trees takes little more than half the time. Useless for a tree that is
    /// ticked repeatedly.
    #[inline]
    pub fn preload(&self) {
        std::hint::black_box(self.run.preload());
    }

    /// Whether a node requested another execution during the last one.
    pub fn is_woken(&self) -> bool {
        self.run.woken
    }

    /// The earliest time at which a node requested a tick.
    pub fn wake_at(&self) -> Option<Time> {
        self.run.wake_at
    }

    /// The number of executions of the root so far.
    pub fn ticks(&self) -> u64 {
        self.run.ticks
    }

    /// The blackboard, for reading by slot.
    pub fn blackboard(&self) -> &Blackboard {
        &self.run.blackboard
    }

    /// The value of a key of the main tree, if it was written.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.get_in(ScopeId::ROOT, key)
    }

    /// The value of a key of a scope, if it was written.
    pub fn get_in(&self, scope: ScopeId, key: &str) -> Option<&Value> {
        self.run.blackboard.get(self.find(scope, key)?)
    }

    /// Writes a key of the main tree.
    ///
    /// # Errors
    /// [`TypeClash`].
    pub fn set<T: PortValue>(&mut self, key: &str, value: T) -> Result<(), TypeClash> {
        self.set_value(key, value.into_value(), T::TYPE)
    }

    /// Writes a key of the main tree with a value whose type is known only at run time.
    ///
    /// # Errors
    /// [`TypeClash`].
    pub fn set_value(
        &mut self,
        key: &str,
        value: Value,
        info: &'static super::TypeInfo,
    ) -> Result<(), TypeClash> {
        let Self { def, run, .. } = self;
        let slot = keys::resolve(def, &mut run.blackboard, ScopeId::ROOT, key);
        run.blackboard.set(slot, value, info, &def.enums, run.now)?;
        run.tell_write(def, slot, None);
        Ok(())
    }

    /// Replaces the values of entries. Calls `new` for every entry in all scopes, except those with a value from the
    /// file.
    pub fn rewrite(&mut self, new: impl Fn(&Value) -> Option<Value>) {
        let Self { def, run, .. } = self;
        for slot in (0..run.blackboard.len())
            .filter_map(|slot| u32::try_from(slot).ok())
            .map(SlotId)
        {
            let given = def
                .slots
                .get(slot.0 as usize)
                .and_then(|slot| slot.initial.as_ref());
            if given.is_none_or(Value::is_empty)
                && let Some(value) = run.blackboard.get(slot).and_then(&new)
            {
                run.blackboard.put(slot, value, run.now);
                run.tell_write(def, slot, None);
            }
        }
    }

    /// The entry of a key.
    pub fn find(&self, scope: ScopeId, key: &str) -> Option<SlotId> {
        keys::find(&self.def, &self.run.blackboard, scope, key)
    }

    /// The own keys of a scope with their values (`null` if not written), as BehaviorTree.CPP exports them.
    pub fn export(&self, scope: ScopeId) -> serde_json::Map<String, serde_json::Value> {
        let own = self.def.scopes[scope.0 as usize]
            .own
            .iter()
            .map(|(key, slot)| (&**key, *slot));
        own.chain(self.run.blackboard.dynamic_keys(scope))
            .filter(|(_, slot)| self.run.blackboard.entry(*slot).exists())
            .map(|(key, slot)| {
                let value = self
                    .run
                    .blackboard
                    .get(slot)
                    .map_or(serde_json::Value::Null, Value::to_json);
                (key.to_owned(), value)
            })
            .collect()
    }
}
