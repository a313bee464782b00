//! Where a goal is, in the frame that goals are kept in.

use std::sync::Arc;

use super::NavigatorKind;
use super::goal::Request;
use crate::msg::{PoseStamped, TransformStamped};
use crate::nav::World;

/// A goal's poses in the global frame, where the robot has a pose too.
///
/// # Errors
/// Which transform is missing.
pub(crate) fn poses(world: &World, request: &Request) -> Result<Vec<PoseStamped>, String> {
    let settings = &world.settings;
    let global: Arc<str> = settings.global_frame.as_str().into();
    if request.kind == NavigatorKind::ToPose {
        let base = &settings.robot_base_frame;
        world
            .transform(&global, base, None)
            .map_err(|error| format!("the robot's pose is unknown: {error}"))?;
    }
    request
        .poses
        .iter()
        .map(|pose| {
            if pose.header.frame_id == global || pose.header.frame_id.is_empty() {
                let mut pose = pose.clone();
                pose.header.frame_id = Arc::clone(&global);
                return Ok(pose);
            }
            let at = (!pose.header.stamp.is_zero()).then_some(pose.header.stamp);
            world
                .transform(&global, &pose.header.frame_id, at)
                .map(|transform| express(pose, &transform))
                .map_err(|error| format!("the goal cannot be expressed in `{global}`: {error}"))
        })
        .collect()
}

/// A pose in the frame that a transform leads to.
fn express(pose: &PoseStamped, transform: &TransformStamped) -> PoseStamped {
    let mut expressed = pose.clone();
    expressed.pose = transform.transform.apply(&pose.pose);
    expressed.header.frame_id = Arc::clone(&transform.header.frame_id);
    expressed
}
