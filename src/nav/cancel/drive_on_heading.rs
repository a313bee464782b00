//! `CancelDriveOnHeading`: cancels driving on a heading.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels all goals of the server, from any client.
#[derive(Debug)]
pub struct CancelDriveOnHeading;

impl CancelNode for CancelDriveOnHeading {
    type Action = actions::DriveOnHeading;
    const ID: &'static str = "CancelDriveOnHeading";
    const DOC: &'static str =
        "Cancels driving on a heading of any client. SUCCESS when the server has answered.";
    const SERVER: &'static str = "drive_on_heading";
}
