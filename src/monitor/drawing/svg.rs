//! Drawings as SVG, without an external program.

use std::fmt::Write;

use super::{Marks, label, ports};
use crate::bt::{NodeIndex, NodeKind, TreeDef};
use crate::xml::escape;

const LINE: f64 = 15.0;
const CHARACTER: f64 = 7.2;
const GAP_X: f64 = 16.0;
const GAP_Y: f64 = 34.0;

/// The box of a node.
struct Cell {
    lines: Vec<String>,
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    /// The width of the whole subtree.
    span: f64,
}

/// The tree from the root downwards, each node with its ports and its mark. Subtrees are side by side.
pub fn svg(def: &TreeDef, marks: &Marks) -> String {
    let nodes: Vec<NodeIndex> = def.nodes().map(|(node, _)| node).collect();
    let children =
        |index: usize| -> Vec<usize> { def.children(nodes[index]).map(NodeIndex::index).collect() };
    let mut cells: Vec<Cell> = nodes.iter().map(|node| measure(def, marks, *node)).collect();
    // Pre-order: children come after their parents, so one backward pass sums the widths.
    for index in (0..cells.len()).rev() {
        let children = children(index);
        let gaps = GAP_X * children.len().saturating_sub(1) as f64;
        let inner: f64 = children.iter().map(|child| cells[*child].span).sum::<f64>() + gaps;
        cells[index].span = cells[index].width.max(inner);
    }
    cells[0].x = GAP_X;
    cells[0].y = GAP_X;
    for index in 0..cells.len() {
        let children = children(index);
        let gaps = GAP_X * children.len().saturating_sub(1) as f64;
        let inner: f64 = children.iter().map(|child| cells[*child].span).sum::<f64>() + gaps;
        let mut left = cells[index].x + (cells[index].span - inner) / 2.0;
        let below = cells[index].y + cells[index].height + GAP_Y;
        for child in children {
            cells[child].x = left;
            cells[child].y = below;
            left += cells[child].span + GAP_X;
        }
    }
    draw(def, marks, &cells)
}

fn measure(def: &TreeDef, marks: &Marks, node: NodeIndex) -> Cell {
    let mut lines = vec![label(def, node)];
    lines.extend(ports(def, node).map(|(name, value)| format!("{name} = {value}")));
    lines.extend(marks.get(node).map(|mark| mark.note.clone()));
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let width = longest as f64 * CHARACTER + 16.0;
    let height = lines.len() as f64 * LINE + 10.0;
    Cell {
        lines,
        x: 0.0,
        y: 0.0,
        width,
        height,
        span: 0.0,
    }
}

fn draw(def: &TreeDef, marks: &Marks, cells: &[Cell]) -> String {
    let width = cells.iter().map(|cell| cell.x + cell.span).fold(0.0, f64::max) + GAP_X;
    let height = cells.iter().map(|cell| cell.y + cell.height).fold(0.0, f64::max) + GAP_X;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"monospace\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, (node, info)) in def.nodes().enumerate() {
        let cell = &cells[index];
        let left = cell.x + (cell.span - cell.width) / 2.0;
        let middle = cell.x + cell.span / 2.0;
        for child in def.children(node) {
            let to = &cells[child.index()];
            let _ = writeln!(
                out,
                "<line x1=\"{middle:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#666\"/>",
                cell.y + cell.height,
                to.x + to.span / 2.0,
                to.y
            );
        }
        let (fill, radius) = match info.kind {
            NodeKind::Action => ("#dbe9ff", 2),
            NodeKind::Condition => ("#e2f5df", 12),
            NodeKind::Control => ("#f3f3f3", 2),
            NodeKind::Decorator => ("#fdf0d5", 2),
            NodeKind::SubTree => ("#efe3fb", 2),
        };
        let fill = marks.get(node).map_or(fill, |mark| mark.shade.colour());
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius}\" fill=\"{fill}\" \
             stroke=\"#444\"/>",
            cell.y, cell.width, cell.height
        );
        for (row, line) in cell.lines.iter().enumerate() {
            let weight = if row == 0 { " font-weight=\"bold\"" } else { "" };
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\"{weight}>{}</text>",
                left + 8.0,
                cell.y + LINE * (row as f64 + 1.0),
                escape(line)
            );
        }
    }
    out.push_str("</svg>\n");
    out
}
