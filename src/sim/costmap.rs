//! The costmaps of the robot: marked obstacles, and clearing.

use crate::bt::Time;
use crate::msg::duration::from_seconds;

use super::plane::PlanarPose;
use super::space::{Disc, Space};

/// A temporary obstacle of the world, or a false mark of a costmap (a ghost).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obstacle {
    /// Position and size.
    pub disc: Disc,
    /// The time at which it appears.
    pub from: Time,
    /// The time at which it disappears; `None` for never.
    pub until: Option<Time>,
}

impl Obstacle {
    /// Returns whether it is present.
    pub fn is_present(&self, now: Time) -> bool {
        self.from <= now && self.until.is_none_or(|until| now < until)
    }
}

/// Reads `x y radius [from [until]]; ...`, metres and seconds since the start.
///
/// # Errors
/// An error message with the part that cannot be read.
pub fn parse_obstacles(text: &str) -> Result<Vec<Obstacle>, String> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    let read = |part: &str| -> Option<Obstacle> {
        let numbers: Vec<f64> = part
            .split_whitespace()
            .map(|word| word.parse().ok())
            .collect::<Option<_>>()?;
        let time = |index: usize| {
            numbers
                .get(index)
                .map(|seconds| Time::ZERO + from_seconds(*seconds))
        };
        let is_valid = (3..=5).contains(&numbers.len()) && numbers.iter().all(|number| number.is_finite());
        (is_valid && numbers[2] > 0.0).then(|| Obstacle {
            disc: Disc {
                x: numbers[0],
                y: numbers[1],
                radius: numbers[2],
            },
            from: time(3).unwrap_or(Time::ZERO),
            until: time(4),
        })
    };
    let error = |part| {
        format!("`{part}` is not an obstacle; write `x y radius [from [until]]` in metres and seconds")
    };
    parts.map(|part| read(part).ok_or_else(|| error(part))).collect()
}

/// A region to clear: a square, as in Nav2's services.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Region {
    /// The whole costmap.
    Everything,
    /// The inside of a square.
    Inside {
        /// The centre of the square, in metres.
        center: (f64, f64),
        /// The side of the square, in metres.
        side: f64,
    },
    /// The outside of a square.
    Outside {
        /// The centre of the square, in metres.
        center: (f64, f64),
        /// The side of the square, in metres.
        side: f64,
    },
}

impl Region {
    fn contains(&self, disc: &Disc) -> bool {
        let inside = |center: (f64, f64), side: f64| {
            (disc.x - center.0).abs() <= side / 2.0 && (disc.y - center.1).abs() <= side / 2.0
        };
        match *self {
            Self::Everything => true,
            Self::Inside { center, side } => inside(center, side),
            Self::Outside { center, side } => !inside(center, side),
        }
    }
}

/// A costmap with its marked obstacles. All costmaps contain the walls of the map and never clear them, like a static
/// layer.
#[derive(Clone, Debug, Default)]
pub struct Costmap {
    marks: Vec<Disc>,
    /// Ghosts that were already marked: after clearing they do not return.
    ghosts_seen: Vec<bool>,
    /// Number of clears.
    pub clears: u64,
}

impl Costmap {
    /// Updates the marks: adds real obstacles within range, removes marks within range whose obstacle is gone, and adds
    /// ghosts that are due. A ghost stays until it is cleared, in range or not.
    pub fn update(
        &mut self,
        obstacles: &[Obstacle],
        ghosts: &[Obstacle],
        robot: &PlanarPose,
        range: f64,
        now: Time,
    ) {
        self.ghosts_seen.resize(ghosts.len(), false);
        for (ghost, seen) in ghosts.iter().zip(&mut self.ghosts_seen) {
            if !*seen && ghost.is_present(now) {
                *seen = true;
                self.marks.push(ghost.disc);
            }
        }
        for obstacle in obstacles {
            let in_range = obstacle.disc.clearance(robot.x, robot.y) <= range;
            let marked = self.marks.iter().position(|mark| *mark == obstacle.disc);
            match (obstacle.is_present(now), marked) {
                (true, None) if in_range => self.marks.push(obstacle.disc),
                (false, Some(index)) if in_range => {
                    self.marks.remove(index);
                }
                _ => {}
            }
        }
    }

    /// Removes the marks of a region. Real obstacles are marked again at the next update.
    pub fn clear(&mut self, region: &Region) {
        self.marks.retain(|mark| !region.contains(mark));
        self.clears += 1;
    }

    /// Clears everything, for a new set of ghosts.
    pub fn reset(&mut self) {
        self.marks.clear();
        self.ghosts_seen.clear();
    }

    /// The marked obstacles.
    pub fn marks(&self) -> &[Disc] {
        &self.marks
    }

    /// The free space of this costmap.
    pub fn space<'a>(&'a self, map: Option<&'a super::map::Map>) -> Space<'a> {
        Space {
            map,
            discs: &self.marks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Costmap, Region, parse_obstacles};
    use crate::bt::Time;
    use crate::sim::plane::PlanarPose;

    const HERE: PlanarPose = PlanarPose::new(0.0, 0.0, 0.0);

    #[test]
    fn obstacles_are_read() {
        let read = parse_obstacles("1 2 0.3; 4 5 0.5 10 20;").unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[1].from, Time::from_millis(10_000));
        assert!(
            !read[1].is_present(Time::from_millis(20_000)) && read[1].is_present(Time::from_millis(19_999))
        );
        for invalid in ["1 2", "1 2 x", "1 2 -1", "1 2 3 4 5 6", "inf 0 1"] {
            assert!(parse_obstacles(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn marks_near_obstacles_and_removes_those_that_are_gone() {
        let obstacles = parse_obstacles("1 0 0.3 0 5; 9 0 0.3").unwrap();
        let mut costmap = Costmap::default();
        costmap.update(&obstacles, &[], &HERE, 2.0, Time::ZERO);
        assert_eq!(costmap.marks(), [obstacles[0].disc]);
        costmap.update(
            &obstacles,
            &[],
            &PlanarPose::new(-9.0, 0.0, 0.0),
            2.0,
            Time::from_millis(6000),
        );
        assert_eq!(costmap.marks().len(), 1, "too far to see that it is gone");
        costmap.update(&obstacles, &[], &HERE, 2.0, Time::from_millis(6000));
        assert!(costmap.marks().is_empty());
    }

    #[test]
    fn clearing_removes_ghosts_permanently_and_real_obstacles_until_the_next_update() {
        let real = parse_obstacles("1 0 0.3").unwrap();
        let ghosts = parse_obstacles("0 1 0.3").unwrap();
        let mut costmap = Costmap::default();
        for _ in 0..2 {
            costmap.update(&real, &ghosts, &HERE, 2.0, Time::ZERO);
        }
        assert_eq!(costmap.marks().len(), 2);
        costmap.clear(&Region::Everything);
        assert!(costmap.marks().is_empty());
        costmap.update(&real, &ghosts, &HERE, 2.0, Time::ZERO);
        assert_eq!(costmap.marks(), [real[0].disc]);
    }

    #[test]
    fn regions_are_squares() {
        let real = parse_obstacles("1 0 0.1; 3 0 0.1").unwrap();
        let mut costmap = Costmap::default();
        let marks_after_clear = |costmap: &mut Costmap, region| {
            costmap.update(&real, &[], &HERE, 9.0, Time::ZERO);
            costmap.clear(&region);
            costmap.marks().iter().map(|mark| mark.x).collect::<Vec<_>>()
        };
        let center = (0.0, 0.0);
        assert_eq!(
            marks_after_clear(&mut costmap, Region::Inside { center, side: 4.0 }),
            [3.0]
        );
        assert_eq!(
            marks_after_clear(&mut costmap, Region::Outside { center, side: 4.0 }),
            [1.0]
        );
        assert_eq!(costmap.clears, 2);
    }
}
