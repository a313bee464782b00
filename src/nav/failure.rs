//! The last failures of leaves, for the navigation result, the console and `/diagnostics`.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bt::{SlotId, Time};

/// The failure of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafFailure {
    /// The path of the leaf.
    pub leaf: Arc<str>,
    /// The registered ID of its node type.
    pub id: Arc<str>,
    /// The error code; 0 means none.
    pub code: u16,
    /// The name of the code.
    pub code_name: Option<&'static str>,
    /// The message of the server or of the leaf; may be empty.
    pub words: String,
}

impl fmt::Display for LeafFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            leaf,
            id,
            code,
            code_name,
            words,
        } = self;
        write!(f, "{leaf} ({id}) failed")?;
        match (code, code_name) {
            (0, _) => {}
            (_, Some(name)) => write!(f, ": {name} ({code})")?,
            (_, None) => write!(f, ": error code {code}")?,
        }
        if !words.is_empty() {
            write!(f, ": {words}")?;
        }
        Ok(())
    }
}

/// The last failures of one navigation.
#[derive(Debug, Default)]
pub struct Failures {
    /// The last failure that wrote each error code entry.
    by_entry: FxHashMap<SlotId, LeafFailure>,
    /// The last failure, and the time of its tick.
    last: Option<(LeafFailure, Time)>,
}

impl Failures {
    /// Adds a failure in the tick of this time, with the entry of its error code.
    pub(crate) fn add(&mut self, failure: LeafFailure, entry: Option<SlotId>, now: Time) {
        if let Some(entry) = entry {
            self.by_entry.insert(entry, failure.clone());
        }
        self.last = Some((failure, now));
    }

    /// The failure that wrote the code of an entry.
    pub fn of_code(&self, entry: SlotId, code: u16) -> Option<&LeafFailure> {
        self.by_entry.get(&entry).filter(|failure| failure.code == code)
    }

    /// The last failure, and the time of its tick.
    pub fn last(&self) -> Option<&(LeafFailure, Time)> {
        self.last.as_ref()
    }

    /// The last failure, if it is of the tick of this time.
    pub fn last_of_tick(&self, now: Time) -> Option<&LeafFailure> {
        self.last()
            .filter(|(_, at)| *at == now)
            .map(|(failure, _)| failure)
    }

    /// Starts another run.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_leaf_code_and_message_if_known() {
        let mut failure = LeafFailure {
            leaf: "/Plan/ComputePathToPose".into(),
            id: "ComputePathToPose".into(),
            code: 206,
            code_name: Some("GOAL_OCCUPIED"),
            words: "goal is in an obstacle".to_owned(),
        };
        let leaf = "/Plan/ComputePathToPose (ComputePathToPose) failed";
        let reads = |failure: &LeafFailure| failure.to_string();
        assert_eq!(
            reads(&failure),
            format!("{leaf}: GOAL_OCCUPIED (206): goal is in an obstacle")
        );
        failure.words.clear();
        assert_eq!(reads(&failure), format!("{leaf}: GOAL_OCCUPIED (206)"));
        failure.code_name = None;
        assert_eq!(reads(&failure), format!("{leaf}: error code 206"));
        failure.code = 0;
        assert_eq!(reads(&failure), leaf);
    }
}
