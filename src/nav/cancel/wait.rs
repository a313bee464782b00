//! `CancelWait`: stops waiting.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels every goal of the server, whoever sent it.
#[derive(Debug)]
pub struct CancelWait;

impl CancelNode for CancelWait {
    type Action = actions::Wait;
    const ID: &'static str = "CancelWait";
    const DOC: &'static str = "Stops waiting, whoever asked for it. SUCCESS when the server has answered.";
    const SERVER: &'static str = "wait";
}
