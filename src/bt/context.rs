//! The context of a node: its view of the run during a tick or a halt.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::behavior::Thrown;
use super::blackboard::{Blackboard, SlotId, TypeClash};
use super::definition::{NodeIndex, TreeDef};
use super::error::TickError;
use super::event::Event;
use super::resource::Resource;
use super::run::{Memory, Run};
use super::script::Script;
use super::types::TypeInfo;
use super::value::Value;
use super::{Enums, HaltOrder, NodeStatus, Time};

/// One node's view of the run.
pub struct Context<'t> {
    pub(crate) def: &'t TreeDef,
    pub(crate) run: &'t mut Run,
    pub(crate) node: u32,
}

impl<'t> Context<'t> {
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

    /// Tells the resources of the tree that something is probably wrong. The tree goes on.
    #[cold]
    pub fn warn(&mut self, message: impl Into<String>) {
        let path = &self.def.info[self.node as usize].path;
        self.run.resources.warn(path, &message.into());
    }

    /// Records that the running node has read its inputs again and continues with the new values.
    pub fn note_inputs_read(&mut self) {
        if let Some(provenance) = &mut self.run.provenance {
            provenance.read_again(&self.run.blackboard, self.node);
        }
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
        self.write_by(Some(slot), |blackboard| {
            blackboard.set(slot, value, info, enums, now)
        })
    }

    /// Runs a write that belongs to this node: of one entry, or of those that a script writes.
    #[inline(always)]
    fn write_by<R>(&mut self, slot: Option<SlotId>, write: impl FnOnce(&mut Blackboard) -> R) -> R {
        let Run {
            blackboard,
            provenance,
            watches_writes,
            ..
        } = &mut *self.run;
        let Some(provenance) = provenance else {
            if !*watches_writes {
                return write(blackboard);
            }
            return self.write_and_tell(slot, write);
        };
        provenance.begin_write(blackboard, self.node);
        let result = if *watches_writes {
            self.write_and_tell(slot, write)
        } else {
            write(blackboard)
        };
        let Run {
            blackboard,
            provenance,
            ..
        } = &mut *self.run;
        if let Some(provenance) = provenance {
            provenance.end_write(blackboard, self.node);
        }
        result
    }

    /// Runs a write and tells the observer which entries it wrote.
    #[inline(never)]
    fn write_and_tell<R>(&mut self, slot: Option<SlotId>, write: impl FnOnce(&mut Blackboard) -> R) -> R {
        let by = Some(NodeIndex(self.node));
        let Some(slot) = slot else {
            let mut before = std::mem::take(&mut self.run.before_script);
            let blackboard = &self.run.blackboard;
            for slot in self.def.slots_written_by(self.node) {
                if !before.iter().any(|(known, _)| *known == slot) {
                    before.push((slot, blackboard.entry(slot).sequence()));
                }
            }
            let result = write(&mut self.run.blackboard);
            for (slot, sequence) in before.drain(..) {
                if self.run.blackboard.entry(slot).sequence() != sequence {
                    self.run.tell_write(self.def, slot, by);
                }
            }
            self.run.before_script = before;
            return result;
        };
        let sequence = self.run.blackboard.entry(slot).sequence();
        let result = write(&mut self.run.blackboard);
        if self.run.blackboard.entry(slot).sequence() != sequence {
            self.run.tell_write(self.def, slot, by);
        }
        result
    }

    /// Writes a text like [`Context::write`] if the entry already holds this text. Returns whether it does.
    #[inline]
    pub(crate) fn write_same_text(&mut self, slot: SlotId, text: *const str) -> bool {
        let now = self.run.now;
        self.write_by(Some(slot), |blackboard| blackboard.set_same_text(slot, text, now))
    }

    /// Removes the value of an entry. The entry remains and keeps its type.
    pub fn empty(&mut self, slot: SlotId) {
        self.run.blackboard.empty(slot);
        self.run.tell_write(self.def, slot, Some(NodeIndex(self.node)));
    }

    /// Removes an entry.
    pub fn remove(&mut self, slot: SlotId) {
        self.run.blackboard.remove(slot);
        self.run.tell_write(self.def, slot, Some(NodeIndex(self.node)));
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
        self.write_by(None, |blackboard| script.evaluate(blackboard, enums, now))
            .map_err(|error| self.throw(error.to_string()))
    }

    /// Evaluates a script as a condition.
    ///
    /// # Errors
    /// [`Thrown`] with the message of the script.
    pub fn test(&mut self, script: &Script) -> Result<bool, Thrown> {
        let now = self.run.now;
        let enums = &self.def.enums;
        self.write_by(None, |blackboard| script.test(blackboard, enums, now))
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
}
