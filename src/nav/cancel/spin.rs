//! `CancelSpin`: cancels rotations.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels all goals of the server, from any client.
#[derive(Debug)]
pub struct CancelSpin;

impl CancelNode for CancelSpin {
    type Action = actions::Spin;
    const ID: &'static str = "CancelSpin";
    const DOC: &'static str = "Cancels rotations of any client. SUCCESS when the server has answered.";
    const SERVER: &'static str = "spin";
}
