//! `CancelComputeAndTrackRoute`: cancels route tracking.

use crate::msg::action as actions;
use crate::nav::cancel_leaf::CancelNode;

/// Cancels all goals of the server, from any client.
#[derive(Debug)]
pub struct CancelComputeAndTrackRoute;

impl CancelNode for CancelComputeAndTrackRoute {
    type Action = actions::ComputeAndTrackRoute;
    const ID: &'static str = "CancelComputeAndTrackRoute";
    const DOC: &'static str = "Cancels route tracking of any client. SUCCESS when the server has answered.";
    const SERVER: &'static str = "compute_and_track_route";
}
