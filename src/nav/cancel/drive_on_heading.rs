//! `CancelDriveOnHeading`: stops driving on a heading.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels every goal of the server, whoever sent it.
#[derive(Debug)]
pub struct CancelDriveOnHeading;

impl CancelNode for CancelDriveOnHeading {
    type Action = actions::DriveOnHeading;
    const ID: &'static str = "CancelDriveOnHeading";
    const DOC: &'static str =
        "Stops driving on a heading, whoever asked for it. SUCCESS when the server has answered.";
    const SERVER: &'static str = "drive_on_heading";
}
