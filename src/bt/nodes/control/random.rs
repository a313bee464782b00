//! `Random` and `RandomSelector`: choose children at random.

use crate::bt::{Behavior, Context, HaltReason, Memory, Node, NodeKind, NodeStatus, Ports, Tick};

/// Chooses one child and keeps it until it completes.
#[derive(Debug)]
pub struct Random;

impl Node for Random {
    const ID: &'static str = "Random";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Chooses one child at random when it is activated and returns the result of that \
        child, until it completes. A child's _priority is its weight; the default is 1, and a weight below 0 \
        counts as 0. The same seed (parameter random_seed of the node, option --seed of navtree trace) gives the \
        same choices.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for Random {
    /// `memory.index` is the chosen child, counted from 1.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        if cx.memory().index == 0 {
            cx.order_children()?;
            let Some(chosen) = draw(cx, |_, _| true) else {
                return Ok(NodeStatus::Failure);
            };
            cx.memory().index = chosen as u32 + 1;
        }
        let chosen = cx.memory().index as usize - 1;
        let status = cx.tick_child(chosen)?;
        if status != NodeStatus::Running {
            cx.reset_children();
            cx.memory().index = 0;
        }
        Ok(status)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Memory::default();
        cx.halt_children(reason);
    }

    fn honours_priority(&self) -> bool {
        true
    }
}

/// Tries its children in random order.
#[derive(Debug)]
pub struct RandomSelector;

impl Node for RandomSelector {
    const ID: &'static str = "RandomSelector";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Tries its children in random order until one succeeds. A child that fails is not \
        tried again in this activation; FAILURE when all have failed. A running child keeps running. A child's \
        _priority is its weight; the default is 1, and a child with weight 0 or less is not tried. SKIPPED when \
        all tried children were skipped. Uses the same seed as Random.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for RandomSelector {
    /// `memory.index` is the current child, counted from 1.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        let mut tried = std::mem::take(cx.state::<Tried>());
        if cx.memory().index == 0 {
            cx.order_children()?;
            tried.begin(cx.child_count());
        }
        let result = self.try_children(cx, &mut tried);
        *cx.state::<Tried>() = tried;
        result
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Memory::default();
        cx.halt_children(reason);
    }

    fn honours_priority(&self) -> bool {
        true
    }
}

/// The children that this activation has tried.
#[derive(Default)]
struct Tried {
    children: Vec<bool>,
    failed: bool,
}

impl Tried {
    fn begin(&mut self, count: usize) {
        self.children.clear();
        self.children.resize(count, false);
        self.failed = false;
    }
}

impl RandomSelector {
    fn try_children(&self, cx: &mut Context<'_>, tried: &mut Tried) -> Tick {
        loop {
            if cx.memory().index == 0 {
                let Some(chosen) = draw(cx, |position, _| !tried.children[position]) else {
                    cx.reset_children();
                    return Ok(if tried.failed {
                        NodeStatus::Failure
                    } else {
                        NodeStatus::Skipped
                    });
                };
                tried.children[chosen] = true;
                cx.memory().index = chosen as u32 + 1;
            }
            let chosen = cx.memory().index as usize - 1;
            let status = cx.tick_child(chosen)?;
            match status {
                NodeStatus::Running | NodeStatus::Idle => return Ok(NodeStatus::Running),
                NodeStatus::Success => {
                    cx.memory().index = 0;
                    cx.reset_children();
                    return Ok(NodeStatus::Success);
                }
                NodeStatus::Failure | NodeStatus::Skipped => {
                    tried.failed |= status == NodeStatus::Failure;
                    cx.halt_child(chosen, HaltReason::ParentFinished);
                    cx.memory().index = 0;
                }
            }
        }
    }
}

/// Chooses one of the admitted children at random, by weight.
fn draw(cx: &mut Context<'_>, admitted: impl Fn(usize, &Context<'_>) -> bool) -> Option<usize> {
    let weight = |position: usize, cx: &Context<'_>| {
        if admitted(position, cx) {
            cx.child_priority(position).max(0.0)
        } else {
            0.0
        }
    };
    let total: f64 = (0..cx.child_count()).map(|position| weight(position, cx)).sum();
    let mut lot = cx.random() * total;
    let mut last = None;
    for position in 0..cx.child_count() {
        let weight = weight(position, cx);
        if weight > 0.0 {
            last = Some(position);
            if lot < weight {
                break;
            }
            lot -= weight;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::bt::builder::{NodeBuilder, node, random_selector};
    use crate::bt::testing::{Scene, Seen, leaf};
    use crate::bt::{NodeStatus, Time};

    /// How often each leaf completed the tree, in a thousand ticks.
    fn wins(tree: NodeBuilder, seed: u64) -> BTreeMap<String, usize> {
        let mut tree = Scene::new(tree).seed(seed).compile().unwrap();
        let seen = Seen::default();
        tree.set_observer(Some(Box::new(seen.clone())));
        let mut wins = BTreeMap::new();
        for _ in 0..1000 {
            tree.tick_exactly_once(Time::ZERO).unwrap();
            let seen = seen.take();
            let winner = seen.split(' ').find_map(|change| change.strip_suffix(":IS"));
            *wins.entry(winner.unwrap_or("none").to_owned()).or_insert(0) += 1;
        }
        wins
    }

    #[test]
    fn each_child_is_chosen_by_weight_and_a_seed_repeats() {
        let tree = || node("Random").children([leaf("a", "S"), leaf("b", "S"), leaf("c", "S").priority("2")]);
        let found = wins(tree(), 1);
        assert_eq!(found, wins(tree(), 1));
        assert_ne!(found, wins(tree(), 2));
        assert!((200..300).contains(&found["a"]), "{found:?}");
        assert!((200..300).contains(&found["b"]), "{found:?}");
        assert!((450..550).contains(&found["c"]), "{found:?}");
    }

    #[test]
    fn a_chosen_child_is_kept_until_it_completes() {
        let tree = node("Random").children([leaf("a", "RRS"), leaf("b", "S").priority("0")]);
        Scene::new(tree).check(
            "= a b
             R R .
             R R .
             S S .",
        );
    }

    #[test]
    fn a_failed_child_is_not_tried_again() {
        Scene::new(random_selector([
            leaf("a", "F").priority("1000000"),
            leaf("b", "RRS"),
        ]))
        .check(
            "= a b
             R F R
             R . R
             S . S",
        );
        Scene::new(random_selector([leaf("a", "F"), leaf("b", "F"), leaf("c", "-")])).check(
            "= a b c
             F F F -
             F F F -",
        );
        Scene::new(random_selector([leaf("a", "-"), leaf("b", "-")])).check(
            "= a b
             - - -",
        );
        Scene::new(random_selector([leaf("a", "S").priority("0")])).check(
            "= a
             - .",
        );
    }

    #[test]
    fn the_selector_chooses_by_weight() {
        let found = wins(random_selector([leaf("a", "S").priority("3"), leaf("b", "S")]), 1);
        assert!((700..800).contains(&found["a"]), "{found:?}");
        assert_eq!(NodeStatus::Success.letter(), 'S');
    }
}
