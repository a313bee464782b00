//! What a node may do, as far as that is known without running it: what the checker's warnings rest on.

use std::ops::BitOr;

use super::behavior::NodeKind;

/// A set of results of a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcomes(u8);

impl Outcomes {
    /// None: the node is never ticked, or always raises an error.
    pub const NONE: Self = Self(0);
    /// [`NodeStatus::Running`](super::NodeStatus::Running).
    pub const RUNNING: Self = Self(1);
    /// [`NodeStatus::Success`](super::NodeStatus::Success).
    pub const SUCCESS: Self = Self(2);
    /// [`NodeStatus::Failure`](super::NodeStatus::Failure).
    pub const FAILURE: Self = Self(4);
    /// [`NodeStatus::Skipped`](super::NodeStatus::Skipped).
    pub const SKIPPED: Self = Self(8);
    /// Success and failure.
    pub const COMPLETED: Self = Self(2 | 4);

    /// Whether all of `others` are in the set.
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// What is in this set and not in `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether it is empty.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Outcomes {
    type Output = Self;

    fn bitor(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

/// What one node may do. It rather says too much than too little: a warning must be true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeEffects {
    /// What a tick may return.
    pub outcomes: Outcomes,
    /// Each activation starts something that goes on beyond its tick.
    pub starts: bool,
    /// Children at this position and after it are never ticked.
    pub reached: usize,
    /// Ticks its children from the first at every tick, and resets all others while one of them runs.
    pub reactive: bool,
    /// Takes a reference when it is activated, and answers later how things compare with it. Such a node is blind
    /// where it is activated anew at every tick.
    pub latches: bool,
    /// It [latches](Self::latches) only where the program around the tree says so
    /// ([`Registry::set_latch_on_activation`](super::Registry::set_latch_on_activation)).
    pub latches_on_request: bool,
}

impl NodeEffects {
    /// A node of which nothing is known but its kind. Conditions complete. Actions start something: those that end
    /// within one tick say [`NodeEffects::synchronous`]. Nodes with children run on while one of those does.
    pub fn of(kind: NodeKind, children: &[Self]) -> Self {
        match kind {
            NodeKind::Condition => Self::synchronous(),
            NodeKind::Action => Self {
                outcomes: Outcomes::COMPLETED | Outcomes::RUNNING,
                starts: true,
                ..Self::synchronous()
            },
            NodeKind::Control | NodeKind::Decorator | NodeKind::SubTree => {
                let any = children
                    .iter()
                    .fold(Outcomes::NONE, |any, child| any | child.outcomes);
                Self {
                    outcomes: Outcomes::COMPLETED | Outcomes::SKIPPED | any.and(Outcomes::RUNNING),
                    ..Self::synchronous()
                }
            }
        }
    }

    /// A leaf that succeeds or fails within one tick.
    pub const fn synchronous() -> Self {
        Self::always(Outcomes::COMPLETED)
    }

    /// A leaf that returns one of these within one tick.
    pub const fn always(outcomes: Outcomes) -> Self {
        Self {
            outcomes,
            starts: false,
            reached: usize::MAX,
            reactive: false,
            latches: false,
            latches_on_request: false,
        }
    }

    /// A decorator that ticks its child at once and passes on what `outcomes` makes of the child's.
    pub fn around(children: &[Self], outcomes: impl Fn(Outcomes) -> Outcomes) -> Self {
        // Without a child the tree is refused anyway.
        let child = children.first().copied().unwrap_or(Self::synchronous());
        Self {
            outcomes: outcomes(child.outcomes),
            starts: child.starts,
            ..Self::synchronous()
        }
    }

    /// A control that ticks its children one after the other, each after the one before returned `passed` or was
    /// skipped, and that returns `passed` after the last.
    pub fn in_order(passed: Outcomes, children: &[Self]) -> Self {
        let mut outcomes = Outcomes::NONE;
        let mut all_skipped = true;
        for (position, child) in children.iter().enumerate() {
            let passes = child.outcomes.and(passed | Outcomes::SKIPPED);
            outcomes = outcomes | child.outcomes.without(passes);
            all_skipped &= child.outcomes.contains(Outcomes::SKIPPED);
            if passes.is_none() {
                return Self {
                    outcomes,
                    starts: children[0].starts,
                    reached: position + 1,
                    ..Self::synchronous()
                };
            }
        }
        outcomes = outcomes | passed;
        if all_skipped {
            outcomes = outcomes | Outcomes::SKIPPED;
        }
        Self {
            outcomes,
            starts: children.first().is_some_and(|first| first.starts),
            ..Self::synchronous()
        }
    }

    /// The same, and it may return these too.
    #[must_use]
    pub fn or(mut self, outcomes: Outcomes) -> Self {
        self.outcomes = self.outcomes | outcomes;
        self
    }

    /// The same, and an activation may pass without running anything.
    #[must_use]
    pub fn at_times(mut self) -> Self {
        self.starts = false;
        self
    }

    /// The same, and [`NodeEffects::reactive`].
    #[must_use]
    pub fn reactive(mut self) -> Self {
        self.reactive = true;
        self
    }

    /// The same, and [`NodeEffects::latches`].
    #[must_use]
    pub fn latching(mut self) -> Self {
        self.latches = true;
        self
    }

    /// The same, and [`NodeEffects::latches_on_request`].
    #[must_use]
    pub fn latching_on_request(mut self) -> Self {
        self.latches_on_request = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_ends_where_nothing_passes() {
        let leaf = NodeEffects::always;
        let [success, failure] = [leaf(Outcomes::SUCCESS), leaf(Outcomes::FAILURE)];
        let action = NodeEffects::of(NodeKind::Action, &[]);
        let skipped = leaf(Outcomes::SKIPPED);
        for (children, reached, outcomes) in [
            (
                vec![success, action],
                usize::MAX,
                Outcomes::COMPLETED | Outcomes::RUNNING,
            ),
            (
                vec![action, failure, success],
                2,
                Outcomes::FAILURE | Outcomes::RUNNING,
            ),
            (
                vec![skipped, skipped],
                usize::MAX,
                Outcomes::SUCCESS | Outcomes::SKIPPED,
            ),
        ] {
            let node_effects = NodeEffects::in_order(Outcomes::SUCCESS, &children);
            assert_eq!(
                (node_effects.reached, node_effects.outcomes),
                (reached, outcomes),
                "{children:?}"
            );
            assert_eq!(node_effects.starts, children[0].starts);
        }
    }
}
