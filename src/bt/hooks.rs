//! Functions that are called when nodes start and end.

use super::definition::{NodeIndex, TreeDef};
use super::observer::Observer;
use super::{HaltReason, NodeStatus, Time};

type OnEnter = Box<dyn FnMut(&TreeDef, NodeIndex, Time) + Send>;
type OnTerminate = Box<dyn FnMut(&TreeDef, NodeIndex, Ended, Time) + Send>;

/// The way in which an activation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The node succeeded or failed.
    Completed(NodeStatus),
    /// The node was halted.
    Halted(HaltReason),
}

/// An [`Observer`] made of two functions: one for every activation that begins, one for every activation that ends,
/// with its outcome. A node that completes within one tick begins and ends in it.
///
/// ```
/// use navtree::bt::{Ended, Hooks};
///
/// let hooks = Hooks::new()
///     .on_enter(|def, node, _| println!("{} begins", def.node(node).path))
///     .on_terminate(|def, node, ended, _| println!("{} ends: {ended:?}", def.node(node).path));
/// # let _: Box<dyn navtree::bt::Observer> = Box::new(hooks);
/// ```
#[derive(Default)]
pub struct Hooks {
    on_enter: Option<OnEnter>,
    on_terminate: Option<OnTerminate>,
}

impl Hooks {
    /// An observer without functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Called when an activation begins.
    #[must_use]
    pub fn on_enter(mut self, act: impl FnMut(&TreeDef, NodeIndex, Time) + Send + 'static) -> Self {
        self.on_enter = Some(Box::new(act));
        self
    }

    /// Called when an activation has ended.
    #[must_use]
    pub fn on_terminate(
        mut self,
        act: impl FnMut(&TreeDef, NodeIndex, Ended, Time) + Send + 'static,
    ) -> Self {
        self.on_terminate = Some(Box::new(act));
        self
    }
}

impl Observer for Hooks {
    fn changed(&mut self, def: &TreeDef, node: NodeIndex, from: NodeStatus, to: NodeStatus, now: Time) {
        let begins = from != NodeStatus::Running && to.is_active();
        if begins && let Some(act) = &mut self.on_enter {
            act(def, node, now);
        }
        if to.is_completed()
            && let Some(act) = &mut self.on_terminate
        {
            act(def, node, Ended::Completed(to), now);
        }
    }

    fn halted(&mut self, def: &TreeDef, node: NodeIndex, reason: HaltReason, now: Time) {
        if let Some(act) = &mut self.on_terminate {
            act(def, node, Ended::Halted(reason), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::bt::builder::reactive_sequence;
    use crate::bt::testing::{Scene, condition, leaf};

    #[test]
    fn every_activation_starts_and_ends_once() {
        let tree = reactive_sequence([condition("ok", "SSF"), leaf("act", "R")]).name("root");
        let mut tree = Scene::new(tree).compile().unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let (entered, ended) = (Arc::clone(&told), Arc::clone(&told));
        tree.set_observer(Some(Box::new(
            Hooks::new()
                .on_enter(move |def, node, _| {
                    entered.lock().unwrap().push(format!("+{}", def.node(node).name));
                })
                .on_terminate(move |def, node, how, _| {
                    let how = match how {
                        Ended::Completed(status) => status.letter(),
                        Ended::Halted(_) => '!',
                    };
                    ended
                        .lock()
                        .unwrap()
                        .push(format!("-{}{how}", def.node(node).name));
                }),
        )));
        for expected in ["+root +ok -okS +act", "+ok -okS", "+ok -okF -act! -rootF"] {
            tree.tick_exactly_once(Time::ZERO).unwrap();
            assert_eq!(std::mem::take(&mut *told.lock().unwrap()).join(" "), expected);
        }
    }
}
