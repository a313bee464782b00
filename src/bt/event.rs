//! Named events from outside of the tree, for nodes that wait for them (`Signal`).

use std::sync::Arc;

use super::value::Value;

/// One event.
#[derive(Clone, Debug)]
pub struct Event {
    /// The number of the event within the run, from 1.
    pub number: u64,
    /// The name, words separated by dots: `battery.low`.
    pub name: Arc<str>,
    /// The data of the event.
    pub data: Value,
}

/// The events of a run.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Events of the current tick, oldest first.
    pub(crate) current: Vec<Event>,
    /// Events that arrived since the last tick began.
    arriving: Vec<Event>,
    count: u64,
}

impl Events {
    pub(crate) fn emit(&mut self, name: Arc<str>, data: Value) {
        self.count += 1;
        self.arriving.push(Event {
            number: self.count,
            name,
            data,
        });
    }

    /// Makes the arrived events visible to a tick. The events of the previous tick are dropped, unless a node requested
    /// an immediate execution before the tick reached the waiting node.
    pub(crate) fn begin_tick(&mut self, keep: bool) {
        if !keep {
            self.current.clear();
        }
        self.current.append(&mut self.arriving);
    }

    /// Drops all events at the end of a run. The next run may start minutes later.
    pub(crate) fn forget(&mut self) {
        self.current.clear();
        self.arriving.clear();
    }
}

/// Whether a name matches a pattern: `*` matches any characters, `?` one character. The pattern must match the whole
/// name. Substitution rules use the same pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    // Called only at character boundaries: pattern and name are aligned at each `*` or `?`.
    let width = |from: usize| {
        let next = name.get(from..).and_then(|rest| rest.chars().next());
        next.map_or(1, char::len_utf8)
    };
    let (pattern, bytes) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut from) = (0, 0);
    // Positions to continue from when the text after the last star did not match.
    let mut retry: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at + 1, from));
                at += 1;
            }
            Some(b'?') => {
                at += 1;
                from += width(from);
            }
            Some(byte) if *byte == bytes[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((star, tried)) = retry else { return false };
                from = tried + width(tried);
                retry = Some((star, from));
                at = star;
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("a.*", "a.b", true),
            ("a.*", "a.", true),
            ("a.*", "a", false),
            ("a.*", "b.a.c", false),
            ("*", "", true),
            ("*.low", "battery.low", true),
            ("*.low", "battery.lower", false),
            ("a*b*c", "axxbyybzc", true),
            ("a*b*c", "axxbyybz", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("?", "ü", true),
            ("??", "ü", false),
            ("*?é", "aüé", true),
            ("*é?", "éèéü", true),
            ("*::3", "Sequence::3", true),
            ("*b*d", "abcbd", true),
            ("exact", "exact", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_tick_sees_earlier_events_once() {
        let mut events = Events::default();
        events.emit("a".into(), Value::Empty);
        assert!(events.current.is_empty());
        events.begin_tick(false);
        assert_eq!(events.current.len(), 1);
        events.begin_tick(true);
        assert_eq!(events.current.len(), 1);
        events.begin_tick(false);
        assert!(events.current.is_empty());
    }
}
