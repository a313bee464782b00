//! `CancelBackUp`: cancels driving backwards.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels all goals of the server, from any client.
#[derive(Debug)]
pub struct CancelBackUp;

impl CancelNode for CancelBackUp {
    type Action = actions::BackUp;
    const ID: &'static str = "CancelBackUp";
    const DOC: &'static str =
        "Cancels driving backwards of any client. SUCCESS when the server has answered.";
    const SERVER: &'static str = "backup";
}
