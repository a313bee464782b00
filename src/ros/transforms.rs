//! The transforms of `/tf` and `/tf_static`, for lookups.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use r2r::QosProfile;
use rustc_hash::FxHashMap;

use super::clock::{Clock, Moment};
use super::convert::Convert;
use super::ready::Haste;
use super::{RosError, RosNode};
use crate::bt::Time;
use crate::msg::{FrameId, Header, Quaternion, Stamp, Transform, TransformStamped, Vector3};
use crate::nav::TransformError;

/// How long transforms are kept, in ns: 10 s, as in tf2.
const KEPT: i64 = 10_000_000_000;

/// A message that is older than the newest by more than this, in ns, is not late: the clock was set back, or the
/// simulation or the recording has started over. tf2 uses [`KEPT`] for this, so after a step of the clock by 5 s it
/// answers for 5 s with the old position of the robot.
const SET_BACK: i64 = 2_000_000_000;

/// The maximum number of frames with a transform. The publishers on `/tf` choose their names. Where there are more, those
/// that ended make room.
const MAX_FRAMES: usize = 2_000;

/// The maximum number of frames between a frame and its root. A lookup compares the frames of two chains.
const MAX_DEPTH: usize = 256;

/// The number of transforms of a message that are added under one lock, which lookups in a tick need too (guarantee G1).
const TRANSFORMS_PER_LOCK: usize = 16;

/// The maximum number of transforms kept for one frame: those of [`KEPT`] at a thousand a second.
const MAX_SAMPLES: usize = 10_000;

/// The transforms between all frames of the robot. Cheap to clone; lookups never wait for a transform.
///
/// No crate is used, because the crates lack the requirements beyond a tree with interpolation: frames that change
/// their parent, time that is set back, and a check of the answer's age.
#[derive(Clone, Debug, Default)]
pub struct TransformBuffer {
    frames: Arc<Mutex<Frames>>,
}

#[derive(Debug, Default)]
struct Frames {
    /// By child frame: each frame has one parent.
    by_child: FxHashMap<FrameId, Frame>,
    /// Whether ended frames were dropped for the message that is being added.
    has_swept: bool,
    /// Whether a refused frame was logged.
    has_logged_error: bool,
}

#[derive(Debug)]
struct Frame {
    parent: FrameId,
    samples: Samples,
}

#[derive(Debug)]
enum Samples {
    /// From `/tf_static`: valid at all times.
    Static(Transform),
    /// From `/tf`.
    Dynamic {
        /// Time stamps in ns and transforms, in order of time, never empty.
        samples: VecDeque<(i64, Transform)>,
        /// The time at which the newest of them arrived.
        arrived: Time,
    },
}

impl TransformBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Subscribes to the node's `/tf` and `/tf_static`.
    ///
    /// # Errors
    /// [`RosError::Entity`].
    pub fn feed(
        &self,
        node: &mut RosNode,
        clock: &Clock,
        [moving, fixed]: [QosProfile; 2],
    ) -> Result<(), RosError> {
        for (topic, fixed, qos) in [("/tf", false, moving), ("/tf_static", true, fixed)] {
            let (buffer, clock) = (self.clone(), clock.clone());
            let take = move |message: r2r::tf2_msgs::msg::TFMessage| {
                let transforms = message.transforms.into_iter().map(Convert::from_wire);
                buffer.insert(transforms, fixed, clock.now());
            };
            node.subscribe_with(topic, qos, Haste::AtWork, take)?;
        }
        Ok(())
    }

    /// Adds transforms that arrived at a time of [`Clock::now`]. Invalid ones are dropped: a frame that is its own
    /// parent, NaN or infinite numbers, an invalid rotation.
    pub fn insert(&self, transforms: impl IntoIterator<Item = TransformStamped>, fixed: bool, arrived: Time) {
        self.lock().has_swept = false;
        let mut transforms = transforms.into_iter();
        let mut some = Vec::with_capacity(TRANSFORMS_PER_LOCK);
        loop {
            some.extend(transforms.by_ref().take(TRANSFORMS_PER_LOCK));
            if some.is_empty() {
                return;
            }
            let mut frames = self.lock();
            for transform in some.drain(..) {
                frames.insert(&transform, fixed, arrived);
            }
        }
    }

    /// Removes all transforms but the static ones: the time was set back.
    pub fn clear(&self) {
        self.lock()
            .by_child
            .retain(|_, frame| matches!(frame.samples, Samples::Static(_)));
    }

    /// The transform from `source` to `target` coordinates: the newest one for the whole chain, or the one at a stamp.
    ///
    /// One that is older than `tolerance`, by its stamp or by its arrival, is an error. The arrival counts because a
    /// publisher whose clock is ahead stamps in the future: after its end, its last stamp would count as new until the
    /// time has caught up with it. For a stamp up to `tolerance` later than the newest transform, returns the newest;
    /// Nav2 waits that long instead.
    ///
    /// # Errors
    /// [`TransformError`].
    pub fn lookup(
        &self,
        target: &str,
        source: &str,
        at: Option<Stamp>,
        now: Moment,
        tolerance: Duration,
    ) -> Result<TransformStamped, TransformError> {
        let (target, source) = (plain(target), plain(source));
        let frames = self.lock();
        let query = Query {
            frames: &frames,
            target,
            source,
        };
        let tolerance = i64::try_from(tolerance.as_nanos()).unwrap_or(i64::MAX);
        let (transform, time) = query.answer(at.filter(|stamp| !stamp.is_zero()), now, tolerance)?;
        Ok(TransformStamped {
            header: Header::new(time, target),
            child_frame_id: source.into(),
            transform,
        })
    }

    /// Every frame and its parent, sorted.
    #[cfg(test)]
    fn frames(&self) -> Vec<(FrameId, FrameId)> {
        let mut frames: Vec<_> = self
            .lock()
            .by_child
            .iter()
            .map(|(child, frame)| (Arc::clone(child), Arc::clone(&frame.parent)))
            .collect();
        frames.sort_unstable();
        frames
    }

    fn lock(&self) -> MutexGuard<'_, Frames> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a leading slash: ROS 1 wrote frames with one, and some drivers still do.
fn plain(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

impl Frames {
    fn insert(&mut self, message: &TransformStamped, fixed: bool, arrived: Time) {
        let (child, parent) = (plain(&message.child_frame_id), plain(&message.header.frame_id));
        let Some(transform) = checked(message.transform) else {
            return;
        };
        if child.is_empty() || parent.is_empty() || child == parent {
            return;
        }
        let time = message.header.stamp.as_nanos();
        let is_full = self.by_child.len() >= MAX_FRAMES && !self.by_child.contains_key(child) && {
            self.sweep(arrived);
            self.by_child.len() >= MAX_FRAMES
        };
        match self.by_child.get_mut(child) {
            Some(frame) if *frame.parent == *parent => frame.samples.insert(time, transform, fixed, arrived),
            None if is_full => {
                if !std::mem::replace(&mut self.has_logged_error, true) {
                    tracing::error!(
                        "transform of `{child}` dropped, and those of all other new frames: {MAX_FRAMES} frames are \
                         static or had a transform in the last {} s. Find the node that publishes so many frames on /tf",
                        KEPT / 1_000_000_000
                    );
                }
            }
            _ => {
                let samples = Samples::of(time, transform, fixed, arrived);
                let parent = parent.into();
                self.by_child.insert(child.into(), Frame { parent, samples });
            }
        }
    }

    /// Drops the moving frames that ended: no newer transform arrived for [`KEPT`]. Once for each message, because a
    /// message may contain very many new frames.
    fn sweep(&mut self, now: Time) {
        if !std::mem::replace(&mut self.has_swept, true) {
            self.by_child.retain(|_, frame| match frame.samples.newest() {
                Some((_, arrived)) => now.since(arrived).as_nanos() <= u128::from(KEPT.unsigned_abs()),
                None => true,
            });
        }
    }

    /// The frames from `frame` up to its root, `frame` first; at most [`MAX_DEPTH`].
    fn ancestors<'a>(&'a self, frame: &'a str) -> Vec<&'a str> {
        let mut way = vec![frame];
        let mut at = frame;
        while let Some(above) = self.by_child.get(at) {
            // A loop can arise if two publishers disagree.
            if way.len() == MAX_DEPTH {
                break;
            }
            at = &above.parent;
            way.push(at);
        }
        way
    }

    fn knows(&self, frame: &str) -> bool {
        self.by_child.contains_key(frame) || self.by_child.values().any(|known| *known.parent == *frame)
    }
}

impl Samples {
    fn of(time: i64, transform: Transform, fixed: bool, arrived: Time) -> Self {
        if fixed {
            return Self::Static(transform);
        }
        Self::Dynamic {
            samples: VecDeque::from([(time, transform)]),
            arrived,
        }
    }

    fn insert(&mut self, time: i64, transform: Transform, fixed: bool, now: Time) {
        match self {
            Self::Dynamic { samples, arrived } if !fixed => {
                let newest = samples.back().map_or(i64::MIN, |(newest, _)| *newest);
                let is_set_back = time < newest.saturating_sub(SET_BACK);
                if is_set_back {
                    samples.clear();
                }
                if is_set_back || time >= newest {
                    *arrived = now;
                }
                let index = samples.partition_point(|(other, _)| *other < time);
                match samples.get_mut(index) {
                    Some((other, sample)) if *other == time => *sample = transform,
                    _ => samples.insert(index, (time, transform)),
                }
                let oldest = samples
                    .back()
                    .map_or(time, |(newest, _)| newest.saturating_sub(KEPT));
                while samples.len() > MAX_SAMPLES
                    || samples
                        .front()
                        .is_some_and(|(time, _)| *time < oldest && samples.len() > 1)
                {
                    samples.pop_front();
                }
            }
            _ => *self = Self::of(time, transform, fixed, now),
        }
    }

    /// The newest time, in ns, and its arrival; `None` for a static transform.
    fn newest(&self) -> Option<(i64, Time)> {
        match self {
            Self::Static(_) => None,
            Self::Dynamic { samples, arrived } => samples.back().map(|(time, _)| (*time, *arrived)),
        }
    }

    fn at(&self, time: i64, tolerance: i64) -> Option<Transform> {
        let samples = match self {
            Self::Static(transform) => return Some(*transform),
            Self::Dynamic { samples, .. } => samples,
        };
        let index = samples.partition_point(|(other, _)| *other < time);
        match (
            index.checked_sub(1).and_then(|before| samples.get(before)),
            samples.get(index),
        ) {
            (_, Some((exact, transform))) if *exact == time => Some(*transform),
            (Some((before, from)), Some((after, to))) => {
                let share = (time - before) as f64 / (after - before) as f64;
                Some(between(from, to, share))
            }
            (Some((newest, transform)), None) if time.saturating_sub(*newest) <= tolerance => {
                Some(*transform)
            }
            _ => None,
        }
    }
}

struct Query<'a> {
    frames: &'a Frames,
    target: &'a str,
    source: &'a str,
}

impl Query<'_> {
    fn answer(
        &self,
        at: Option<Stamp>,
        now: Moment,
        tolerance: i64,
    ) -> Result<(Transform, Stamp), TransformError> {
        for frame in [self.target, self.source] {
            if !self.frames.knows(frame) && self.target != self.source {
                return Err(TransformError::UnknownFrame(frame.to_owned()));
            }
        }
        let (from, to) = (|| self.source.to_owned(), || self.target.to_owned());
        let mut up = self.frames.ancestors(self.source);
        let mut down = self.frames.ancestors(self.target);
        let Some(common) = up.iter().find(|frame| down.contains(frame)).copied() else {
            return Err(TransformError::NotConnected {
                from: from(),
                to: to(),
            });
        };
        for way in [&mut up, &mut down] {
            let end = way.iter().position(|frame| *frame == common).unwrap_or(way.len());
            way.truncate(end);
        }
        let newest = || {
            let frames = up.iter().chain(&down);
            frames.filter_map(|frame| self.frames.by_child.get(*frame)?.samples.newest())
        };
        let time = match (at, newest().map(|(time, _)| time).min()) {
            (Some(stamp), _) => stamp.as_nanos(),
            (None, Some(newest)) => newest,
            (None, None) => now.stamp.as_nanos(),
        };
        let by_arrival = newest().map(|(_, arrived)| now.time.since(arrived)).max();
        let by_arrival = i64::try_from(by_arrival.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX);
        let age = now.stamp.as_nanos().saturating_sub(time).max(by_arrival);
        if at.is_none() && age > tolerance {
            return Err(TransformError::TooOld {
                from: from(),
                to: to(),
                age_seconds: age as f64 / 1e9,
            });
        }
        let out_of_range = || TransformError::OutOfRange {
            from: from(),
            to: to(),
        };
        let from_source = self
            .transform_along(&up, time, tolerance)
            .ok_or_else(out_of_range)?;
        let from_target = self
            .transform_along(&down, time, tolerance)
            .ok_or_else(out_of_range)?;
        Ok((from_target.inverse().then(&from_source), Stamp::from_nanos(time)))
    }

    /// The transform from the last frame's parent to the first frame.
    fn transform_along(&self, frames: &[&str], time: i64, tolerance: i64) -> Option<Transform> {
        let mut transform = Transform::IDENTITY;
        for frame in frames {
            let frame = self.frames.by_child.get(*frame)?;
            transform = frame.samples.at(time, tolerance)?.then(&transform);
        }
        Some(transform)
    }
}

fn checked(transform: Transform) -> Option<Transform> {
    let Transform {
        translation: Vector3 { x, y, z },
        rotation,
    } = transform;
    let length = dot(rotation, rotation).sqrt();
    let finite = [x, y, z].iter().all(|number| number.is_finite());
    (finite && length.is_finite() && length > 1e-6).then(|| Transform {
        rotation: scaled(rotation, 1.0 / length),
        ..transform
    })
}

fn dot(a: Quaternion, b: Quaternion) -> f64 {
    a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w
}

fn scaled(q: Quaternion, factor: f64) -> Quaternion {
    Quaternion {
        x: q.x * factor,
        y: q.y * factor,
        z: q.z * factor,
        w: q.w * factor,
    }
}

fn between(from: &Transform, to: &Transform, share: f64) -> Transform {
    let mix = |a: f64, b: f64| a + (b - a) * share;
    Transform {
        translation: Vector3 {
            x: mix(from.translation.x, to.translation.x),
            y: mix(from.translation.y, to.translation.y),
            z: mix(from.translation.z, to.translation.z),
        },
        rotation: interpolate_rotation(from.rotation, to.rotation, share),
    }
}

/// Interpolates between two rotations, at a constant rate along the shorter way.
fn interpolate_rotation(from: Quaternion, to: Quaternion, share: f64) -> Quaternion {
    let cosine = dot(from, to);
    let (to, cosine) = if cosine < 0.0 {
        (scaled(to, -1.0), -cosine)
    } else {
        (to, cosine)
    };
    // Nearly equal: the sine below would cause a division by zero.
    let (a, b) = if cosine > 0.9995 {
        (1.0 - share, share)
    } else {
        let angle = cosine.acos();
        let sine = angle.sin();
        (((1.0 - share) * angle).sin() / sine, (share * angle).sin() / sine)
    };
    let (a, b) = (scaled(from, a), scaled(to, b));
    let sum = Quaternion {
        x: a.x + b.x,
        y: a.y + b.y,
        z: a.z + b.z,
        w: a.w + b.w,
    };
    scaled(sum, 1.0 / dot(sum, sum).sqrt())
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;
    use crate::msg::Pose;

    const TOLERANCE: Duration = Duration::from_millis(100);

    fn at(milliseconds: i64) -> Stamp {
        Stamp::from_nanos(milliseconds * 1_000_000)
    }

    /// The moment at this ROS time, at which all messages so far have just arrived.
    fn now(milliseconds: i64) -> Moment {
        Moment {
            stamp: at(milliseconds),
            time: Time::ZERO,
        }
    }

    fn link(parent: &str, child: &str, milliseconds: i64, x: f64, yaw: f64) -> TransformStamped {
        TransformStamped {
            header: Header::new(at(milliseconds), parent),
            child_frame_id: child.into(),
            transform: Transform::from_pose(&Pose::planar(x, 0.0, yaw)),
        }
    }

    #[test]
    fn g1_a_long_message_is_added_in_parts_and_a_long_chain_is_refused() {
        let buffer = TransformBuffer::new();
        let frame = |depth: usize| format!("frame_{depth}");
        let links = (0..300).map(|depth| link(&frame(depth), &frame(depth + 1), 1_000, 1.0, 0.0));
        buffer.insert(links, false, Time::ZERO);
        let look_up = |depth: usize| buffer.lookup(&frame(0), &frame(depth), None, now(1_000), TOLERANCE);
        assert_eq!(look_up(200).unwrap().transform.translation.x, 200.0);
        assert!(matches!(look_up(300), Err(TransformError::NotConnected { .. })));
    }

    fn robot() -> TransformBuffer {
        let buffer = TransformBuffer::new();
        buffer.insert(
            [
                link("map", "odom", 1000, 10.0, 0.0),
                link("odom", "base_link", 1000, 1.0, 0.0),
                link("odom", "base_link", 2000, 2.0, FRAC_PI_2),
                link("map", "odom", 2000, 10.0, 0.0),
            ],
            false,
            Time::ZERO,
        );
        buffer.insert([link("base_link", "laser", 0, 0.5, 0.0)], true, Time::ZERO);
        buffer
    }

    #[test]
    fn messages_on_tf_use_bounded_memory() {
        let buffer = robot();
        let known = buffer.frames().len();
        for number in 0..2 * MAX_FRAMES {
            buffer.insert(
                [link("map", &format!("frame_{number}"), 1000, 0.0, 0.0)],
                false,
                Time::ZERO,
            );
        }
        assert_eq!(buffer.frames().len(), MAX_FRAMES);
        let last = format!("frame_{}", MAX_FRAMES - known - 1);
        buffer
            .lookup("map", &last, None, now(1000), TOLERANCE)
            .expect("the last that had room");
        // A known frame still receives transforms, also a thousand in a millisecond.
        let newest = 2_000_000_000 + 3 * MAX_SAMPLES as i64;
        for time in 2_000_000_000..=newest {
            let mut sample = link("map", "odom", 0, 10.0, 0.0);
            sample.header.stamp = Stamp::from_nanos(time);
            buffer.insert([sample], false, Time::ZERO);
        }
        let frames = buffer.lock();
        let Samples::Dynamic { samples, .. } = &frames.by_child["odom"].samples else {
            panic!("it moves");
        };
        assert_eq!(samples.len(), MAX_SAMPLES);
        assert_eq!(samples.back().map(|(time, _)| *time), Some(newest));
    }

    #[test]
    fn new_frames_replace_expired_ones_but_not_static_ones() {
        let buffer = robot();
        let moving = |names: std::ops::Range<usize>, seconds: u64| {
            let links = names.map(|number| link("map", &format!("frame_{number}"), 1000, 0.0, 0.0));
            buffer.insert(links, false, Time::from_millis(seconds * 1000));
        };
        let has = |child: &str| buffer.lock().by_child.contains_key(child);
        let room = MAX_FRAMES - buffer.frames().len();
        moving(0..room - 1, 0);
        moving(room - 1..room, 5);
        moving(room..room + 1, 10);
        assert!(
            !has(&format!("frame_{room}")),
            "none is older than the kept history"
        );
        // The other frames of the same message have room too.
        moving(room..room + 2, 11);
        assert!(has(&format!("frame_{room}")) && has(&format!("frame_{}", room + 1)));
        assert!(has(&format!("frame_{}", room - 1)), "heard 6 s ago");
        assert!(has("laser"), "static");
        assert!(!has("frame_0") && !has("base_link"));
        // A static frame is published once.
        moving(room + 2..2 * MAX_FRAMES, 11);
        assert_eq!(buffer.frames().len(), MAX_FRAMES);
        buffer.insert(
            [link("base_link", "camera", 0, 0.5, 0.0)],
            true,
            Time::from_millis(22_000),
        );
        assert!(has("camera") && has("laser"));
    }

    #[test]
    fn the_newest_transform_of_a_chain_is_returned() {
        let found = robot()
            .lookup("map", "laser", None, now(2050), TOLERANCE)
            .unwrap();
        let pose = found.transform.to_pose();
        assert!((pose.position.x - 12.0).abs() < 1e-9 && (pose.position.y - 0.5).abs() < 1e-9);
        assert_eq!(found.header, Header::new(at(2000), "map"));
        let back = robot()
            .lookup("laser", "map", None, now(2050), TOLERANCE)
            .unwrap();
        let round = back.transform.apply(&pose);
        assert!(round.position.x.abs() < 1e-9 && round.position.y.abs() < 1e-9);
    }

    #[test]
    fn a_transform_between_two_samples_is_interpolated() {
        let found = robot()
            .lookup("odom", "base_link", Some(at(1500)), now(2000), TOLERANCE)
            .unwrap();
        let pose = found.transform.to_pose();
        assert!((pose.position.x - 1.5).abs() < 1e-9);
        assert!((pose.yaw() - FRAC_PI_2 / 2.0).abs() < 1e-9);
    }

    #[test]
    fn age_is_checked() {
        let old = robot().lookup("map", "base_link", None, now(2101), TOLERANCE);
        assert!(matches!(old, Err(TransformError::TooOld { .. })), "{old:?}");
        let fixed = robot().lookup("base_link", "laser", None, now(999_999), TOLERANCE);
        assert!(fixed.is_ok(), "a static transform has no age");
        let ahead = robot().lookup("map", "base_link", Some(at(2090)), now(2090), TOLERANCE);
        assert!(ahead.is_ok());
        for stamp in [999, 2101] {
            let range = robot().lookup("map", "base_link", Some(at(stamp)), now(2101), TOLERANCE);
            assert!(matches!(range, Err(TransformError::OutOfRange { .. })), "{stamp}");
        }
    }

    #[test]
    fn a_transform_stamped_in_the_future_ages_from_its_arrival() {
        let buffer = TransformBuffer::new();
        let heard = |stamp, time| {
            buffer.insert(
                [link("odom", "base_link", stamp, 1.0, 0.0)],
                false,
                Time::from_millis(time),
            );
        };
        let lookup = |stamp, time| {
            let now = Moment {
                stamp: at(stamp),
                time: Time::from_millis(time),
            };
            let found = buffer.lookup("odom", "base_link", None, now, TOLERANCE);
            found.map(|found| found.header.stamp)
        };
        // The publisher's clock is a minute ahead.
        heard(61_000, 5000);
        assert_eq!(lookup(1000, 5000), Ok(at(61_000)));
        assert_eq!(lookup(1100, 5100), Ok(at(61_000)));
        let old = lookup(1101, 5101).unwrap_err();
        assert!(
            matches!(old, TransformError::TooOld { age_seconds, .. } if (age_seconds - 0.101).abs() < 1e-9),
            "{old:?}"
        );
        heard(61_200, 5200);
        assert_eq!(lookup(1200, 5200), Ok(at(61_200)));
        // A late transform does not change the age of the newest.
        heard(61_150, 5290);
        assert!(lookup(1301, 5301).is_err());
        // The clock of this computer is set back: the stamps are ahead, and the time of arrival advances.
        heard(61_400, 5400);
        assert_eq!(lookup(-9000, 5400), Ok(at(61_400)));
        assert!(lookup(-8899, 5501).is_err());
        // While a simulation stops, no transform ages.
        assert_eq!(lookup(1400, 5400), Ok(at(61_400)));
    }

    #[test]
    fn an_error_names_the_missing_frame() {
        let buffer = robot();
        buffer.insert([link("island", "tree", 2000, 0.0, 0.0)], true, Time::ZERO);
        let unknown = buffer.lookup("map", "nowhere", None, now(2000), TOLERANCE);
        assert_eq!(unknown, Err(TransformError::UnknownFrame("nowhere".to_owned())));
        let apart = buffer.lookup("map", "tree", None, now(2000), TOLERANCE);
        assert!(matches!(apart, Err(TransformError::NotConnected { .. })));
        let same = buffer.lookup("x", "x", None, now(5), TOLERANCE).unwrap();
        assert_eq!(same.transform, Transform::IDENTITY);
    }

    #[test]
    fn a_recording_that_restarts_replaces_earlier_transforms() {
        let buffer = TransformBuffer::new();
        buffer.insert([link("odom", "base_link", 100_000, 1.0, 0.0)], false, Time::ZERO);
        buffer.insert([link("odom", "base_link", 50, 2.0, 0.0)], false, Time::ZERO);
        let found = buffer
            .lookup("odom", "base_link", None, now(60), TOLERANCE)
            .unwrap();
        assert!((found.transform.translation.x - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_transform_after_a_backward_clock_step_is_used() {
        let buffer = TransformBuffer::new();
        buffer.insert([link("odom", "base_link", 10_000, 1.0, 0.0)], false, Time::ZERO);
        buffer.insert([link("odom", "base_link", 7_000, 2.0, 0.0)], false, Time::ZERO);
        let found = buffer.lookup("odom", "base_link", None, now(7_000), TOLERANCE);
        assert_eq!(found.unwrap().transform.translation.x, 2.0);
    }

    #[test]
    fn a_small_backward_clock_step_drops_moving_frames_only() {
        let buffer = robot();
        // The robot starts again at its first position, a second earlier.
        buffer.insert([link("odom", "base_link", 500, 0.0, 0.0)], false, Time::ZERO);
        let x = |buffer: &TransformBuffer| {
            let found = buffer.lookup("odom", "laser", None, now(500), TOLERANCE).unwrap();
            found.transform.translation.x
        };
        assert!(x(&buffer) > 1.9, "the last place of the run before");
        buffer.clear();
        buffer.insert([link("odom", "base_link", 500, 0.0, 0.0)], false, Time::ZERO);
        assert!((x(&buffer) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_frame_may_change_its_parent_and_invalid_ones_are_dropped() {
        let buffer = robot();
        buffer.insert([link("map", "base_link", 2000, 7.0, 0.0)], false, Time::ZERO);
        let found = buffer
            .lookup("map", "base_link", None, now(2000), TOLERANCE)
            .unwrap();
        assert!((found.transform.translation.x - 7.0).abs() < 1e-9);
        let before = buffer.frames();
        let mut bad = link("map", "bad", 2000, f64::NAN, 0.0);
        buffer.insert(
            [bad.clone(), link("loop", "loop", 0, 0.0, 0.0)],
            false,
            Time::ZERO,
        );
        bad.transform = Transform {
            rotation: Quaternion {
                x: 0.0,
                y: 0.0,
                z: 0.0,
                w: 0.0,
            },
            ..Transform::IDENTITY
        };
        buffer.insert([bad], false, Time::ZERO);
        assert_eq!(buffer.frames(), before);
    }

    #[test]
    fn a_lookup_in_a_loop_of_frames_ends() {
        let buffer = TransformBuffer::new();
        buffer.insert(
            [link("a", "b", 0, 0.0, 0.0), link("b", "a", 0, 0.0, 0.0)],
            true,
            Time::ZERO,
        );
        buffer.insert([link("c", "d", 0, 0.0, 0.0)], true, Time::ZERO);
        let found = buffer.lookup("a", "d", None, now(0), TOLERANCE);
        assert!(matches!(found, Err(TransformError::NotConnected { .. })));
    }
}
