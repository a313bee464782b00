//! Errors between this process and ROS.

/// An error of the room ros.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RosError {
    /// ROS could not be initialised: bad `--ros-args`, no middleware, no network.
    #[error("ROS 2 not initialised: {0}")]
    Context(String),
    /// The node could not be created.
    #[error("node `{name}` not created: {reason}")]
    Node {
        /// Its name.
        name: String,
        /// The message of rcl.
        reason: String,
    },
    /// A topic or service endpoint could not be created.
    #[error("{what} `{name}` not created: {reason}")]
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
    #[error("not sent: {0}")]
    Send(String),
    /// Too many requests to this server are unanswered.
    #[error("{0} requests unanswered; sending one every 10 s")]
    Unanswered(usize),
    /// The type of a payload is not the type of its endpoint.
    #[error("the payload is not a {0}")]
    WrongPayload(&'static str),
}
