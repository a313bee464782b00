//! Subscriptions of nodes: created when the tree gets its world, and shared between trees.

use super::endpoint::report_fault;
use super::link::{Form, TopicId, TopicSpec};
use super::world::World;
use crate::bt::{Context, Input, Text};
use crate::msg::{BatteryState, PoseStamped};

/// The properties of a subscription, except its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopicKind {
    pub(crate) type_name: &'static str,
    pub(crate) reliable: bool,
    pub(crate) transient_local: bool,
}

impl TopicKind {
    /// For selectors: the last message counts, even if it was published earlier.
    pub(crate) const SELECTION: Self = Self {
        type_name: "std_msgs/msg/String",
        reliable: true,
        transient_local: true,
    };
    /// For batteries. Best effort also receives from reliable publishers.
    pub(crate) const BATTERY: Self = Self {
        type_name: BatteryState::ROS_TYPE,
        reliable: false,
        transient_local: false,
    };
    /// For goals that change during the navigation.
    pub(crate) const GOAL: Self = Self {
        type_name: PoseStamped::ROS_TYPE,
        reliable: true,
        transient_local: false,
    };
    /// For lists of goals; the payload is a [`StampedGoals`](crate::msg::StampedGoals).
    pub(crate) const GOALS: Self = Self {
        type_name: "nav_msgs/msg/Goals",
        reliable: true,
        transient_local: false,
    };

    fn spec(self, name: &str) -> TopicSpec {
        TopicSpec {
            name: name.into(),
            type_name: self.type_name.into(),
            depth: 1,
            reliable: self.reliable,
            transient_local: self.transient_local,
            form: Form::Plain,
        }
    }
}

/// One subscription of a node, part of its state.
#[derive(Debug, Default)]
pub(crate) struct Subscription {
    topic: Option<TopicId>,
    /// The subscribed name. A name on the blackboard may change.
    name: Option<Text>,
}

impl Subscription {
    /// The topic, if it is open.
    pub(crate) fn topic(&self) -> Option<TopicId> {
        self.topic
    }

    /// Subscribes to the name of a port. Reports faults to the loader of the tree.
    pub(crate) fn open(&mut self, cx: &mut Context<'_>, kind: TopicKind, name: &Text, port: &str) {
        let Some(world) = cx.resource::<World>() else {
            return;
        };
        self.name = Some(name.clone());
        let former = self.topic.take();
        let subscribed = world.subscribe(&kind.spec(name));
        if let Some(former) = former {
            world.release_topic(former);
        }
        match subscribed {
            Ok(topic) => self.topic = Some(topic),
            Err(error) => report_fault(cx, port, error.to_string()),
        }
    }

    /// Subscribes to the name of a port, if the port has a value.
    pub(crate) fn open_port(&mut self, cx: &mut Context<'_>, kind: TopicKind, port: &Input<Text>) {
        if let Ok(name) = port.get(cx)
            && self.name.as_ref() != Some(&name)
        {
            self.open(cx, kind, &name, port.name());
        }
    }
}
