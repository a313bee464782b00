//! The parts of the screen, one per file: the lines that each shows. [`draw()`] places them.

mod blackboard;
mod draw;
mod goals;
mod header;
mod log;
mod node;
mod ticks;
mod tree;

use ratatui::text::Line;

pub(super) use draw::draw;
pub(super) use header::header;

use super::robot::Robot;
use super::run::Run;
use super::screen::{Pane, Screen};
use super::state::State;

/// What a pane shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'s> {
    pub(super) screen: &'s Screen,
    pub(super) robot: &'s Robot,
    pub(super) run: &'s Run,
    pub(super) state: &'s State,
    /// Number of lines and columns of the pane.
    pub(super) height: usize,
    pub(super) width: usize,
}

/// The lines of a pane.
pub(super) fn lines(pane: Pane, view: &View<'_>) -> Vec<Line<'static>> {
    match pane {
        Pane::Tree => tree::lines(view),
        Pane::Node => node::lines(view),
        Pane::Goals => goals::lines(view),
        Pane::Blackboard => blackboard::lines(view),
        Pane::Ticks => ticks::lines(view),
        Pane::Log => log::lines(view),
    }
}
