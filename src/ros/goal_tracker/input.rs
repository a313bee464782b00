//! The inputs of the thread, from other threads.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::panics::guarded;
use super::publishers::Publishers;
use crate::bt::Time;
use crate::goal::{Command, LinkId, ServerId, WireEvent};
use crate::nav::{Payload, TopicId};
use crate::ros::RosNode;
use crate::ros::guardian::GuardedGoals;
use crate::ros::inbox::Inbox;
use crate::ros::interfaces::{ActionTransport, Publish, ServiceTransport};
use crate::ros::spin::Task;

/// The inputs of the thread.
pub(in crate::ros) enum Input {
    Commands(Vec<Command<Payload>>),
    Wire(WireEvent<Payload>),
    Action(ServerId, Box<dyn ActionTransport>),
    /// A task for the node's thread.
    Task(Task),
    /// Keeps every goal on a server in this list from now on.
    Guard(GuardedGoals),
    /// A leaf needs the feedback of its goals on this server.
    Hear(ServerId),
    Service(ServerId, Box<dyn ServiceTransport>),
    /// A tree has opened a topic to publish on. Its publisher follows.
    Advertised(TopicId, Arc<str>),
    Publisher(TopicId, Box<dyn Publish>),
    /// No tree publishes on this topic any more.
    Unadvertised(TopicId),
    Message(Message),
    /// A tree has opened a server. Its client follows.
    Named(ServerId, Arc<str>),
    /// No tree uses this server any more. The function is told whether the thread has no goal there, and returns
    /// whether to close it.
    Close(ServerId, Box<dyn FnOnce(bool) -> bool + Send>),
    Link(LinkId, Arc<Inbox>),
    Unlink(LinkId),
    ShutDown(Duration),
    End,
}

/// A message that leaves in the order of the requests (guarantee G2): a leaf may publish a speed limit and send a goal.
pub(in crate::ros) enum Message {
    /// A message of a tree.
    Publish {
        topic: TopicId,
        payload: Payload,
        depth: u16,
        /// A leaf published it, not its halt.
        is_of_leaf: bool,
    },
    /// Sends feedback or a result to a client.
    Send(Box<dyn FnOnce() + Send>),
}

impl Message {
    pub(super) fn is_of_leaf(&self) -> bool {
        matches!(self, Self::Publish { is_of_leaf: true, .. })
    }

    pub(super) fn send(self, publishers: &mut Publishers, now: Time) {
        match self {
            Self::Publish {
                topic,
                payload,
                depth,
                is_of_leaf,
            } => publishers.publish(topic, payload, depth, is_of_leaf, now),
            Self::Send(send) => {
                guarded("a message", send);
            }
        }
    }
}

/// Sends inputs to the thread, for transports and links.
#[derive(Clone)]
pub(in crate::ros) struct InputSender(pub(super) Sender<Input>);

impl InputSender {
    pub(in crate::ros) fn wire(&self, event: WireEvent<Payload>) {
        self.send(Input::Wire(event));
    }

    /// Calls `then` on the node's thread with whether at most one server answers `service`, by the graph at the time of
    /// this call. If there are several, a client gets the answer of one of them. False if the graph cannot be read.
    pub(in crate::ros) fn ask_whether_alone(
        self,
        service: String,
        then: impl FnOnce(&Self, bool) + Send + 'static,
    ) {
        let to = self.clone();
        let look = move |node: &mut RosNode| then(&self, node.has_one_server(&service));
        to.send(Input::Task(Box::new(look)));
    }

    /// An input is lost only if the thread has ended; it is then of no use.
    pub(in crate::ros) fn send(&self, input: Input) {
        let _ = self.0.send(input);
    }
}
