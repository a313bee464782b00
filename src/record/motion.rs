//! The time from the beginning of navigations to the first motion of the robot.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::event::{Event, Record};
use crate::bt::Time;
use crate::msg::{Pose, angle_between, distance_xy};

/// Distance from which on the robot moves, in m. Localization moves a robot that stands by less.
const MIN_DISTANCE: f64 = 0.05;
/// Rotation from which on the robot moves, in radians.
const MIN_ROTATION: f64 = 0.1;

/// The times of the navigations so far in which the robot has moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MotionTimes {
    /// Number of times.
    pub count: u64,
    /// Their sum.
    pub sum: Duration,
    /// The longest one.
    pub longest: Duration,
    /// The newest one.
    pub last: Duration,
}

/// Measures the times, by the poses that the tree or the navigator asks for.
#[derive(Debug, Default)]
pub(super) struct MotionTimer {
    times: MotionTimes,
    /// The frames of the numbers in questions for transforms: target and source.
    frames: FxHashMap<u16, [Arc<str>; 2]>,
    /// The frames of the robot's pose.
    robot_frames: [String; 2],
    wait: Option<Wait>,
}

/// A navigation whose robot has not moved.
#[derive(Debug)]
struct Wait {
    began: Time,
    /// The first pose; `None` before it is known.
    start: Option<Pose>,
}

impl MotionTimer {
    pub(super) fn times(&self) -> MotionTimes {
        self.times
    }

    pub(super) fn take(&mut self, record: &Record) {
        match &record.event {
            Event::Frames(info) => {
                let frames = [Arc::clone(&info.target), Arc::clone(&info.source)];
                self.frames.insert(info.frames, frames);
            }
            Event::Began(navigation) => {
                let settings = &navigation.settings;
                self.robot_frames = [settings.global_frame.clone(), settings.robot_base_frame.clone()];
                self.wait = Some(Wait {
                    began: record.time,
                    start: None,
                });
            }
            Event::Stopping | Event::Ended(_) => self.wait = None,
            Event::Transform {
                frames,
                at: None,
                transform,
                ..
            } if self.wait.is_some() && self.is_robot(*frames) => {
                self.see(record.time, transform.to_pose());
            }
            _ => {}
        }
    }

    fn is_robot(&self, frames: u16) -> bool {
        let [target, source] = &self.robot_frames;
        let known = self.frames.get(&frames);
        known.is_some_and(|[of_target, of_source]| **of_target == **target && **of_source == **source)
    }

    fn see(&mut self, time: Time, pose: Pose) {
        let Some(wait) = &mut self.wait else { return };
        let Some(start) = &wait.start else {
            wait.start = Some(pose);
            return;
        };
        let rotation = angle_between(start.yaw(), pose.yaw()).abs();
        if distance_xy(&start.position, &pose.position) < MIN_DISTANCE && rotation < MIN_ROTATION {
            return;
        }
        let time = time.since(wait.began);
        self.wait = None;
        self.times.count += 1;
        self.times.sum = self.times.sum.saturating_add(time);
        self.times.longest = self.times.longest.max(time);
        self.times.last = time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::leaf;
    use crate::bt::testing::Scene;
    use crate::msg::{Stamp, Transform};
    use crate::record::event::{FramesInfo, Navigation};

    fn robot_at(milliseconds: u64, frames: u16, x: f64, yaw: f64) -> Record {
        let mut transform = Transform::default();
        transform.translation.x = x;
        transform.rotation = Pose::planar(0.0, 0.0, yaw).orientation;
        let event = Event::Transform {
            frames,
            at: None,
            stamp: Stamp::ZERO,
            transform,
        };
        Record {
            time: Time::from_millis(milliseconds),
            event,
        }
    }

    fn began(milliseconds: u64) -> Record {
        let mut tree = Scene::new(leaf("AlwaysSuccess")).compile().unwrap();
        Record {
            time: Time::from_millis(milliseconds),
            event: Event::Began(Box::new(Navigation::of_tree(&mut tree))),
        }
    }

    fn timer() -> MotionTimer {
        let mut timer = MotionTimer::default();
        for (frames, target) in [(1, "odom"), (2, "map")] {
            let event = Event::Frames(Box::new(FramesInfo {
                frames,
                target: target.into(),
                source: "base_link".into(),
                parent: target.into(),
                child: "base_link".into(),
            }));
            timer.take(&Record {
                time: Time::ZERO,
                event,
            });
        }
        timer
    }

    #[test]
    fn the_first_motion_of_each_navigation_is_timed() {
        let mut timer = timer();
        for record in [
            began(1000),
            robot_at(1010, 2, 5.0, 0.0),
            // Another frame, and noise.
            robot_at(1100, 1, 9.0, 0.0),
            robot_at(1200, 2, 5.02, 0.01),
            robot_at(1500, 2, 5.06, 0.0),
            robot_at(1600, 2, 6.0, 0.0),
            // The next one turns first.
            began(3000),
            robot_at(3010, 2, 6.0, 0.0),
            robot_at(3300, 2, 6.0, 0.2),
        ] {
            timer.take(&record);
        }
        let expected = MotionTimes {
            count: 2,
            sum: Duration::from_millis(800),
            longest: Duration::from_millis(500),
            last: Duration::from_millis(300),
        };
        assert_eq!(timer.times(), expected);
    }

    #[test]
    fn a_navigation_that_ends_before_the_robot_moves_has_no_time() {
        let mut timer = timer();
        timer.take(&began(0));
        timer.take(&robot_at(10, 2, 0.0, 0.0));
        timer.take(&Record {
            time: Time::from_millis(20),
            event: Event::Stopping,
        });
        timer.take(&robot_at(30, 2, 1.0, 0.0));
        assert_eq!(timer.times(), MotionTimes::default());
    }
}
