//! What a tree asks for and cannot have.

use std::sync::Arc;

use crate::bt::Span;

/// What a leaf asks for in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path of the leaf.
    pub leaf: Arc<str>,
    /// The attribute that asks, or the leaf.
    pub span: Span,
    /// `file:line:column` of it, where the tree is of a file.
    pub place: Option<String>,
    /// What.
    pub text: String,
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
