//! Errors between this process and ROS.

/// An error of the room ros.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RosError {
    /// ROS could not be initialised: bad `--ros-args`, no middleware, no network.
    #[error("ROS 2 could not be initialised: {0}")]
    Context(String),
    /// The node could not be created.
    #[error("the node `{name}` could not be created: {reason}")]
    Node {
        /// Its name.
        name: String,
        /// The message of rcl.
        reason: String,
    },
    /// A topic or service endpoint could not be created.
    #[error("the {what} `{name}` could not be created: {reason}")]
    Entity {
        /// `subscription`, `publisher`, `service`, `client`.
        what: &'static str,
        /// Its name.
        name: String,
        /// The message of rcl.
        reason: String,
    },
    /// The thread that owns the node has ended, on request or because of a fault; see
    /// [`super::RosHandle::thread_exit`].
    #[error("the thread that owns the ROS node has ended")]
    Down,
    /// The thread that owns the node did not run the task in time.
    #[error("the thread that owns the ROS node did not answer in time")]
    Timeout,
    /// A request, response or message could not be sent.
    #[error("could not send: {0}")]
    Send(String),
    /// Too many requests to this server are unanswered.
    #[error("the server has left {0} requests without an answer: no more are sent but one every ten seconds")]
    Unanswered(usize),
    /// The type of a payload is not the type of its endpoint.
    #[error("the payload is not a {0}")]
    WrongPayload(&'static str),
}
