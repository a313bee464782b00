//! The interfaces that were there when navtree was built, by name. Each is registered once, in a list below; what is
//! behind a name is object-safe, so that nobody above this room needs a type parameter for what a tree file names.

mod action;
mod service;
mod topic;

pub(super) use action::{ActionCodec, ActionTransport, open_action};
pub(super) use service::{ServiceCodec, ServiceTransport, open_service};
pub(super) use topic::{Publish, advertise, knows_topic, subscribe};

use super::RosError;
use crate::nav::{Part, Payload};

/// Whether an action of this name (`nav2_msgs/action/Spin`) can be carried. `json`: as JSON, which any action type of the
/// build can.
pub fn knows_action(type_name: &str, json: bool) -> bool {
    if json {
        action::find_json(type_name).is_some()
    } else {
        action::find(type_name).is_some()
    }
}

/// Whether a service of this name can be carried. `json`: as JSON, which any service type of the build can.
pub fn knows_service(type_name: &str, json: bool) -> bool {
    service::find(type_name).is_some()
        || json
            && service::template(Part::Request, type_name).is_some()
            // Arrays of fixed length: r2r panics on any other length, with the client's lock in hand.
            && type_name != "sensor_msgs/srv/SetCameraInfo"
}

/// A message with every field at its default; `None` where the interface is not known.
pub(super) fn template(part: Part, type_name: &str) -> Option<serde_json::Value> {
    match part {
        Part::Goal | Part::Result | Part::Feedback => action::find_json(type_name)?.template(part),
        Part::Request | Part::Response => service::template(part, type_name),
        Part::Message => r2r::WrappedNativeMsgUntyped::new_from(type_name)
            .ok()?
            .to_json()
            .ok(),
    }
}

/// A payload's JSON as one of r2r's structs. Fields that are missing have their defaults.
fn from_json<T>(payload: &Payload, what: &'static str) -> Result<T, RosError>
where
    T: r2r::WrappedTypesupport + 'static,
{
    let value = payload
        .get::<serde_json::Value>()
        .ok_or(RosError::WrongPayload("JSON value"))?;
    let message: T =
        serde_json::from_value(value.clone()).map_err(|error| RosError::Send(format!("{what}: {error}")))?;
    // An array of the wrong length panics when the message is sent; better here, where no lock is held.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drop(r2r::NativeMsg::<T>::from(&message));
    }))
    .map_err(|panic| RosError::Send(format!("{what}: {}", super::spin::panic_text(&*panic))))?;
    Ok(message)
}

/// One of r2r's structs as a JSON payload. Numbers that are none become null.
fn to_json<T: r2r::WrappedTypesupport>(message: &T) -> Payload {
    Payload::new(serde_json::to_value(message).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::action::SpinGoal;

    #[test]
    fn names_are_known_or_not() {
        assert!(knows_action("nav2_msgs/action/FollowPath", false));
        assert!(!knows_action("nav2_msgs/action/DriveToTheMoon", true));
        assert!(knows_action("nav2_msgs/action/FollowPath", true));
        assert!(knows_service("nav2_msgs/srv/ClearEntireCostmap", false));
        assert!(!knows_service("std_srvs/srv/SetBool", false));
        assert!(knows_service("std_srvs/srv/SetBool", true));
        assert!(!knows_service("SetBool", true));
        assert!(!knows_service("no_msgs/srv/None", true));
        assert!(knows_topic("nav_msgs/msg/Path", false));
        assert!(!knows_topic("sensor_msgs/msg/Range", false));
        assert!(knows_topic("sensor_msgs/msg/Range", true));
        assert!(!knows_topic("no_msgs/msg/None", true));
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

    #[test]
    fn json_of_the_wrong_shape_is_an_error_and_no_panic() {
        type Id = r2r::unique_identifier_msgs::msg::UUID;
        let short = Payload::new(serde_json::json!({ "uuid": [1, 2] }));
        assert!(matches!(from_json::<Id>(&short, "id"), Err(RosError::Send(_))));
        let wrong = Payload::new(serde_json::json!({ "uuid": "x" }));
        assert!(matches!(from_json::<Id>(&wrong, "id"), Err(RosError::Send(_))));
        let plain = Payload::new(SpinGoal::default());
        assert!(matches!(
            from_json::<Id>(&plain, "id"),
            Err(RosError::WrongPayload(_))
        ));
    }
}
