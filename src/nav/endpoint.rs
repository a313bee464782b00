//! The ports by which a leaf finds its server, and the client behind them.

use std::sync::Arc;

use super::link::{EndpointKind, Form};
use super::values::Milliseconds;
use super::world::World;
use crate::bt::{Context, Input, Ports, Text};
use crate::goal::{GoalOptions, ServerId};

/// Fails the tree: leaves that act need a [`World`].
#[cold]
pub(crate) fn no_world(cx: &mut Context<'_>) -> crate::bt::Thrown {
    cx.throw(
        "this node acts on a robot, and the tree runs without one: tick it in the navtree node, or mock it",
    )
}

/// The tree's [`World`], or an error from the function that asks.
macro_rules! world {
    ($cx:expr) => {
        match $cx.resource::<$crate::nav::World>() {
            Some(world) => world,
            None => return Err($crate::nav::endpoint::no_world($cx)),
        }
    };
}
pub(crate) use world;

/// The path of a node, shared.
pub(crate) fn path_of(cx: &Context<'_>) -> Arc<str> {
    Arc::clone(&cx.definition().node(cx.node()).path)
}

/// Which server, and how patient to be with it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    kind: EndpointKind,
    type_name: &'static str,
    default_name: &'static str,
    name: Input<Text>,
    server_timeout: Input<Milliseconds>,
    cancel_timeout: Option<Input<Milliseconds>>,
}

/// What a leaf keeps of its server.
#[derive(Debug, Default)]
pub(crate) struct Client {
    server: Option<ServerId>,
    /// What was opened: a name on the blackboard may change.
    name: Option<Text>,
    fault: String,
}

impl Endpoint {
    /// The ports of an action client.
    pub(crate) fn action(ports: &mut Ports<'_>, type_name: &'static str, default_name: &'static str) -> Self {
        let mut endpoint = Self::cancel(ports, type_name, default_name);
        let cancel_timeout = ports
            .input("cancel_timeout")
            .unit("ms")
            .doc("How long a goal that was halted may take to stop before the next one is sent all the same; else the parameter default_cancel_timeout.")
            .bind();
        endpoint.cancel_timeout = Some(cancel_timeout);
        endpoint
    }

    /// The ports of a node that cancels the goals of an action server.
    pub(crate) fn cancel(ports: &mut Ports<'_>, type_name: &'static str, default_name: &'static str) -> Self {
        Self {
            kind: EndpointKind::Action,
            type_name,
            default_name,
            name: ports
                .input("server_name")
                .doc(format!("The action server; {default_name} if absent or empty."))
                .bind(),
            server_timeout: Self::timeout(ports),
            cancel_timeout: None,
        }
    }

    /// The ports of a service client; the name is required where there is no usual one.
    pub(crate) fn service(
        ports: &mut Ports<'_>,
        type_name: &'static str,
        default_name: &'static str,
    ) -> Self {
        let name = ports.input("service_name");
        let name = if default_name.is_empty() {
            name.doc("The service.").required()
        } else {
            name.doc(format!("The service; {default_name} if absent or empty."))
        };
        Self {
            kind: EndpointKind::Service,
            type_name,
            default_name,
            name: name.bind(),
            server_timeout: Self::timeout(ports),
            cancel_timeout: None,
        }
    }

    fn timeout(ports: &mut Ports<'_>) -> Input<Milliseconds> {
        ports
            .input("server_timeout")
            .unit("ms")
            .doc("How long the server may take to answer, and to appear; else the parameter default_server_timeout.")
            .bind()
    }

    fn wanted(&self, cx: &Context<'_>) -> Option<Text> {
        match self.name.get(cx) {
            Ok(name) if !name.is_empty() => Some(name),
            _ if self.default_name.is_empty() => None,
            _ => Some(self.default_name.into()),
        }
    }

    /// Opens the client as soon as the tree has its world; a fault is reported to whoever loads the tree.
    pub(crate) fn attach(&self, cx: &mut Context<'_>, client: &mut Client) {
        // A name on the blackboard may be written later: no fault yet.
        let Some(name) = self.wanted(cx) else { return };
        let path = path_of(cx);
        let Some(world) = cx.resource::<World>() else {
            return;
        };
        self.open(world, name, client);
        if client.server.is_none() {
            world.report_fault(&path, client.fault.clone());
        }
    }

    fn open(&self, world: &mut World, name: Text, client: &mut Client) {
        match world.open(self.kind, &name, self.type_name, Form::Plain) {
            Ok(server) => client.server = Some(server),
            Err(error) => {
                client.server = None;
                client.fault = error.to_string();
            }
        }
        client.name = Some(name);
    }

    /// The server of this activation, or why there is none.
    pub(crate) fn server(&self, cx: &mut Context<'_>, client: &mut Client) -> Result<ServerId, String> {
        if client.server.is_none() || self.name.slot().is_some() {
            let Some(name) = self.wanted(cx) else {
                return Err(format!("the port '{}' is empty", self.name.name()));
            };
            if client.name.as_ref() != Some(&name)
                && let Some(world) = cx.resource::<World>()
            {
                self.open(world, name, client);
            }
        }
        client.server.ok_or_else(|| client.fault.clone())
    }

    /// The times of this activation.
    pub(crate) fn options(&self, cx: &Context<'_>, world_defaults: GoalOptions) -> GoalOptions {
        let mut options = world_defaults;
        if let Ok(timeout) = self.server_timeout.get(cx) {
            options.accept_timeout = timeout.into();
        }
        if let Some(Ok(timeout)) = self.cancel_timeout.as_ref().map(|port| port.get(cx)) {
            options.cancel_timeout = timeout.into();
        }
        options
    }
}
