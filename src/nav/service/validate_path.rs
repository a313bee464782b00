//! `ValidatePath`: checks whether a path is free. Replaces `IsPathValid` on Nav2's main branch.

use std::sync::Arc;

use crate::bt::{Context, Input, NodeStatus, Output, Ports, Text, Thrown, Tick};
use crate::msg::service as services;
use crate::msg::{Goals, Path};
use crate::nav::service_node::{RequestOf, ResponseOf, ServiceNode};

/// Sends a path to the planner server for a check.
#[derive(Debug)]
pub struct ValidatePath {
    path: Input<Arc<Path>>,
    collision_poses: Output<Arc<Goals>>,
}

impl ServiceNode for ValidatePath {
    type Service = services::IsPathValid;
    const ID: &'static str = "ValidatePath";
    const DOC: &'static str = "Checks whether a path is free. RUNNING until the response arrives. FAILURE \
        without response in time.";
    const SERVER: &'static str = "is_path_valid";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            path: ports.input("path").doc("Path to check.").bind(),
            collision_poses: ports
                .output("collision_poses")
                .doc("Poses of the path that are not free.")
                .bind(),
        };
        // Ports without a field in Jazzy's service. Values that match the behavior of Jazzy's server are accepted.
        let max_cost = ports
            .input::<u32>("max_cost")
            .default("254")
            .doc("Nav2 main: minimum cost of an obstacle. No effect on Jazzy.")
            .bind();
        let unknown = ports
            .input::<bool>("consider_unknown_as_obstacle")
            .default("false")
            .doc("Nav2 main: whether unknown space is an obstacle. No effect on Jazzy.")
            .bind();
        let layer = ports
            .input::<Text>("layer_name")
            .default("")
            .doc("Nav2 main: costmap layer to check. No effect on Jazzy.")
            .bind();
        let footprint = ports
            .input::<Text>("footprint")
            .default("")
            .doc("Nav2 main: footprint of the robot. No effect on Jazzy.")
            .bind();
        let first = ports
            .input::<bool>("stop_at_first_collision")
            .default("true")
            .doc("Nav2 main: whether to stop at the first collision. No effect on Jazzy.")
            .bind();
        let lookahead = ports
            .input::<f64>("max_lookahead_distance")
            .unit("m")
            .default("-1.0")
            .doc("Nav2 main: length of the path to check. No effect on Jazzy.")
            .bind();
        let set = [
            (
                max_cost.name(),
                max_cost.slot().is_some() || max_cost.literal().is_some_and(|cost| *cost != 254),
            ),
            (
                unknown.name(),
                unknown.slot().is_some() || unknown.literal() == Some(&true),
            ),
            (
                layer.name(),
                layer.slot().is_some() || layer.literal().is_some_and(|name| !name.is_empty()),
            ),
            (
                footprint.name(),
                footprint.slot().is_some() || footprint.literal().is_some_and(|name| !name.is_empty()),
            ),
            (
                first.name(),
                first.slot().is_some() || first.literal() == Some(&false),
            ),
            (
                lookahead.name(),
                lookahead.slot().is_some() || lookahead.literal().is_some_and(|distance| *distance >= 0.0),
            ),
        ];
        for (name, _) in set.iter().filter(|(_, set)| *set) {
            let text = format!("{name} has no effect: the service of Jazzy has no such field");
            ports.warn_of(name, text);
        }
        node
    }

    fn request(
        &self,
        cx: &mut Context<'_>,
    ) -> Result<Result<services::IsPathValidRequest, NodeStatus>, Thrown> {
        Ok(Ok(services::IsPathValidRequest {
            path: self.path.optional(cx)?.unwrap_or_default(),
        }))
    }

    fn answered(&self, cx: &mut Context<'_>, request: &RequestOf<Self>, response: &ResponseOf<Self>) -> Tick {
        let mut poses = Vec::new();
        if !response.is_valid && self.collision_poses.slot().is_some() {
            let indices = response.invalid_pose_indices.iter();
            poses = indices
                .filter_map(|index| request.path.poses.get(usize::try_from(*index).ok()?))
                .cloned()
                .collect();
        }
        self.collision_poses.set(cx, Arc::new(Goals(poses)))?;
        Ok(if response.is_valid {
            NodeStatus::Success
        } else {
            NodeStatus::Failure
        })
    }
}

#[cfg(test)]
mod tests {
    use super::services::{IsPathValid, IsPathValidResponse};
    use super::*;
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::msg::{Header, Pose};
    use crate::nav::testing::Bench;

    #[test]
    fn test_validate_path_tells_the_poses_in_collision() {
        let mut bench = Bench::new("<ValidatePath path=\"{path}\" collision_poses=\"{poses}\"/>");
        let path = Path::through(
            Header::in_frame("map"),
            [0.0, 1.0, 2.0].map(|x| Pose::planar(x, 0.0, 0.0)),
        );
        bench.set("path", Arc::new(path.clone()));
        bench.service::<IsPathValid>("is_path_valid", |_| {
            Some(IsPathValidResponse {
                is_valid: false,
                invalid_pose_indices: vec![1, 7, -1],
            })
        });
        assert_eq!(bench.run(3), Failure);
        assert_eq!(bench.object::<Goals>("poses").unwrap().0, path.poses[1..2]);
        bench.service::<IsPathValid>("is_path_valid", |_| {
            Some(IsPathValidResponse {
                is_valid: true,
                ..Default::default()
            })
        });
        assert_eq!(bench.run(3), Success);
        assert!(bench.object::<Goals>("poses").unwrap().0.is_empty());
    }

    #[test]
    fn the_poses_are_those_of_the_requested_path() {
        let mut bench = Bench::new("<ValidatePath path=\"{path}\" collision_poses=\"{poses}\"/>");
        let path = |y| {
            let poses = [0.0, 1.0].map(|x| Pose::planar(x, y, 0.0));
            Arc::new(Path::through(Header::in_frame("map"), poses))
        };
        bench.set("path", path(5.0));
        bench.service::<IsPathValid>("is_path_valid", |_| {
            Some(IsPathValidResponse {
                is_valid: false,
                invalid_pose_indices: vec![1],
            })
        });
        assert_eq!(bench.tick(), Running);
        // The planner writes a new path before the response.
        bench.set("path", path(7.0));
        assert_eq!(bench.tick(), Failure);
        let poses = bench.object::<Goals>("poses").unwrap();
        assert_eq!(poses.0, path(5.0).poses[1..]);
    }
}
