//! A queue shared by several nodes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::value::Value;

/// A first-in, first-out queue on the blackboard (`LoopInt` and its siblings, `PopFromQueue`). All holders of the entry
/// share the same queue, so a node may push while another pops. BehaviorTree.CPP has one queue type per element type;
/// this one holds values, and the port converts them to its type.
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

    /// Removes the first value and returns it.
    pub fn pop(&self) -> Option<Value> {
        self.items().pop_front()
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.items().len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.items().is_empty()
    }

    /// The values, first to last.
    pub fn snapshot(&self) -> Vec<Value> {
        self.items().iter().cloned().collect()
    }

    /// Only the tick thread uses a tree's queue, so the lock is never contended (guarantee G1).
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
    |_| Err("a queue cannot be written as text; create it in code".to_owned()),
    |queue| queue.items().iter().map(Value::to_json).collect()
);
