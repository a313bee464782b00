//! Where a goal is, in the frame that goals are kept in.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::NavigatorKind;
use super::goal::Request;
use crate::msg::{Header, PoseStamped, TransformStamped};
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
    // Each transform once, whatever the number of poses: a goal may have many, and is looked at before every tick until all
    // are there. So a frame that moves is also in one place for all poses that name it.
    let mut transforms = FxHashMap::default();
    for Header { frame_id, stamp } in request.poses.iter().map(|pose| &pose.header) {
        if *frame_id == global {
            continue;
        }
        if let Entry::Vacant(vacant) = transforms.entry((Arc::clone(frame_id), *stamp)) {
            let transform = world
                .transform(&global, frame_id, (!stamp.is_zero()).then_some(*stamp))
                .map_err(|error| format!("the goal cannot be expressed in `{global}`: {error}"))?;
            vacant.insert(transform);
        }
    }
    let express = |pose: &PoseStamped| {
        let key = (Arc::clone(&pose.header.frame_id), pose.header.stamp);
        transforms
            .get(&key)
            .map_or_else(|| pose.clone(), |transform| express(pose, transform))
    };
    Ok(request.poses.iter().map(express).collect())
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
    use std::sync::mpsc::channel;

    use super::super::rig::{Rig, bench, load, registry, request};
    use super::*;
    use crate::msg::Pose;
    use crate::nav::Settings;

    #[test]
    fn every_pose_is_expressed_by_the_transform_of_its_own_frame() {
        let mut bench = bench();
        bench.transform("map", "odom", Pose::planar(10.0, 0.0, 0.0));
        bench.transform("map", "ship", Pose::planar(20.0, 0.0, 0.0));
        let world = World::new(bench.link(), Settings::default());
        let (clients, _reports) = channel();
        let goal = |frames: &[&str]| {
            let mut goal = request(1, &load(&registry(), "<AlwaysSuccess/>"), &clients);
            let places = (1_u8..).map(|x| Pose::planar(f64::from(x), 0.0, 0.0));
            let poses = frames.iter().zip(places);
            goal.poses = poses
                .map(|(frame, at)| PoseStamped::in_frame(*frame, at))
                .collect();
            poses_of(&world, &goal)
        };
        assert_eq!(
            goal(&["odom", "map", "ship", "odom"]).unwrap(),
            [("map", 11.0), ("map", 2.0), ("map", 23.0), ("map", 14.0)]
                .map(|(frame, x)| (frame.to_owned(), x))
        );
        let missing = goal(&["odom", "nowhere"]).unwrap_err();
        assert!(missing.contains("nowhere"), "{missing}");
    }

    fn poses_of(world: &World, goal: &Request) -> Result<Vec<(String, f64)>, String> {
        let place = |pose: &PoseStamped| (pose.header.frame_id.to_string(), pose.pose.position.x);
        Ok(poses(world, goal)?.iter().map(place).collect())
    }

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
