//! `std_srvs/srv/Empty`: a call without content.

use serde::{Deserialize, Serialize};

use super::Service;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct Empty;

impl Service for Empty {
    type Request = EmptyRequest;
    type Response = EmptyResponse;
    const TYPE: &'static str = "std_srvs/srv/Empty";
}

/// The empty request.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EmptyRequest {}

/// The empty response.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EmptyResponse {}
