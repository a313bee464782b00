//! Common code of leaves for any topic: ports and opening.

use super::fields::{note, type_name};
use super::qos::Quality;
use crate::bt::{Context, Input, Ports, Text};
use crate::nav::World;
use crate::nav::endpoint::report_fault;
use crate::nav::link::{Form, LinkError, TopicId, TopicSpec};

/// The ports that name a topic.
#[derive(Debug)]
pub(super) struct TopicPorts {
    name: Input<Text>,
    pub(super) type_name: Input<Text>,
    qos: Input<Text>,
}

impl TopicPorts {
    pub(super) fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            name: ports.input("topic_name").doc("Topic name.").required().bind(),
            type_name: ports
                .input("message_type")
                .doc("Interface, for example std_msgs/msg/String.")
                .required()
                .bind(),
            qos: Quality::bind(ports),
        }
    }

    /// Opens the topic with `make` if the values of the ports have changed since the last call. Returns the fault of
    /// the topic, if any. `kept` selects the place in the leaf's state.
    pub(super) fn open<S: Default + Send + 'static>(
        &self,
        cx: &mut Context<'_>,
        kept: fn(&mut S) -> &mut OpenTopic,
        make: fn(&mut World, &TopicSpec) -> Result<TopicId, LinkError>,
    ) -> Result<(), TopicFault> {
        let Some(spec) = self.spec(cx) else {
            return Err("the entry of topic_name, message_type or qos has not been written yet".into());
        };
        let spec = spec?;
        let open = kept(cx.state());
        if open.id.is_none() || open.spec.as_ref() != Some(&spec) {
            let world: &mut World = cx.resource().ok_or("the tree runs without a robot")?;
            let id = make(world, &spec)?;
            let former = std::mem::replace(
                kept(cx.state()),
                OpenTopic {
                    id: Some(id),
                    spec: Some(spec),
                },
            );
            if let (Some(former), Some(world)) = (former.id, cx.resource::<World>()) {
                world.release_topic(former);
            }
        }
        let id = kept(cx.state()).id;
        let world: &World = cx.resource().ok_or("the tree runs without a robot")?;
        match id.and_then(|id| world.topic_fault(id)) {
            Some(error) => Err(TopicFault {
                may_pass: true,
                ..TopicFault::from(error)
            }),
            None => Ok(()),
        }
    }

    /// Opens the topic when the tree is loaded and returns its message type. `None` if a fault was reported, or if a
    /// name is on the blackboard and may be written later.
    pub(super) fn attach(
        &self,
        cx: &mut Context<'_>,
        open: impl FnOnce(&mut Context<'_>) -> Result<(), TopicFault>,
    ) -> Option<Text> {
        match self.spec(cx)?.and_then(|_| open(cx)) {
            // The other nodes may end, so they do not make the tree impossible. Each tick of the leaf looks again.
            Err(TopicFault {
                may_pass: true, text, ..
            }) => note(cx, &text).ok()?,
            Err(fault) => {
                report_fault(cx, fault.port, fault.text);
                return None;
            }
            Ok(()) => {}
        }
        Some(type_name(cx, &self.type_name))
    }

    /// The topic; `None` if a port has no value yet.
    fn spec(&self, cx: &Context<'_>) -> Option<Result<TopicSpec, TopicFault>> {
        let (name, type_name) = (self.name.get(cx).ok()?, self.type_name.get(cx).ok()?);
        let quality = match Quality::parse(&self.qos.get(cx).ok()?) {
            Ok(quality) => quality,
            Err(text) => {
                return Some(Err(TopicFault {
                    port: "qos",
                    text,
                    may_pass: false,
                }));
            }
        };
        Some(Ok(TopicSpec {
            name,
            type_name,
            depth: quality.depth,
            reliable: quality.reliable,
            transient_local: quality.transient_local,
            form: Form::Json,
        }))
    }
}

/// The reason why a topic is not usable.
pub(super) struct TopicFault {
    /// The port with the fault; empty if no port is responsible.
    port: &'static str,
    pub(super) text: String,
    /// Whether it ends without a change of the tree: other nodes publish the topic with another type.
    may_pass: bool,
}

impl From<&str> for TopicFault {
    fn from(text: &str) -> Self {
        Self {
            port: "",
            text: text.to_owned(),
            may_pass: false,
        }
    }
}

impl From<LinkError> for TopicFault {
    fn from(error: LinkError) -> Self {
        Self {
            port: match error {
                LinkError::BadName(_) | LinkError::Refused(_) => "topic_name",
                LinkError::UnknownInterface(_) | LinkError::OtherType { .. } => "message_type",
            },
            text: error.to_string(),
            may_pass: false,
        }
    }
}

/// The opened topic, as the ports named it then.
#[derive(Default)]
pub(super) struct OpenTopic {
    pub(super) id: Option<TopicId>,
    spec: Option<TopicSpec>,
}
