//! The context of a node: its view of the run during a tick or a halt.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::behavior::{Thrown, Tick};
use super::blackboard::{Blackboard, SlotId, TypeClash};
use super::definition::{NodeDef, NodeIndex, TreeDef};
use super::error::TickError;
use super::event::Event;
use super::resource::Resource;
use super::run::{Memory, Run};
use super::script::Script;
use super::types::TypeInfo;
use super::value::Value;
use super::{Enums, HaltOrder, HaltReason, NodeStatus, Time};

/// The children of a node, looked up once for a loop.
#[derive(Clone, Copy)]
pub(crate) struct Children<'t> {
    nodes: &'t [u32],
    by_priority: bool,
}

impl Children<'_> {
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.nodes.len()
    }

    #[inline(always)]
    pub(crate) fn at(self, position: usize, cx: &Context<'_>) -> u32 {
        if self.by_priority {
            return cx.child_by_priority(position);
        }
        self.nodes[position]
    }
}

/// One node's view of the run.
pub struct Context<'t> {
    pub(crate) def: &'t TreeDef,
    pub(crate) run: &'t mut Run,
    pub(crate) node: u32,
}

impl<'t> Context<'t> {
    // --- the node itself ----------------------------------------------------------------------------------------

    /// The time of this tick. The caller reads the clock once per tick.
    #[inline]
    pub fn now(&self) -> Time {
        self.run.now
    }

    /// The time between the start of the previous tick and the start of this one; zero in the first tick. A repeated
    /// execution of the root after [`Context::wake`] belongs to the same tick.
    pub fn since_last_tick(&self) -> Duration {
        let [now, before] = self.run.ticked;
        now.since(before)
    }

    /// The number of executions of the root, this one included.
    pub fn tick_number(&self) -> u64 {
        self.run.ticks
    }

    /// The index of the node.
    pub fn node(&self) -> NodeIndex {
        NodeIndex(self.node)
    }

    /// The node's full path.
    pub fn path(&self) -> &'t str {
        &self.def.info[self.node as usize].path
    }

    /// The definition of the running tree.
    pub fn definition(&self) -> &'t TreeDef {
        self.def
    }

    /// The stored status: the last result of the node, or IDLE after its parent reset it.
    #[inline]
    pub fn status(&self) -> NodeStatus {
        self.run.statuses[self.node as usize]
    }

    /// Whether this tick starts a new activation.
    #[inline]
    pub fn is_fresh(&self) -> bool {
        !self.status().is_active()
    }

    /// Stores a status before the tick ends. Control nodes do so when they begin to run.
    #[inline]
    pub fn set_status(&mut self, status: NodeStatus) {
        self.store(self.node, status);
    }

    /// The node's small state.
    #[inline]
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.run.memories[self.node as usize]
    }

    /// The node's large state, created on first use and kept until the tree is dropped.
    #[inline]
    pub fn state<S: Any + Send + Default>(&mut self) -> &mut S {
        let slot = self.state_slot();
        if !slot.as_ref().is_some_and(|state| state.is::<S>()) {
            *slot = Some(Box::new(S::default()));
        }
        match slot.as_mut().and_then(|state| state.downcast_mut()) {
            Some(state) => state,
            None => unreachable!("the state was just made"),
        }
    }

    /// Takes the large state out of the context, for use beside it. Put it back with [`Context::put_state`].
    pub fn take_state<S: Any + Send + Default>(&mut self) -> Box<S> {
        let taken = self.run.states.get_mut(self.node as usize).and_then(Option::take);
        taken.and_then(|state| state.downcast().ok()).unwrap_or_default()
    }

    /// Puts the large state back.
    pub fn put_state<S: Any + Send>(&mut self, state: Box<S>) {
        *self.state_slot() = Some(state);
    }

    #[inline]
    fn state_slot(&mut self) -> &mut Option<Box<dyn Any + Send>> {
        if self.run.states.is_empty() {
            self.make_states();
        }
        &mut self.run.states[self.node as usize]
    }

    #[cold]
    fn make_states(&mut self) {
        self.run.states = std::iter::repeat_with(|| None).take(self.def.len()).collect();
    }

    /// Requests another execution of the root immediately after this one.
    pub fn wake(&mut self) {
        self.run.woken = true;
    }

    /// Requests a tick at `time` at the latest.
    pub fn wake_at(&mut self, time: Time) {
        self.run.wake_at = Some(self.run.wake_at.map_or(time, |earlier| earlier.min(time)));
    }

    /// Starts work outside of the tree that belongs to no resource. `start` is called at the end of the tick, after all
    /// preempted nodes were halted (guarantee G2), or immediately under [`HaltOrder::AsTicked`]. It must return at
    /// once.
    pub fn start_outside(&mut self, start: impl FnOnce() + Send + 'static) {
        let starts = self.run.starts.get_or_insert_default();
        match starts.order {
            HaltOrder::BeforeStarts => starts.waiting.push(Box::new(start)),
            HaltOrder::AsTicked => start(),
        }
    }

    /// Fails the tree and records the node, its place and the message. Return the result as the result of the tick.
    #[cold]
    pub fn throw(&mut self, message: impl Into<String>) -> Thrown {
        let info = &self.def.info[self.node as usize];
        self.run.failure = Some(Box::new(TickError {
            path: info.path.clone(),
            id: info.id.clone(),
            place: self.def.place(NodeIndex(self.node)),
            message: message.into(),
            panicked: false,
        }));
        Thrown(())
    }

    /// Records that the running node has read its inputs again and continues with the new values.
    pub fn note_inputs_read(&mut self) {
        if let Some(provenance) = &mut self.run.provenance {
            provenance.read_again(&self.run.blackboard, self.node);
        }
    }

    // --- children --------------------------------------------------------------------------------------------

    /// The number of children of the node.
    #[inline]
    pub fn child_count(&self) -> usize {
        self.def.nodes[self.node as usize].child_count as usize
    }

    /// The children of the node, for loops.
    #[inline(always)]
    pub(crate) fn children(&self) -> Children<'t> {
        let node = &self.def.nodes[self.node as usize];
        let first = node.first_child as usize;
        Children {
            nodes: &self.def.children[first..first + node.child_count as usize],
            by_priority: node.flags & NodeDef::PRIORITY != 0,
        }
    }

    #[inline(always)]
    fn child(&self, position: usize) -> u32 {
        let node = &self.def.nodes[self.node as usize];
        if node.flags & NodeDef::PRIORITY != 0 {
            return self.child_by_priority(position);
        }
        self.def.children[node.first_child as usize + position]
    }

    #[cold]
    #[inline(never)]
    fn child_by_priority(&self, position: usize) -> u32 {
        let node = &self.def.nodes[self.node as usize];
        self.def.children[node.first_child as usize + self.position_in_file(position)]
    }

    /// The stored status of a child.
    #[inline]
    pub fn child_status(&self, position: usize) -> NodeStatus {
        self.run.statuses[self.child(position) as usize]
    }

    /// The path of a child, for messages.
    pub fn child_path(&self, position: usize) -> &'t str {
        &self.def.info[self.child(position) as usize].path
    }

    /// Ticks a child.
    ///
    /// # Errors
    /// [`Thrown`] if the child, or a node below it, raised an error.
    #[inline(always)]
    pub fn tick_child(&mut self, position: usize) -> Tick {
        let child = self.child(position);
        self.tick_node(child)
    }

    /// Ticks the only child of a decorator and resets it if it completed, as the end of `DecoratorNode::executeTick`
    /// does. For nodes with exactly one child.
    ///
    /// # Errors
    /// As [`Context::tick_child`].
    #[inline(always)]
    pub fn tick_only_child(&mut self) -> Tick {
        // In pre-order the first child follows its parent.
        let child = self.node + 1;
        debug_assert_eq!(self.child_count(), 1);
        let status = self.tick_node(child)?;
        if status.is_completed() {
            self.store(child, NodeStatus::Idle);
        }
        Ok(status)
    }

    /// Inlined into every node with children: a call costs as much as the visit.
    #[inline(always)]
    pub(crate) fn tick_node(&mut self, node: u32) -> Tick {
        let def = self.def;
        let compiled = &def.nodes[node as usize];
        if compiled.flags & (NodeDef::GUARDED | NodeDef::RESETS_CHILD | NodeDef::ANNOUNCED) != 0 {
            return self.tick_with_care(node);
        }
        let status = self.as_node(node, |cx| compiled.behavior.tick(cx))?;
        self.finish_tick(node, compiled, status)
    }

    /// Ticks a node that needs work before or after its own tick.
    #[inline(never)]
    fn tick_with_care(&mut self, node: u32) -> Tick {
        let def = self.def;
        let compiled = &def.nodes[node as usize];
        if compiled.flags & NodeDef::ANNOUNCED != 0 {
            return self.announced(node, |cx| cx.tick_carefully(node, compiled));
        }
        self.tick_carefully(node, compiled)
    }

    #[inline(always)]
    fn tick_carefully(&mut self, node: u32, compiled: &'t NodeDef) -> Tick {
        if compiled.flags & NodeDef::GUARDED != 0 {
            return self.tick_guarded(node);
        }
        let status = self.as_node(node, |cx| compiled.behavior.tick(cx))?;
        if compiled.flags & NodeDef::RESETS_CHILD != 0 {
            self.reset_completed_child(compiled);
        }
        self.finish_tick(node, compiled, status)
    }

    /// Publishes the node as the current node during an operation that may take long.
    #[inline(never)]
    fn announced<R>(&mut self, node: u32, act: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.run.current_node.as_ref().map(|place| place.enter(node));
        let result = act(self);
        if let (Some(place), Some(before)) = (&self.run.current_node, before) {
            place.leave(before);
        }
        result
    }

    /// Runs `act` with another node as the current one. One context serves a whole tick, because a context per visit is
    /// more expensive. After a panic it still holds the node that was running.
    #[inline(always)]
    pub(super) fn as_node<R>(&mut self, node: u32, act: impl FnOnce(&mut Self) -> R) -> R {
        let parent = std::mem::replace(&mut self.node, node);
        let result = act(self);
        self.node = parent;
        result
    }

    #[inline(always)]
    fn finish_tick(&mut self, node: u32, compiled: &NodeDef, status: NodeStatus) -> Tick {
        if matches!(status, NodeStatus::Skipped | NodeStatus::Idle)
            || (status == NodeStatus::Running && compiled.flags & NodeDef::CONDITION != 0)
        {
            return self.finish_unusual_tick(node, status);
        }
        self.store(node, status);
        Ok(status)
    }

    #[cold]
    #[inline(never)]
    fn finish_unusual_tick(&mut self, node: u32, status: NodeStatus) -> Tick {
        let message = match status {
            NodeStatus::Idle => "a node must not return IDLE: IDLE means that the node was not ticked",
            NodeStatus::Running => "a condition must not return RUNNING; register the node as an action",
            NodeStatus::Skipped | NodeStatus::Success | NodeStatus::Failure => {
                if let Some(observer) = &mut self.run.observer {
                    observer.skipped(self.def, NodeIndex(node), self.run.now);
                }
                return Ok(status);
            }
        };
        Err(self.as_node(node, |cx| cx.throw(message)))
    }

    #[cold]
    fn tick_guarded(&mut self, node: u32) -> Tick {
        let def = self.def;
        let compiled = &def.nodes[node as usize];
        let guards = def.guards.get(&node);
        let status = self.as_node(node, |cx| {
            let forced = match guards {
                Some(guards) => guards.before(cx)?,
                None => None,
            };
            let status = match forced {
                Some(status) => status,
                None => {
                    let status = compiled.behavior.tick(cx)?;
                    if compiled.flags & NodeDef::RESETS_CHILD != 0 {
                        cx.reset_completed_child(compiled);
                    }
                    status
                }
            };
            match guards {
                Some(guards) => guards.after(cx, status),
                None => Ok(status),
            }
        })?;
        self.finish_tick(node, compiled, status)
    }

    /// Resets a completed child of a decorator that does not reset it itself.
    #[inline]
    fn reset_completed_child(&mut self, compiled: &NodeDef) {
        let child = self.def.children[compiled.first_child as usize];
        if self.run.statuses[child as usize].is_completed() {
            self.store(child, NodeStatus::Idle);
        }
    }

    /// Halts a child if it is running, and resets it.
    #[inline]
    pub fn halt_child(&mut self, position: usize, reason: HaltReason) {
        let child = self.child(position);
        self.halt_or_reset(child, reason);
    }

    #[inline]
    pub(crate) fn halt_or_reset(&mut self, child: u32, reason: HaltReason) {
        if self.run.statuses[child as usize] == NodeStatus::Running {
            self.halt_node(child, reason);
        } else {
            self.store(child, NodeStatus::Idle);
        }
    }

    /// Halts the running children and resets all children, in file order.
    #[inline]
    pub fn halt_children(&mut self, reason: HaltReason) {
        let children = self.children().nodes;
        if self.run.observer.is_some() {
            for child in children {
                self.halt_or_reset(*child, reason);
            }
            return;
        }
        for child in children {
            let status = &mut self.run.statuses[*child as usize];
            if *status == NodeStatus::Running {
                self.halt_node(*child, reason);
            } else {
                *status = NodeStatus::Idle;
            }
        }
    }

    /// Resets all children after the node completed. Running children are halted.
    #[inline]
    pub fn reset_children(&mut self) {
        self.halt_children(HaltReason::ParentFinished);
    }

    pub(crate) fn halt_node(&mut self, node: u32, reason: HaltReason) {
        if self.def.nodes[node as usize].flags & NodeDef::ANNOUNCED != 0 {
            return self.announced(node, |cx| cx.halt_at_once(node, reason));
        }
        self.halt_at_once(node, reason);
    }

    #[inline(always)]
    fn halt_at_once(&mut self, node: u32, reason: HaltReason) {
        let def = self.def;
        let compiled = &def.nodes[node as usize];
        self.as_node(node, |cx| {
            compiled.behavior.halt(cx, reason);
            cx.store(node, NodeStatus::Idle);
            if compiled.flags & NodeDef::GUARDED != 0
                && let Some(script) = def.guards.get(&node).and_then(|guards| guards.on_halted.as_ref())
            {
                // A halt has no tick result. The error stays recorded for the caller of the tick.
                let _ = cx.run(script);
            }
        });
        if let Some(observer) = &mut self.run.observer {
            observer.halted(def, NodeIndex(node), reason, self.run.now);
        }
    }

    pub(crate) fn halt_self(&mut self, reason: HaltReason) {
        self.halt_node(self.node, reason);
    }

    #[inline(always)]
    pub(crate) fn store(&mut self, node: u32, status: NodeStatus) {
        if self.run.observer.is_some() {
            return self.store_and_tell(node, status);
        }
        self.run.statuses[node as usize] = status;
    }

    #[cold]
    #[inline(never)]
    fn store_and_tell(&mut self, node: u32, status: NodeStatus) {
        let before = std::mem::replace(&mut self.run.statuses[node as usize], status);
        if let Some(provenance) = &mut self.run.provenance {
            provenance.changed(&self.run.blackboard, node, before, status);
        }
        if before != status
            && let Some(observer) = &mut self.run.observer
        {
            observer.changed(self.def, NodeIndex(node), before, status, self.run.now);
        }
    }

    // --- the world ----------------------------------------------------------------------------------------------

    /// All entries, read only.
    #[inline]
    pub fn blackboard(&self) -> &Blackboard {
        &self.run.blackboard
    }

    /// The enumeration names.
    pub fn enums(&self) -> &'t Enums {
        &self.def.enums
    }

    /// Writes an entry under the type rules of the blackboard.
    ///
    /// # Errors
    /// [`TypeClash`].
    #[inline]
    pub fn write(&mut self, slot: SlotId, value: Value, info: &'static TypeInfo) -> Result<(), TypeClash> {
        let now = self.run.now;
        let enums = &self.def.enums;
        self.write_by(|blackboard| blackboard.set(slot, value, info, enums, now))
    }

    /// Runs a write that belongs to this node.
    #[inline(always)]
    fn write_by<R>(&mut self, write: impl FnOnce(&mut Blackboard) -> R) -> R {
        let Run {
            blackboard,
            provenance,
            ..
        } = &mut *self.run;
        let Some(provenance) = provenance else {
            return write(blackboard);
        };
        provenance.begin_write(blackboard, self.node);
        let result = write(blackboard);
        provenance.end_write(blackboard, self.node);
        result
    }

    /// Writes a text like [`Context::write`] if the entry already holds this text. Returns whether it does.
    pub(crate) fn write_same_text(&mut self, slot: SlotId, text: *const str) -> bool {
        let now = self.run.now;
        self.write_by(|blackboard| blackboard.set_same_text(slot, text, now))
    }

    /// Removes the value of an entry. The entry remains and keeps its type.
    pub fn empty(&mut self, slot: SlotId) {
        self.run.blackboard.empty(slot);
    }

    /// Removes an entry.
    pub fn remove(&mut self, slot: SlotId) {
        self.run.blackboard.remove(slot);
    }

    /// The resource of a type.
    #[inline]
    pub fn resource<T: Resource>(&mut self) -> Option<&mut T> {
        self.run.resources.get()
    }

    /// The events of this tick, oldest first.
    pub fn events(&self) -> &[Event] {
        self.run.events.as_ref().map_or(&[], |events| &events.current)
    }

    /// Sends an event to the nodes of the tree, like [`Tree::emit`](super::Tree::emit). The next tick receives it.
    pub fn emit(&mut self, name: impl Into<Arc<str>>, data: Value) {
        self.run.events.get_or_insert_default().emit(name.into(), data);
    }

    /// The next random number, uniform in `0.0..1.0`. The same seed ([`Tree::set_seed`](super::Tree::set_seed)) gives
    /// the same numbers.
    pub fn random(&mut self) -> f64 {
        self.run.random.unit()
    }

    /// Evaluates a script.
    ///
    /// # Errors
    /// [`Thrown`] with the message of the script.
    pub fn run(&mut self, script: &Script) -> Result<Value, Thrown> {
        let now = self.run.now;
        let enums = &self.def.enums;
        self.write_by(|blackboard| script.evaluate(blackboard, enums, now))
            .map_err(|error| self.throw(error.to_string()))
    }

    /// Evaluates a script as a condition.
    ///
    /// # Errors
    /// [`Thrown`] with the message of the script.
    pub fn test(&mut self, script: &Script) -> Result<bool, Thrown> {
        let now = self.run.now;
        let enums = &self.def.enums;
        self.write_by(|blackboard| script.test(blackboard, enums, now))
            .map_err(|error| self.throw(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::bt::builder::leaf;
    use crate::bt::testing::Scene;

    #[test]
    fn a_tick_knows_its_number_and_the_time_since_the_last() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&seen);
        let scene = Scene::new(leaf("Look")).registry(move |registry| {
            let look = move |cx: &mut Context<'_>| {
                to.lock().unwrap().push((cx.tick_number(), cx.since_last_tick()));
                Ok(NodeStatus::Success)
            };
            registry.action("Look", look).unwrap();
        });
        let mut tree = scene.compile().unwrap();
        for time in [5, 15, 18] {
            tree.tick(Time::from_millis(time)).unwrap();
        }
        let after = |milliseconds| Duration::from_millis(milliseconds);
        assert_eq!(
            *seen.lock().unwrap(),
            [(1, after(0)), (2, after(10)), (3, after(3))]
        );
    }

    #[test]
    fn a_condition_that_returns_running_is_an_error() {
        let scene = Scene::new(leaf("Look")).registry(|registry| {
            registry.condition("Look", |_| NodeStatus::Running).unwrap();
        });
        let error = scene.compile().unwrap().tick(Time::ZERO).unwrap_err();
        assert!(error.to_string().contains("must not return RUNNING"), "{error}");
    }
}
