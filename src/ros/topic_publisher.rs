//! Messages for whoever listens, and none for nobody.

use r2r::{Publisher, QosProfile};

use super::convert::TopicType;
use super::{RosError, RosNode};

/// A publisher of a type that room `msg` knows, with the middleware's default service quality: what is made for others
/// to look at, and not worth making when nobody looks.
pub struct TopicPublisher<T: TopicType>(Publisher<T::Wire>);

impl<T: TopicType> std::fmt::Debug for TopicPublisher<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TopicPublisher").field(&T::TYPE).finish()
    }
}

impl<T: TopicType> TopicPublisher<T> {
    /// One on a topic.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn new(node: &mut RosNode, topic: &str) -> Result<Self, RosError> {
        node.publisher(topic, QosProfile::default()).map(Self)
    }

    /// Whether anybody subscribes: a count that the middleware keeps.
    pub fn has_listeners(&self) -> bool {
        self.0
            .get_inter_process_subscription_count()
            .is_ok_and(|count| count > 0)
    }

    /// Publishes. From one thread at a time; waits for nobody, because a listener that is slow loses the oldest.
    ///
    /// # Errors
    /// [`RosError::Send`].
    pub fn publish(&self, message: &T::Payload) -> Result<(), RosError> {
        self.0
            .publish(&T::to_wire(message))
            .map_err(|error| RosError::Send(error.to_string()))
    }
}
