//! The ports that select a leaf's server, and the client of the server.

use std::sync::Arc;

use super::failure::LeafFailure;
use super::fault::Fault;
use super::link::{EndpointKind, Form, LinkError};
use super::values::Milliseconds;
use super::world::World;
use crate::bt::{Context, Input, PortError, Ports, SlotId, Text, Thrown};
use crate::goal::{GoalOptions, ServerId};

/// Fails the tree, because leaves that act need a [`World`].
#[cold]
pub(crate) fn no_world(cx: &mut Context<'_>) -> crate::bt::Thrown {
    cx.throw(
        "this node needs a robot, but the tree runs without one: run it in the navtree node, or mock this node",
    )
}

/// The tree's [`World`]. Returns an error from the calling function if there is none.
macro_rules! world {
    ($cx:expr) => {
        match $cx.resource::<$crate::nav::World>() {
            Some(world) => world,
            None => return Err($crate::nav::endpoint::no_world($cx).into()),
        }
    };
}
pub(crate) use world;

/// The path of a node, shared.
pub(crate) fn path_of(cx: &Context<'_>) -> Arc<str> {
    Arc::clone(&cx.definition().node(cx.node()).path)
}

/// Records the failure of a leaf for the result of the navigation. `entry` is the entry that holds its error code.
#[cold]
pub(crate) fn record_failure(
    cx: &mut Context<'_>,
    entry: Option<SlotId>,
    code: u16,
    code_name: Option<&'static str>,
    words: &str,
) {
    let info = cx.definition().node(cx.node());
    let failure = LeafFailure {
        leaf: Arc::clone(&info.path),
        id: Arc::clone(&info.id),
        code,
        code_name,
        words: words.to_owned(),
    };
    if let Some(world) = cx.resource::<World>() {
        let now = world.now();
        world.failures.add(failure, entry, now);
    }
}

/// Reports to the loader of the tree that the value of a port is not possible, with its place in the file: that of the
/// port's attribute, or of the node if there is none.
pub(crate) fn report_fault(cx: &mut Context<'_>, port: &str, text: impl Into<String>) {
    let span = cx.definition().span_of(cx.node(), port);
    let fault = Fault {
        leaf: path_of(cx),
        span,
        place: cx.definition().place_of(span),
        text: text.into(),
    };
    if let Some(world) = cx.resource::<World>() {
        world.report_fault(fault);
    }
}

/// Error message for a port whose entry does not contain the interface yet.
pub(crate) const NO_INTERFACE_YET: &str = "the blackboard entry with the interface has not been written yet";

/// Refuses a node whose port has an empty name.
pub(crate) fn refuse_empty(ports: &mut Ports<'_>, port: &Input<Text>) {
    if port.literal().is_some_and(|name| name.is_empty()) {
        let fault = format!("port `{}` is empty: set a name", port.name());
        ports.problem_of(port.name(), fault);
    }
}

/// The server and its timeouts: the ports that leaves of one kind share.
#[derive(Debug)]
pub struct Endpoint {
    kind: EndpointKind,
    form: Form,
    type_name: TypeName,
    default_name: &'static str,
    name: Input<Text>,
    server_timeout: Input<Milliseconds>,
    cancel_timeout: Option<Input<Milliseconds>>,
    hears_feedback: bool,
}

/// The interface of a server.
#[derive(Debug)]
enum TypeName {
    Fixed(&'static str),
    Port(Input<Text>),
}

/// The state of a leaf's client.
#[derive(Debug, Default)]
pub(crate) struct Client {
    server: Option<ServerId>,
    /// The opened name and interface. Both may come from the blackboard and change.
    opened: Option<(Text, Text)>,
    fault: String,
    /// Whether the faulty port is that of the type, not of the name.
    is_of_type: bool,
}

impl Endpoint {
    /// Declares the ports of an action client.
    pub(crate) fn action(ports: &mut Ports<'_>, type_name: &'static str, default_name: &'static str) -> Self {
        let mut endpoint = Self::cancel(ports, type_name, default_name);
        let cancel_timeout = ports
            .input("cancel_timeout")
            .unit("ms")
            .doc(
                "How long a halted goal may take to stop before the next goal is sent anyway. Default: the \
                parameter default_cancel_timeout.",
            )
            .bind();
        endpoint.cancel_timeout = Some(cancel_timeout);
        endpoint
    }

    /// Declares the ports of a node that cancels the goals of an action server.
    pub(crate) fn cancel(ports: &mut Ports<'_>, type_name: &'static str, default_name: &'static str) -> Self {
        Self {
            kind: EndpointKind::Action,
            form: Form::Plain,
            type_name: TypeName::Fixed(type_name),
            default_name,
            name: Self::name(ports, "server_name", "action server", default_name),
            server_timeout: Self::timeout(ports),
            cancel_timeout: None,
            hears_feedback: false,
        }
    }

    /// Declares the ports of a service client. The name is required if there is no default.
    pub(crate) fn service(
        ports: &mut Ports<'_>,
        type_name: &'static str,
        default_name: &'static str,
    ) -> Self {
        Self {
            kind: EndpointKind::Service,
            form: Form::Plain,
            type_name: TypeName::Fixed(type_name),
            default_name,
            name: Self::name(ports, "service_name", "service", default_name),
            server_timeout: Self::timeout(ports),
            cancel_timeout: None,
            hears_feedback: false,
        }
    }

    fn name(
        ports: &mut Ports<'_>,
        port: &'static str,
        what: &str,
        default_name: &'static str,
    ) -> Input<Text> {
        let port = ports.input(port);
        if default_name.is_empty() {
            let port = port.doc(format!("Name of the {what}.")).required().bind();
            refuse_empty(ports, &port);
            port
        } else {
            port.doc(format!("Name of the {what}. Absent or empty: {default_name}."))
                .bind()
        }
    }

    /// A service of another node, with a name that the leaf composes.
    pub(crate) fn of_node(
        ports: &mut Ports<'_>,
        node: Input<Text>,
        type_name: &'static str,
        service: &'static str,
    ) -> Self {
        Self {
            kind: EndpointKind::Service,
            form: Form::Json,
            type_name: TypeName::Fixed(type_name),
            default_name: service,
            name: node,
            server_timeout: Self::timeout(ports),
            cancel_timeout: None,
            hears_feedback: false,
        }
    }

    /// Sets a port that names the interface. Messages are JSON.
    #[must_use]
    pub(crate) fn of_type(mut self, type_name: Input<Text>) -> Self {
        self.form = Form::Json;
        self.type_name = TypeName::Port(type_name);
        self
    }

    /// Sets whether the client subscribes to feedback. A controller sends it at 20 Hz or more, and most leaves do not
    /// need it.
    #[must_use]
    pub(crate) fn hearing(mut self, feedback: bool) -> Self {
        self.hears_feedback = feedback;
        self
    }

    fn timeout(ports: &mut Ports<'_>) -> Input<Milliseconds> {
        ports
            .input("server_timeout")
            .unit("ms")
            .doc(
                "How long the server may take to answer and to become available. Default: the parameters \
                response_timeout and wait_for_service_timeout.",
            )
            .bind()
    }

    fn wanted(&self, cx: &Context<'_>) -> Option<Text> {
        match self.name.get(cx) {
            Ok(node) if self.name.name() == "node" => Some(format!("{node}/{}", self.default_name).into()),
            Ok(name) if !name.is_empty() => Some(name),
            _ if self.default_name.is_empty() => None,
            _ => Some(self.default_name.into()),
        }
    }

    /// The interface. `Ok(None)` if its entry has not been written.
    fn wanted_type(&self, cx: &Context<'_>) -> Result<Option<Text>, String> {
        match &self.type_name {
            TypeName::Fixed(name) => Ok(Some(Text::from(*name))),
            TypeName::Port(port) => match port.get(cx) {
                Ok(name) => Ok(Some(name)),
                Err(PortError::Unwritten) => Ok(None),
                Err(error) => Err(format!("port `{}`: {error}", port.name())),
            },
        }
    }

    /// Opens the client when the tree gets its world. Reports a fault to the loader of the tree.
    pub(crate) fn attach(&self, cx: &mut Context<'_>, client: &mut Client) {
        // A blackboard entry may be written later, so this is not a fault yet.
        let (Some(name), Ok(Some(type_name))) = (self.wanted(cx), self.wanted_type(cx)) else {
            return;
        };
        self.open(cx, name, type_name, client);
        if client.server.is_none() && !client.fault.is_empty() {
            let port = match &self.type_name {
                TypeName::Port(port) if client.is_of_type => port.name(),
                TypeName::Port(_) | TypeName::Fixed(_) => self.name.name(),
            };
            report_fault(cx, port, &*client.fault);
        }
    }

    fn open(&self, cx: &mut Context<'_>, name: Text, type_name: Text, client: &mut Client) {
        let Some(world) = cx.resource::<World>() else {
            return;
        };
        let former = client.server.take();
        match world.open(self.kind, &name, &type_name, self.form) {
            Ok(server) => {
                client.server = Some(server);
                if self.hears_feedback {
                    world.hear(server);
                }
            }
            Err(error) => {
                client.is_of_type = matches!(error, LinkError::UnknownInterface(_));
                client.fault = error.to_string();
            }
        }
        if let Some(former) = former {
            world.release_server(former);
        }
        client.opened = Some((name, type_name));
    }

    /// Whether the file contains both the name and the interface.
    fn is_fixed(&self) -> bool {
        let is_fixed = |port: &Input<Text>| port.slot().is_none();
        is_fixed(&self.name)
            && match &self.type_name {
                TypeName::Fixed(_) => true,
                TypeName::Port(port) => is_fixed(port),
            }
    }

    /// The server of this activation, or the reason why there is none.
    pub(crate) fn server(&self, cx: &mut Context<'_>, client: &mut Client) -> Result<ServerId, String> {
        if client.server.is_none() || !self.is_fixed() {
            let Some(name) = self.wanted(cx) else {
                return Err(format!("the port `{}` is empty", self.name.name()));
            };
            let Some(type_name) = self.wanted_type(cx)? else {
                return Err(NO_INTERFACE_YET.to_owned());
            };
            let is_open = |(open, of): &(Text, Text)| *open == name && *of == type_name;
            if !client.opened.as_ref().is_some_and(is_open) {
                self.open(cx, name, type_name, client);
            }
        }
        client.server.ok_or_else(|| client.fault.clone())
    }

    /// The timeouts of this activation.
    ///
    /// # Errors
    /// [`Thrown`] if an entry holds no time.
    pub(crate) fn options(
        &self,
        cx: &mut Context<'_>,
        world_defaults: GoalOptions,
    ) -> Result<GoalOptions, Thrown> {
        let mut options = world_defaults;
        if let Some(timeout) = self.server_timeout.optional(cx)? {
            options.response_timeout = timeout.into();
            options.absent_timeout = timeout.into();
        }
        if let Some(port) = &self.cancel_timeout
            && let Some(timeout) = port.optional(cx)?
        {
            options.cancel_timeout = timeout.into();
        }
        Ok(options)
    }
}
