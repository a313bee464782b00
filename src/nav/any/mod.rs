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
pub use ros_action::{JsonAction, RosAction};
pub use ros_parameter_get::RosParameterGet;
pub use ros_parameter_set::RosParameterSet;
pub use ros_publish::RosPublish;
pub use ros_service::{JsonService, RosService};
pub use ros_subscribe::RosSubscribe;

use super::action_leaf::ActionLeaf;
use super::service_leaf::ServiceLeaf;
use crate::bt::{Registry, RegistryError};

/// Registers every node of this folder.
pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<ActionLeaf<RosAction>>()?;
    registry.register::<ServiceLeaf<RosParameterGet>>()?;
    registry.register::<ServiceLeaf<RosParameterSet>>()?;
    registry.register::<RosPublish>()?;
    registry.register::<ServiceLeaf<RosService>>()?;
    registry.register::<RosSubscribe>()
}
