//! `RosService`: calls any service.

use serde_json::Value as JsonValue;

use super::fields::{MessageIn, MessageOut, note, refuse_others, type_name};
use crate::bt::{Context, Input, NodeStatus, Ports, Text, Thrown, Tick};
use crate::msg::Service;
use crate::nav::endpoint::{Endpoint, NO_INTERFACE_YET};
use crate::nav::link::Part;
use crate::nav::service_node::ServiceNode;

/// A service whose messages are JSON.
#[derive(Clone, Copy, Debug)]
pub struct JsonService;

impl Service for JsonService {
    type Request = JsonValue;
    type Response = JsonValue;
    const TYPE: &'static str = "";
}

/// Sends a request with the interface named in the tree.
#[derive(Debug)]
pub struct RosService {
    service_type: Input<Text>,
    request: MessageIn,
    response: MessageOut,
    success: Input<Text>,
}

impl ServiceNode for RosService {
    type Service = JsonService;
    const ID: &'static str = "RosService";
    const ACTS: bool = true;
    const DOC: &'static str = "Calls any service. Fields of request and response are attributes: request.data=\"true\", \
        response.message=\"{text}\".";

    fn bind(ports: &mut Ports<'_>) -> Self {
        refuse_others(ports, &["request", "response"]);
        Self {
            service_type: ports
                .input("service_type")
                .doc("Interface, for example std_srvs/srv/SetBool.")
                .required()
                .bind(),
            request: MessageIn::bind(ports, Part::Request, "request"),
            response: MessageOut::bind(ports, Part::Response, "response"),
            success: ports
                .input("success")
                .default("")
                .doc("Boolean field of the response (dotted path) that contains the success. Empty: any response \
                    is a success.")
                .bind(),
        }
    }

    fn endpoint(&self, ports: &mut Ports<'_>) -> Endpoint {
        Endpoint::service(ports, "", "").of_type(self.service_type.clone())
    }

    fn attached(&self, cx: &mut Context<'_>) {
        let name = type_name(cx, &self.service_type);
        self.request.check(cx, &name);
        self.response.check(cx, &name);
        self.response.check_boolean(cx, &name, &self.success);
    }

    fn request(&self, cx: &mut Context<'_>) -> Result<Result<JsonValue, NodeStatus>, Thrown> {
        let name = self.service_type.optional(cx)?;
        let request = name
            .ok_or_else(|| NO_INTERFACE_YET.to_owned())
            .and_then(|name| self.request.build(cx, &name));
        match request {
            Ok(request) => Ok(Ok(request)),
            Err(fault) => {
                note(cx, &fault)?;
                Ok(Err(NodeStatus::Failure))
            }
        }
    }

    fn answered(&self, cx: &mut Context<'_>, _request: &JsonValue, response: &JsonValue) -> Tick {
        if let Err(fault) = self.response.write(cx, response)? {
            note(cx, &fault)?;
            return Ok(NodeStatus::Failure);
        }
        let path = self.success.get(cx).unwrap_or_default();
        if path.is_empty() {
            return Ok(NodeStatus::Success);
        }
        let field = path.split('.').try_fold(response, |place, name| place.get(name));
        match field.and_then(JsonValue::as_bool) {
            Some(true) => Ok(NodeStatus::Success),
            Some(false) => Ok(NodeStatus::Failure),
            None => {
                note(cx, &format!("success: the response has no boolean `{path}`"))?;
                Ok(NodeStatus::Failure)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::Bench;
    use serde_json::json;

    #[test]
    fn a_field_of_the_response_may_contain_the_success() {
        let mut bench = Bench::new(
            "<RosService service_name=\"door\" service_type=\"std_srvs/srv/SetBool\" request.data=\"true\" \
             response.message=\"{text}\" success=\"success\"/>",
        );
        bench.interfaces([
            (Part::Request, "std_srvs/srv/SetBool", json!({"data": false})),
            (
                Part::Response,
                "std_srvs/srv/SetBool",
                json!({"success": false, "message": ""}),
            ),
        ]);
        assert!(bench.faults().is_empty());
        for (success, status) in [
            (json!(true), Success),
            (json!(false), Failure),
            (json!(3), Failure),
        ] {
            bench.service::<JsonService>("door", move |request| {
                Some(json!({"success": success, "message": format!("got {}", request["data"])}))
            });
            assert_eq!(bench.run(3), status);
        }
        assert_eq!(bench.get::<Text>("text").as_deref(), Some("got true"));
    }

    #[test]
    fn a_response_that_was_too_long_fails_the_leaf_that_wants_it() {
        for (wanted, status) in [("", Success), (r#"response="{all}""#, Failure)] {
            let mut bench = Bench::new(&format!(
                r#"<RosService service_name="map" service_type="nav_msgs/srv/GetMap" {wanted}/>"#
            ));
            bench.service::<JsonService>("map", |_| Some(JsonValue::Null));
            assert_eq!(bench.run(3), status, "{wanted}");
        }
    }

    #[test]
    fn the_success_field_must_be_a_boolean_of_the_response() {
        for (success, fault) in [
            ("success", None),
            ("state.open", None),
            (
                "sucess",
                Some("success: a/srv/B: there is no field `sucess`: did you mean `success`?"),
            ),
            ("message", Some("success: `message` of a/srv/B is not a boolean")),
            ("state", Some("success: `state` of a/srv/B is not a boolean")),
            ("{field}", None),
        ] {
            let mut bench = Bench::new(&format!(
                "<RosService service_name=\"x\" service_type=\"a/srv/B\" success=\"{success}\"/>"
            ));
            let response = json!({"success": false, "message": "", "state": {"open": false}});
            bench.interfaces([(Part::Response, "a/srv/B", response)]);
            let faults = bench.faults();
            assert_eq!(
                faults.len(),
                usize::from(fault.is_some()),
                "{success}: {faults:?}"
            );
            assert!(
                faults.iter().all(|found| found.ends_with(fault.unwrap_or(""))),
                "{faults:?}"
            );
        }
    }

    #[test]
    fn an_unknown_interface_accepts_any_field() {
        let mut bench = Bench::new(
            "<RosService service_name=\"x\" service_type=\"a/srv/B\" request.point.x=\"1.5\" request.name=\"here\"/>",
        );
        bench.service::<JsonService>("x", |_| Some(json!({})));
        assert_eq!(bench.run(3), Success);
        assert_eq!(
            bench.requests::<JsonService>("x"),
            [json!({"point": {"x": 1.5}, "name": "here"})]
        );
    }
}
