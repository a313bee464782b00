//! The error of a tick.

use std::any::Any;
use std::sync::Arc;

/// A node raised an error and the tree failed. Names the node, its place in the file, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}node `{path}` ({id}): {message}", place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct TickError {
    /// The full path of the node that raised it.
    pub path: Arc<str>,
    /// Its registered ID.
    pub id: Arc<str>,
    /// `file:line:column`, if the tree came from a file.
    pub place: Option<String>,
    /// The reason, and what to do.
    pub message: String,
    /// Whether the node panicked.
    pub panicked: bool,
}

/// The message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "no reason given".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_messages_are_extracted() {
        let text = std::panic::catch_unwind(|| panic!("no {}", "good")).unwrap_err();
        assert_eq!(panic_text(&*text), "no good");
    }
}
