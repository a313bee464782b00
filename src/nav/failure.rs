//! The last failures of leaves, in the words that the client of a navigation, the console and `/diagnostics` read.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bt::SlotId;

/// A leaf that failed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafFailure {
    /// The path of the leaf.
    pub leaf: Arc<str>,
    /// Its type.
    pub id: Arc<str>,
    /// Its error code; 0 is none.
    pub code: u16,
    /// The name of the code.
    pub code_name: Option<&'static str>,
    /// The words of the server, or of the leaf; may be empty.
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
    /// The last one that wrote each entry for an error code.
    by_entry: FxHashMap<SlotId, LeafFailure>,
    last: Option<LeafFailure>,
}

impl Failures {
    /// Takes in a failure, and the entry that its code was written to.
    pub(crate) fn add(&mut self, failure: LeafFailure, entry: Option<SlotId>) {
        if let Some(entry) = entry {
            self.by_entry.insert(entry, failure.clone());
        }
        self.last = Some(failure);
    }

    /// The failure that wrote the code that an entry holds.
    pub fn of_code(&self, entry: SlotId, code: u16) -> Option<&LeafFailure> {
        self.by_entry.get(&entry).filter(|failure| failure.code == code)
    }

    /// The last failure of all.
    pub fn last(&self) -> Option<&LeafFailure> {
        self.last.as_ref()
    }

    /// Another run begins.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_leaf_code_and_words_as_far_as_they_are_known() {
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
