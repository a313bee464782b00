//! Writes what a tree does to the stream.

use std::sync::Arc;

use super::event::Event;
use super::stream::Stream;
use crate::bt::{Blackboard, HaltReason, NodeIndex, NodeStatus, Observer, SlotId, TickError, Time, TreeDef};

/// The observer of a recorded tree.
#[derive(Debug)]
pub struct Tracer {
    stream: Stream,
    /// Number of entries whose keys the stream has, those of the definition included.
    named: u32,
}

impl Tracer {
    /// An observer for a new tree of a definition.
    pub fn new(stream: Stream, def: &TreeDef) -> Self {
        Self {
            stream,
            named: u32::try_from(def.slots.len()).unwrap_or(u32::MAX),
        }
    }

    #[cold]
    fn name_keys(&mut self, blackboard: &Blackboard) {
        let count = u32::try_from(blackboard.len()).unwrap_or(u32::MAX);
        for slot in (self.named..count).map(SlotId::from_index) {
            if let Some((scope, key)) = blackboard.dynamic_key(slot) {
                let key = (slot, scope, Arc::clone(key));
                self.stream.write(Event::Key(Box::new(key)));
            }
        }
        self.named = count;
    }
}

impl Observer for Tracer {
    fn changed(&mut self, _def: &TreeDef, node: NodeIndex, from: NodeStatus, to: NodeStatus, _now: Time) {
        self.stream.write(Event::Changed { node, from, to });
    }

    fn halted(&mut self, _def: &TreeDef, node: NodeIndex, reason: HaltReason, _now: Time) {
        self.stream.write(Event::Halted { node, reason });
    }

    fn skipped(&mut self, _def: &TreeDef, node: NodeIndex, _now: Time) {
        self.stream.write(Event::Skipped(node));
    }

    fn tick_begins(&mut self, _def: &TreeDef, now: Time) {
        self.stream.set_time(now);
        self.stream.write(Event::TickBegan);
    }

    fn tick_ends(&mut self, _def: &TreeDef, result: Result<NodeStatus, &TickError>, _now: Time) {
        self.stream.write(match result {
            Ok(status) => Event::TickEnded(status),
            Err(error) => Event::TickFailed(error.to_string().into()),
        });
    }

    fn halt_begins(&mut self, _def: &TreeDef, reason: HaltReason, now: Time) {
        self.stream.set_time(now);
        self.stream.write(Event::HaltBegan(reason));
    }

    fn halt_ends(&mut self, _def: &TreeDef, _now: Time) {
        self.stream.write(Event::HaltEnded);
    }

    fn wrote(
        &mut self,
        _def: &TreeDef,
        blackboard: &Blackboard,
        slot: SlotId,
        by: Option<NodeIndex>,
        _now: Time,
    ) {
        if !self.stream.is_read() {
            return;
        }
        if slot.index() >= self.named {
            self.name_keys(blackboard);
        }
        let entry = blackboard.entry(slot);
        self.stream.write(Event::Wrote {
            slot,
            by,
            value: entry.exists().then(|| entry.value().cloned().unwrap_or_default()),
            info: entry.info(),
        });
    }

    fn watches_writes(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::{leaf, sequence};
    use crate::bt::testing::Scene;
    use crate::bt::{ScopeId, Value};

    /// The records of a tree, without those of status changes.
    fn writes(root: crate::bt::builder::NodeBuilder, act: impl FnOnce(&mut crate::bt::Tree)) -> Vec<String> {
        let mut tree = Scene::new(root).compile().unwrap();
        let stream = Stream::default();
        let mut distributor = stream.distribute();
        let def = Arc::clone(tree.definition());
        tree.set_observer(Some(Box::new(Tracer::new(stream, &def))));
        act(&mut tree);
        let batch = distributor.distribute().unwrap();
        let word = |event: &Event| match event {
            Event::Wrote { slot, by, value, .. } => Some(format!("{} by {by:?}: {value:?}", slot.index())),
            Event::Key(key) => Some(format!("{} is {} of {}", key.0.index(), key.2, key.1.index())),
            _ => None,
        };
        batch
            .records
            .iter()
            .filter_map(|record| word(&record.event))
            .collect()
    }

    #[test]
    fn each_write_is_recorded_with_its_writer() {
        let root = sequence([
            leaf("Script").port("code", "a := 1; b := a + 1; a := 3"),
            leaf("UnsetBlackboard").port("key", "a"),
        ]);
        let words = writes(root, |tree| {
            tree.set("b", 7_i32).unwrap();
            tree.tick(Time::ZERO).unwrap();
        });
        let expected = [
            "1 by None: Some(7)",
            "0 by Some(NodeIndex(1)): Some(3)",
            "1 by Some(NodeIndex(1)): Some(2)",
            "0 by Some(NodeIndex(2)): None",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn keys_made_at_run_time_are_named_once() {
        let words = writes(leaf("AlwaysSuccess"), |tree| {
            tree.set("goal", 1_i32).unwrap();
            tree.set("goal", 2_i32).unwrap();
            assert_eq!(tree.get_in(ScopeId::ROOT, "goal"), Some(&Value::Int(2)));
        });
        assert_eq!(
            words,
            ["0 is goal of 0", "0 by None: Some(1)", "0 by None: Some(2)"]
        );
    }
}
