//! Tries a tree before it runs: whether all that its nodes name can be had.

use std::sync::Arc;

use super::{Fault, Link, Settings, World};
use crate::bt::{Resources, Span, Time, Tree, TreeDef};

/// Gives a tree a world, and takes it away again: what its nodes asked for in vain (interfaces, names, fields, literals
/// that do not fit), each with its place. With a link that makes nothing, nothing was made (guarantee G7).
///
/// # Errors
/// The tree could not even be tried.
pub fn dry_run(def: &Arc<TreeDef>, link: Box<dyn Link>) -> Result<Vec<Fault>, String> {
    let mut resources = Resources::default();
    resources.insert(World::new(link, Settings::default()));
    let mut tree = Tree::new(Arc::clone(def));
    tree.put_resources(resources);
    tree.attach(Time::ZERO).map_err(|error| error.to_string())?;
    let world = tree.resource::<World>();
    Ok(world.map(World::take_faults).unwrap_or_default())
}

/// The same with the span of each fault, and the texts without their places: for who shows places otherwise.
pub fn dry_run_with_spans(def: &Arc<TreeDef>, link: Box<dyn Link>) -> Vec<(Span, String)> {
    match dry_run(def, link) {
        Ok(faults) => faults.into_iter().map(|fault| (fault.span, fault.text)).collect(),
        Err(text) => {
            let root = def.nodes().next();
            root.map(|(_, root)| (root.span, text)).into_iter().collect()
        }
    }
}
