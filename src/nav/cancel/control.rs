//! `CancelControl`: stops path following.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels every goal of the server, whoever sent it.
#[derive(Debug)]
pub struct CancelControl;

impl CancelNode for CancelControl {
    type Action = actions::FollowPath;
    const ID: &'static str = "CancelControl";
    const DOC: &'static str =
        "Stops path following, whoever asked for it. SUCCESS when the server has answered.";
    const SERVER: &'static str = "follow_path";
}
