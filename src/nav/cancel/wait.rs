//! `CancelWait`: cancels waits.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels all goals of the server, from any client.
#[derive(Debug)]
pub struct CancelWait;

impl CancelNode for CancelWait {
    type Action = actions::Wait;
    const ID: &'static str = "CancelWait";
    const DOC: &'static str = "Cancels waits of any client. SUCCESS when the server has answered.";
    const SERVER: &'static str = "wait";
}
