//! `CancelControl`: cancels path following.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels all goals of the server, from any client.
#[derive(Debug)]
pub struct CancelControl;

impl CancelNode for CancelControl {
    type Action = actions::FollowPath;
    const ID: &'static str = "CancelControl";
    const DOC: &'static str = "Cancels path following of any client. SUCCESS when the server has answered.";
    const SERVER: &'static str = "follow_path";
}
