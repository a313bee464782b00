//! The service `is_path_valid`.

use crate::msg::service::{IsPathValidRequest, IsPathValidResponse};

use super::plane::PlanarPose;
use super::world::World;

/// Returns whether the rest of the path, ahead of the robot, is free in the global costmap. An empty path is not valid,
/// as in Nav2; a path in an unknown frame is not valid either.
pub fn is_path_valid(request: &IsPathValidRequest, world: &World) -> IsPathValidResponse {
    let poses: Option<Vec<PlanarPose>> = request
        .path
        .poses
        .iter()
        .map(|pose| world.in_map(pose).ok())
        .collect();
    let Some(poses) = poses.filter(|poses| !poses.is_empty()) else {
        return IsPathValidResponse::default();
    };
    let robot = &world.robot.pose;
    let nearest = poses
        .iter()
        .enumerate()
        .min_by(|a, b| a.1.distance(robot).total_cmp(&b.1.distance(robot)));
    let first = nearest.map_or(0, |(index, _)| index);
    let space = world.global_space();
    let is_occupied = |pose: &PlanarPose| {
        !space.contains(pose.x, pose.y) || !space.is_free(pose, world.settings.robot_radius)
    };
    let invalid_pose_indices: Vec<i32> = poses
        .iter()
        .enumerate()
        .skip(first)
        .filter(|(_, pose)| is_occupied(pose))
        .filter_map(|(index, _)| i32::try_from(index).ok())
        .collect();
    IsPathValidResponse {
        is_valid: invalid_pose_indices.is_empty(),
        invalid_pose_indices,
    }
}

#[cfg(test)]
mod tests {
    use super::is_path_valid;
    use crate::msg::service::IsPathValidRequest;
    use crate::msg::{Header, Path, Pose};
    use crate::sim::costmap::Region;
    use crate::sim::settings::Base;
    use crate::sim::world::World;
    use std::sync::Arc;

    fn line() -> IsPathValidRequest {
        let poses = (0..11).map(|index| Pose::planar(f64::from(index) * 0.5, 0.0, 0.0));
        IsPathValidRequest {
            path: Arc::new(Path::through(Header::in_frame("map"), poses)),
        }
    }

    #[test]
    fn only_poses_ahead_of_the_robot_count() {
        let mut world = World::new(Base {
            ghosts: "1 0 0.1; 3 0 0.1".into(),
            ..Base::default()
        })
        .unwrap();
        assert_eq!(is_path_valid(&line(), &world).invalid_pose_indices, [2, 6]);
        world.robot.pose.x = 2.0;
        assert_eq!(is_path_valid(&line(), &world).invalid_pose_indices, [6]);
        world.global_costmap.clear(&Region::Everything);
        assert!(is_path_valid(&line(), &world).is_valid);
    }

    #[test]
    fn empty_and_unknown_are_not_valid() {
        let world = World::new(Base::default()).unwrap();
        assert!(!is_path_valid(&IsPathValidRequest::default(), &world).is_valid);
        let mut request = line();
        Arc::make_mut(&mut request.path).poses[3].header.frame_id = "mars".into();
        assert!(!is_path_valid(&request, &world).is_valid);
    }
}
