//! The requests and responses of services.

use r2r::std_msgs;

use super::{ServiceType, convert};
use crate::msg::service::{self, services};

/// Called by the `fields!` of a service.
macro_rules! convert_service {
    (
        $package:ident $service:ident;
        $request:ident $request_fields:tt plus $request_omitted:tt
        $response:ident $response_fields:tt plus $response_omitted:tt
    ) => {
        impl ServiceType for service::$service {
            type Wire = r2r::$package::srv::$service::Service;
        }
        convert!(service::$request = r2r::$package::srv::$service::Request $request_fields plus $request_omitted);
        convert!(service::$response = r2r::$package::srv::$service::Response $response_fields plus $response_omitted);
    };
}

macro_rules! convert_all {
    ($($file:ident: $service:ident,)*) => { $(service::$file::fields!();)* };
}
services!(convert_all);
