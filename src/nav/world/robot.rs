//! The pose and the odometry of the robot.

use std::time::Duration;

use super::World;
use crate::msg::{FrameId, Odometry, PoseStamped, Stamp, TransformStamped};
use crate::nav::link::{Form, LinkError, TopicSpec, TransformError};
use crate::nav::odometry::{OdometrySample, OdometrySmoother};

impl World {
    /// The newest transform from `source` to `target`, or the one at a stamp. The newest one is refused if it is older
    /// than [`Settings::transform_age_limit`](crate::nav::Settings::transform_age_limit).
    ///
    /// # Errors
    /// [`TransformError`]. The call does not wait.
    pub fn transform(
        &self,
        target: &str,
        source: &str,
        at: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        let transform = self.link.transform(target, source, at)?;
        // A stamp of zero: the chain consists of static transforms, which have no age.
        let stamp = transform.header.stamp;
        if at.is_none()
            && !stamp.is_zero()
            && let Some(limit) = self.settings.transform_age_limit
        {
            let age = self.stamp().since(stamp);
            if age > limit {
                return Err(TransformError::TooOld {
                    from: source.to_owned(),
                    to: target.to_owned(),
                    age_seconds: age.as_secs_f64(),
                });
            }
        }
        Ok(transform)
    }

    /// The current pose of the robot's base frame in `frame`.
    ///
    /// # Errors
    /// As [`World::transform`].
    pub fn robot_pose(&self, frame: &str, base: &str) -> Result<PoseStamped, TransformError> {
        let transform = self.transform(frame, base, None)?;
        let pose = transform.transform.to_pose();
        Ok(PoseStamped {
            header: transform.header,
            pose,
        })
    }

    /// Transforms a pose to another frame: at the stamp of the pose, or with the newest transform if the pose has no
    /// stamp (E12).
    ///
    /// # Errors
    /// As [`World::transform`].
    pub fn transform_pose(&self, pose: &PoseStamped, frame: &FrameId) -> Result<PoseStamped, TransformError> {
        if pose.header.frame_id == *frame {
            return Ok(pose.clone());
        }
        let stamp = pose.header.stamp;
        let at = (!stamp.is_zero()).then_some(stamp);
        let transform = self.transform(frame, &pose.header.frame_id, at)?;
        Ok(PoseStamped {
            header: transform.header,
            pose: transform.transform.apply(&pose.pose),
        })
    }

    /// Subscribes to odometry, once for all leaves.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn open_odometry(&mut self) -> Result<(), LinkError> {
        if self.odometry.is_some() {
            return Ok(());
        }
        let topic = self.subscribe(&TopicSpec {
            name: self.settings.odom_topic.as_str().into(),
            type_name: Odometry::ROS_TYPE.into(),
            depth: 10,
            reliable: false,
            transient_local: false,
            form: Form::Plain,
        })?;
        self.odometry = Some((topic, OdometrySmoother::new(self.settings.filter_duration)));
        Ok(())
    }

    /// The odometry of the last moments. `None` without a call of [`World::open_odometry`].
    pub fn odometry(&self) -> Option<&OdometrySmoother> {
        self.odometry.as_ref().map(|(_, smoother)| smoother)
    }

    /// The newest odometry, if it is younger than [`Settings::transform_age_limit`](crate::nav::Settings::transform_age_limit) by its stamp and by its arrival. The
    /// arrival counts because the clock of the publisher may be ahead, and because a stamp may be zero.
    pub fn current_odometry(&self) -> Option<&OdometrySample> {
        let sample = self.odometry()?.newest()?;
        let by_arrival = self.now.since(self.odometry_arrived);
        let by_stamp = if sample.stamp.is_zero() {
            Duration::ZERO
        } else {
            self.stamp().since(sample.stamp)
        };
        let limit = self.settings.transform_age_limit.unwrap_or(Duration::MAX);
        (by_arrival.max(by_stamp) < limit).then_some(sample)
    }
}
