//! The statuses of a tree's nodes, as lines for a terminal.

use crate::bt::{NodeIndex, NodeStatus, TreeDef};

/// The current statuses of one run, updated by status changes.
#[derive(Clone, Debug)]
pub struct LiveTree {
    statuses: Vec<NodeStatus>,
    /// The last status of each node except IDLE, kept after a reset to IDLE.
    last: Vec<NodeStatus>,
}

impl LiveTree {
    /// Creates a tree with all nodes IDLE.
    pub fn new(def: &TreeDef) -> Self {
        Self {
            statuses: vec![NodeStatus::Idle; def.len()],
            last: vec![NodeStatus::Idle; def.len()],
        }
    }

    /// Applies a status change. `uid` is that of `behavior_tree_log`. False for an unknown node.
    pub fn change(&mut self, uid: u16, to: NodeStatus) -> bool {
        let Some(index) = usize::from(uid)
            .checked_sub(1)
            .filter(|index| *index < self.statuses.len())
        else {
            return false;
        };
        self.statuses[index] = to;
        if to != NodeStatus::Idle {
            self.last[index] = to;
        }
        true
    }

    /// The running leaves, in the order of the tree.
    pub fn running_leaves<'d>(&self, def: &'d TreeDef) -> Vec<&'d str> {
        def.nodes()
            .filter(|(node, _)| self.is_running(*node) && def.children(*node).len() == 0)
            .map(|(_, info)| &*info.name)
            .collect()
    }

    fn is_running(&self, node: NodeIndex) -> bool {
        self.statuses[node.index()] == NodeStatus::Running
    }

    /// One indented line per node, coloured by status if `colour` is set.
    pub fn lines(&self, def: &TreeDef, colour: bool) -> Vec<String> {
        let mut lines = Vec::with_capacity(def.len());
        let mut waiting = vec![(NodeIndex::ROOT, 0_usize)];
        while let Some((node, depth)) = waiting.pop() {
            let info = def.node(node);
            let (now, last) = (self.statuses[node.index()], self.last[node.index()]);
            let shown = if now == NodeStatus::Idle { last } else { now };
            let mark = match shown {
                NodeStatus::Running => "▶",
                NodeStatus::Success => "✔",
                NodeStatus::Failure => "✘",
                NodeStatus::Skipped => "-",
                NodeStatus::Idle => "·",
            };
            let id = if info.name == info.id {
                String::new()
            } else {
                format!(" ({})", info.id)
            };
            let text = format!("{:indent$}{mark} {}{id}", "", info.name, indent = depth * 2);
            lines.push(if colour {
                paint(&text, shown, now == NodeStatus::Idle)
            } else {
                text
            });
            let children: Vec<NodeIndex> = def.children(node).collect();
            waiting.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        }
        lines
    }
}

/// Applies the colours of BehaviorTree.CPP's console logger. Nodes that are not running any more are dimmed.
fn paint(text: &str, status: NodeStatus, over: bool) -> String {
    let code = match status {
        NodeStatus::Success => "32",
        NodeStatus::Failure => "31",
        NodeStatus::Running => "1;33",
        NodeStatus::Skipped => "34",
        NodeStatus::Idle => "2",
    };
    let dim = if over { "2;" } else { "" };
    format!("\x1b[{dim}{code}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::{forest, leaf, sequence, tree};
    use crate::bt::{Registry, compile};

    #[test]
    fn a_line_a_node_with_what_it_does_or_did() {
        let root = sequence([
            leaf("AlwaysSuccess").name("plan"),
            leaf("AlwaysSuccess").name("drive"),
        ]);
        let def = compile(&forest([tree("T", root)]), "T", &Registry::builtin())
            .unwrap()
            .def;
        let mut live = LiveTree::new(&def);
        for (uid, status) in [
            (1, NodeStatus::Running),
            (2, NodeStatus::Success),
            (3, NodeStatus::Running),
            (2, NodeStatus::Idle),
        ] {
            assert!(live.change(uid, status));
        }
        assert!(!live.change(9, NodeStatus::Running) && !live.change(0, NodeStatus::Running));
        let lines = live.lines(&def, false);
        assert_eq!(
            lines,
            [
                "▶ Sequence",
                "  ✔ plan (AlwaysSuccess)",
                "  ▶ drive (AlwaysSuccess)"
            ]
        );
        assert_eq!(live.running_leaves(&def), ["drive"]);
    }
}
