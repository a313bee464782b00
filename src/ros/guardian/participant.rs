//! A node with its own context, and clients of services that cancel goals. A guardian needs several; see
//! [`super::cancel`].

use r2r::{QosProfile, action_msgs};

use crate::ros::RosError;
use crate::ros::rcl::{Client, Context, Node};

type CancelGoal = action_msgs::srv::CancelGoal::Service;
pub(super) type Request = action_msgs::srv::CancelGoal::Request;
pub(super) type Response = action_msgs::srv::CancelGoal::Response;

pub(super) struct Participant {
    /// `None` for a service whose client cannot be created.
    clients: Vec<Option<Client<CancelGoal>>>,
    /// Kept for the clients.
    _node: Node,
}

impl Participant {
    /// Creates a node with this name, and a client for each service. It reads the process's arguments like any node. A
    /// service whose client cannot be created is left out: the goals of the others are cancelled.
    pub(super) fn new(name: &str, namespace: &str, services: &[String]) -> Result<Self, RosError> {
        let node = Node::new(&Context::new(std::env::args_os())?, name, namespace)?;
        let clients = services.iter().map(|service| {
            Client::new(&node, service, QosProfile::services_default())
                .inspect_err(|error| tracing::error!("{service}: goals cannot be cancelled: {error}"))
                .ok()
        });
        Ok(Self {
            clients: clients.collect(),
            _node: node,
        })
    }

    fn client(&self, service: usize) -> Option<&Client<CancelGoal>> {
        self.clients.get(service)?.as_ref()
    }

    /// Whether the server of the service with this index is present.
    pub(super) fn is_server_available(&self, service: usize) -> bool {
        self.client(service).and_then(Client::is_available) == Some(true)
    }

    /// Sends a request, and returns its number.
    pub(super) fn send_request(&self, service: usize, request: &Request) -> Result<i64, RosError> {
        self.client(service).ok_or(RosError::Down)?.send(request)
    }

    /// Takes an answer, with the number of its request.
    pub(super) fn take_response(&self, service: usize) -> Option<(i64, Response)> {
        self.client(service)?.take()
    }
}
