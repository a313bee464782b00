//! `nav2_msgs/srv/Toggle`: switch something on or off.

use crate::msg::declare::service;

service! {
    nav2_msgs/srv/Toggle

    /// The request.
    request ToggleRequest {
        /// True for on.
        enable: bool,
    }

    /// The response.
    response ToggleResponse {
        /// Whether the request succeeded.
        success: bool,
        /// The reason of a failure.
        message: String,
    }
}
