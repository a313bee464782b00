//! The possible results and effects of a node, known without running it. The checker's warnings use them.

use std::ops::BitOr;

use super::kind::NodeKind;

/// A set of results of a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcomes(u8);

impl Outcomes {
    /// No result: the node is never ticked, or always raises an error.
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

    /// Whether the set contains all of `others`.
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The results in both sets.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// The results in this set and not in `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether the set is empty.
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

/// The possible results and effects of one node. May include too many, never too few: a warning must be true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeEffects {
    /// The possible results of a tick.
    pub outcomes: Outcomes,
    /// Whether each activation starts work that continues after its tick.
    pub starts: bool,
    /// Children at this position and after it are never ticked.
    pub reached: usize,
    /// Whether each tick starts again at the first child and resets all other children while one is running.
    pub reactive: bool,
    /// Whether the node takes a reference value when it is activated and later compares with it. Such a node never
    /// detects a change if it is activated anew at every tick.
    pub latches: bool,
    /// Whether the node [latches](Self::latches) only if the registry requests it
    /// ([`Registry::set_latch_on_activation`](super::Registry::set_latch_on_activation)).
    pub latches_on_request: bool,
}

impl NodeEffects {
    /// The effects of a node of which only the kind is known. Conditions complete. Actions start work; an action that
    /// ends within one tick uses [`NodeEffects::synchronous`]. A node with children runs as long as one of them does.
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

    /// A decorator that ticks its child at once. `outcomes` maps the results of the child to its own.
    pub fn around(children: &[Self], outcomes: impl Fn(Outcomes) -> Outcomes) -> Self {
        // A decorator without child is refused elsewhere.
        let child = children.first().copied().unwrap_or(Self::synchronous());
        Self {
            outcomes: outcomes(child.outcomes),
            starts: child.starts,
            ..Self::synchronous()
        }
    }

    /// A control node that ticks its children in order while they return `passed` or are skipped, and that returns
    /// `passed` after the last.
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

    /// Adds possible results.
    #[must_use]
    pub fn or(mut self, outcomes: Outcomes) -> Self {
        self.outcomes = self.outcomes | outcomes;
        self
    }

    /// Records that an activation may run nothing.
    #[must_use]
    pub fn at_times(mut self) -> Self {
        self.starts = false;
        self
    }

    /// Sets [`NodeEffects::reactive`].
    #[must_use]
    pub fn reactive(mut self) -> Self {
        self.reactive = true;
        self
    }

    /// Sets [`NodeEffects::latches`].
    #[must_use]
    pub fn latching(mut self) -> Self {
        self.latches = true;
        self
    }

    /// Sets [`NodeEffects::latches_on_request`].
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
    fn in_order_ends_at_a_child_that_never_passes() {
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
