//! A node with its own context, and clients of services that cancel goals. A guardian needs several; see
//! [`super::cancel`].

use r2r::{NativeMsg, WrappedServiceTypeSupport, WrappedTypesupport, action_msgs};
use r2r_rcl as rcl;

use crate::ros::RosError;
use crate::ros::rcl_node::{RclNode, c_string, check};

type CancelGoal = action_msgs::srv::CancelGoal::Service;
pub(super) type Request = action_msgs::srv::CancelGoal::Request;
pub(super) type Response = action_msgs::srv::CancelGoal::Response;

pub(super) struct Participant {
    /// `None` for a service whose client cannot be created.
    clients: Vec<Option<rcl::rcl_client_t>>,
    node: RclNode,
}

impl Participant {
    /// Creates a node with this name, and a client for each service. It reads the process's arguments like any node. A
    /// service whose client cannot be created is left out: the goals of the others are cancelled.
    pub(super) fn new(name: &str, namespace: &str, services: &[String]) -> Result<Self, RosError> {
        let mut participant = Self {
            clients: Vec::new(),
            node: RclNode::new(name, namespace, std::env::args())?,
        };
        for service in services {
            let client = participant.create_client(service);
            if let Err(error) = &client {
                tracing::error!("{service}: goals cannot be cancelled: {error}");
            }
            participant.clients.push(client.ok());
        }
        Ok(participant)
    }

    fn create_client(&self, service: &str) -> Result<rcl::rcl_client_t, RosError> {
        let c_service = c_string(service)?;
        // SAFETY: rcl made the node; the type support is static; the text and the options outlive the call.
        unsafe {
            let mut client = rcl::rcl_get_zero_initialized_client();
            let options = rcl::rcl_client_get_default_options();
            let code = rcl::rcl_client_init(
                &raw mut client,
                self.node.as_ptr(),
                CancelGoal::get_ts(),
                c_service.as_ptr(),
                &raw const options,
            );
            check("rcl_client_init", code).map(|()| client)
        }
    }

    fn client(&self, service: usize) -> Option<&rcl::rcl_client_t> {
        self.clients.get(service)?.as_ref()
    }

    /// Whether the server of the service with this index is present.
    pub(super) fn is_server_available(&self, service: usize) -> bool {
        let mut is_available = false;
        let Some(client) = self.client(service) else {
            return false;
        };
        // SAFETY: rcl made both.
        let code = unsafe {
            rcl::rcl_service_server_is_available(
                self.node.as_ptr(),
                &raw const *client,
                &raw mut is_available,
            )
        };
        code == 0 && is_available
    }

    /// Sends a request, and returns its number.
    pub(super) fn send_request(&self, service: usize, request: &Request) -> Result<i64, RosError> {
        let client = self.client(service).ok_or(RosError::Down)?;
        let request = NativeMsg::<Request>::from(request);
        let mut number = 0;
        // SAFETY: rcl made the client, with this type, and the request outlives the call.
        let code = unsafe { rcl::rcl_send_request(&raw const *client, request.msg.cast(), &raw mut number) };
        check("rcl_send_request", code).map(|()| number)
    }

    /// Takes an answer, with the number of its request.
    pub(super) fn take_response(&self, service: usize) -> Option<(i64, Response)> {
        let client = self.client(service)?;
        let response = NativeMsg::<Response>::new();
        // SAFETY: rcl made the client, with this type; a request's header is plain numbers; both outlive the call.
        let (code, header) = unsafe {
            let mut header: rcl::rmw_request_id_t = std::mem::zeroed();
            let code = rcl::rcl_take_response(&raw const *client, &raw mut header, response.msg.cast());
            (code, header)
        };
        (code == 0).then(|| (header.sequence_number, Response::from_native(&response)))
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        for client in self.clients.iter_mut().flatten() {
            // SAFETY: rcl made both; the node still exists, and the client is not used afterwards.
            unsafe { rcl::rcl_client_fini(&raw mut *client, self.node.as_ptr()) };
        }
    }
}
