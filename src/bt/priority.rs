//! The order in which a composite visits children with priorities (`_priority`).

use rustc_hash::FxHashMap;

use super::behavior::Thrown;
use super::context::Context;
use super::definition::NodeDef;
use super::script::Script;
use super::types::PortValue;

/// The default priority.
pub(crate) const USUAL: f64 = 1.0;

/// The priority scripts of one composite's children, by their position in the file.
#[derive(Debug)]
pub(crate) struct Priorities(pub(crate) Box<[Option<Script>]>);

/// The children of one composite, sorted by priority, highest first.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Priority and position in the file.
    ranks: Vec<(f64, u32)>,
}

/// The orders of a run by composite. `None` if the tree uses no priorities.
pub(crate) type Orders = Option<Box<FxHashMap<u32, Order>>>;

impl Context<'_> {
    /// Evaluates the `_priority` scripts of the children and sorts positions by priority: highest first, equal ones in
    /// file order. A composite calls this when it starts from its first child. Free of cost without priorities.
    ///
    /// # Errors
    /// [`Thrown`] where a script fails or gives no number.
    #[inline]
    pub fn order_children(&mut self) -> Result<(), Thrown> {
        if self.def.nodes[self.node as usize].flags & NodeDef::PRIORITY == 0 {
            return Ok(());
        }
        self.sort_children()
    }

    #[cold]
    fn sort_children(&mut self) -> Result<(), Thrown> {
        let def = self.def;
        let Some(Priorities(scripts)) = def.priorities.get(&self.node) else {
            return Ok(());
        };
        let mut ranks = std::mem::take(self.ranks());
        ranks.clear();
        let first = def.nodes[self.node as usize].first_child as usize;
        for (position, script) in scripts.iter().enumerate() {
            let priority = match script {
                None => USUAL,
                // An error of the script belongs to the child that has the attribute.
                Some(script) => self.as_node(def.children[first + position], |child| {
                    let value = child.run(script)?;
                    f64::from_value(&value).map_err(|reason| child.throw(format!("_priority: {reason}")))
                })?,
            };
            ranks.push((priority, position as u32));
        }
        // An unstable sort does not allocate; the position makes the order stable.
        ranks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        *self.ranks() = ranks;
        Ok(())
    }

    fn ranks(&mut self) -> &mut Vec<(f64, u32)> {
        let orders = self.run.orders.get_or_insert_default();
        &mut orders.entry(self.node).or_default().ranks
    }

    fn rank(&self, position: usize) -> Option<&(f64, u32)> {
        let order = self.run.orders.as_ref()?.get(&self.node)?;
        order.ranks.get(position)
    }

    /// The position in the file of the child at a position in the order.
    pub(crate) fn position_in_file(&self, position: usize) -> usize {
        self.rank(position)
            .map_or(position, |(_, position)| *position as usize)
    }

    /// The priority of a child from [`Context::order_children`]; 1 by default.
    pub fn child_priority(&self, position: usize) -> f64 {
        self.rank(position).map_or(USUAL, |(priority, _)| *priority)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::sequence;
    use crate::bt::testing::{Running, Scene, leaf};

    #[test]
    fn an_error_in_a_priority_names_its_child() {
        let tree = || sequence([leaf("a", "S"), leaf("b", "S").priority("k")]);
        for scene in [Scene::new(tree()), Scene::new(tree()).text("k", "first")] {
            let mut run = Running::new(scene.compile().unwrap(), false);
            run.check(
                "= a b
                 E . .",
            );
            assert!(run.error.contains("node `b`"), "{}", run.error);
        }
    }
}
