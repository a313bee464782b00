//! `RosAction`: sends a goal to any action server.

use std::time::Duration;

use serde_json::Value as JsonValue;

use super::fields::{MessageIn, MessageOut, note, refuse_others, type_name};
use crate::bt::{Context, Input, Ports, Text, Thrown};
use crate::goal::{GoalOptions, UpdatePolicy};
use crate::msg::Action;
use crate::nav::action_node::{ActionNode, OnFeedback, Refusal};
use crate::nav::endpoint::{Endpoint, NO_INTERFACE_YET};
use crate::nav::link::Part;
use crate::nav::values::Milliseconds;

/// An action whose messages are JSON.
#[derive(Clone, Copy, Debug)]
pub struct JsonAction;

impl Action for JsonAction {
    type Goal = JsonValue;
    type Result = JsonValue;
    type Feedback = JsonValue;
    const TYPE: &'static str = "";
    const ERROR_CODES: &'static [(u16, &'static str)] = &[];

    /// The field `error_code` of Nav2's actions, if there is one.
    fn error_code(result: &JsonValue) -> u16 {
        let code = result.get("error_code").and_then(JsonValue::as_u64);
        code.and_then(|code| u16::try_from(code).ok()).unwrap_or(0)
    }

    fn error_message(result: &JsonValue) -> &str {
        result.get("error_msg").and_then(JsonValue::as_str).unwrap_or("")
    }

    fn failure(code: u16, message: &str) -> JsonValue {
        serde_json::json!({"error_code": code, "error_msg": message})
    }
}

/// Sends a goal with the interface named in the tree.
#[derive(Debug)]
pub struct RosAction {
    action_type: Input<Text>,
    goal: MessageIn,
    result: MessageOut,
    feedback: MessageOut,
    result_timeout: Input<Milliseconds>,
    on_change: Input<Text>,
}

impl ActionNode for RosAction {
    type Action = JsonAction;
    const ID: &'static str = "RosAction";
    const DOC: &'static str = "Sends a goal to any action server. Fields of goal, result and feedback are \
        attributes: goal.pose.header.frame_id=\"map\", result.error_code=\"{code}\".";
    const SERVER: &'static str = "";
    /// The action may have nothing to do with motion, such as a gripper or a lamp.
    const CANCEL_ENDS_NAVIGATION: bool = false;
    const ON_FEEDBACK: Option<OnFeedback<Self>> = Some(|node, cx, feedback| {
        if let Err(fault) = node.feedback.write(cx, feedback)? {
            note(cx, &fault)?;
        }
        Ok(())
    });

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            action_type: ports
                .input("action_type")
                .doc("Interface, for example nav2_msgs/action/Spin.")
                .required()
                .bind(),
            goal: MessageIn::bind(ports, Part::Goal, "goal"),
            result: MessageOut::bind(ports, Part::Result, "result"),
            feedback: MessageOut::bind(ports, Part::Feedback, "feedback"),
            result_timeout: ports
                .input("result_timeout")
                .unit("ms")
                .doc("Maximum time of the goal after acceptance. After it the goal is cancelled and the node \
                    fails.")
                .bind(),
            on_change: ports
                .input("on_change")
                .default("ignore")
                .doc("What happens when the inputs of the active goal are written again: ignore; preempt: the \
                    new goal is sent and the server ends the old one; cancel_first: the old goal is cancelled \
                    and the new one is sent after it has ended.")
                .bind(),
        };
        refuse_others(ports, &["goal", "result", "feedback"]);
        if let Some(word) = node.on_change.literal()
            && !matches!(&**word, "ignore" | "preempt" | "cancel_first")
        {
            let fault = format!("on_change: `{word}` is not one of ignore, preempt, cancel_first");
            ports.problem_of("on_change", fault);
        }
        node
    }

    fn endpoint(&self, ports: &mut Ports<'_>) -> Endpoint {
        Endpoint::action(ports, "", "").of_type(self.action_type.clone())
    }

    fn attached(&self, cx: &mut Context<'_>) {
        let name = type_name(cx, &self.action_type);
        self.goal.check(cx, &name);
        self.result.check(cx, &name);
        self.feedback.check(cx, &name);
    }

    fn options(&self, cx: &mut Context<'_>, options: &mut GoalOptions) -> Result<(), Thrown> {
        options.result_timeout = self.result_timeout.if_set(cx)?.map(Duration::from);
        if self.on_change.as_str(cx) == Some("cancel_first") {
            options.update = UpdatePolicy::CancelFirst;
        }
        Ok(())
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<JsonValue, Refusal> {
        let Some(name) = self.action_type.optional(cx)? else {
            return Err(Refusal::Failure(NO_INTERFACE_YET.to_owned()));
        };
        self.goal.build(cx, &name).map_err(Refusal::Failure)
    }

    fn version(&self, cx: &Context<'_>) -> u64 {
        self.goal.version(cx)
    }

    fn is_outdated(&self, cx: &Context<'_>, _sent: &JsonValue, version: u64) -> bool {
        self.goal.version(cx) != version && self.on_change.as_str(cx) != Some("ignore")
    }

    fn replaces(&self, sent: &JsonValue, new: &mut JsonValue) -> bool {
        // A goal that differs only in its stamp is the same goal.
        let mut as_then = new.clone();
        self.goal.keep_stamps(sent, &mut as_then);
        as_then != *sent
    }

    fn hears_feedback(&self) -> bool {
        self.feedback.is_wanted()
    }

    fn extract(&self, cx: &mut Context<'_>, result: &JsonValue) -> Result<Result<(), String>, Thrown> {
        self.result.write(cx, result)
    }

    fn unknown_code() -> u16 {
        4
    }

    fn timeout_code() -> u16 {
        3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::msg::{Header, Path, Pose, PoseStamped};
    use crate::nav::testing::{Bench, Plan};
    use serde_json::json;
    use std::sync::Arc;

    const TYPE: &str = "lift_msgs/action/MoveTo";

    fn bench(attributes: &str) -> Bench {
        let mut bench = Bench::new(&format!(
            "<RosAction server_name=\"lift\" action_type=\"{TYPE}\" error_code_id=\"{{code}}\" {attributes}/>"
        ));
        bench.interfaces([
            (
                Part::Goal,
                TYPE,
                json!({"height": 0.0, "slow": false, "pose": {"header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}}}),
            ),
            (Part::Result, TYPE, json!({"height": 0.0, "error_code": 0, "path": {}})),
        ]);
        bench
    }

    #[test]
    fn fields_make_the_goal_and_the_result_is_written_to_fields() {
        let mut bench = bench(
            "goal=\"json:{&quot;slow&quot;: true}\" goal.height=\"{wanted}\" goal.pose.header.frame_id=\"map\" \
             goal.pose.header.stamp=\"now\" result.height=\"{height}\" result=\"{all}\"",
        );
        assert!(bench.faults().is_empty());
        bench.set("wanted", 1.5);
        bench.action::<JsonAction>("lift", |goal| Plan::result(json!({"height": goal["height"]})));
        assert_eq!(bench.run(10), Success);
        let goal = &bench.goals::<JsonAction>("lift")[0];
        assert_eq!((&goal["height"], &goal["slow"]), (&json!(1.5), &json!(true)));
        assert_eq!(goal["pose"]["header"]["frame_id"], "map");
        assert_eq!(goal["pose"]["header"]["stamp"]["sec"], 1001);
        assert_eq!(bench.get::<f64>("height"), Some(1.5));
        assert_eq!(bench.get::<Text>("all").as_deref(), Some("json:{\"height\":1.5}"));
        assert_eq!(bench.type_of("lift").as_deref(), Some(TYPE));
    }

    #[test]
    fn an_unknown_or_unfit_field_is_reported_with_its_place_at_load() {
        let mut bench = bench("goal.hight=\"1\" goal.slow=\"perhaps\" result.hight=\"{x}\"");
        let faults = bench.faults();
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(
            faults[0].starts_with("test.xml:1:") && faults[0].contains("did you mean `height`"),
            "{faults:?}"
        );
        assert!(
            faults[1].contains("goal.slow: `perhaps` is not a boolean"),
            "{faults:?}"
        );
        bench.action::<JsonAction>("lift", |_| Plan::success());
        assert_eq!(bench.run(10), Failure);
        assert!(bench.goals::<JsonAction>("lift").is_empty());
        assert!(bench.notes()[0].contains("hight"));
    }

    #[test]
    fn a_field_converts_to_the_type_of_its_reader() {
        let mut bench = Bench::new(&format!(
            "<Sequence><RosAction server_name=\"lift\" action_type=\"{TYPE}\" result.path=\"{{path}}\"/>
             <GetPoseFromPath path=\"{{path}}\" pose=\"{{pose}}\"/></Sequence>"
        ));
        let path = Path::through(Header::in_frame("map"), [Pose::planar(3.0, 0.0, 0.0)]);
        let json = json!({"path": path});
        bench.action::<JsonAction>("lift", move |_| Plan::result(json.clone()));
        assert_eq!(bench.run(10), Success);
        assert_eq!(bench.object::<PoseStamped>("pose").unwrap().pose.position.x, 3.0);
    }

    #[test]
    fn a_blackboard_message_becomes_a_field_without_its_type() {
        let mut bench = bench("goal.pose=\"{pose}\"");
        let header = Header::in_frame("odom");
        bench.set("pose", Arc::new(header));
        bench.action::<JsonAction>("lift", |_| Plan::success());
        assert_eq!(bench.run(10), Failure, "a header is no pose");
        bench.set("wanted", 0);
        assert!(bench.notes()[0].contains("goal.pose: there is no field `stamp`"));
    }

    #[test]
    fn error_codes_distinguish_failures() {
        for (case, code) in [("reject", 1), ("silent", 3), ("endless", 3), ("abort", 42)] {
            let mut bench = bench("server_timeout=\"50\" result_timeout=\"100\"");
            bench.action::<JsonAction>("lift", move |_| match case {
                "reject" => Plan::reject(),
                "silent" => Plan::silent(),
                "endless" => Plan::endless(),
                _ => Plan::abort(42),
            });
            assert_eq!(bench.run(50), Failure);
            assert_eq!(bench.get::<u16>("code"), Some(code));
            bench.wait(1000);
            assert_eq!(bench.active("lift"), 0);
        }
    }

    #[test]
    fn on_change_selects_the_reaction_to_changed_inputs() {
        for (word, goals) in [("ignore", 1), ("preempt", 2), ("cancel_first", 2)] {
            let mut bench = bench(&format!("goal.height=\"{{wanted}}\" on_change=\"{word}\""));
            bench.set("wanted", 1.0);
            bench.action::<JsonAction>("lift", |_| Plan::endless());
            assert_eq!(bench.run(3), Running);
            bench.set("wanted", 2.0);
            assert_eq!(bench.run(10), Running);
            assert_eq!(bench.goals::<JsonAction>("lift").len(), goals, "{word}");
            assert_eq!(bench.cancels("lift"), usize::from(word == "cancel_first"));
            assert_eq!(bench.active("lift"), 1);
        }
    }

    #[test]
    fn an_equal_goal_with_a_new_stamp_is_no_change() {
        let mut bench =
            bench("goal.height=\"{wanted}\" goal.pose.header.stamp=\"now\" on_change=\"preempt\"");
        bench.action::<JsonAction>("lift", |_| Plan::endless());
        for height in [1.0, 1.0, 1.0, 2.0] {
            bench.set("wanted", height);
            bench.wait(1_500);
            assert_eq!(bench.run(3), Running);
        }
        let goals = bench.goals::<JsonAction>("lift");
        let told: Vec<_> = goals
            .iter()
            .map(|goal| (goal["height"].as_f64(), &goal["pose"]["header"]["stamp"]["sec"]))
            .collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].0 == Some(2.0) && told[0].1 != told[1].1, "{told:?}");
    }

    #[test]
    fn a_field_without_message_is_refused_at_load() {
        let registry = crate::nav::registry();
        let refusal = |attribute: &str| {
            let text = format!(
                "<root BTCPP_format=\"4\"><BehaviorTree ID=\"T\">\n<RosAction server_name=\"lift\" \
                 action_type=\"{TYPE}\" {attribute}/></BehaviorTree></root>"
            );
            let loader = crate::xml::Loader::new(&registry);
            loader
                .load_text("t.xml", &text, std::path::Path::new("."), None)
                .unwrap_err()
                .one_line()
        };
        let refused = refusal("gaol.height=\"1.5\"");
        assert!(
            refused.starts_with("t.xml:2:") && refused.ends_with("did you mean `goal`?"),
            "{refused}"
        );
        assert!(refusal("message.x=\"1\"").contains("goal.…, result.…, feedback.…"));
    }

    #[test]
    fn names_and_interfaces_may_be_on_the_blackboard_and_change() {
        let mut bench =
            Bench::new("<RosAction server_name=\"{name}\" action_type=\"{type}\" error_code_id=\"{code}\"/>");
        assert!(bench.faults().is_empty());
        bench.set("name", Text::from("lift"));
        assert_eq!(bench.tick(), Failure);
        assert_eq!(
            bench.notes(),
            ["the blackboard entry with the interface has not been written yet"]
        );
        for (name, interface) in [("lift", TYPE), ("lift", "a/action/B"), ("door", "a/action/B")] {
            bench.action::<JsonAction>(name, |_| Plan::success());
            bench.set("name", Text::from(name));
            bench.set("type", Text::from(interface));
            assert_eq!(bench.run(10), Success, "{name} {interface}");
            assert_eq!(bench.type_of(name).as_deref(), Some(interface));
        }
        assert_eq!(bench.goals::<JsonAction>("lift").len(), 2);
    }

    #[test]
    fn g6_a_timeout_that_cannot_be_read_fails_the_tree() {
        for port in ["result_timeout", "server_timeout", "cancel_timeout"] {
            let mut bench = Bench::new(&format!(
                "<Sequence><Script code=\"limit := 150.5\"/>\
                 <RosAction server_name=\"lift\" action_type=\"{TYPE}\" {port}=\"{{limit}}\"/></Sequence>"
            ));
            let error = bench.try_tick().unwrap_err().to_string();
            assert!(error.contains(port) && error.contains("150.5"), "{error}");
        }
        let error = bench("result_timeout=\"{limit}\"").try_tick().unwrap_err();
        assert!(error.to_string().contains("result_timeout"), "{error}");
    }
}
