//! Writes ROS messages in their wire format (CDR, little endian), for tools that show recordings.

use crate::msg::{Header, Path, Pose, PoseStamped, Stamp};

/// A message that is being written.
#[derive(Debug)]
pub(super) struct Cdr(Vec<u8>);

impl Cdr {
    pub(super) fn new() -> Self {
        // Plain CDR, little endian, no options.
        Self(vec![0, 1, 0, 0])
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Numbers are aligned to their size, counted from after the four bytes of the beginning.
    fn align(&mut self, size: usize) {
        while !(self.0.len() - 4).is_multiple_of(size) {
            self.0.push(0);
        }
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.align(2);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn i32(&mut self, value: i32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn f64(&mut self, value: f64) {
        self.align(8);
        self.0.extend(value.to_le_bytes());
    }

    /// The number of elements that follow.
    pub(super) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len() + 1);
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    pub(super) fn stamp(&mut self, stamp: Stamp) {
        self.i32(stamp.sec);
        self.u32(stamp.nanosec);
    }

    pub(super) fn header(&mut self, header: &Header) {
        self.stamp(header.stamp);
        self.text(&header.frame_id);
    }

    pub(super) fn pose(&mut self, pose: &Pose) {
        let (position, orientation) = (&pose.position, &pose.orientation);
        for number in [
            position.x,
            position.y,
            position.z,
            orientation.x,
            orientation.y,
            orientation.z,
            orientation.w,
        ] {
            self.f64(number);
        }
    }

    pub(super) fn pose_stamped(&mut self, pose: &PoseStamped) {
        self.header(&pose.header);
        self.pose(&pose.pose);
    }

    pub(super) fn path(&mut self, path: &Path) {
        self.header(&path.header);
        self.count(path.poses.len());
        for pose in &path.poses {
            self.pose_stamped(pose);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_and_texts_end_with_zero() {
        let mut cdr = Cdr::new();
        cdr.u8(7);
        cdr.u16(1);
        cdr.text("ab");
        cdr.f64(1.0);
        let bytes = cdr.finish();
        assert_eq!(bytes[..4], [0, 1, 0, 0]);
        assert_eq!(bytes[4..8], [7, 0, 1, 0]);
        assert_eq!(bytes[8..15], [3, 0, 0, 0, b'a', b'b', 0]);
        assert_eq!(bytes[15..20], [0; 5]);
        assert_eq!(bytes[20..], 1.0_f64.to_le_bytes());
    }
}
