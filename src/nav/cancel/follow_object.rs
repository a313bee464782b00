//! `CancelFollowObject`: cancels object following.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels all goals of the server, from any client.
#[derive(Debug)]
pub struct CancelFollowObject;

impl CancelNode for CancelFollowObject {
    type Action = actions::FollowObject;
    const ID: &'static str = "CancelFollowObject";
    const DOC: &'static str = "Cancels object following of any client. SUCCESS when the server has answered.";
    const SERVER: &'static str = "follow_object";
}
