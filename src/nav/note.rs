//! Log messages of leaves.

use std::sync::Arc;
use std::time::Duration;

use crate::bt::Time;

/// A log message of a leaf that is not an error of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The path of the leaf.
    pub leaf: Arc<str>,
    /// The text.
    pub text: String,
}

/// Maximum number of waiting messages, and of remembered ones.
const MAX_NOTES: usize = 64;
/// Minimum time between equal messages of a leaf. A condition without transform would log at every tick, a hundred
/// times a second, and hide everything else.
const PAUSE: Duration = Duration::from_secs(1);

/// The log messages of all leaves.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Messages that have not been taken.
    waiting: Vec<Note>,
    /// The messages of the last second, with their times.
    recent: Vec<(Note, Time)>,
}

impl Notes {
    /// Adds a message of a leaf.
    pub(super) fn add(&mut self, leaf: &Arc<str>, text: String, now: Time) {
        self.recent.retain(|(_, at)| now.since(*at) < PAUSE);
        let is_repeated =
            |(note, _): &(Note, Time)| note.leaf == *leaf && differs_in_numbers(&note.text, &text);
        if self.recent.iter().any(is_repeated)
            || self.recent.len() >= MAX_NOTES
            || self.waiting.len() >= MAX_NOTES
        {
            return;
        }
        let leaf = Arc::clone(leaf);
        let note = Note { leaf, text };
        self.recent.push((note.clone(), now));
        self.waiting.push(note);
    }

    /// Takes the messages since the last call.
    pub(super) fn take(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.waiting)
    }

    /// Clears the history of messages, for a new goal.
    pub(super) fn forget(&mut self) {
        self.recent.clear();
    }
}

/// Whether two texts are equal except for numbers, for example an age or a distance.
fn differs_in_numbers(a: &str, b: &str) -> bool {
    fn words(text: &str) -> impl Iterator<Item = u8> {
        text.bytes().filter(|byte| !byte.is_ascii_digit())
    }
    words(a).eq(words(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(notes: &mut Notes, leaf: &str, text: &str, milliseconds: u64) -> usize {
        notes.add(&leaf.into(), text.to_owned(), Time::from_millis(milliseconds));
        notes.take().len()
    }

    #[test]
    fn a_repeated_message_is_logged_once_per_second() {
        let mut notes = Notes::default();
        let count: usize = (0..250)
            .map(|tick| add(&mut notes, "a", &format!("it is 1.{tick:03} s old"), 10 * tick))
            .sum();
        assert_eq!(count, 3);
        assert_eq!(
            add(&mut notes, "b", "it is 1.000 s old", 2_500),
            1,
            "another leaf"
        );
        assert_eq!(
            add(&mut notes, "a", "it does not exist", 2_500),
            1,
            "another text"
        );
        notes.forget();
        assert_eq!(
            add(&mut notes, "a", "it does not exist", 2_500),
            1,
            "another goal"
        );
    }

    #[test]
    fn the_number_of_waiting_messages_is_limited() {
        let mut notes = Notes::default();
        for second in 0..1_000 {
            notes.add(&"a".into(), "again".to_owned(), Time::from_millis(1_000 * second));
        }
        assert_eq!(notes.take().len(), MAX_NOTES);
    }
}
