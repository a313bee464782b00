//! The pose of the robot: the frame ports of many nodes, and the access to the pose.

use super::endpoint::{path_of, world};
use crate::bt::{Context, Input, Ports, Text, Thrown};
use crate::msg::{FrameId, PoseStamped};

/// A port that names a frame. Without a value, a parameter of the node applies.
#[derive(Debug)]
pub(crate) struct FramePort(Input<Text>);

impl FramePort {
    /// `global_frame`.
    pub(crate) fn global(ports: &mut Ports<'_>) -> Self {
        let port = ports.input("global_frame");
        Self(
            port.doc("Reference frame. Default: the parameter global_frame.")
                .bind(),
        )
    }

    /// `robot_base_frame`.
    pub(crate) fn base(ports: &mut Ports<'_>) -> Self {
        let port = ports.input("robot_base_frame");
        Self(
            port.doc("Frame of the robot. Default: the parameter robot_base_frame.")
                .bind(),
        )
    }

    /// `robot_base_frame`, with its former name `alias`.
    pub(crate) fn base_once(ports: &mut Ports<'_>, alias: &'static str) -> Self {
        let port = ports.input("robot_base_frame").alias(alias);
        Self(
            port.doc("Frame of the robot. Default: the parameter robot_base_frame.")
                .bind(),
        )
    }

    pub(crate) fn get(&self, cx: &Context<'_>) -> Option<Text> {
        self.0.get(cx).ok().filter(|frame| !frame.is_empty())
    }
}

/// The ports `global_frame` and `robot_base_frame`.
#[derive(Debug)]
pub(crate) struct FramePorts {
    pub(crate) global: FramePort,
    pub(crate) base: FramePort,
}

impl FramePorts {
    pub(crate) fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            global: FramePort::global(ports),
            base: FramePort::base(ports),
        }
    }

    /// The robot's pose in the global frame. `None` and a log message if the transform is not available.
    pub(crate) fn robot(&self, cx: &mut Context<'_>) -> Result<Option<PoseStamped>, Thrown> {
        robot_in(cx, self.global.get(cx).as_ref(), &self.base)
    }
}

/// The robot's pose in `frame`, or in the global frame if `frame` is `None` or empty.
pub(crate) fn robot_in(
    cx: &mut Context<'_>,
    frame: Option<&FrameId>,
    base: &FramePort,
) -> Result<Option<PoseStamped>, Thrown> {
    let base = base.get(cx);
    let world = world!(cx);
    let frame = match frame {
        Some(frame) if !frame.is_empty() => &**frame,
        _ => &world.settings.global_frame,
    };
    let base = base.as_deref().unwrap_or(&world.settings.robot_base_frame);
    match world.robot_pose(frame, base) {
        Ok(pose) => Ok(Some(pose)),
        Err(error) => {
            let text = format!("robot pose: {error}");
            let path = path_of(cx);
            world!(cx).note(&path, text);
            Ok(None)
        }
    }
}

/// A pose in another frame. `None` and a log message if it cannot be transformed.
pub(crate) fn in_frame(
    cx: &mut Context<'_>,
    pose: &PoseStamped,
    frame: &FrameId,
) -> Result<Option<PoseStamped>, Thrown> {
    match world!(cx).transform_pose(pose, frame) {
        Ok(pose) => Ok(Some(pose)),
        Err(error) => {
            let path = path_of(cx);
            world!(cx).note(&path, error.to_string());
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::Success;
    use crate::msg::{Pose, PoseStamped};
    use crate::nav::testing::Bench;

    // test_bt_utils
    #[test]
    fn a_port_overrides_the_parameter_unless_it_is_absent_or_empty() {
        for (attributes, x) in [
            ("", 1.0),
            ("robot_base_frame=\"\"", 1.0),
            ("robot_base_frame=\"arm\"", 2.0),
            ("global_frame=\"hall\"", 11.0),
            ("global_frame=\"hall\" robot_base_frame=\"arm\"", 12.0),
        ] {
            let mut bench = Bench::new(&format!(
                "<GetCurrentPose current_pose=\"{{pose}}\" {attributes}/>"
            ));
            bench.world().settings.robot_base_frame = "base".to_owned();
            for (parent, child, at) in [
                ("map", "base", 1.0),
                ("map", "arm", 2.0),
                ("hall", "base", 11.0),
                ("hall", "arm", 12.0),
            ] {
                bench.transform(parent, child, Pose::planar(at, 0.0, 0.0));
            }
            assert_eq!(bench.tick(), Success);
            let pose = bench.object::<PoseStamped>("pose").unwrap();
            assert_eq!(pose.pose.position.x, x, "{attributes}");
        }
    }
}
