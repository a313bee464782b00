//! `std_srvs/srv/Empty`: a call without content.

use crate::msg::declare::service;

service! {
    std_srvs/srv/Empty

    /// The empty request.
    request EmptyRequest {}

    /// The empty response.
    response EmptyResponse {}
}
