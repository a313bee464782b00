//! `CancelAssistedTeleop`: cancels assisted teleoperation.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels all goals of the server, from any client.
#[derive(Debug)]
pub struct CancelAssistedTeleop;

impl CancelNode for CancelAssistedTeleop {
    type Action = actions::AssistedTeleop;
    const ID: &'static str = "CancelAssistedTeleop";
    const DOC: &'static str =
        "Cancels assisted teleoperation of any client. SUCCESS when the server has answered.";
    const SERVER: &'static str = "assisted_teleop";
}
