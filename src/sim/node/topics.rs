//! The topics that the process and its robots publish.

use r2r::QosProfile;

use crate::msg::{BatteryState, OccupancyGrid, Odometry, Stamp};
use crate::ros::convert::{SimulatedTime, TopicType, Transforms};
use crate::ros::{Publisher, RosError, RosNode};
use crate::sim::world::World;

use super::robot::Namespace;

type Wire<T> = <T as TopicType>::Wire;

/// The publishers of one robot.
pub(super) struct Topics {
    transforms: Publisher<Wire<Transforms>>,
    /// Kept, because later subscribers need its only message.
    _static_transforms: Publisher<Wire<Transforms>>,
    /// Later subscribers get its last message. `None`: the robot began without a map.
    map: Option<Publisher<Wire<OccupancyGrid>>>,
    odometry: Publisher<Wire<Odometry>>,
    battery: Publisher<Wire<BatteryState>>,
}

impl Topics {
    pub(super) fn open(node: &mut RosNode, names: &Namespace, has_map: bool) -> Result<Self, RosError> {
        let latched = default_qos().keep_last(1).transient_local();
        let map = has_map
            .then(|| node.publisher(&names.name("map"), latched.clone()))
            .transpose()?;
        let static_transforms = node.publisher::<Wire<Transforms>>(&names.name("/tf_static"), latched)?;
        // The robot has no static transforms, but some subscribers wait for the topic.
        let nothing = <Transforms as TopicType>::to_wire(&Vec::new());
        static_transforms.publish(&nothing)?;
        Ok(Self {
            transforms: node.publisher(&names.name("/tf"), default_qos().keep_last(100))?,
            _static_transforms: static_transforms,
            map,
            odometry: node.publisher(&names.name("odom"), default_qos())?,
            battery: node.publisher(&names.name("/battery_status"), default_qos())?,
        })
    }

    /// Publishes `map`.
    pub(super) fn map(&self, world: &World) {
        if let (Some(publisher), Some(map)) = (&self.map, &world.map) {
            let grid = map.grid(world.map_frame());
            send(publisher, &<OccupancyGrid as TopicType>::to_wire(&grid));
        }
    }

    /// Publishes `/tf` and `odom`.
    pub(super) fn state(&self, world: &World, stamp: Stamp) {
        let transforms = world.transforms(stamp).to_vec();
        send(&self.transforms, &<Transforms as TopicType>::to_wire(&transforms));
        let odometry = world.odometry(stamp);
        send(&self.odometry, &<Odometry as TopicType>::to_wire(&odometry));
    }

    /// Publishes `/battery_status`.
    pub(super) fn battery(&self, world: &World, stamp: Stamp) {
        let state = world.battery_state(stamp);
        send(&self.battery, &<BatteryState as TopicType>::to_wire(&state));
    }
}

/// The publisher of `/clock`, which all robots share.
pub(super) struct TimeTopic(Publisher<Wire<SimulatedTime>>);

impl TimeTopic {
    pub(super) fn open(node: &mut RosNode) -> Result<Self, RosError> {
        Ok(Self(node.publisher("/clock", default_qos().keep_last(1))?))
    }

    /// Publishes the time.
    pub(super) fn publish(&self, stamp: Stamp) {
        send(&self.0, &<SimulatedTime as TopicType>::to_wire(&stamp));
    }
}

fn default_qos() -> QosProfile {
    QosProfile::default().keep_last(10).reliable()
}

fn send<T: r2r::WrappedTypesupport + 'static>(publisher: &Publisher<T>, message: &T) {
    // It fails only when ROS is shut down, which the loop detects itself.
    if let Err(error) = publisher.publish(message) {
        tracing::debug!("message not published: {error}");
    }
}
