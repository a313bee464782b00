//! Geometry in the plane, for nodes and servers that ignore height.

use std::f64::consts::{PI, TAU};

use super::geometry::Point;

/// Distance of two points without height, metres.
pub fn distance_xy(a: &Point, b: &Point) -> f64 {
    (a.x - b.x).hypot(a.y - b.y)
}

/// Normalizes an angle to (−π, π]. A number that is not finite is unchanged.
pub fn normalize_angle(angle: f64) -> f64 {
    if angle > -PI && angle <= PI {
        return angle;
    }
    let turned = angle.rem_euclid(TAU);
    if turned > PI { turned - TAU } else { turned }
}

/// The shortest turn from heading `from` to heading `to`, radians in (−π, π], positive to the left.
pub fn angle_between(from: f64, to: f64) -> f64 {
    normalize_angle(to - from)
}

#[cfg(test)]
mod tests {
    use super::{angle_between, distance_xy, normalize_angle};
    use crate::msg::Point;
    use std::f64::consts::PI;

    #[test]
    fn angles_stay_in_one_turn() {
        for (angle, expected) in [
            (0.0, 0.0),
            (PI, PI),
            (-PI, PI),
            (3.0 * PI, PI),
            (7.0, 7.0 - 2.0 * PI),
        ] {
            assert!((normalize_angle(angle) - expected).abs() < 1e-9, "{angle}");
        }
        assert!((angle_between(3.0, -3.0) - (2.0 * PI - 6.0)).abs() < 1e-12);
        assert!(normalize_angle(f64::NAN).is_nan());
    }

    #[test]
    fn height_does_not_count() {
        let (a, b) = (
            Point {
                x: 0.0,
                y: 0.0,
                z: 9.0,
            },
            Point::planar(3.0, 4.0),
        );
        assert_eq!(distance_xy(&a, &b), 5.0);
    }
}
