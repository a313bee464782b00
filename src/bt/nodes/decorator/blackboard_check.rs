//! Version 3's `BlackboardCheckInt`, `…Double`, `…String` and `…Bool`: tick the child while two values are equal.

use crate::bt::{
    Behavior, Context, HaltReason, Input, Node, NodeKind, NodeStatus, PortValue, Ports, Text, Tick,
};

/// Compares two values at every tick.
#[derive(Debug)]
pub struct BlackboardCheck<T> {
    value_a: Input<T>,
    value_b: Input<T>,
    return_on_mismatch: Input<NodeStatus>,
}

/// A type that can be compared.
pub trait Checked: PortValue {
    /// The ID of its node.
    const ID: &'static str;

    /// Whether two values are equal.
    fn same(&self, other: &Self) -> bool;
}

impl Checked for i32 {
    const ID: &'static str = "BlackboardCheckInt";

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Checked for f64 {
    const ID: &'static str = "BlackboardCheckDouble";

    fn same(&self, other: &Self) -> bool {
        (self - other).abs() <= Self::from(f32::EPSILON)
    }
}

impl Checked for Text {
    const ID: &'static str = "BlackboardCheckString";

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Checked for bool {
    const ID: &'static str = "BlackboardCheckBool";

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl<T: Checked> Node for BlackboardCheck<T> {
    const ID: &'static str = T::ID;
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child while value_A and value_B are equal. If they differ, or one of \
        them is missing, a running child is halted and the result is return_on_mismatch. Version 3 only; in \
        version 4 use Precondition or _while.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            value_a: ports.input::<T>("value_A").doc("First value.").bind(),
            value_b: ports.input::<T>("value_B").doc("Second value.").bind(),
            return_on_mismatch: ports
                .input::<NodeStatus>("return_on_mismatch")
                .default("FAILURE")
                .doc("Result if the values differ.")
                .bind(),
        }
    }
}

impl<T: Checked> Behavior for BlackboardCheck<T> {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        if let (Ok(a), Ok(b)) = (self.value_a.get(cx), self.value_b.get(cx))
            && a.same(&b)
        {
            return cx.tick_only_child();
        }
        cx.halt_child(0, HaltReason::Preempted);
        Ok(self.return_on_mismatch.get_or(cx, NodeStatus::Failure))
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::node;
    use crate::bt::testing::{Running, Scene, leaf};

    #[test]
    fn the_child_runs_while_the_values_are_equal() {
        let tree = node("BlackboardCheckInt")
            .port("value_A", "{a}")
            .port("value_B", 42)
            .child(leaf("child", "RS"));
        let scene = Scene::new(tree).v3().set("a", 42_i32);
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check(
            "= child
             R R",
        );
        run.tree.set("a", 1_i32).unwrap();
        run.check(
            "= child
             F . !child",
        );
    }

    #[test]
    fn the_result_of_a_mismatch_can_be_chosen_and_reals_are_compared_loosely() {
        let tree = |a: &str| {
            node("BlackboardCheckDouble")
                .port("value_A", a)
                .port("value_B", "0.3")
                .port("return_on_mismatch", "SUCCESS")
                .child(leaf("child", "F"))
        };
        Scene::new(tree("0.30000001")).v3().check(
            "= child
             F F",
        );
        Scene::new(tree("0.31")).v3().check(
            "= child
             S .",
        );
        Scene::new(tree("{missing}")).v3().check(
            "= child
             S .",
        );
    }

    #[test]
    fn it_exists_in_version_3_only() {
        let tree = node("BlackboardCheckBool").child(leaf("child", "S"));
        assert_eq!(Scene::new(tree).refused(), "unknown node `BlackboardCheckBool`");
    }
}
