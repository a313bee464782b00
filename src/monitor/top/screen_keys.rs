//! What each key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screen::{Pane, Screen};

/// The keys and what they do, for the help.
pub(super) const HELP: [(&str, &str); 13] = [
    ("q, Ctrl-C", "end"),
    ("↑ ↓ Home End", "select a node"),
    ("← →", "fold and unfold; to the parent"),
    ("Tab", "next pane"),
    ("PgUp PgDn", "scroll the pane"),
    ("a", "only active nodes"),
    ("f", "follow the leaf that runs"),
    ("p, Space", "pause the display, and continue"),
    ("[ ]", "one tick back and forth"),
    ("/ and n", "search, and the next match"),
    ("c", "log: leaves, or all changes"),
    ("1 to 9", "another robot"),
    ("?", "this help"),
];

impl Screen {
    /// Does what a key means. Returns false if it ends the program.
    pub(super) fn press(&mut self, key: KeyEvent) -> bool {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if has_control && matches!(key.code, KeyCode::Char('c' | 'C')) {
            return false;
        }
        if self.is_searching {
            self.type_search(key.code);
            return true;
        }
        match key.code {
            KeyCode::Char('q') => return false,
            KeyCode::Char('?') => self.has_help = !self.has_help,
            KeyCode::Esc => (self.has_help, self.search) = (false, String::new()),
            KeyCode::Char('a') => self.is_active_only = !self.is_active_only,
            KeyCode::Char('f') => {
                self.is_following = !self.is_following;
                self.follow();
            }
            KeyCode::Char('c') => self.has_all_changes = !self.has_all_changes,
            KeyCode::Char('p' | ' ') => self.pause(),
            KeyCode::Char('[') => self.step(false),
            KeyCode::Char(']') => self.step(true),
            KeyCode::Char('/') => (self.is_searching, self.search) = (true, String::new()),
            KeyCode::Char('n') => self.find(true),
            KeyCode::Char(digit @ '1'..='9') => self.show_robot(digit),
            KeyCode::Tab => self.focus(1),
            KeyCode::BackTab => self.focus(Pane::ALL.len() - 1),
            KeyCode::PageDown => self.scroll = self.scroll.saturating_add(5).min(usize::from(u16::MAX)),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(5),
            code => self.move_selection(code),
        }
        true
    }

    fn type_search(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(char) => self.search.push(char),
            KeyCode::Backspace => drop(self.search.pop()),
            KeyCode::Esc => (self.is_searching, self.search) = (false, String::new()),
            KeyCode::Enter => self.is_searching = false,
            _ => return,
        }
        self.find(false);
    }

    fn pause(&mut self) {
        let now = self.run().map(|run| run.now.time);
        self.time = if self.time.is_some() { None } else { now };
        self.follow();
    }

    fn step(&mut self, is_forth: bool) {
        let Some(run) = self.run() else { return };
        let shown = self.time.unwrap_or(run.now.time);
        let target = if is_forth {
            run.tick_after(shown)
        } else {
            run.tick_before(shown)
        };
        self.time = Some(target.unwrap_or(shown));
        self.follow();
    }

    fn show_robot(&mut self, digit: char) {
        let number = digit.to_digit(10).map_or(0, |digit| digit as usize);
        let index = number.wrapping_sub(1);
        if index < self.robots.len() && index != self.shown {
            self.shown = index;
            self.begin_run(false);
            self.follow();
        }
    }

    fn focus(&mut self, step: usize) {
        let at = Pane::ALL.iter().position(|pane| *pane == self.focus);
        self.focus = Pane::ALL[(at.unwrap_or(0) + step) % Pane::ALL.len()];
        self.scroll = 0;
    }

    fn move_selection(&mut self, code: KeyCode) {
        let Some(run) = self.run() else { return };
        let visible = self.visible(run, &run.at(self.time));
        // A hidden selection counts as the last node before it.
        let at = visible
            .iter()
            .rposition(|(node, _)| *node <= self.selected)
            .unwrap_or(0);
        let last = visible.len().saturating_sub(1);
        let go = |index: usize| visible.get(index).map(|(node, _)| *node);
        let is_folded = self.folded.contains(&self.selected);
        let is_open = !run.is_leaf(self.selected) && !is_folded;
        let target = match code {
            KeyCode::Up => go(at.saturating_sub(1)),
            KeyCode::Down => go((at + 1).min(last)),
            KeyCode::Home => go(0),
            KeyCode::End => go(last),
            KeyCode::Left if is_open => {
                self.is_following = false;
                self.folded.insert(self.selected);
                return;
            }
            KeyCode::Right if is_folded => {
                self.folded.remove(&self.selected);
                return;
            }
            KeyCode::Left => run.head.nodes.get(self.selected).and_then(|node| node.parent),
            KeyCode::Right => run
                .children
                .get(self.selected)
                .and_then(|children| children.first())
                .copied(),
            _ => None,
        };
        if let Some(target) = target {
            self.select(target);
        }
    }
}
