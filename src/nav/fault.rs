//! Faults: requests of a tree that are not possible.

use std::sync::Arc;

use crate::bt::Span;

/// A request of a leaf that is not possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path of the leaf.
    pub leaf: Arc<str>,
    /// The attribute with the fault, or the leaf.
    pub span: Span,
    /// `file:line:column`, if the tree came from a file.
    pub place: Option<String>,
    /// The message.
    pub text: String,
}

impl Fault {
    /// Checks that a tree has no faults.
    ///
    /// # Errors
    /// All of them in one text.
    pub fn none_of(faults: &[Self]) -> Result<(), String> {
        if faults.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Err(texts.join("; "))
    }
}

impl std::fmt::Display for Fault {
    /// With its place.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}
