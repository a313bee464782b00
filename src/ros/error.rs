//! What can go wrong between this process and ROS.

/// Why the room could not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RosError {
    /// ROS could not be initialised: bad `--ros-args`, no middleware, no network.
    #[error("ROS 2 could not be initialised: {0}")]
    Context(String),
    /// The node could not be made.
    #[error("the node `{name}` could not be created: {reason}")]
    Node {
        /// Its name.
        name: String,
        /// What rcl says.
        reason: String,
    },
    /// A topic or service endpoint could not be made.
    #[error("the {what} `{name}` could not be created: {reason}")]
    Entity {
        /// `subscription`, `publisher`, `service`, `client`.
        what: &'static str,
        /// Its name.
        name: String,
        /// What rcl says.
        reason: String,
    },
    /// The thread that owns the node has ended, on request or by a fault; see [`super::RosHandle::thread_exit`].
    #[error("the thread that owns the ROS node has ended")]
    Down,
    /// The thread that owns the node did not get to it in time.
    #[error("the thread that owns the ROS node did not answer in time")]
    Timeout,
    /// A request, response or message could not be sent.
    #[error("could not send: {0}")]
    Send(String),
    /// Too many requests to this server have had no answer.
    #[error("the server has left {0} requests without an answer: no more are sent but one every ten seconds")]
    Unanswered(usize),
    /// A payload is not of the type its endpoint carries.
    #[error("the payload is not a {0}")]
    WrongPayload(&'static str),
}
