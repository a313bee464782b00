//! The server side of a service.

use r2r::QosProfile;

use super::convert::{Convert, ServiceType};
use super::{Reply, RosError, RosNode, answers};

/// A request to a service. If it is dropped without an answer, the default response is sent, so no client waits
/// forever.
pub struct ServiceCall<S: ServiceType> {
    request: S::Request,
    reply: Option<Reply<S::Wire>>,
}

impl<S: ServiceType> std::fmt::Debug for ServiceCall<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ServiceCall").field(&self.request).finish()
    }
}

impl<S: ServiceType> ServiceCall<S> {
    /// The request.
    pub fn request(&self) -> &S::Request {
        &self.request
    }

    /// Answers, from any thread.
    pub fn respond(mut self, response: &S::Response) {
        self.send(response);
    }

    /// Never answers: the client waits until its timeout. For simulated faults.
    pub fn ignore(mut self) {
        self.reply = None;
    }

    fn send(&mut self, response: &S::Response) {
        if let Some(reply) = self.reply.take() {
            answers::answer(reply, response.to_wire());
        }
    }
}

impl<S: ServiceType> Drop for ServiceCall<S> {
    fn drop(&mut self) {
        if self.reply.is_some() {
            self.send(&S::Response::default());
        }
    }
}

/// Serves a service under a name, as long as the node exists. `handler` is called on the node's thread and must not
/// wait. A slow answer can be sent from another thread, with the [`ServiceCall`].
///
/// # Errors
/// [`RosError::Entity`].
pub fn serve_service<S: ServiceType>(
    node: &mut RosNode,
    name: &str,
    mut handler: impl FnMut(ServiceCall<S>) + Send + 'static,
) -> Result<(), RosError> {
    node.serve::<S::Wire>(name, QosProfile::services_default(), move |request, reply| {
        handler(ServiceCall {
            request: S::Request::from_wire(request),
            reply: Some(reply),
        });
    })
}
