//! All interfaces of the build, by name. Each is registered once, in one of the lists below, as a trait object, so the
//! rooms above need no type parameters for the types in a tree file.

mod action;
mod bounds;
mod cdr;
mod json;
mod service;
mod topic;

pub(super) use action::{ActionCodec, ActionTransport, open_action};
pub(super) use service::{ServiceCodec, ServiceTransport, open_service};
pub(super) use topic::{Publish, advertise, knows_topic, subscribe};

use json::{checked, default_of, from_json, to_json};

use super::RosError;
use super::convert::Convert;
use crate::nav::{LinkError, Part, ZERO_BYTE};

/// Whether an action type with this name (`nav2_msgs/action/Spin`) is supported. `json`: as JSON, which supports any
/// action type of the build.
pub fn knows_action(type_name: &str, json: bool) -> bool {
    if json {
        action::find_json(type_name).is_some()
    } else {
        action::find(type_name).is_some()
    }
}

/// Whether a service type with this name is supported. `json`: as JSON, which supports any service type of the build.
pub fn knows_service(type_name: &str, json: bool) -> bool {
    if json {
        service::find_json(type_name).is_some()
    } else {
        service::find(type_name).is_some()
    }
}

/// Converts a goal or request to its wire type. r2r panics on a text with a zero byte, while it holds the client's
/// lock.
fn to_wire<T: Convert>(message: &T, what: &str) -> Result<T::Wire, RosError> {
    if message.has_zero_byte() {
        return Err(RosError::Send(format!("{what}: {ZERO_BYTE}")));
    }
    Ok(message.to_wire())
}

/// A message with default values in all fields; `None` if the interface is unknown.
pub(super) fn template(part: Part, type_name: &str) -> Option<serde_json::Value> {
    match part {
        Part::Goal | Part::Result | Part::Feedback => action::find_json(type_name)?.template(part),
        Part::Request | Part::Response => service::find_json(type_name)?.template(part),
        Part::Message => topic::template(type_name),
    }
}

/// Checks that JSON is a message of an interface, in all fields. If so, it can be sent.
///
/// # Errors
/// [`LinkError::UnknownInterface`]; [`LinkError::Refused`] with the field that does not fit.
pub(super) fn check(part: Part, type_name: &str, message: &serde_json::Value) -> Result<(), LinkError> {
    let checked = match part {
        Part::Goal | Part::Result | Part::Feedback => {
            action::find_json(type_name).map(|action| action.check(part, message))
        }
        Part::Request | Part::Response => {
            service::find_json(type_name).map(|service| service.check(part, message))
        }
        Part::Message => topic::check(type_name, message),
    };
    checked
        .ok_or_else(|| LinkError::UnknownInterface(type_name.to_owned()))?
        .map_err(LinkError::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_or_not() {
        assert!(knows_action("nav2_msgs/action/FollowPath", false));
        assert!(!knows_action("nav2_msgs/action/DriveToTheMoon", true));
        assert!(knows_action("nav2_msgs/action/FollowPath", true));
        assert!(knows_service("nav2_msgs/srv/ClearEntireCostmap", false));
        assert!(!knows_service("nav_msgs/srv/GetPlan", false));
        assert!(knows_service("std_srvs/srv/SetBool", true));
        assert!(!knows_service("SetBool", true));
        assert!(!knows_service("no_msgs/srv/None", true));
        assert!(knows_topic("nav_msgs/msg/Path", false));
        assert!(!knows_topic("sensor_msgs/msg/Range", false));
        assert!(knows_topic("sensor_msgs/msg/Range", true));
        assert!(!knows_topic("no_msgs/msg/None", true));
    }

    #[test]
    fn g8_a_goal_with_a_zero_byte_is_not_sent() {
        let mut goal = crate::msg::action::NavigateToPoseGoal::default();
        assert!(to_wire(&goal, "goal").is_ok());
        goal.behavior_tree = "a\0".to_owned();
        let fault = to_wire(&goal, "goal").unwrap_err();
        assert!(fault.to_string().contains("zero byte"), "{fault}");
    }

    #[test]
    fn templates_tell_the_fields_and_their_types() {
        use serde_json::json;
        let of = |part, name| template(part, name).unwrap_or_default();
        let goal = of(Part::Goal, "nav2_msgs/action/Spin");
        assert_eq!(goal["target_yaw"], json!(0.0));
        assert_eq!(goal["time_allowance"], json!({"sec": 0, "nanosec": 0}));
        assert_eq!(of(Part::Result, "nav2_msgs/action/Spin")["error_code"], json!(0));
        assert_eq!(
            of(Part::Feedback, "nav2_msgs/action/Spin")["angular_distance_traveled"],
            json!(0.0)
        );
        assert_eq!(of(Part::Request, "std_srvs/srv/SetBool"), json!({"data": false}));
        assert_eq!(
            of(Part::Response, "std_srvs/srv/SetBool"),
            json!({"success": false, "message": ""})
        );
        assert_eq!(of(Part::Message, "std_msgs/msg/String"), json!({"data": ""}));
        assert_eq!(template(Part::Message, "no_msgs/msg/None"), None);
    }
}
