//! `CancelSpin`: stops spinning.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels every goal of the server, whoever sent it.
#[derive(Debug)]
pub struct CancelSpin;

impl CancelNode for CancelSpin {
    type Action = actions::Spin;
    const ID: &'static str = "CancelSpin";
    const DOC: &'static str = "Stops spinning, whoever asked for it. SUCCESS when the server has answered.";
    const SERVER: &'static str = "spin";
}
