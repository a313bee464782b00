//! Where the robot is and how fast it goes, as far as the world knows.

use crate::bt::Tree;
use crate::msg::{Header, PoseStamped};
use crate::nav::World;

/// A snapshot for feedback.
#[derive(Clone, Debug, Default)]
pub(crate) struct Robot {
    /// In the global frame; `None` where the transform is missing or too old.
    pub(crate) pose: Option<PoseStamped>,
    /// Planar speed, metres per second, smoothed.
    pub(crate) speed: f64,
}

impl Robot {
    pub(crate) fn of(tree: &mut Tree) -> Self {
        let Some(world) = tree.resource::<World>() else {
            return Self::default();
        };
        let settings = &world.settings;
        let pose = world
            .transform(&settings.global_frame, &settings.robot_base_frame, None)
            .ok()
            .map(|transform| PoseStamped {
                header: Header {
                    stamp: transform.header.stamp,
                    frame_id: transform.header.frame_id.clone(),
                },
                pose: transform.transform.to_pose(),
            });
        Self { pose, speed: 0.0 }
    }
}
