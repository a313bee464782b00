//! Checks a tree before it runs: whether all names, interfaces and fields of its nodes are available.

use std::sync::Arc;

use super::{Fault, Link, Settings, World};
use crate::bt::{Resources, Span, Time, Tree, TreeDef};

/// Attaches a tree to a world and detaches it again. Returns the faults of its nodes (interfaces, names, fields,
/// literals that do not fit), each with its place. With a link that creates nothing, no entity is created (guarantee
/// G7).
///
/// # Errors
/// The tree could not be checked.
pub fn dry_run(def: &Arc<TreeDef>, link: Box<dyn Link>) -> Result<Vec<Fault>, String> {
    let mut resources = Resources::default();
    resources.insert(World::new(link, Settings::default()));
    let mut tree = Tree::new(Arc::clone(def));
    tree.put_resources(resources);
    tree.attach(Time::ZERO).map_err(|error| error.to_string())?;
    let world = tree.resource::<World>();
    Ok(world.map(World::take_faults).unwrap_or_default())
}

/// Like [`dry_run`], but returns the span of each fault, and texts without places. For callers that show places
/// themselves.
pub fn dry_run_with_spans(def: &Arc<TreeDef>, link: Box<dyn Link>) -> Vec<(Span, String)> {
    match dry_run(def, link) {
        Ok(faults) => faults.into_iter().map(|fault| (fault.span, fault.text)).collect(),
        Err(text) => {
            let root = def.nodes().next();
            root.map(|(_, root)| (root.span, text)).into_iter().collect()
        }
    }
}
