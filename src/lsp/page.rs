//! The texts about nodes and ports that hover and completion show, as Markdown.

use std::fmt::Write;

use crate::bt::{Dialect, Direction, Manifest, NodeType, PortDecl, Registry};

/// The page of a node.
pub(super) fn of_node(manifest: &Manifest) -> String {
    let mut page = format!(
        "**{}** ({})\n\n{}\n",
        manifest.id,
        manifest.kind.name(),
        manifest.doc
    );
    for port in &manifest.ports {
        let _ = write!(page, "\n- {}", of_port(port));
    }
    page
}

/// The description of a port.
pub(super) fn of_port(port: &PortDecl) -> String {
    let direction = match port.direction {
        Direction::Input => "in",
        Direction::Output => "out",
        Direction::InOut => "in, out",
    };
    let kind = match port.script {
        Some(_) => "script",
        None => port.info.name,
    };
    let mut text = format!("`{}` ({direction}, {kind}", port.name);
    if !port.unit.is_empty() {
        let _ = write!(text, ", {}", port.unit);
    }
    if let Some(default) = port.default.as_ref().filter(|default| !default.is_empty()) {
        let _ = write!(text, ", default `{default}`");
    }
    if port.required || port.needed {
        text.push_str(", required");
    }
    let _ = write!(text, "): {}", port.doc);
    if let Some(range) = port.range {
        let _ = write!(text, " Range: {range}.");
    }
    text
}

/// The declaration of a node type.
pub(super) fn manifest<'r>(registry: &'r Registry, dialect: Dialect, id: &str) -> Option<&'r Manifest> {
    registry.get(id, dialect).map(NodeType::manifest)
}

/// The meaning of an attribute that every node can have.
pub(super) fn of_common_attribute(name: &str) -> Option<&'static str> {
    Some(match name {
        "name" => "The name of this node in logs and drawings.",
        "_skipIf" => "Script. The node is skipped if it is true when the node starts.",
        "_failureIf" => "Script. The node fails without running if it is true when the node starts.",
        "_successIf" => "Script. The node succeeds without running if it is true when the node starts.",
        "_while" => "Script. The node is skipped, or halted while it runs, when it is not true.",
        "_onSuccess" => "Script that runs after a success.",
        "_onFailure" => "Script that runs after a failure.",
        "_onHalted" => "Script that runs after a halt.",
        "_post" => "Script that runs at every end of the node.",
        "_autoremap" => "Whether the subtree shares the keys of the same names with the tree that calls it.",
        "_description" => "A remark. It has no effect.",
        _ => return None,
    })
}
