//! `CancelFollowObject`: stops object following.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels every goal of the server, whoever sent it.
#[derive(Debug)]
pub struct CancelFollowObject;

impl CancelNode for CancelFollowObject {
    type Action = actions::FollowObject;
    const ID: &'static str = "CancelFollowObject";
    const DOC: &'static str =
        "Stops object following, whoever asked for it. SUCCESS when the server has answered.";
    const SERVER: &'static str = "follow_object";
}
