//! What leaves have to say to people.

use std::sync::Arc;
use std::time::Duration;

use crate::bt::Time;

/// Something that a leaf has to say to people, and that is no error of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The path of the leaf.
    pub leaf: Arc<str>,
    /// What.
    pub text: String,
}

/// How many notes wait for somebody to take them, and how many are remembered.
const MOST: usize = 64;
/// How long a leaf says the same thing once: a condition that finds no transform would say so at every tick, a hundred
/// times a second, and bury everything else in the log.
const PAUSE: Duration = Duration::from_secs(1);

/// The notes of all leaves.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Not taken yet.
    waiting: Vec<Note>,
    /// What was said in the last second, and when.
    said: Vec<(Note, Time)>,
}

impl Notes {
    /// Takes in what a leaf says.
    pub(super) fn add(&mut self, leaf: &Arc<str>, text: String, now: Time) {
        self.said.retain(|(_, at)| now.since(*at) < PAUSE);
        let is_repeated =
            |(note, _): &(Note, Time)| note.leaf == *leaf && differs_in_numbers(&note.text, &text);
        if self.said.iter().any(is_repeated) || self.said.len() >= MOST || self.waiting.len() >= MOST {
            return;
        }
        let leaf = Arc::clone(leaf);
        let note = Note { leaf, text };
        self.said.push((note.clone(), now));
        self.waiting.push(note);
    }

    /// Takes out what was said since the last call.
    pub(super) fn take(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.waiting)
    }

    /// What was said before counts no longer: another goal is another story.
    pub(super) fn forget(&mut self) {
        self.said.clear();
    }
}

/// Whether two texts are the same, or differ in numbers only: an age, a distance.
fn differs_in_numbers(a: &str, b: &str) -> bool {
    fn words(text: &str) -> impl Iterator<Item = u8> {
        text.bytes().filter(|byte| !byte.is_ascii_digit())
    }
    words(a).eq(words(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(notes: &mut Notes, leaf: &str, text: &str, milliseconds: u64) -> usize {
        notes.add(&leaf.into(), text.to_owned(), Time::from_millis(milliseconds));
        notes.take().len()
    }

    #[test]
    fn what_is_repeated_tick_by_tick_is_said_once_a_second() {
        let mut notes = Notes::default();
        let count: usize = (0..250)
            .map(|tick| said(&mut notes, "a", &format!("it is 1.{tick:03} s old"), 10 * tick))
            .sum();
        assert_eq!(count, 3);
        assert_eq!(
            said(&mut notes, "b", "it is 1.000 s old", 2_500),
            1,
            "another leaf"
        );
        assert_eq!(
            said(&mut notes, "a", "it does not exist", 2_500),
            1,
            "another text"
        );
        notes.forget();
        assert_eq!(
            said(&mut notes, "a", "it does not exist", 2_500),
            1,
            "another goal"
        );
    }

    #[test]
    fn what_nobody_takes_does_not_grow() {
        let mut notes = Notes::default();
        for second in 0..1_000 {
            notes.add(&"a".into(), "again".to_owned(), Time::from_millis(1_000 * second));
        }
        assert_eq!(notes.take().len(), MOST);
    }
}
