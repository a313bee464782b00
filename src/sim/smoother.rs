//! The server `smooth_path`.

use std::sync::Arc;
use std::time::Duration;

use crate::bt::Time;
use crate::msg::action::{SmoothPath, SmoothPathFeedback, SmoothPathGoal, SmoothPathResult};
use crate::msg::{Action, Path, Quaternion, duration::from_seconds};

use super::server::{Execution, Progress};
use super::settings::Base;
use super::world::World;

/// The weight of the original position of a pose.
const KEEP: f64 = 0.2;
/// The weight of the neighbours of a pose.
const SMOOTH: f64 = 0.3;
/// Maximum number of rounds.
const ROUNDS: usize = 500;
/// Change of a round that ends the smoothing, in metres.
const SETTLED: f64 = 1e-4;

/// Smooths the corners of `path`: each pose moves to a balance between its original position and the middle of its
/// neighbours, until no pose moves. The ends keep their positions and headings; the other headings follow the path.
pub fn smooth(path: &Path) -> Path {
    let mut smoothed = path.clone();
    for _ in 0..ROUNDS {
        let mut change = 0.0_f64;
        for index in 1..smoothed.poses.len().saturating_sub(1) {
            let before = smoothed.poses[index - 1].pose.position;
            let after = smoothed.poses[index + 1].pose.position;
            let old = path.poses[index].pose.position;
            let position = &mut smoothed.poses[index].pose.position;
            let x = KEEP * (old.x - position.x) + SMOOTH * (before.x + after.x - 2.0 * position.x);
            let y = KEEP * (old.y - position.y) + SMOOTH * (before.y + after.y - 2.0 * position.y);
            position.x += x;
            position.y += y;
            change = change.max(x.hypot(y));
        }
        if change.is_nan() || change < SETTLED {
            break;
        }
    }
    for index in 1..smoothed.poses.len().saturating_sub(1) {
        let before = smoothed.poses[index - 1].pose.position;
        let after = smoothed.poses[index + 1].pose.position;
        let (x, y) = (after.x - before.x, after.y - before.y);
        if x.hypot(y) > 1e-9 {
            smoothed.poses[index].pose.orientation = Quaternion::from_yaw(y.atan2(x));
        }
    }
    smoothed
}

/// A computed path, returned after the smoothing time.
pub struct Smoothing {
    path: Arc<Path>,
    since: Time,
    time: Duration,
    was_completed: bool,
}

impl Execution for Smoothing {
    type Action = SmoothPath;
    const SERVER: &'static str = "smooth_path";

    fn start(
        goal: &SmoothPathGoal,
        _previous: Option<&Self>,
        world: &mut World,
    ) -> Result<Self, SmoothPathResult> {
        if !Base::contains_id(&world.settings.smoother_ids, &goal.smoother_id) {
            let text = format!("there is no smoother `{}`", goal.smoother_id);
            return Err(SmoothPath::failure(SmoothPath::INVALID_SMOOTHER, &text));
        }
        if goal.path.is_empty() {
            return Err(SmoothPath::failure(SmoothPath::INVALID_PATH, "the path is empty"));
        }
        let needed = from_seconds(world.settings.smoothing_time);
        let was_completed = needed <= goal.max_smoothing_duration;
        // Out of time: the result is the original path.
        let path = if was_completed {
            Arc::new(smooth(&goal.path))
        } else {
            Arc::clone(&goal.path)
        };
        if goal.check_for_collisions {
            for pose in &path.poses {
                let pose = world
                    .in_map(pose)
                    .map_err(|error| SmoothPath::failure(SmoothPath::UNKNOWN, &error.to_string()))?;
                if !world.global_space().is_free(&pose, world.settings.robot_radius) {
                    let text = "the smoothed path is in collision";
                    return Err(SmoothPath::failure(SmoothPath::SMOOTHED_PATH_IN_COLLISION, text));
                }
            }
        }
        Ok(Self {
            path,
            since: world.now(),
            time: needed.min(goal.max_smoothing_duration),
            was_completed,
        })
    }

    fn step(&mut self, world: &mut World) -> Progress<SmoothPath> {
        let elapsed = world.now().since(self.since);
        if elapsed < self.time {
            return Progress::Running(SmoothPathFeedback {});
        }
        Progress::Succeeded(SmoothPathResult {
            path: Arc::clone(&self.path),
            smoothing_duration: elapsed,
            was_completed: self.was_completed,
            ..SmoothPathResult::default()
        })
    }

    fn cancel(&mut self, _world: &mut World) -> SmoothPathResult {
        SmoothPathResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Smoothing, smooth};
    use crate::msg::action::{SmoothPath, SmoothPathGoal};
    use crate::msg::{Header, Path, Pose};
    use crate::sim::planner::sample;
    use crate::sim::server::TerminalStatus;
    use crate::sim::settings::Base;
    use crate::sim::testing::Bench;
    use std::sync::Arc;
    use std::time::Duration;

    fn corner() -> Path {
        let poses = sample(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)], 0.05, 0.0, 2.0);
        Path::through(Header::in_frame("map"), poses.into_iter().map(Pose::from))
    }

    fn sharpest(path: &Path) -> f64 {
        let yaws: Vec<f64> = path.poses[..path.poses.len() - 1]
            .iter()
            .map(|pose| pose.pose.yaw())
            .collect();
        yaws.windows(2)
            .map(|pair| crate::msg::angle_between(pair[0], pair[1]).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn rounds_corners_and_keeps_ends() {
        let (rough, fine) = (corner(), smooth(&corner()));
        assert!(
            sharpest(&rough) > 1.5 && sharpest(&fine) < 0.6,
            "{}",
            sharpest(&fine)
        );
        assert_eq!(
            rough.poses.first().map(|pose| pose.pose),
            fine.poses.first().map(|pose| pose.pose)
        );
        assert_eq!(rough.poses.last(), fine.poses.last());
        assert!(fine.length() < rough.length());
        assert_eq!(smooth(&Path::default()), Path::default());
    }

    #[test]
    fn serves_paths_in_time_or_unchanged() {
        let mut bench = Bench::<Smoothing>::new(Base {
            smoothing_time: 0.5,
            ..Base::default()
        });
        let goal = |milliseconds| SmoothPathGoal {
            path: Arc::new(corner()),
            max_smoothing_duration: Duration::from_millis(milliseconds),
            ..SmoothPathGoal::default()
        };
        bench.send(goal(3000));
        let (status, result) = bench.until_end(1.0);
        assert!(status == TerminalStatus::Succeeded && result.was_completed);
        assert_eq!(result.smoothing_duration, Duration::from_millis(500));
        bench.send(goal(100));
        let result = bench.until_end(1.0).1;
        assert!(!result.was_completed && *result.path == corner());
        bench.send(SmoothPathGoal::default());
        assert_eq!(bench.until_end(1.0).1.error_code, SmoothPath::INVALID_PATH);
    }

    #[test]
    fn refuses_a_path_through_things() {
        let mut bench = Bench::<Smoothing>::new(Base {
            obstacles: "1 0.5 0.2".into(),
            ..Base::default()
        });
        bench.send(SmoothPathGoal {
            path: Arc::new(corner()),
            max_smoothing_duration: Duration::from_secs(1),
            check_for_collisions: true,
            ..SmoothPathGoal::default()
        });
        assert_eq!(
            bench.until_end(1.0).1.error_code,
            SmoothPath::SMOOTHED_PATH_IN_COLLISION
        );
    }
}
