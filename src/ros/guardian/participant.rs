//! A node with its own context, and clients of services that cancel goals.
//!
//! r2r has one context per process, and a guardian needs several; see [`super::cancel`].

use std::ffi::{CString, c_char, c_int};

use r2r::{NativeMsg, WrappedServiceTypeSupport, WrappedTypesupport, action_msgs};
use r2r_rcl as rcl;

use crate::ros::RosError;

type CancelGoal = action_msgs::srv::CancelGoal::Service;
pub(super) type Request = action_msgs::srv::CancelGoal::Request;
pub(super) type Response = action_msgs::srv::CancelGoal::Response;

/// Structures made by rcl. The node and the context must not move.
pub(super) struct Participant {
    /// `None` for a service whose client cannot be made.
    clients: Vec<Option<rcl::rcl_client_t>>,
    node: Box<rcl::rcl_node_t>,
    context: Box<rcl::rcl_context_t>,
}

/// Converts the return code of an rcl call.
fn check(call: &str, code: rcl::rcl_ret_t) -> Result<(), RosError> {
    if code == 0 {
        Ok(())
    } else {
        Err(RosError::Context(format!("{call} returned {code}")))
    }
}

fn c_string(text: impl Into<Vec<u8>>) -> Result<CString, RosError> {
    CString::new(text).map_err(|_| RosError::Context("a name contains a zero byte".to_owned()))
}

impl Participant {
    /// Creates a node with this name, and a client for each service. It reads the process's arguments like any node. A
    /// service whose client cannot be made is left out: the goals of the others are cancelled.
    pub(super) fn new(name: &str, namespace: &str, services: &[String]) -> Result<Self, RosError> {
        let arguments = std::env::args().map(c_string).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(0);
        let (name, namespace) = (c_string(name)?, c_string(namespace)?);
        // SAFETY: these take no arguments and return plain structures, which `drop` may finalize at any time.
        let mut made = unsafe {
            Self {
                clients: Vec::new(),
                node: Box::new(rcl::rcl_get_zero_initialized_node()),
                context: Box::new(rcl::rcl_get_zero_initialized_context()),
            }
        };
        // SAFETY: all structures were initialized for rcl; all strings outlive the calls; the context and the node do
        // not move while their entities exist.
        unsafe {
            let mut options = rcl::rcl_get_zero_initialized_init_options();
            let allocator = rcl::rcutils_get_default_allocator();
            check(
                "rcl_init_options_init",
                rcl::rcl_init_options_init(&raw mut options, allocator),
            )?;
            let code = rcl::rcl_init(
                count,
                pointers.as_ptr(),
                &raw const options,
                &raw mut *made.context,
            );
            rcl::rcl_init_options_fini(&raw mut options);
            check("rcl_init", code)?;
            let options = rcl::rcl_node_get_default_options();
            let code = rcl::rcl_node_init(
                &raw mut *made.node,
                name.as_ptr(),
                namespace.as_ptr(),
                &raw mut *made.context,
                &raw const options,
            );
            check("rcl_node_init", code)?;
            for service in services {
                let c_service = c_string(service.as_str())?;
                let mut client = rcl::rcl_get_zero_initialized_client();
                let options = rcl::rcl_client_get_default_options();
                let code = rcl::rcl_client_init(
                    &raw mut client,
                    &raw const *made.node,
                    CancelGoal::get_ts(),
                    c_service.as_ptr(),
                    &raw const options,
                );
                let client = check("rcl_client_init", code).map(|()| client);
                if let Err(error) = &client {
                    tracing::error!("{service}: goals cannot be cancelled: {error}");
                }
                made.clients.push(client.ok());
            }
        }
        Ok(made)
    }

    fn client(&self, service: usize) -> Option<&rcl::rcl_client_t> {
        self.clients.get(service)?.as_ref()
    }

    /// Whether the server of the service with this index is present.
    pub(super) fn is_there(&self, service: usize) -> bool {
        let mut is_there = false;
        let Some(client) = self.client(service) else {
            return false;
        };
        // SAFETY: rcl made both.
        let code = unsafe {
            rcl::rcl_service_server_is_available(&raw const *self.node, &raw const *client, &raw mut is_there)
        };
        code == 0 && is_there
    }

    /// Sends a request, and returns its number.
    pub(super) fn ask(&self, service: usize, request: &Request) -> Result<i64, RosError> {
        let client = self.client(service).ok_or(RosError::Down)?;
        let request = NativeMsg::<Request>::from(request);
        let mut number = 0;
        // SAFETY: rcl made the client, with this type, and the request outlives the call.
        let code = unsafe { rcl::rcl_send_request(&raw const *client, request.msg.cast(), &raw mut number) };
        check("rcl_send_request", code).map(|()| number)
    }

    /// Takes an answer, with the number of its request.
    pub(super) fn take(&self, service: usize) -> Option<(i64, Response)> {
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
        // SAFETY: each was initialized for rcl, is finalized once, before the structures it depends on, and is not used
        // afterwards. rcl ignores structures that it has not initialized.
        unsafe {
            for client in self.clients.iter_mut().flatten() {
                rcl::rcl_client_fini(&raw mut *client, &raw mut *self.node);
            }
            if rcl::rcl_node_is_valid_except_context(&raw const *self.node) {
                rcl::rcl_node_fini(&raw mut *self.node);
            }
            if rcl::rcl_context_is_valid(&raw const *self.context) {
                rcl::rcl_shutdown(&raw mut *self.context);
                rcl::rcl_context_fini(&raw mut *self.context);
            }
        }
    }
}
