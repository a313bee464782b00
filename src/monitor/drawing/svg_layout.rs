//! The boxes of a picture: their text, sizes and places.

use super::{Drawing, Layout};
use crate::bt::NodeIndex;

/// Height of a line of text, in pixels.
pub(super) const LINE: f64 = 15.0;
/// Width of a character, in pixels.
const CHARACTER: f64 = 7.2;
/// Maximum length of a line of text, in characters. It bounds the width of a level from left to right.
const MAX_LINE: usize = 36;
/// Space between a box and its text, left and right.
pub(super) const PADDING: f64 = 8.0;
/// Space of the beginning of a line that continues the line before.
pub(super) const CONTINUED: f64 = 2.0 * CHARACTER;
/// Space between the boxes of one level, and around the picture.
pub(super) const GAP: f64 = 12.0;
/// Space between a parent and its children.
const LEVEL_GAP: f64 = 28.0;

/// A line of text in a box.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    /// Whether it continues the line before.
    pub(super) is_continued: bool,
}

/// The box of a node.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) node: NodeIndex,
    /// The positions of its children in the list of cells.
    pub(super) children: Vec<usize>,
    pub(super) lines: Vec<Line>,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The boxes of all nodes that are not hidden, in pre-order.
pub(super) fn cells(drawing: &Drawing<'_>) -> Vec<Cell> {
    let mut positions = vec![0; drawing.def.len()];
    for (position, (node, _)) in drawing.nodes().enumerate() {
        positions[node.index()] = position;
    }
    let mut cells: Vec<Cell> = drawing
        .nodes()
        .map(|(node, _)| {
            let children = drawing.children(node).map(|child| positions[child.index()]);
            measure(drawing, node, children.collect())
        })
        .collect();
    place(&mut cells, drawing.layout);
    cells
}

fn measure(drawing: &Drawing<'_>, node: NodeIndex, children: Vec<usize>) -> Cell {
    let mut lines = wrap(&drawing.label(node));
    for (name, value) in drawing.ports(node) {
        lines.extend(wrap(&format!("{name} = {value}")));
    }
    for note in drawing.notes(node) {
        lines.extend(wrap(&note));
    }
    let width = |line: &Line| {
        let indent = if line.is_continued { CONTINUED } else { 0.0 };
        indent + line.text.chars().count() as f64 * CHARACTER
    };
    Cell {
        node,
        children,
        x: 0.0,
        y: 0.0,
        width: lines.iter().map(width).fold(0.0, f64::max) + 2.0 * PADDING,
        height: lines.len() as f64 * LINE + 10.0,
        lines,
    }
}

/// Breaks a text into lines, behind a character that ends a word if possible.
fn wrap(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > MAX_LINE {
        let ends_word = |letter: &char| !letter.is_alphanumeric() && !"_.{\"'(".contains(*letter);
        let words = rest[MAX_LINE / 3..MAX_LINE].iter().rposition(ends_word);
        let length = words.map_or(MAX_LINE, |last| MAX_LINE / 3 + last + 1);
        let line: String = rest.drain(..length).collect();
        lines.push(line);
    }
    lines.push(rest.into_iter().collect());
    let numbered = lines.into_iter().enumerate();
    numbered
        .map(|(number, text)| Line {
            text,
            is_continued: number > 0,
        })
        .collect()
}

/// Places the subtrees side by side across the direction of the layout, so that no two boxes overlap.
fn place(cells: &mut [Cell], layout: Layout) {
    let [along, across]: [fn(&Cell) -> f64; 2] = match layout {
        Layout::LeftToRight => [|cell| cell.width, |cell| cell.height],
        Layout::TopDown => [|cell| cell.height, |cell| cell.width],
    };
    let inner = |cell: &Cell, spans: &[f64]| {
        let gaps = GAP * cell.children.len().saturating_sub(1) as f64;
        cell.children.iter().map(|child| spans[*child]).sum::<f64>() + gaps
    };
    // The space of each subtree. In pre-order children come after their parents: one backward pass sums the spaces.
    let mut spans = vec![0.0; cells.len()];
    for position in (0..cells.len()).rev() {
        spans[position] = across(&cells[position]).max(inner(&cells[position], &spans));
    }
    // The beginnings of the subtrees: along the layout, and across.
    let mut starts = vec![[GAP; 2]; cells.len()];
    for position in 0..cells.len() {
        let cell = &cells[position];
        let [begin, side] = starts[position];
        // A parent stands in the middle above its children, but beside the first of them: there one reads on.
        let (shift, mut child_side) = match layout {
            Layout::LeftToRight => (0.0, side),
            Layout::TopDown => (
                (spans[position] - across(cell)) / 2.0,
                side + (spans[position] - inner(cell, &spans)) / 2.0,
            ),
        };
        for child in &cell.children {
            starts[*child] = [begin + along(cell) + LEVEL_GAP, child_side];
            child_side += spans[*child] + GAP;
        }
        let cell = &mut cells[position];
        [cell.x, cell.y] = match layout {
            Layout::LeftToRight => [begin, side + shift],
            Layout::TopDown => [side + shift, begin],
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words() {
        let lines = |text: &str| wrap(text).into_iter().map(|line| line.text).collect::<Vec<_>>();
        assert_eq!(lines(""), [""]);
        assert_eq!(lines("goal = {goal}"), ["goal = {goal}"]);
        assert_eq!(
            lines("error_code_id = {compute_path_error_code}"),
            ["error_code_id = ", "{compute_path_error_code}"]
        );
        let endless = "é".repeat(MAX_LINE + 1);
        assert_eq!(lines(&endless), ["é".repeat(MAX_LINE), "é".to_owned()]);
    }
}
