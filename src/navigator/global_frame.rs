//! Where a goal is, in the frame that goals are kept in.

use std::sync::Arc;

use super::NavigatorKind;
use super::goal::Request;
use crate::msg::{PoseStamped, TransformStamped};
use crate::nav::World;

/// A goal's poses in the global frame, where the robot has a pose too.
///
/// # Errors
/// Which transform is missing, or that a pose names no frame. As tf2, nothing guesses one: a goal whose fields were never
/// set would be the origin of the map.
pub(crate) fn poses(world: &World, request: &Request) -> Result<Vec<PoseStamped>, String> {
    let settings = &world.settings;
    let global: Arc<str> = settings.global_frame.as_str().into();
    // First, for no transform that comes late mends it.
    if request.poses.iter().any(|pose| pose.header.frame_id.is_empty()) {
        return Err(format!(
            "the goal's header names no frame: set its frame_id, to `{global}` for instance"
        ));
    }
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
            if pose.header.frame_id == global {
                return Ok(pose.clone());
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

#[cfg(test)]
mod tests {
    use super::super::goal::{Ending, NavigationError};
    use super::super::rig::{Rig, load, registry, request};
    use super::*;
    use crate::msg::Pose;

    #[test]
    fn a_goal_that_names_no_frame_is_aborted_and_goes_nowhere() {
        let mut rig = Rig::new();
        rig.bench.transform("map", "base_link", Pose::default());
        let tree = load(&registry(), "<AlwaysSuccess/>");
        let somewhere = PoseStamped::in_frame("map", Pose::planar(1.0, 0.0, 0.0));
        let mut set = request(1, &tree, &rig.clients);
        (set.kind, set.poses) = (NavigatorKind::ToPose, vec![somewhere.clone()]);
        let now = rig.now();
        rig.navigator.goal(set, now);
        rig.ticks(1);
        assert_eq!(rig.report().1.ending, Ending::Succeeded);

        for (kind, poses) in [
            (NavigatorKind::ToPose, vec![PoseStamped::default()]),
            (
                NavigatorKind::ThroughPoses,
                vec![somewhere, PoseStamped::default()],
            ),
        ] {
            let mut unset = request(2, &tree, &rig.clients);
            (unset.kind, unset.poses) = (kind, poses);
            let now = rig.now();
            rig.navigator.goal(unset, now);
            rig.ticks(60);
            let (_, report) = rig.report();
            assert_eq!(
                (report.ending, report.error_code),
                (Ending::Aborted, NavigationError::TransformFailed.code(kind))
            );
            assert_eq!(
                report.error_message,
                "the goal's header names no frame: set its frame_id, to `map` for instance"
            );
        }
    }
}
