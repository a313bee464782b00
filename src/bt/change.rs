//! A change of a tree file that solves a problem.

use super::definition::Span;
use super::suggest::is_typo;

/// A change of a tree file. The texts are meanings: a change of the file escapes them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Writes another name or value at a place.
    Write(Span, String),
    /// Gives the node whose tag name is at a place another ID.
    Retype(Span, String),
    /// Names another key at a place, with the braces that stand there.
    Key {
        /// The place of the key.
        place: Span,
        /// The key that stands there.
        from: String,
        /// The key to name.
        to: String,
    },
    /// Removes the attribute whose name is at a place.
    RemoveAttribute(Span),
    /// Gives the node whose tag name is at a place another attribute.
    AddAttribute {
        /// The place of the tag name.
        node: Span,
        /// The name of the attribute.
        name: String,
        /// Its value.
        value: String,
    },
}

/// How sure it is that a change is what the author of the file wants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Confidence {
    /// One of several things that the author can mean. An editor may offer it.
    Guess,
    /// The only answer. A command may do it.
    Sure,
}

impl Confidence {
    /// The confidence that `typed` is a misspelling of `meant`, the nearest of all names that can stand there, as the
    /// ports of a node. A near node type, tree or key is a guess, because the author can have one of that name elsewhere.
    pub fn of_near_name(typed: &str, meant: &str) -> Self {
        if is_typo(typed, meant) {
            Self::Sure
        } else {
            Self::Guess
        }
    }
}
