//! Node types and their declarations.

use super::behavior::Behavior;
use super::kind::NodeKind;
use super::port_decl::{PortDecl, Ports};

/// A node type as a Rust type; one file per type. See `src/bt/nodes/` for the common structure.
pub trait Node: Behavior + Sized + 'static {
    /// The ID in tree files.
    const ID: &'static str;
    /// Its kind.
    const KIND: NodeKind;
    /// One to three sentences for the reference page and the palette.
    const DOC: &'static str;
    /// Minimum and maximum number of children.
    const CHILDREN: (usize, usize) = Self::KIND.arity();

    /// Declares and binds every port, one expression per port. Called once without a tree to collect the declarations,
    /// and once for each node of a definition.
    fn bind(ports: &mut Ports<'_>) -> Self;
}

/// The declaration of a node type, for palettes, reference pages and the checker.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The ID in tree files.
    pub id: String,
    /// Its kind.
    pub kind: NodeKind,
    /// Documentation.
    pub doc: String,
    /// Minimum and maximum number of children.
    pub children: (usize, usize),
    /// Its ports, in the order of declaration.
    pub ports: Vec<PortDecl>,
    /// Ports that earlier versions had, each with the version without it. They are accepted and have no effect.
    pub former: Vec<(&'static str, &'static str)>,
    /// Whether an undeclared attribute is accepted as an untyped port (nodes known only from a palette or from mocks).
    pub open: bool,
}

impl Manifest {
    /// The declaration of a port, by name or alias.
    pub fn port(&self, name: &str) -> Option<&PortDecl> {
        self.ports
            .iter()
            .find(|port| port.name == name || port.alias == Some(name))
    }

    /// Whether a node of this type may have an attribute of this name: a port, or one that it had before.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.open || self.port(name).is_some() || self.former.iter().any(|(former, _)| *former == name)
    }
}
