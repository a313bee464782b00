//! What `navtree drive` shows while its goal executes.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::outln;
use crate::bt::{NodeStatus, TreeDef};
use crate::monitor::live::LiveTree;
use crate::msg::BehaviorTreeLog;
use crate::msg::action::NavigateToPoseFeedback;

/// Displays the tree: redrawn in place on a terminal, otherwise one line per change.
pub(super) struct Display {
    tree: Option<(Arc<TreeDef>, LiveTree)>,
    is_terminal: bool,
    drawn_lines: usize,
    last_draw: Instant,
    feedback_line: String,
}

impl Display {
    pub(super) fn new(def: Option<Arc<TreeDef>>) -> Self {
        let tree = def.map(|def| {
            let live = LiveTree::new(&def);
            (def, live)
        });
        let is_terminal = io::stdout().is_terminal();
        Self {
            tree,
            is_terminal,
            drawn_lines: 0,
            last_draw: Instant::now(),
            feedback_line: String::new(),
        }
    }

    pub(super) fn apply_changes(&mut self, log: &BehaviorTreeLog) {
        let Some((_, live)) = &mut self.tree else { return };
        for change in &log.event_log {
            if let Some(status) = NodeStatus::from_name(&change.current_status) {
                live.change(change.uid, status);
            }
            if !self.is_terminal && matches!(change.current_status.as_str(), "SUCCESS" | "FAILURE") {
                outln!("    {} {}", change.node_name, change.current_status);
            }
        }
    }

    pub(super) fn set_feedback(&mut self, feedback: &NavigateToPoseFeedback) {
        self.feedback_line = format!(
            "{:.2} m remaining, {:.1} s, {} recoveries",
            feedback.distance_remaining,
            feedback.navigation_time.as_secs_f64(),
            feedback.number_of_recoveries
        );
    }

    pub(super) fn draw(&mut self) {
        let period = Duration::from_millis(if self.is_terminal { 100 } else { 1000 });
        if self.last_draw.elapsed() < period {
            return;
        }
        self.last_draw = Instant::now();
        if self.is_terminal {
            self.redraw();
        } else if !self.feedback_line.is_empty() {
            let running = self
                .tree
                .as_ref()
                .map_or_else(Vec::new, |(def, live)| live.running_leaves(def));
            outln!("  {}  [{}]", self.feedback_line, running.join(", "));
        }
    }

    fn redraw(&mut self) {
        let mut out = String::new();
        if self.drawn_lines > 0 {
            out.push_str(&format!("\x1b[{}A", self.drawn_lines));
        }
        let mut lines = self
            .tree
            .as_ref()
            .map_or_else(Vec::new, |(def, live)| live.lines(def, true));
        lines.push(String::new());
        lines.push(self.feedback_line.clone());
        for line in &lines {
            out.push_str("\x1b[2K  ");
            out.push_str(line);
            out.push('\n');
        }
        self.drawn_lines = lines.len();
        super::out(&out);
    }

    pub(super) fn end(&mut self) {
        if self.is_terminal {
            self.redraw();
        }
    }
}
