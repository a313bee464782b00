//! A queue that several nodes share.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::value::Value;

/// A first-in, first-out queue on the blackboard (`LoopInt` and its siblings, `PopFromQueue`): every holder of the
/// entry sees the same queue, so a node may push while another takes. Where BehaviorTree.CPP has one type a type of
/// element, this holds values; what a node takes out is converted to the type of its port.
///
/// ```
/// use navtree::bt::{Queue, Value};
///
/// let value = Value::object(Queue::from_iter([1_i64, 2].map(Value::Int)));
/// let queue = value.downcast::<Queue>().unwrap();
/// queue.push(Value::Int(3));
/// assert_eq!((queue.pop(), queue.len()), (Some(Value::Int(1)), 2));
/// ```
#[derive(Default)]
pub struct Queue(Mutex<VecDeque<Value>>);

impl Queue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value at the end.
    pub fn push(&self, value: Value) {
        self.items().push_back(value);
    }

    /// Takes the first value out.
    pub fn pop(&self) -> Option<Value> {
        self.items().pop_front()
    }

    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.items().len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.items().is_empty()
    }

    /// Only the thread that ticks uses a tree's queue: the lock is never contended (guarantee G1).
    fn items(&self) -> MutexGuard<'_, VecDeque<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FromIterator<Value> for Queue {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        Self(Mutex::new(values.into_iter().collect()))
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.items().clone() == *other.items()
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.items().iter()).finish()
    }
}

crate::object!(
    Queue,
    "queue",
    "BT::SharedQueue",
    |_| Err("a queue is made in code".to_owned()),
    |queue| queue.items().iter().map(Value::to_json).collect()
);
