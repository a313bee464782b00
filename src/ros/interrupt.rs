//! Ends the wait of a spin early.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use r2r::{QosProfile, std_msgs};

use super::{RosError, RosNode};

/// Ends the wait of a spin from any thread.
///
/// rcl has guard conditions for this, but r2r puts none into its wait set. So the node sends itself a message, on a
/// topic that `ros2 topic list` does not show. Before, a spin waited for 10 ms at most, to limit the wait for the node:
/// a hundred wait sets per second with all entities, 1 % of a core without use.
pub(super) struct Interrupt {
    /// Whether a spin waits or is about to wait.
    armed: AtomicBool,
    send: Mutex<Box<dyn FnMut() + Send>>,
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupt")
    }
}

impl Interrupt {
    /// The topic by which a node wakes itself; each node has its own.
    pub(super) const TOPIC: &'static str = "~/_wake";

    /// Creates the publisher and the subscription.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(super) fn open(node: &mut RosNode) -> Result<Self, RosError> {
        let qos = || QosProfile::default().keep_last(1);
        node.subscribe::<std_msgs::msg::Empty>(Self::TOPIC, qos(), |_| {})?;
        let publisher = node.publisher(Self::TOPIC, qos())?;
        // A lost message delays the task by the maximum wait of a spin.
        Ok(Self::with_sender(move || {
            let _ = publisher.publish(&std_msgs::msg::Empty {});
        }))
    }

    fn with_sender(send: impl FnMut() + Send + 'static) -> Self {
        Self {
            armed: AtomicBool::new(false),
            send: Mutex::new(Box::new(send)),
        }
    }

    /// Creates an interrupt for a test in which no spin waits.
    #[cfg(test)]
    pub(super) fn for_test() -> Self {
        Self::with_sender(|| ())
    }

    /// Call it when a spin is about to wait: from now on, [`Interrupt::raise`] ends it. Call it before the last check
    /// for work, so no task is missed in between.
    pub(super) fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    /// Call it after a spin: the thread then checks for work without an interrupt.
    pub(super) fn disarm(&self) {
        self.armed.store(false, Ordering::SeqCst);
    }

    /// Ends the wait, if there is one.
    pub(super) fn raise(&self) {
        if self.armed.swap(false, Ordering::SeqCst) {
            let mut send = self.send.lock().unwrap_or_else(PoisonError::into_inner);
            send();
        }
    }
}
