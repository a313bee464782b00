//! A link without a connection, which checks whether a tree is possible before it is used.

use std::collections::HashMap;
use std::sync::Arc;

use super::Endpoints;
use super::interfaces::{self, knows_action, knows_service, knows_topic};
use super::names::{expand, is_name};
use crate::bt::Time;
use crate::goal::{Command, ServerId, Ticket};
use crate::msg::{Service, Stamp, TransformStamped, service::Trigger};
use crate::nav::{
    EndpointKind, Event, Form, Link, LinkError, Part, Payload, TopicId, TopicSpec, TransformError,
};

/// Refuses all that [`super::RosLink`] refuses at once: interfaces that are not in the build, invalid names, values
/// that do not fit their fields. It creates no entities: a refused tree must change nothing (guarantee G7). It stores the requests of one tree, which must be consistent; use one for each tree.
#[derive(Debug, Default)]
pub struct DryRun {
    /// The types that the tree uses for topics, by full name after remapping.
    topics: HashMap<String, Arc<str>>,
    /// The endpoints of the node and its view of the graph; `None` without a node.
    endpoints: Option<Endpoints>,
}

impl DryRun {
    /// The full name of a topic: a tree may spell it in several ways.
    fn full(&self, topic: &str) -> String {
        match &self.endpoints {
            Some(endpoints) => endpoints.ros().topic(topic),
            None => expand(topic, "/", "node"),
        }
    }

    /// Creates one for a tree that this node may run.
    pub fn on(endpoints: &Endpoints) -> Self {
        Self {
            topics: HashMap::new(),
            endpoints: Some(endpoints.clone()),
        }
    }
}

/// Checks that an entity with this name and type can be created.
fn checked(name: &str, type_name: &str, known: bool) -> Result<(), LinkError> {
    if !known {
        return Err(LinkError::UnknownInterface(type_name.to_owned()));
    }
    if !is_name(name) {
        return Err(LinkError::BadName(name.to_owned()));
    }
    Ok(())
}

impl Link for DryRun {
    fn open(
        &mut self,
        kind: EndpointKind,
        name: &str,
        type_name: &str,
        form: Form,
    ) -> Result<ServerId, LinkError> {
        let known = match kind {
            EndpointKind::Action => knows_action(type_name, form == Form::Json),
            EndpointKind::Service => knows_service(type_name, form == Form::Json),
        };
        checked(name, type_name, known).map(|()| ServerId(0))
    }

    fn hear(&mut self, _server: ServerId) {}

    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        let known = knows_topic(&topic.type_name, topic.form == Form::Json);
        checked(&topic.name, &topic.type_name, known)?;
        let own = self.topics.entry(self.full(&topic.name));
        let has = own.or_insert_with(|| Arc::clone(&topic.type_name));
        if *has != topic.type_name {
            return Err(LinkError::OtherType {
                topic: topic.name.to_string(),
                has: has.to_string(),
                wanted: topic.type_name.to_string(),
            });
        }
        match &self.endpoints {
            Some(endpoints) => endpoints.try_topic(topic).map(|()| TopicId(0)),
            None => Ok(TopicId(0)),
        }
    }

    fn template(&self, part: Part, type_name: &str) -> Result<serde_json::Value, LinkError> {
        interfaces::template(part, type_name).ok_or_else(|| LinkError::UnknownInterface(type_name.to_owned()))
    }

    fn check(&self, part: Part, type_name: &str, message: &serde_json::Value) -> Result<(), LinkError> {
        interfaces::check(part, type_name, message)
    }

    fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        self.subscribe(topic)
    }

    fn serve_trigger(&mut self, name: &str) -> Result<TopicId, LinkError> {
        checked(name, Trigger::TYPE, true).map(|()| TopicId(0))
    }

    fn publish(&mut self, _topic: TopicId, _payload: Payload) {}

    fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
        commands.clear();
    }

    fn is_settled(&self, _since: Ticket) -> bool {
        true
    }

    fn unsettled(&self, _since: Ticket) -> Vec<String> {
        Vec::new()
    }

    fn receive(&mut self, _into: &mut Vec<Event>) {}

    fn transform(
        &self,
        _target: &str,
        source: &str,
        _at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        Err(TransformError::UnknownFrame(source.to_owned()))
    }

    fn stamp(&self, _now: Time) -> Stamp {
        Stamp::ZERO
    }

    fn parameter(&self, _name: &str) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, type_name: &str) -> TopicSpec {
        TopicSpec {
            name: name.into(),
            type_name: type_name.into(),
            depth: 1,
            reliable: true,
            transient_local: false,
            form: Form::Json,
        }
    }

    #[test]
    fn a_tree_that_gives_a_topic_two_types_is_refused() {
        let mut stage = DryRun::default();
        stage.advertise(&topic("x", "std_msgs/msg/Bool")).unwrap();
        stage.subscribe(&topic("x", "std_msgs/msg/Bool")).unwrap();
        stage.advertise(&topic("y", "std_msgs/msg/String")).unwrap();
        let fault = stage.subscribe(&topic("x", "std_msgs/msg/String")).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "the topic `x` has the type std_msgs/msg/Bool here, not std_msgs/msg/String"
        );
    }
}
