//! Drawings as SVG, without an external program.

use std::fmt::Write;

use super::svg_layout::{CONTINUED, Cell, GAP, LINE, PADDING, cells};
use super::{Drawing, Layout};
use crate::bt::NodeKind;
use crate::xml::escape;

impl Drawing<'_> {
    /// A picture of boxes: each node with its ports and its mark.
    pub fn svg(&self) -> String {
        let cells = cells(self);
        let width = cells.iter().map(|cell| cell.x + cell.width).fold(0.0, f64::max) + GAP;
        let height = cells.iter().map(|cell| cell.y + cell.height).fold(0.0, f64::max) + GAP;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"monospace\" font-size=\"12\">\n\
             <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            escape(self.def.id())
        );
        for cell in &cells {
            for child in &cell.children {
                self.write_line(&mut out, cell, &cells[*child]);
            }
            self.write_box(&mut out, cell);
        }
        out.push_str("</svg>\n");
        out
    }

    /// The line from a parent to a child.
    fn write_line(&self, out: &mut String, parent: &Cell, child: &Cell) {
        let path = match self.layout {
            Layout::LeftToRight => {
                let row = |cell: &Cell| cell.y + LINE * 0.5 + 5.0;
                // Children of one parent begin at the same place, so their lines meet.
                let middle = (parent.x + parent.width + child.x) / 2.0;
                format!(
                    "M{:.1} {:.1}H{middle:.1}V{:.1}H{:.1}",
                    parent.x + parent.width,
                    row(parent),
                    row(child),
                    child.x
                )
            }
            Layout::TopDown => format!(
                "M{:.1} {:.1}L{:.1} {:.1}",
                parent.x + parent.width / 2.0,
                parent.y + parent.height,
                child.x + child.width / 2.0,
                child.y
            ),
        };
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"#666\"/>");
    }

    fn write_box(&self, out: &mut String, cell: &Cell) {
        let (fill, radius) = match self.def.node(cell.node).kind {
            NodeKind::Action => ("#dbe9ff", 2),
            NodeKind::Condition => ("#e2f5df", 12),
            NodeKind::Control => ("#f3f3f3", 2),
            NodeKind::Decorator => ("#fdf0d5", 2),
            NodeKind::SubTree => ("#efe3fb", 2),
        };
        let fill = self.colour(cell.node).unwrap_or(fill);
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius}\" fill=\"{fill}\" \
             stroke=\"#444\"/>",
            cell.x, cell.y, cell.width, cell.height
        );
        for (row, line) in cell.lines.iter().enumerate() {
            let weight = if row == 0 { " font-weight=\"bold\"" } else { "" };
            let indent = if line.is_continued { CONTINUED } else { 0.0 };
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\"{weight}>{}</text>",
                cell.x + PADDING + indent,
                cell.y + LINE * (row as f64 + 1.0),
                escape(&line.text)
            );
        }
    }
}
