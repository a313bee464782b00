//! `RosParameterSet`: sets a parameter of any node.

use serde_json::{Value as JsonValue, json};

use super::fields::note;
use super::json::from_value;
use super::parameter::{is_kind, kinds, like, to_message};
use super::ros_service::JsonService;
use crate::bt::{Context, Input, NodeStatus, Ports, Text, Thrown, Tick, Value};
use crate::nav::World;
use crate::nav::endpoint::{Endpoint, refuse_empty, report_fault};
use crate::nav::link::Part;
use crate::nav::service_node::ServiceNode;

/// Sets a parameter of a node.
#[derive(Debug)]
pub struct RosParameterSet {
    node: Input<Text>,
    parameter: Input<Text>,
    value: Input<Value>,
    kind: Input<Text>,
}

impl ServiceNode for RosParameterSet {
    type Service = JsonService;
    const ID: &'static str = "RosParameterSet";
    const ACTS: bool = true;
    const DOC: &'static str = "Sets a parameter of another node. FAILURE if the node refuses it.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            node: ports
                .input("node")
                .doc("Name of the node, for example controller_server.")
                .required()
                .bind(),
            parameter: ports
                .input("parameter")
                .doc("Name of the parameter.")
                .required()
                .bind(),
            value: ports.input("value").doc("New value.").required().bind(),
            kind: ports
                .input("kind")
                .default("")
                .doc(format!(
                    "Type of the parameter: {}. Empty: derived from the value.",
                    kinds()
                ))
                .bind(),
        };
        refuse_empty(ports, &node.node);
        refuse_empty(ports, &node.parameter);
        if let Some(kind) = node.kind.literal()
            && !kind.is_empty()
            && !is_kind(kind)
        {
            let fault = format!("kind: `{kind}` is not one of {}", kinds());
            ports.problem_of("kind", fault);
        }
        node
    }

    fn endpoint(&self, ports: &mut Ports<'_>) -> Endpoint {
        Endpoint::of_node(ports, self.node.clone(), TYPE, "set_parameters")
    }

    fn attached(&self, cx: &mut Context<'_>) {
        let (Some(value), Ok(kind)) = (self.value.literal(), self.kind.get(cx)) else {
            return;
        };
        if let Err(fault) = request("", value, &kind).and_then(|request| sendable(cx, request)) {
            report_fault(cx, "value", format!("value: {fault}"));
        }
    }

    fn request(&self, cx: &mut Context<'_>) -> Result<Result<JsonValue, NodeStatus>, Thrown> {
        let parameter = self.parameter.require(cx)?;
        let value = self.value.require(cx)?;
        let kind = self.kind.require(cx)?;
        // A boolean is a number on the blackboard; the declared type of its entry identifies it.
        let declared = self
            .value
            .slot()
            .and_then(|slot| cx.blackboard().entry(slot).info());
        let kind = match declared.map(|info| info.family) {
            Some(crate::bt::Family::Bool) if kind.is_empty() => "bool".into(),
            _ => kind,
        };
        match request(&parameter, &value, &kind).and_then(|request| sendable(cx, request)) {
            Ok(request) => Ok(Ok(request)),
            Err(fault) => {
                note(cx, &format!("value: {fault}"))?;
                Ok(Err(NodeStatus::Failure))
            }
        }
    }

    fn answered(&self, cx: &mut Context<'_>, _request: &JsonValue, response: &JsonValue) -> Tick {
        let result = response.pointer("/results/0");
        if result
            .and_then(|result| result.get("successful"))
            .and_then(JsonValue::as_bool)
            == Some(true)
        {
            return Ok(NodeStatus::Success);
        }
        let reason = result
            .and_then(|result| result.get("reason"))
            .and_then(JsonValue::as_str);
        let reason = reason
            .filter(|reason| !reason.is_empty())
            .unwrap_or("the node refused it");
        note(cx, reason)?;
        Ok(NodeStatus::Failure)
    }
}

const TYPE: &str = "rcl_interfaces/srv/SetParameters";

/// The request for one parameter.
fn request(parameter: &str, value: &Value, kind: &str) -> Result<JsonValue, String> {
    let json = from_value(value, &like(kind))?;
    let message = to_message(&json, Some(kind))?;
    Ok(json!({"parameters": [{"name": parameter, "value": message}]}))
}

/// Checks that the request can be sent: for example, 300 does not fit in a byte.
fn sendable(cx: &mut Context<'_>, request: JsonValue) -> Result<JsonValue, String> {
    let world: &World = cx.resource().ok_or("the tree runs without a robot")?;
    match world.check(Part::Request, TYPE, &request) {
        Ok(()) => Ok(request),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::Bench;

    const SERVICE: &str = "controller_server/set_parameters";

    fn sent(attributes: &str, prepare: impl FnOnce(&mut Bench)) -> JsonValue {
        let mut bench = Bench::new(&format!(
            "<RosParameterSet node=\"controller_server\" parameter=\"p\" {attributes}/>"
        ));
        prepare(&mut bench);
        bench.service::<JsonService>(SERVICE, |_| Some(json!({"results": [{"successful": true}]})));
        assert_eq!(bench.run(3), Success);
        bench.requests::<JsonService>(SERVICE)[0]["parameters"][0]["value"].clone()
    }

    #[test]
    fn a_parameter_is_set() {
        assert_eq!(sent("value=\"0.5\"", |_| ())["double_value"], 0.5);
        assert_eq!(sent("value=\"5\" kind=\"double\"", |_| ())["type"], 3);
        assert_eq!(sent("value=\"5\" kind=\"string\"", |_| ())["string_value"], "5");
        assert_eq!(
            sent("value=\"a;b\" kind=\"string_array\"", |_| ())["string_array_value"],
            json!(["a", "b"])
        );
        assert_eq!(sent("value=\"true\"", |_| ())["bool_value"], true);
        assert_eq!(
            sent("value=\"{flag}\"", |bench| bench.set("flag", true))["bool_value"],
            true
        );
    }

    #[test]
    fn a_refusal_is_a_failure_with_its_reason() {
        let mut bench =
            Bench::new("<RosParameterSet node=\"controller_server\" parameter=\"p\" value=\"1\"/>");
        bench.service::<JsonService>(SERVICE, |_| {
            Some(json!({"results": [{"successful": false, "reason": "out of range"}]}))
        });
        assert_eq!(bench.run(3), Failure);
        assert_eq!(bench.notes(), ["out of range"]);
    }
}
