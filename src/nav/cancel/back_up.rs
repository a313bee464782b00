//! `CancelBackUp`: stops driving backwards.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels every goal of the server, whoever sent it.
#[derive(Debug)]
pub struct CancelBackUp;

impl CancelNode for CancelBackUp {
    type Action = actions::BackUp;
    const ID: &'static str = "CancelBackUp";
    const DOC: &'static str =
        "Stops driving backwards, whoever asked for it. SUCCESS when the server has answered.";
    const SERVER: &'static str = "backup";
}
