//! Actions that run for several ticks: the usual form of a user's node.

use std::marker::PhantomData;

use super::behavior::{Behavior, Tick};
use super::context::Context;
use super::kind::NodeKind;
use super::node::Node;
use super::port_decl::Ports;
use super::{HaltReason, NodeStatus};

/// An action that starts, runs for some ticks, and may be halted. `Self` holds the data of the file, as in any
/// [`Node`]. `State` holds the data of one activation.
///
/// ```
/// use navtree::bt::builder::{forest, leaf, tree};
/// use navtree::bt::{Context, Input, NodeStatus, Ports, Registry, StatefulAction, Tick, Time, Tree, compile};
///
/// /// Counts down by one per tick.
/// struct Countdown {
///     from: Input<i32>,
/// }
///
/// impl StatefulAction for Countdown {
///     const ID: &'static str = "Countdown";
///     const DOC: &'static str = "RUNNING for some ticks, then SUCCESS.";
///     type State = i32;
///
///     fn bind(ports: &mut Ports<'_>) -> Self {
///         Self { from: ports.input("from").default("3").doc("Number of ticks.").bind() }
///     }
///
///     fn on_start(&self, left: &mut i32, cx: &mut Context<'_>) -> Tick {
///         *left = self.from.require(cx)?;
///         Ok(NodeStatus::Running)
///     }
///
///     fn on_running(&self, left: &mut i32, _cx: &mut Context<'_>) -> Tick {
///         *left -= 1;
///         Ok(if *left > 0 { NodeStatus::Running } else { NodeStatus::Success })
///     }
/// }
///
/// let mut registry = Registry::builtin();
/// registry.register::<navtree::bt::Stateful<Countdown>>()?;
/// let forest = forest([tree("Main", leaf("Countdown").port("from", 2))]);
/// let mut tree = Tree::new(compile(&forest, "Main", &registry).unwrap().def);
/// let ticks: Vec<_> = (0..3).map(|_| tree.tick(Time::ZERO).unwrap().letter()).collect();
/// assert_eq!(ticks, ['R', 'R', 'S']);
/// # Ok::<(), navtree::bt::RegistryError>(())
/// ```
pub trait StatefulAction: Send + Sync + Sized + 'static {
    /// The ID in tree files.
    const ID: &'static str;
    /// One to three sentences for the reference page.
    const DOC: &'static str;
    /// The state of one activation.
    type State: Default + Send + 'static;

    /// Declares the ports and takes their bindings.
    fn bind(ports: &mut Ports<'_>) -> Self;

    /// The first tick of an activation.
    ///
    /// # Errors
    /// [`Thrown`](super::Thrown).
    fn on_start(&self, state: &mut Self::State, cx: &mut Context<'_>) -> Tick;

    /// Every further tick while the action is running.
    ///
    /// # Errors
    /// [`Thrown`](super::Thrown).
    fn on_running(&self, state: &mut Self::State, cx: &mut Context<'_>) -> Tick;

    /// The running action was halted. Must return at once (guarantee G3).
    fn on_halted(&self, _state: &mut Self::State, _cx: &mut Context<'_>, _reason: HaltReason) {}
}

/// Makes a [`Node`] from a [`StatefulAction`]. Register this type.
#[derive(Debug)]
pub struct Stateful<A> {
    action: A,
    kind: PhantomData<fn() -> A>,
}

impl<A: StatefulAction> Node for Stateful<A> {
    const ID: &'static str = A::ID;
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = A::DOC;

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            action: A::bind(ports),
            kind: PhantomData,
        }
    }
}

impl<A: StatefulAction> Behavior for Stateful<A> {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        match cx.status() {
            NodeStatus::Idle | NodeStatus::Skipped => {
                let mut state = cx.take_state::<A::State>();
                *state = A::State::default();
                let result = self.action.on_start(&mut state, cx);
                cx.put_state(state);
                result
            }
            NodeStatus::Running => {
                let mut state = cx.take_state::<A::State>();
                let result = self.action.on_running(&mut state, cx);
                cx.put_state(state);
                result
            }
            // Completed and not reset: repeat the result for the parent.
            completed => Ok(completed),
        }
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        let mut state = cx.take_state::<A::State>();
        self.action.on_halted(&mut state, cx, reason);
        cx.put_state(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::{leaf, reactive_sequence};
    use crate::bt::testing::{Scene, condition};

    /// Counts its calls on the blackboard.
    struct Counts;

    #[derive(Default)]
    struct Ticks(i64);

    impl StatefulAction for Counts {
        const ID: &'static str = "Counts";
        const DOC: &'static str = "Counts.";
        type State = Ticks;

        fn bind(_ports: &mut Ports<'_>) -> Self {
            Self
        }

        fn on_start(&self, state: &mut Ticks, _cx: &mut Context<'_>) -> Tick {
            state.0 += 1;
            Ok(NodeStatus::Running)
        }

        fn on_running(&self, state: &mut Ticks, cx: &mut Context<'_>) -> Tick {
            state.0 += 1;
            let slot = cx.resolve("ticks");
            let _ = cx.write(slot, crate::bt::Value::Int(state.0), crate::bt::Value::TYPE);
            Ok(NodeStatus::Running)
        }

        fn on_halted(&self, state: &mut Ticks, cx: &mut Context<'_>, _reason: HaltReason) {
            let slot = cx.resolve("halted_after");
            let _ = cx.write(slot, crate::bt::Value::Int(state.0), crate::bt::Value::TYPE);
        }
    }

    use crate::bt::PortValue;

    #[test]
    fn each_activation_has_a_new_state_that_a_halt_can_read() {
        let tree = reactive_sequence([condition("ok", "SSSFSS"), leaf("Counts")]);
        let scene = Scene::new(tree).registry(|registry| registry.register::<Stateful<Counts>>().unwrap());
        scene.check(
            "= ok
             R S ticks=none
             R S ticks=2
             R S ticks=3
             F F halted_after=3
             R S ticks=3
             R S ticks=2",
        );
    }
}
