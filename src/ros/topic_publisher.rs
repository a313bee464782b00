//! A publisher that tells whether its topic has subscribers.

use r2r::QosProfile;

use super::convert::TopicType;
use super::{Publisher, RosError, RosNode};

/// A publisher of a type in room `msg`, with the middleware's default quality of service. For messages that are only
/// useful to observers and are not worth creating without subscribers.
pub struct TopicPublisher<T: TopicType>(Publisher<T::Wire>);

impl<T: TopicType> std::fmt::Debug for TopicPublisher<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TopicPublisher").field(&T::TYPE).finish()
    }
}

impl<T: TopicType> TopicPublisher<T> {
    /// Creates a publisher on a topic.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn new(node: &mut RosNode, topic: &str) -> Result<Self, RosError> {
        node.publisher(topic, QosProfile::default()).map(Self)
    }

    /// Whether the topic has subscribers, by the middleware's count.
    pub fn has_listeners(&self) -> bool {
        self.0.subscriptions() > 0
    }

    /// Publishes a message. Does not wait: a slow subscriber loses its oldest messages.
    ///
    /// # Errors
    /// [`RosError::Send`].
    pub fn publish(&self, message: &T::Payload) -> Result<(), RosError> {
        self.0.publish(&T::to_wire(message))
    }
}
