//! Drawings of a tree definition: one file per format.

use crate::bt::{NodeIndex, TreeDef};

mod dot;
mod marks;
mod mermaid;
mod svg;
mod text;

pub use dot::dot;
pub use marks::{Mark, Marks, Shade};
pub use mermaid::mermaid;
pub use svg::svg;
pub use text::text;

/// `Name (ID)`, or only the ID if they are equal.
fn label(def: &TreeDef, node: NodeIndex) -> String {
    let info = def.node(node);
    if info.name == info.id {
        info.id.to_string()
    } else {
        format!("{} ({})", info.name, info.id)
    }
}

/// The attributes of a node that are ports, as written.
fn ports(def: &TreeDef, node: NodeIndex) -> impl Iterator<Item = (&str, &str)> {
    def.attributes(node)
}
