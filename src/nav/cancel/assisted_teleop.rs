//! `CancelAssistedTeleop`: stops assisted teleoperation.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels every goal of the server, whoever sent it.
#[derive(Debug)]
pub struct CancelAssistedTeleop;

impl CancelNode for CancelAssistedTeleop {
    type Action = actions::AssistedTeleop;
    const ID: &'static str = "CancelAssistedTeleop";
    const DOC: &'static str =
        "Stops assisted teleoperation, whoever asked for it. SUCCESS when the server has answered.";
    const SERVER: &'static str = "assisted_teleop";
}
