//! The mutable state of a running tree.

use std::any::Any;

use super::blackboard::{Blackboard, SlotId};
use super::current_node::CurrentNode;
use super::definition::{NodeIndex, TreeDef};
use super::error::TickError;
use super::event::Events;
use super::globals::Sharing;
use super::observer::Observer;
use super::priority::Orders;
use super::provenance::Provenance;
use super::random::Random;
use super::resource::Resources;
use super::{HaltOrder, NodeStatus, Time};

/// Small numbers that most nodes keep between ticks. Each node defines their meaning. A reset does not clear them: a
/// node initializes the ones it uses when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Memory {
    /// A position among the children, or a latch.
    pub index: u32,
    /// A counter.
    pub count: u32,
    /// A point in time, the number of an activation, or a set of up to 64 children.
    pub mark: u64,
}

/// The mutable state of a run. Rarely used parts are behind a pointer, because a program with thousands of trees pays
/// for every cache line of each.
pub(crate) struct Run {
    /// The status of each node. Separate from the memories: with one byte per node, the first tick after a pause finds
    /// all of them in one cache line.
    pub(crate) statuses: Box<[NodeStatus]>,
    pub(crate) memories: Box<[Memory]>,
    pub(crate) blackboard: Blackboard,
    /// States larger than [`Memory`], created on first use.
    pub(crate) states: Box<[Option<Box<dyn Any + Send>>]>,
    pub(crate) resources: Resources,
    pub(crate) observer: Option<Box<dyn Observer>>,
    /// Whether the observer is told of writes.
    pub(crate) watches_writes: bool,
    /// The write counts of the entries that a script may write, from before the script.
    pub(crate) before_script: Vec<(SlotId, u64)>,
    /// Used only while there is an observer.
    pub(crate) provenance: Option<Box<Provenance>>,
    pub(crate) now: Time,
    /// Whether a node requested another execution.
    pub(crate) woken: bool,
    /// The earliest time at which a waiting node needs a tick.
    pub(crate) wake_at: Option<Time>,
    pub(crate) failure: Option<Box<TickError>>,
    pub(crate) random: Random,
    pub(crate) orders: Orders,
    /// Created by the first event.
    pub(crate) events: Option<Box<Events>>,
    pub(crate) sharing: Option<Box<Sharing>>,
    /// Number of ticks of the root.
    pub(crate) ticks: u64,
    /// Start times of the last tick and of the one before it.
    pub(crate) ticked: [Time; 2],
    pub(crate) current_node: Option<CurrentNode>,
    /// Created on the first start outside of the tree.
    pub(crate) starts: Option<Box<Starts>>,
}

/// Work that a tick starts outside of the tree.
#[derive(Default)]
pub(crate) struct Starts {
    pub(crate) order: HaltOrder,
    pub(crate) waiting: Vec<Box<dyn FnOnce() + Send>>,
}

impl Run {
    pub(crate) fn new(def: &TreeDef) -> Self {
        Self {
            statuses: vec![NodeStatus::Idle; def.len()].into_boxed_slice(),
            memories: vec![Memory::default(); def.len()].into_boxed_slice(),
            blackboard: Blackboard::new(def.entries()),
            states: Box::default(),
            resources: Resources::default(),
            observer: None,
            watches_writes: false,
            before_script: Vec::new(),
            provenance: None,
            now: Time::ZERO,
            woken: false,
            wake_at: None,
            failure: None,
            random: Random::default(),
            orders: Orders::default(),
            events: None,
            sharing: None,
            ticks: 0,
            ticked: [Time::ZERO; 2],
            current_node: None,
            starts: None,
        }
    }

    /// Reads a part of every cache line of the run.
    #[inline]
    pub(crate) fn preload(&self) -> u64 {
        let statuses = self
            .statuses
            .iter()
            .step_by(64)
            .fold(0, |sum, it| sum ^ *it as u64);
        let memories = self.memories.iter().step_by(4).fold(0, |sum, it| sum ^ it.mark);
        statuses ^ memories ^ self.blackboard.preload()
    }

    pub(crate) fn begin_tick(&mut self, def: &TreeDef, now: Time) {
        let before = if self.ticks == 0 { now } else { self.ticked[0] };
        self.ticked = [now, before];
        self.receive(def, now);
        self.resources.begin_tick(now);
        if let Some(events) = &mut self.events {
            events.begin_tick(self.woken);
        }
    }

    /// Tells the observer that an entry was written or removed.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_write(&mut self, def: &TreeDef, slot: SlotId, by: Option<NodeIndex>) {
        if let Some(observer) = self.observer.as_mut().filter(|_| self.watches_writes) {
            observer.wrote(def, &self.blackboard, slot, by, self.now);
        }
    }

    /// Reads the writes of other trees.
    pub(crate) fn receive(&mut self, def: &TreeDef, now: Time) {
        if let Some(sharing) = &mut self.sharing {
            sharing.receive(&mut self.blackboard, &def.enums, now);
        }
    }

    pub(crate) fn end_tick(&mut self, now: Time) {
        if let Some(sharing) = &mut self.sharing {
            sharing.send(&self.blackboard);
        }
        self.resources.end_tick(now);
        if let Some(starts) = &mut self.starts
            && !starts.waiting.is_empty()
        {
            self.resources.hand_over();
            for start in starts.waiting.drain(..) {
                start();
            }
        }
    }
}
