//! `GetNextFewGoals`: reads the first goals of a list. A node of Nav2's main branch.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Tick};
use crate::msg::Goals;

/// Reads goals from the front of a list.
#[derive(Debug)]
pub struct GetNextFewGoals {
    goals: Input<Arc<Goals>>,
    count: Input<i32>,
    output: Output<Arc<Goals>>,
}

impl Node for GetNextFewGoals {
    const ID: &'static str = "GetNextFewGoals";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str =
        "Writes the first goals of a list; all of them if it has fewer. FAILURE if the list is empty.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goals: ports.input("input_goals").doc("List of goals.").bind(),
            count: ports
                .input("num_goals")
                .doc("Number of goals; a negative number: all.")
                .required()
                .bind(),
            output: ports
                .output("output_goals")
                .doc("First goals of the list.")
                .bind(),
        }
    }
}

impl Behavior for GetNextFewGoals {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let goals = self.goals.optional(cx)?;
        let Some(goals) = goals.filter(|goals| !goals.0.is_empty()) else {
            return Ok(NodeStatus::Failure);
        };
        let count = usize::try_from(self.count.require(cx)?).unwrap_or(usize::MAX);
        let few = if count >= goals.0.len() {
            goals
        } else {
            Arc::new(Goals(goals.0[..count].to_vec()))
        };
        self.output.set(cx, few)?;
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::PoseStamped;
    use crate::nav::testing::Bench;

    #[test]
    fn test_get_next_few_goals_action() {
        for (wanted, count) in [(2, 2), (9, 3), (-1, 3)] {
            let mut bench = Bench::new(&format!(
                "<GetNextFewGoals input_goals=\"{{goals}}\" output_goals=\"{{few}}\" num_goals=\"{wanted}\"/>"
            ));
            assert_eq!(bench.tick(), Failure);
            bench.set("goals", Arc::new(Goals(vec![PoseStamped::default(); 3])));
            assert_eq!(bench.tick(), Success);
            assert_eq!(bench.object::<Goals>("few").unwrap().0.len(), count);
        }
    }
}
