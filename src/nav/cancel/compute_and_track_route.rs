//! `CancelComputeAndTrackRoute`: stops route tracking.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels every goal of the server, whoever sent it.
#[derive(Debug)]
pub struct CancelComputeAndTrackRoute;

impl CancelNode for CancelComputeAndTrackRoute {
    type Action = actions::ComputeAndTrackRoute;
    const ID: &'static str = "CancelComputeAndTrackRoute";
    const DOC: &'static str =
        "Stops route tracking, whoever asked for it. SUCCESS when the server has answered.";
    const SERVER: &'static str = "compute_and_track_route";
}
