//! The topics that the robot publishes.

use r2r::QosProfile;

use crate::msg::{BatteryState, Odometry, Stamp};
use crate::ros::convert::{SimulatedTime, TopicType, Transforms};
use crate::ros::{Publisher, RosError, RosNode};
use crate::sim::world::World;

type Wire<T> = <T as TopicType>::Wire;

/// The publishers.
pub(super) struct Topics {
    transforms: Publisher<Wire<Transforms>>,
    /// Kept, because later subscribers need its only message.
    _static_transforms: Publisher<Wire<Transforms>>,
    odometry: Publisher<Wire<Odometry>>,
    battery: Publisher<Wire<BatteryState>>,
    clock: Publisher<Wire<SimulatedTime>>,
}

impl Topics {
    pub(super) fn open(node: &mut RosNode) -> Result<Self, RosError> {
        let default_qos = || QosProfile::default().keep_last(10).reliable();
        let latched = default_qos().keep_last(1).transient_local();
        let static_transforms = node.publisher::<Wire<Transforms>>("/tf_static", latched)?;
        // The robot has no static transforms, but some subscribers wait for the topic.
        let nothing = <Transforms as TopicType>::to_wire(&Vec::new());
        static_transforms.publish(&nothing)?;
        Ok(Self {
            transforms: node.publisher("/tf", default_qos().keep_last(100))?,
            _static_transforms: static_transforms,
            odometry: node.publisher("odom", default_qos())?,
            battery: node.publisher("/battery_status", default_qos())?,
            clock: node.publisher("/clock", default_qos().keep_last(1))?,
        })
    }

    /// Publishes `/clock`.
    pub(super) fn clock(&self, stamp: Stamp) {
        send(&self.clock, &<SimulatedTime as TopicType>::to_wire(&stamp));
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

fn send<T: r2r::WrappedTypesupport + 'static>(publisher: &Publisher<T>, message: &T) {
    // It fails only when ROS is shut down, which the loop detects itself.
    if let Err(error) = publisher.publish(message) {
        tracing::debug!("message not published: {error}");
    }
}
