//! The free space of a costmap or of the real world.

use super::map::Map;
use super::plane::PlanarPose;

/// A round obstacle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    /// The x coordinate of its centre, in metres.
    pub x: f64,
    /// The y coordinate of its centre, in metres.
    pub y: f64,
    /// Its radius, in metres.
    pub radius: f64,
}

impl Disc {
    /// Distance from a point to the edge, in metres; negative inside.
    pub fn clearance(&self, x: f64, y: f64) -> f64 {
        (x - self.x).hypot(y - self.y) - self.radius
    }
}

/// Walls and discs. All checks of a robot position use this type, with different discs: the real obstacles, or the
/// marks of a costmap.
#[derive(Clone, Copy, Debug)]
pub struct Space<'a> {
    /// The walls; without a map the plane is open and has no border.
    pub map: Option<&'a Map>,
    /// The other obstacles.
    pub discs: &'a [Disc],
}

/// Minimum distance between the points that [`Space::is_line_free`] checks, in metres; half of a usual cell.
const MIN_STEP: f64 = 0.025;

impl Space<'_> {
    /// Distance from the point to the nearest obstacle, in metres; negative inside one, infinite without obstacles.
    pub fn clearance(&self, x: f64, y: f64) -> f64 {
        let walls = self.map.map_or(f64::INFINITY, |map| map.clearance(x, y));
        self.discs
            .iter()
            .map(|disc| disc.clearance(x, y))
            .fold(walls, f64::min)
    }

    /// Returns whether a disc of `radius` metres fits at this pose.
    pub fn is_free(&self, pose: &PlanarPose, radius: f64) -> bool {
        self.clearance(pose.x, pose.y) >= radius
    }

    /// Returns whether the point is on the map; without a map, each finite point is.
    pub fn contains(&self, x: f64, y: f64) -> bool {
        self.map
            .map_or(x.is_finite() && y.is_finite(), |map| map.contains(x, y))
    }

    /// Returns whether a disc of `radius` metres can move straight from one point to the other. The step is the
    /// clearance, so open space needs few lookups.
    pub fn is_line_free(&self, from: (f64, f64), to: (f64, f64), radius: f64) -> bool {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut distance = 0.0;
        loop {
            let fraction = if length > 0.0 { distance / length } else { 0.0 };
            let clearance = self.clearance(
                from.0 + fraction * (to.0 - from.0),
                from.1 + fraction * (to.1 - from.1),
            );
            if clearance.is_nan() || clearance < radius {
                return false;
            }
            if distance >= length {
                return true;
            }
            distance = (distance + (clearance - radius).max(MIN_STEP)).min(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Disc, Space};
    use crate::sim::map::Map;

    #[test]
    fn discs_and_walls_count() {
        let map = Map::from_text("....\n..#.\n....", 1.0, (0.0, 0.0)).unwrap();
        let discs = [Disc {
            x: 0.5,
            y: 0.5,
            radius: 0.25,
        }];
        let space = Space {
            map: Some(&map),
            discs: &discs,
        };
        assert!((space.clearance(0.5, 1.5) - 0.75).abs() < 1e-9);
        assert!(space.clearance(2.5, 1.5) < 0.0);
        assert!(space.is_line_free((0.1, 2.5), (3.9, 2.5), 0.4));
        assert!(!space.is_line_free((0.1, 2.5), (3.9, 2.5), 0.6));
        assert!(!space.is_line_free((1.5, 1.5), (3.5, 1.5), 0.1));
    }

    #[test]
    fn open_plane_is_free() {
        let space = Space {
            map: None,
            discs: &[],
        };
        assert!(space.is_line_free((0.0, 0.0), (1e9, 0.0), 1.0));
        assert!(space.contains(1e9, 0.0) && !space.contains(f64::NAN, 0.0));
    }
}
