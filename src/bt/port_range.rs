//! The numbers that make sense at a port.

use std::fmt;

/// A range of numbers. A number outside of it is accepted, because BehaviorTree.CPP accepts it, with a warning when the
/// tree is loaded or when the port is read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortRange {
    least: f64,
    greatest: f64,
    /// Whether `least` itself is outside.
    is_open: bool,
    /// A number outside of the limits with a meaning of its own.
    other: Option<f64>,
}

impl PortRange {
    /// All numbers but zero.
    pub const NOT_ZERO: Self = Self {
        least: f64::NEG_INFINITY,
        ..Self::above(0.0)
    };

    /// Numbers from `least` on.
    pub const fn at_least(least: f64) -> Self {
        Self::within(least, f64::INFINITY)
    }

    /// Numbers greater than `limit`.
    pub const fn above(limit: f64) -> Self {
        Self {
            is_open: true,
            ..Self::at_least(limit)
        }
    }

    /// Numbers from `least` to `greatest`.
    pub const fn within(least: f64, greatest: f64) -> Self {
        Self {
            least,
            greatest,
            is_open: false,
            other: None,
        }
    }

    /// Adds a number with a meaning of its own, for example -1 for no limit.
    #[must_use]
    pub const fn or(mut self, other: f64) -> Self {
        self.other = Some(other);
        self
    }

    /// Whether a number is in the range.
    pub fn contains(&self, number: f64) -> bool {
        if *self == Self::NOT_ZERO {
            return number != 0.0 && !number.is_nan();
        }
        let is_above = if self.is_open {
            number > self.least
        } else {
            number >= self.least
        };
        (is_above && number <= self.greatest) || self.other == Some(number)
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_open, self.greatest.is_finite()) {
            _ if *self == Self::NOT_ZERO => f.write_str("other than 0")?,
            (true, _) => write!(f, "above {}", self.least)?,
            (false, true) => write!(f, "from {} to {}", self.least, self.greatest)?,
            (false, false) => write!(f, "at least {}", self.least)?,
        }
        match self.other {
            Some(other) => write!(f, ", or {other}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_what_they_say() {
        for (range, text, inside, outside) in [
            (
                PortRange::at_least(0.0),
                "at least 0",
                vec![0.0, 1e9, f64::INFINITY],
                vec![-0.1],
            ),
            (PortRange::above(0.0), "above 0", vec![0.1], vec![0.0, -1.0]),
            (
                PortRange::within(0.0, 1.0),
                "from 0 to 1",
                vec![0.0, 1.0],
                vec![1.1, -0.1],
            ),
            (
                PortRange::at_least(1.0).or(-1.0),
                "at least 1, or -1",
                vec![-1.0, 1.0],
                vec![0.0, -2.0],
            ),
            (PortRange::NOT_ZERO, "other than 0", vec![-1.0, 1.0], vec![0.0]),
        ] {
            assert_eq!(range.to_string(), text);
            assert!(inside.iter().all(|number| range.contains(*number)), "{text}");
            assert!(!outside.iter().any(|number| range.contains(*number)), "{text}");
            assert!(!range.contains(f64::NAN), "{text}");
        }
    }
}
