//! Leaves for any ROS interface that was available when navtree was built. Names and types are ports, messages are
//! JSON, and fields are attributes with a dotted path (`goal.pose.header.frame_id="map"`).
//!
//! ```xml
//! <RosAction server_name="lift" action_type="lift_msgs/action/MoveTo" goal.height="1.2" result.height="{height}"/>
//! <RosService service_name="door/open" service_type="std_srvs/srv/SetBool" request.data="true" success="success"/>
//! <RosPublish topic_name="sound" message_type="std_msgs/msg/String" message.data="{what}"/>
//! <RosSubscribe topic_name="load" message_type="std_msgs/msg/Float64" message.data="{load}"/>
//! ```

mod fields;
mod json;
mod parameter;
mod qos;
mod ros_action;
mod ros_parameter_get;
mod ros_parameter_set;
mod ros_publish;
mod ros_service;
mod ros_subscribe;
mod topic_ports;

pub use json::Json;
pub use ros_action::JsonAction;
pub use ros_service::JsonService;

use super::action_leaf::ActionLeaf;
use super::service_leaf::ServiceLeaf;
use super::table::nodes;

/// The IDs of these nodes, which Nav2 does not have.
pub(super) const IDS: [&str; 6] = [
    "RosAction",
    "RosParameterGet",
    "RosParameterSet",
    "RosPublish",
    "RosService",
    "RosSubscribe",
];

nodes! {
    ros_action: RosAction in ActionLeaf,
    ros_parameter_get: RosParameterGet in ServiceLeaf,
    ros_parameter_set: RosParameterSet in ServiceLeaf,
    ros_publish: RosPublish,
    ros_service: RosService in ServiceLeaf,
    ros_subscribe: RosSubscribe,
}
