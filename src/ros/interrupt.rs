//! What ends the wait of a spin early.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use r2r::{QosProfile, std_msgs};

use super::{RosError, RosNode};

/// Ends the wait of a spin from any thread.
///
/// rcl has guard conditions for that, and r2r puts none into its wait set; so the node sends itself a message, on a
/// topic that `ros2 topic list` does not show. Before, a spin waited for 10 ms at most so that nobody had to wait
/// longer than that for the node: a hundred wait sets a second with every entity in them, 1 % of a core for nothing.
pub(super) struct Interrupt {
    /// Whether a spin waits, or is about to.
    armed: AtomicBool,
    send: Mutex<Box<dyn FnMut() + Send>>,
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupt")
    }
}

impl Interrupt {
    /// On which a node wakes itself; each node has one of its own.
    pub(super) const TOPIC: &'static str = "~/_wake";

    /// Makes both ends.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub(super) fn open(node: &mut RosNode) -> Result<Self, RosError> {
        let qos = || QosProfile::default().keep_last(1);
        node.subscribe::<std_msgs::msg::Empty>(Self::TOPIC, qos(), |_| {})?;
        let publisher = node.publisher(Self::TOPIC, qos())?;
        // Lost, it costs what a spin may wait at most.
        Ok(Self::by(move || {
            let _ = publisher.publish(&std_msgs::msg::Empty {});
        }))
    }

    fn by(send: impl FnMut() + Send + 'static) -> Self {
        Self {
            armed: AtomicBool::new(false),
            send: Mutex::new(Box::new(send)),
        }
    }

    /// For a test: there is no spin.
    #[cfg(test)]
    pub(super) fn of_nobody() -> Self {
        Self::by(|| ())
    }

    /// A spin is about to wait: whoever raises from now on ends it. To be called before the last look at what there is
    /// to do, so that nothing falls between the two.
    pub(super) fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    /// The spin is over: the thread will look at what there is to do by itself.
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
