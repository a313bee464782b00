//! The children of a node: ticks, halts and resets them, and finds them by position.

use super::behavior::Tick;
use super::context::Context;
use super::definition::{NodeDef, NodeIndex};
use super::{HaltReason, NodeStatus};

/// The children of a node, looked up once for a loop.
#[derive(Clone, Copy)]
pub(crate) struct Children<'t> {
    nodes: &'t [u32],
    by_priority: bool,
}

impl Children<'_> {
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.nodes.len()
    }

    #[inline(always)]
    pub(crate) fn at(self, position: usize, cx: &Context<'_>) -> u32 {
        if self.by_priority {
            return cx.child_by_priority(position);
        }
        self.nodes[position]
    }
}

impl<'t> Context<'t> {
    /// The number of children of the node.
    #[inline]
    pub fn child_count(&self) -> usize {
        self.def.nodes[self.node as usize].child_count as usize
    }

    /// The children of the node, for loops.
    #[inline(always)]
    pub(crate) fn children(&self) -> Children<'t> {
        let node = &self.def.nodes[self.node as usize];
        let first = node.first_child as usize;
        Children {
            nodes: &self.def.children[first..first + node.child_count as usize],
            by_priority: node.flags & NodeDef::PRIORITY != 0,
        }
    }

    #[inline(always)]
    fn child(&self, position: usize) -> u32 {
        let node = &self.def.nodes[self.node as usize];
        if node.flags & NodeDef::PRIORITY != 0 {
            return self.child_by_priority(position);
        }
        self.def.children[node.first_child as usize + position]
    }

    #[cold]
    #[inline(never)]
    fn child_by_priority(&self, position: usize) -> u32 {
        let node = &self.def.nodes[self.node as usize];
        self.def.children[node.first_child as usize + self.position_in_file(position)]
    }

    /// The stored status of a child.
    #[inline]
    pub fn child_status(&self, position: usize) -> NodeStatus {
        self.run.statuses[self.child(position) as usize]
    }

    /// The path of a child, for messages.
    pub fn child_path(&self, position: usize) -> &'t str {
        &self.def.info[self.child(position) as usize].path
    }

    /// Ticks a child.
    ///
    /// # Errors
    /// [`Thrown`](super::Thrown) if the child, or a node below it, raised an error.
    #[inline(always)]
    pub fn tick_child(&mut self, position: usize) -> Tick {
        let child = self.child(position);
        self.tick_node(child)
    }

    /// Ticks the only child of a decorator and resets it if it completed, as the end of `DecoratorNode::executeTick`
    /// does. For nodes with exactly one child.
    ///
    /// # Errors
    /// As [`Context::tick_child`].
    #[inline(always)]
    pub fn tick_only_child(&mut self) -> Tick {
        // In pre-order the first child follows its parent.
        let child = self.node + 1;
        debug_assert_eq!(self.child_count(), 1);
        let status = self.tick_node(child)?;
        if status.is_completed() {
            self.store(child, NodeStatus::Idle);
        }
        Ok(status)
    }

    /// Inlined into every node with children: a call costs as much as the visit.
    #[inline(always)]
    pub(crate) fn tick_node(&mut self, node: u32) -> Tick {
        let def = self.def;
        let compiled = &def.nodes[node as usize];
        if compiled.flags & (NodeDef::GUARDED | NodeDef::RESETS_CHILD | NodeDef::ANNOUNCED) != 0 {
            return self.tick_with_care(node);
        }
        let status = self.as_node(node, |cx| compiled.behavior.tick(cx))?;
        self.finish_tick(node, compiled, status)
    }

    /// Ticks a node that needs work before or after its own tick.
    #[inline(never)]
    fn tick_with_care(&mut self, node: u32) -> Tick {
        let def = self.def;
        let compiled = &def.nodes[node as usize];
        if compiled.flags & NodeDef::ANNOUNCED != 0 {
            return self.announced(node, |cx| cx.tick_carefully(node, compiled));
        }
        self.tick_carefully(node, compiled)
    }

    #[inline(always)]
    fn tick_carefully(&mut self, node: u32, compiled: &'t NodeDef) -> Tick {
        if compiled.flags & NodeDef::GUARDED != 0 {
            return self.tick_guarded(node);
        }
        let status = self.as_node(node, |cx| compiled.behavior.tick(cx))?;
        if compiled.flags & NodeDef::RESETS_CHILD != 0 {
            self.reset_completed_child(compiled);
        }
        self.finish_tick(node, compiled, status)
    }

    /// Publishes the node as the current node during an operation that may take long. The cancels of the tick leave
    /// first.
    #[inline(never)]
    fn announced<R>(&mut self, node: u32, act: impl FnOnce(&mut Self) -> R) -> R {
        self.run.resources.release_halts();
        let before = self.run.current_node.as_ref().map(|place| place.enter(node));
        let result = act(self);
        if let (Some(place), Some(before)) = (&self.run.current_node, before) {
            place.leave(before);
        }
        result
    }

    /// Runs `act` with another node as the current one. One context serves a whole tick, because a context per visit is
    /// more expensive. After a panic it still holds the node that was running.
    #[inline(always)]
    pub(super) fn as_node<R>(&mut self, node: u32, act: impl FnOnce(&mut Self) -> R) -> R {
        let parent = std::mem::replace(&mut self.node, node);
        let result = act(self);
        self.node = parent;
        result
    }

    #[inline(always)]
    fn finish_tick(&mut self, node: u32, compiled: &NodeDef, status: NodeStatus) -> Tick {
        if matches!(status, NodeStatus::Skipped | NodeStatus::Idle)
            || (status == NodeStatus::Running && compiled.flags & NodeDef::CONDITION != 0)
        {
            return self.finish_unusual_tick(node, status);
        }
        self.store(node, status);
        Ok(status)
    }

    #[cold]
    #[inline(never)]
    fn finish_unusual_tick(&mut self, node: u32, status: NodeStatus) -> Tick {
        let message = match status {
            NodeStatus::Idle => "a node must not return IDLE: IDLE means that the node was not ticked",
            NodeStatus::Running => "a condition must not return RUNNING; register the node as an action",
            NodeStatus::Skipped | NodeStatus::Success | NodeStatus::Failure => {
                if let Some(observer) = &mut self.run.observer {
                    observer.skipped(self.def, NodeIndex(node), self.run.now);
                }
                return Ok(status);
            }
        };
        Err(self.as_node(node, |cx| cx.throw(message)))
    }

    #[cold]
    fn tick_guarded(&mut self, node: u32) -> Tick {
        let def = self.def;
        let compiled = &def.nodes[node as usize];
        let guards = def.guards.get(&node);
        let status = self.as_node(node, |cx| {
            let forced = match guards {
                Some(guards) => guards.before(cx)?,
                None => None,
            };
            let status = match forced {
                Some(status) => status,
                None => {
                    let status = compiled.behavior.tick(cx)?;
                    if compiled.flags & NodeDef::RESETS_CHILD != 0 {
                        cx.reset_completed_child(compiled);
                    }
                    status
                }
            };
            match guards {
                Some(guards) => guards.after(cx, status),
                None => Ok(status),
            }
        })?;
        self.finish_tick(node, compiled, status)
    }

    /// Resets a completed child of a decorator that does not reset it itself.
    #[inline]
    fn reset_completed_child(&mut self, compiled: &NodeDef) {
        let child = self.def.children[compiled.first_child as usize];
        if self.run.statuses[child as usize].is_completed() {
            self.store(child, NodeStatus::Idle);
        }
    }

    /// Halts a child if it is running, and resets it.
    #[inline]
    pub fn halt_child(&mut self, position: usize, reason: HaltReason) {
        let child = self.child(position);
        self.halt_or_reset(child, reason);
    }

    #[inline]
    pub(crate) fn halt_or_reset(&mut self, child: u32, reason: HaltReason) {
        if self.run.statuses[child as usize] == NodeStatus::Running {
            self.halt_node(child, reason);
        } else {
            self.store(child, NodeStatus::Idle);
        }
    }

    /// Halts the running children and resets all children, in file order.
    #[inline]
    pub fn halt_children(&mut self, reason: HaltReason) {
        let children = self.children().nodes;
        if self.run.observer.is_some() {
            for child in children {
                self.halt_or_reset(*child, reason);
            }
            return;
        }
        for child in children {
            let status = &mut self.run.statuses[*child as usize];
            if *status == NodeStatus::Running {
                self.halt_node(*child, reason);
            } else {
                *status = NodeStatus::Idle;
            }
        }
    }

    /// Resets all children after the node completed. Running children are halted.
    #[inline]
    pub fn reset_children(&mut self) {
        self.halt_children(HaltReason::ParentFinished);
    }

    pub(crate) fn halt_node(&mut self, node: u32, reason: HaltReason) {
        if self.def.nodes[node as usize].flags & NodeDef::ANNOUNCED != 0 {
            return self.announced(node, |cx| cx.halt_at_once(node, reason));
        }
        self.halt_at_once(node, reason);
    }

    #[inline(always)]
    fn halt_at_once(&mut self, node: u32, reason: HaltReason) {
        let def = self.def;
        let compiled = &def.nodes[node as usize];
        self.as_node(node, |cx| {
            cx.run.resources.begin_halt();
            compiled.behavior.halt(cx, reason);
            cx.run.resources.end_halt();
            cx.store(node, NodeStatus::Idle);
            if compiled.flags & NodeDef::GUARDED != 0
                && let Some(script) = def.guards.get(&node).and_then(|guards| guards.on_halted.as_ref())
            {
                // A halt has no tick result. The error stays recorded for the caller of the tick.
                let _ = cx.run(script);
            }
        });
        if let Some(observer) = &mut self.run.observer {
            observer.halted(def, NodeIndex(node), reason, self.run.now);
        }
    }

    pub(crate) fn halt_self(&mut self, reason: HaltReason) {
        self.halt_node(self.node, reason);
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::leaf;
    use crate::bt::testing::Scene;
    use crate::bt::{NodeStatus, Time};

    #[test]
    fn a_condition_that_returns_running_is_an_error() {
        let scene = Scene::new(leaf("Look")).registry(|registry| {
            registry.condition("Look", |_| NodeStatus::Running).unwrap();
        });
        let error = scene.compile().unwrap().tick(Time::ZERO).unwrap_err();
        assert!(error.to_string().contains("must not return RUNNING"), "{error}");
    }
}
