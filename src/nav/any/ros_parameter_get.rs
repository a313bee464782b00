//! `RosParameterGet`: reads a parameter of any node.

use serde_json::{Value as JsonValue, json};

use super::fields::note;
use super::json::into_value;
use super::parameter::from_message;
use super::ros_service::JsonService;
use crate::bt::{Context, Input, NodeStatus, Output, Ports, Text, Thrown, Tick, Value};
use crate::nav::endpoint::{Endpoint, refuse_empty};
use crate::nav::service_node::ServiceNode;

/// Reads a parameter of a node.
#[derive(Debug)]
pub struct RosParameterGet {
    node: Input<Text>,
    parameter: Input<Text>,
    value: Output<Value>,
}

impl ServiceNode for RosParameterGet {
    type Service = JsonService;
    const ID: &'static str = "RosParameterGet";
    const DOC: &'static str = "Writes a parameter of another node to the blackboard. FAILURE if the node has no \
        such parameter.";

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
            value: ports.output("value").doc("Value of the parameter.").bind(),
        };
        refuse_empty(ports, &node.node);
        refuse_empty(ports, &node.parameter);
        node
    }

    fn endpoint(&self, ports: &mut Ports<'_>) -> Endpoint {
        Endpoint::of_node(
            ports,
            self.node.clone(),
            "rcl_interfaces/srv/GetParameters",
            "get_parameters",
        )
    }

    fn request(&self, cx: &mut Context<'_>) -> Result<Result<JsonValue, NodeStatus>, Thrown> {
        let parameter = self.parameter.require(cx)?;
        Ok(Ok(json!({"names": [&*parameter]})))
    }

    fn answered(&self, cx: &mut Context<'_>, _request: &JsonValue, response: &JsonValue) -> Tick {
        let Some(value) = response.pointer("/values/0").and_then(from_message) else {
            note(cx, "the node has no parameter with this name")?;
            return Ok(NodeStatus::Failure);
        };
        let Some(slot) = self.value.slot() else {
            return Ok(NodeStatus::Success);
        };
        let declared = cx.blackboard().entry(slot).info();
        let written = into_value(value, declared, cx.enums())
            .and_then(|(value, info)| cx.write(slot, value, info).map_err(|clash| clash.to_string()));
        match written {
            Ok(()) => Ok(NodeStatus::Success),
            Err(fault) => {
                note(cx, &format!("value: {fault}"))?;
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

    #[test]
    fn a_parameter_is_read() {
        let mut bench =
            Bench::new("<RosParameterGet node=\"controller_server\" parameter=\"rate\" value=\"{rate}\"/>");
        bench.service::<JsonService>("controller_server/get_parameters", |_| {
            Some(json!({"values": [{"type": 3, "double_value": 20.0}]}))
        });
        assert_eq!(bench.run(3), Success);
        assert_eq!(bench.get::<f64>("rate"), Some(20.0));
        let requests = bench.requests::<JsonService>("controller_server/get_parameters");
        assert_eq!(requests, [json!({"names": ["rate"]})]);
        bench.service::<JsonService>("controller_server/get_parameters", |_| {
            Some(json!({"values": [{"type": 0}]}))
        });
        assert_eq!(bench.run(3), Failure);
    }

    fn refusal(leaf: &str) -> String {
        let text = format!("<root BTCPP_format=\"4\"><BehaviorTree ID=\"T\">{leaf}</BehaviorTree></root>");
        let registry = crate::nav::registry();
        let loader = crate::xml::Loader::new(&registry);
        let loaded = loader.load_text("t.xml", &text, std::path::Path::new("."), None);
        loaded.unwrap_err().one_line()
    }

    #[test]
    fn an_empty_name_is_refused_at_load() {
        for (names, port) in [
            ("node=\"\" parameter=\"p\"", "node"),
            ("node=\"n\" parameter=\"\"", "parameter"),
        ] {
            for leaf in ["Get", "Set"] {
                let refused = refusal(&format!("<RosParameter{leaf} {names} value=\"{{v}}\"/>"));
                assert!(refused.contains(&format!("port `{port}` is empty")), "{refused}");
            }
        }
    }
}
