//! `std_srvs/srv/Trigger`: trigger an operation.

use crate::msg::declare::service;

service! {
    std_srvs/srv/Trigger

    /// The empty request.
    request TriggerRequest {}

    /// The response.
    response TriggerResponse {
        /// Whether the request succeeded.
        success: bool,
        /// The reason of a failure, or a remark.
        message: String,
    }
}
