//! Transforms the poses of a goal to the global frame.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::NavigatorKind;
use super::goal::Request;
use crate::msg::{FrameId, PoseStamped, TransformStamped};
use crate::nav::World;

/// Maximum number of lookups of stamped transforms in one turn of the tick thread. Each pose of a goal may need a
/// different one (guarantee G1).
pub(crate) const MAX_LOOKUPS: usize = 500;

/// The reason why the poses of a goal are not all in the global frame.
#[derive(Debug)]
pub(crate) enum IncompleteTransform {
    /// The missing transform.
    Missing(String),
    /// The remaining transforms are looked up in the next turns.
    Unfinished,
}

/// The transform lookups that earlier turns did for the poses of a goal. Each pose is read once while transforms are
/// missing, because a goal may have very many poses (guarantee G1).
#[derive(Debug, Default)]
pub(crate) struct TransformProgress {
    /// Number of poses that were read. Those with a stamp are in the global frame.
    poses: usize,
    /// The other frames of the poses without a stamp among them.
    unstamped: FxHashSet<FrameId>,
    /// The frame without a newest transform in the last turn. It is looked up before the other frames, so a turn in which
    /// it is still missing needs one lookup.
    missing: Option<FrameId>,
}

/// Returns an error message if a pose of a goal has no frame name, which no later transform can change. Like tf2, this
/// code does not assume a frame: a goal with default values would mean the origin of the map. It checks each pose, so
/// call it once for each goal (guarantee G1).
pub(crate) fn missing_frame_error(world: &World, request: &Request) -> Option<String> {
    let has_unnamed_frame = request.poses.iter().any(|pose| pose.header.frame_id.is_empty());
    has_unnamed_frame.then(|| {
        let global = &world.settings.global_frame;
        format!("the goal has no frame: set frame_id in its header, for example to `{global}`")
    })
}

/// Transforms the poses of a goal to the global frame, if the pose of the robot is known. `lookups`: remaining number of
/// lookups of stamped transforms.
///
/// # Errors
/// [`IncompleteTransform`].
pub(crate) fn transform_poses(
    world: &World,
    request: &mut Request,
    progress: &mut TransformProgress,
    lookups: &mut usize,
) -> Result<(), IncompleteTransform> {
    let settings = &world.settings;
    let global: Arc<str> = settings.global_frame.as_str().into();
    if request.kind == NavigatorKind::ToPose {
        let base = &settings.robot_base_frame;
        world
            .transform(&global, base, None)
            .map_err(|error| IncompleteTransform::Missing(format!("the robot's pose is unknown: {error}")))?;
    }
    // All poses share the name of the target frame.
    let mut target: Option<FrameId> = None;
    let mut look_up = |frame: &str, at| match world.transform(&global, frame, at) {
        Ok(mut transform) => {
            let name = &mut transform.header.frame_id;
            let target = target.get_or_insert_with(|| Arc::clone(name));
            if target == name {
                *name = Arc::clone(target);
            }
            Ok(transform)
        }
        Err(error) => Err(IncompleteTransform::Missing(format!(
            "the goal cannot be expressed in `{global}`: {error}"
        ))),
    };
    // A stamped transform does not change. Each one is looked up only once, even if another transform is missing.
    let mut transforms = FxHashMap::default();
    for pose in request.poses.iter_mut().skip(progress.poses) {
        let (frame, stamp) = (&pose.header.frame_id, pose.header.stamp);
        if *frame == global {
            // It is in the global frame.
        } else if stamp.is_zero() {
            if !progress.unstamped.contains(frame) {
                progress.unstamped.insert(Arc::clone(frame));
            }
        } else {
            let transform = match transforms.entry((Arc::clone(frame), stamp)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(_) if *lookups == 0 => return Err(IncompleteTransform::Unfinished),
                Entry::Vacant(vacant) => {
                    *lookups -= 1;
                    vacant.insert(look_up(frame, Some(stamp))?)
                }
            };
            apply(transform, pose);
        }
        progress.poses += 1;
    }
    // The newest transforms are looked up after all others. All poses in a moving frame then use the same transform.
    let mut newest = FxHashMap::default();
    for frame in progress.missing.iter().chain(&progress.unstamped) {
        if let Entry::Vacant(vacant) = newest.entry(Arc::clone(frame)) {
            match look_up(frame, None) {
                Ok(transform) => _ = vacant.insert(transform),
                Err(error) => {
                    progress.missing = Some(Arc::clone(frame));
                    return Err(error);
                }
            }
        }
    }
    if newest.is_empty() {
        return Ok(());
    }
    for pose in request
        .poses
        .iter_mut()
        .filter(|pose| pose.header.stamp.is_zero())
    {
        if let Some(transform) = newest.get(&pose.header.frame_id) {
            apply(transform, pose);
        }
    }
    Ok(())
}

/// Transforms a pose to the target frame of the transform.
fn apply(transform: &TransformStamped, pose: &mut PoseStamped) {
    pose.pose = transform.transform.apply(&pose.pose);
    pose.header.frame_id = Arc::clone(&transform.header.frame_id);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::super::Options;
    use super::super::goal::{NavigationError, TerminalStatus};
    use super::super::test_harness::{Rig, bench, load, registry, request};
    use super::*;
    use crate::msg::{Header, Pose, Stamp};
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
            let numbered = (1_u8..).map(|x| Pose::planar(f64::from(x), 0.0, 0.0));
            let poses = frames.iter().zip(numbered);
            goal.poses = poses
                .map(|(frame, pose)| PoseStamped::in_frame(*frame, pose))
                .collect();
            poses_of(&world, goal)
        };
        assert_eq!(
            goal(&["odom", "map", "ship", "odom"]).unwrap(),
            [("map", 11.0), ("map", 2.0), ("map", 23.0), ("map", 14.0)]
                .map(|(frame, x)| (frame.to_owned(), x))
        );
        let missing = goal(&["odom", "nowhere"]).unwrap_err();
        assert!(missing.contains("nowhere"), "{missing}");
    }

    fn frame_and_x(pose: &PoseStamped) -> (String, f64) {
        (pose.header.frame_id.to_string(), pose.pose.position.x)
    }

    fn poses_of(world: &World, mut goal: Request) -> Result<Vec<(String, f64)>, String> {
        match transform_poses(world, &mut goal, &mut TransformProgress::default(), &mut 0) {
            Ok(()) => Ok(goal.poses.iter().map(frame_and_x).collect()),
            Err(IncompleteTransform::Missing(reason)) => Err(reason),
            Err(IncompleteTransform::Unfinished) => panic!("no pose has a stamp"),
        }
    }

    /// A goal to 1 m, 2 m, ... in a frame, each pose with a different stamp.
    fn stamped(rig: &Rig, tree: &str, count: i32, frame: &str) -> Request {
        let mut goal = request(1, &load(&registry(), tree), &rig.clients);
        goal.poses = (1..=count)
            .map(|number| PoseStamped {
                header: Header::new(
                    Stamp {
                        sec: number,
                        nanosec: 0,
                    },
                    frame,
                ),
                pose: Pose::planar(f64::from(number), 0.0, 0.0),
            })
            .collect();
        goal
    }

    #[test]
    fn g1_transforms_at_many_times_are_looked_up_once_over_several_ticks() {
        let mut rig = Rig::new();
        rig.bench.transform("map", "odom", Pose::planar(10.0, 0.0, 0.0));
        let world = World::new(rig.bench.link(), Settings::default());
        let mut goal = stamped(&rig, "<AlwaysSuccess/>", 1200, "odom");
        let (mut progress, mut turns) = (TransformProgress::default(), vec![]);
        loop {
            let mut lookups = MAX_LOOKUPS;
            let end = transform_poses(&world, &mut goal, &mut progress, &mut lookups);
            turns.push(MAX_LOOKUPS - lookups);
            match end {
                Ok(()) => break,
                Err(IncompleteTransform::Unfinished) => {}
                Err(IncompleteTransform::Missing(reason)) => panic!("{reason}"),
            }
        }
        assert_eq!(turns, [500, 500, 200]);
        let expected = (1..=1200).map(|x| ("map".to_owned(), f64::from(x) + 10.0));
        assert!(goal.poses.iter().map(frame_and_x).eq(expected));
        assert_eq!(goal.poses[7].header.stamp.sec, 8, "the time stays as it was");
        let frame = |index: usize| &goal.poses[index].header.frame_id;
        assert!(Arc::ptr_eq(frame(0), frame(499)), "shared within a turn");
    }

    #[test]
    fn g1_transformed_poses_are_not_looked_up_again_while_a_transform_is_missing() {
        let mut rig = Rig::new();
        rig.bench.transform("map", "odom", Pose::planar(10.0, 0.0, 0.0));
        let world = World::new(rig.bench.link(), Settings::default());
        let mut goal = stamped(&rig, "<AlwaysSuccess/>", 100, "odom");
        goal.poses.push(PoseStamped::in_frame("ship", Pose::default()));
        let mut progress = TransformProgress::default();
        for looked_up in [100, 0, 0] {
            let mut lookups = MAX_LOOKUPS;
            let end = transform_poses(&world, &mut goal, &mut progress, &mut lookups);
            assert!(matches!(end, Err(IncompleteTransform::Missing(_))), "{end:?}");
            assert_eq!(MAX_LOOKUPS - lookups, looked_up);
        }
        rig.bench.transform("map", "ship", Pose::planar(20.0, 0.0, 0.0));
        assert!(transform_poses(&world, &mut goal, &mut progress, &mut 0).is_ok());
        assert_eq!(frame_and_x(&goal.poses[100]), ("map".to_owned(), 20.0));
    }

    #[test]
    fn g1_poses_without_a_stamp_cost_one_lookup_per_tick_while_a_transform_is_missing() {
        let mut rig = Rig::new();
        let mut goal = request(1, &load(&registry(), "<AlwaysSuccess/>"), &rig.clients);
        for number in 0..100 {
            let frame = format!("ship_{number}");
            if number != 60 {
                rig.bench.transform("map", &frame, Pose::planar(10.0, 0.0, 0.0));
            }
            let pose = PoseStamped::in_frame(&*frame, Pose::planar(f64::from(number), 0.0, 0.0));
            goal.poses.push(pose);
        }
        let count = goal.poses.len();
        let world = World::new(rig.bench.link(), Settings::default());
        let mut progress = TransformProgress::default();
        let mut turn = |rig: &Rig, goal: &mut Request| {
            let before = rig.bench.transform_lookups();
            let end = transform_poses(&world, goal, &mut progress, &mut 0);
            (end.is_ok(), rig.bench.transform_lookups() - before)
        };
        assert!(!turn(&rig, &mut goal).0);
        for _ in 0..3 {
            assert_eq!(turn(&rig, &mut goal), (false, 1));
        }
        rig.bench
            .transform("map", "ship_60", Pose::planar(10.0, 0.0, 0.0));
        assert_eq!(turn(&rig, &mut goal), (true, count));
        let expected = (0..100).map(|x| ("map".to_owned(), f64::from(x) + 10.0));
        assert!(goal.poses.iter().map(frame_and_x).eq(expected));
    }

    #[test]
    fn g1_a_goal_transformed_in_several_ticks_starts_after_them_and_its_timeout_counts_missing_transforms_only()
     {
        let options = Options {
            arrival_patience: Duration::ZERO,
            ..Options::default()
        };
        let mut rig = Rig::with(Settings::default(), options);
        rig.bench.transform("map", "odom", Pose::planar(10.0, 0.0, 0.0));
        let goal = stamped(&rig, "<AlwaysSuccess/>", 1200, "odom");
        let now = rig.now();
        rig.navigator.goal(goal, now);
        rig.ticks(1);
        assert!(rig.reports.try_recv().is_err() && !rig.navigator.is_idle());
        rig.ticks(2);
        assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);
    }

    #[test]
    fn a_goal_without_a_frame_is_aborted() {
        let mut rig = Rig::new();
        rig.bench.transform("map", "base_link", Pose::default());
        let tree = load(&registry(), "<AlwaysSuccess/>");
        let somewhere = PoseStamped::in_frame("map", Pose::planar(1.0, 0.0, 0.0));
        let mut set = request(1, &tree, &rig.clients);
        (set.kind, set.poses) = (NavigatorKind::ToPose, vec![somewhere.clone()]);
        let now = rig.now();
        rig.navigator.goal(set, now);
        rig.ticks(1);
        assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);

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
            // At once: the goal is checked on arrival, not in each turn.
            let (_, report) = rig.report();
            assert_eq!(
                (report.status, report.error_code),
                (
                    TerminalStatus::Aborted,
                    NavigationError::TransformFailed.code(kind)
                )
            );
            assert_eq!(
                report.error_message,
                "the goal has no frame: set frame_id in its header, for example to `map`"
            );
        }
    }
}
