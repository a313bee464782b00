//! `PopFromQueue` and `QueueSize`: take an element of a shared queue, and count its elements.

use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Queue, Tick, Value,
};

/// Takes the first element out.
#[derive(Debug)]
pub struct PopFromQueue {
    queue: Input<Value>,
    popped_item: Output<Value>,
}

impl Node for PopFromQueue {
    const ID: &'static str = "PopFromQueue";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Removes the first element of a shared queue and writes it to popped_item: \
        SUCCESS. FAILURE if the queue is empty or missing.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            queue: ports
                .input::<Value>("queue")
                .required()
                .doc("Entry with the queue.")
                .bind(),
            popped_item: ports
                .output::<Value>("popped_item")
                .doc("Removed element.")
                .bind(),
        }
    }
}

impl Behavior for PopFromQueue {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let queue = self
            .queue
            .get(cx)
            .ok()
            .and_then(|value| value.downcast::<Queue>());
        let Some(element) = queue.and_then(|queue| queue.pop()) else {
            return Ok(NodeStatus::Failure);
        };
        self.popped_item.set(cx, element)?;
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

/// Counts the elements.
#[derive(Debug)]
pub struct QueueSize {
    queue: Input<Value>,
    size: Output<i32>,
}

impl Node for QueueSize {
    const ID: &'static str = "QueueSize";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Writes the number of elements of a shared queue to size: SUCCESS. FAILURE if the \
        queue is empty or missing.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            queue: ports
                .input::<Value>("queue")
                .required()
                .doc("Entry with the queue.")
                .bind(),
            size: ports.output::<i32>("size").doc("Number of elements.").bind(),
        }
    }
}

impl Behavior for QueueSize {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let queue = self
            .queue
            .get(cx)
            .ok()
            .and_then(|value| value.downcast::<Queue>());
        let size = queue.map_or(0, |queue| queue.len());
        if size == 0 {
            return Ok(NodeStatus::Failure);
        }
        self.size.set(cx, i32::try_from(size).unwrap_or(i32::MAX))?;
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::bt::builder::{leaf, repeat, sequence};
    use crate::bt::testing::Scene;
    use crate::bt::{Queue, Value};

    #[test]
    fn a_queue_is_counted_and_emptied() {
        let tree = sequence([
            leaf("QueueSize").port("queue", "{them}").port("size", "{size}"),
            repeat(
                2,
                leaf("PopFromQueue")
                    .port("queue", "{them}")
                    .port("popped_item", "{it}"),
            ),
        ]);
        let queue = Arc::new(Queue::from_iter([7, 8].map(Value::Int)));
        Scene::new(tree).set("them", queue).drain().check(
            "=
             S size=2 it=8
             F size=2",
        );
    }

    #[test]
    fn a_missing_queue_is_a_failure() {
        Scene::new(leaf("PopFromQueue").port("queue", "{them}")).check("=\n F");
        Scene::new(leaf("QueueSize").port("queue", "{them}"))
            .text("them", "1;2")
            .check("=\n F");
    }
}
