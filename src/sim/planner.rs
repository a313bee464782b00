//! The grid planner: a straight line to the goal if it is free, otherwise A* around the obstacles.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::plane::PlanarPose;
use super::space::Space;

/// The reason why there is no path. The two compute-path actions have a code for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The start is outside the map.
    #[error("the start is outside the map")]
    StartOutsideMap,
    /// The goal is outside the map.
    #[error("the goal is outside the map")]
    GoalOutsideMap,
    /// The start is inside an obstacle.
    #[error("the start is occupied")]
    StartOccupied,
    /// The robot does not fit at the goal.
    #[error("the goal is occupied")]
    GoalOccupied,
    /// There is no path.
    #[error("there is no path to the goal")]
    NoValidPath,
}

/// The parameters of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planning {
    /// Minimum distance from all obstacles, in metres: the robot's radius and a margin.
    pub radius: f64,
    /// Distance between the poses of a path, in metres.
    pub spacing: f64,
}

/// Cell size without a map, in metres.
const OPEN_RESOLUTION: f64 = 0.1;
/// Searched border around start, goal and obstacles without a map, in metres.
const OPEN_BORDER: f64 = 3.0;
/// Maximum number of cells of the search grid. A larger area gets larger cells, which keeps a search well below a
/// second.
const MAX_CELLS: f64 = 1_000_000.0;
/// Maximum number of poses of a path. In a longer path, the poses have a larger distance.
const MAX_POSES: f64 = 50_000.0;

/// A path from `start` to `goal`, with poses about `spacing` apart, with headings along the path and the goal's heading
/// at the end.
///
/// # Errors
/// The start or goal is not valid, or there is no path.
pub fn plan(
    space: &Space<'_>,
    planning: Planning,
    start: PlanarPose,
    goal: PlanarPose,
) -> Result<Vec<PlanarPose>, PlanError> {
    if !start.is_finite() || !space.contains(start.x, start.y) {
        return Err(PlanError::StartOutsideMap);
    }
    if !goal.is_finite() || !space.contains(goal.x, goal.y) {
        return Err(PlanError::GoalOutsideMap);
    }
    if space.clearance(start.x, start.y) <= 0.0 {
        return Err(PlanError::StartOccupied);
    }
    if !space.is_free(&goal, planning.radius) {
        return Err(PlanError::GoalOccupied);
    }
    let (from, to) = ((start.x, start.y), (goal.x, goal.y));
    let corners = if space.is_line_free(from, to, planning.radius) {
        vec![from, to]
    } else {
        let points = Grid::around(space, from, to).search(space, planning.radius, from, to)?;
        remove_corners(space, planning.radius, &points)
    };
    Ok(sample(&corners, planning.spacing, start.yaw, goal.yaw))
}

/// The search grid, over the map or over a part of the open plane.
struct Grid {
    origin: (f64, f64),
    resolution: f64,
    width: usize,
    height: usize,
}

/// Costs in thousandths of a cell: integers make the order of the search exact and reproducible.
const STRAIGHT: u32 = 1000;
const DIAGONAL: u32 = 1414;

impl Grid {
    fn around(space: &Space<'_>, from: (f64, f64), to: (f64, f64)) -> Self {
        let (low, high, mut resolution) = if let Some(map) = space.map {
            let (low, high) = map.bounds();
            (low, high, map.resolution)
        } else {
            let mut low = (from.0.min(to.0), from.1.min(to.1));
            let mut high = (from.0.max(to.0), from.1.max(to.1));
            for disc in space.discs {
                // Only obstacles near the line from start to goal: others would enlarge the grid without use.
                let near = disc.x + disc.radius > low.0 - OPEN_BORDER
                    && disc.x - disc.radius < high.0 + OPEN_BORDER
                    && disc.y + disc.radius > low.1 - OPEN_BORDER
                    && disc.y - disc.radius < high.1 + OPEN_BORDER;
                if near {
                    low = (low.0.min(disc.x - disc.radius), low.1.min(disc.y - disc.radius));
                    high = (high.0.max(disc.x + disc.radius), high.1.max(disc.y + disc.radius));
                }
            }
            (
                (low.0 - OPEN_BORDER, low.1 - OPEN_BORDER),
                (high.0 + OPEN_BORDER, high.1 + OPEN_BORDER),
                OPEN_RESOLUTION,
            )
        };
        let area = (high.0 - low.0) * (high.1 - low.1);
        resolution = resolution.max((area / MAX_CELLS).sqrt());
        Self {
            origin: low,
            resolution,
            width: (((high.0 - low.0) / resolution).ceil() as usize).max(1),
            height: (((high.1 - low.1) / resolution).ceil() as usize).max(1),
        }
    }

    fn cell(&self, point: (f64, f64)) -> (usize, usize) {
        // `as` saturates: a point outside the grid is moved to its border.
        let column = ((point.0 - self.origin.0) / self.resolution) as usize;
        let row = ((point.1 - self.origin.1) / self.resolution) as usize;
        (column.min(self.width - 1), row.min(self.height - 1))
    }

    fn center(&self, (column, row): (usize, usize)) -> (f64, f64) {
        (
            self.origin.0 + (column as f64 + 0.5) * self.resolution,
            self.origin.1 + (row as f64 + 0.5) * self.resolution,
        )
    }

    /// A* over eight neighbours. A diagonal step needs both sides free, so the path cuts no corner.
    fn search(
        &self,
        space: &Space<'_>,
        radius: f64,
        from: (f64, f64),
        to: (f64, f64),
    ) -> Result<Vec<(f64, f64)>, PlanError> {
        let (start, goal) = (self.cell(from), self.cell(to));
        let index = |(column, row): (usize, usize)| row * self.width + column;
        let mut cost = vec![u32::MAX; self.width * self.height];
        let mut parent = vec![u32::MAX; self.width * self.height];
        let mut open = BinaryHeap::new();
        // A robot that is closer to a wall than planned paths may leave it: near the start only contact counts.
        let start_radius = (radius - space.clearance(from.0, from.1)).max(0.0) + 2.0 * self.resolution;
        let is_passable = |cell: (usize, usize)| {
            let (x, y) = self.center(cell);
            let near_start = (x - from.0).hypot(y - from.1) <= start_radius;
            cell == goal || space.clearance(x, y) >= if near_start { radius.min(1e-6) } else { radius }
        };
        let estimate = |(column, row): (usize, usize)| {
            let (x, y) = (column.abs_diff(goal.0) as u32, row.abs_diff(goal.1) as u32);
            STRAIGHT * x.max(y) + (DIAGONAL - STRAIGHT) * x.min(y)
        };
        cost[index(start)] = 0;
        open.push(Reverse((estimate(start), 0_u32, start)));
        while let Some(Reverse((_, cost_so_far, cell))) = open.pop() {
            if cell == goal {
                return Ok(self.trace(&parent, from, to, start, goal));
            }
            if cost_so_far > cost[index(cell)] {
                continue;
            }
            for (right, up) in [
                (1, 0),
                (0, 1),
                (-1, 0),
                (0, -1),
                (1, 1),
                (-1, 1),
                (-1, -1),
                (1, -1),
            ] {
                let Some(next) = self.neighbour(cell, right, up) else {
                    continue;
                };
                let is_diagonal = right != 0 && up != 0;
                let total = cost_so_far + if is_diagonal { DIAGONAL } else { STRAIGHT };
                if total >= cost[index(next)] || !is_passable(next) {
                    continue;
                }
                if is_diagonal && !(is_passable((next.0, cell.1)) && is_passable((cell.0, next.1))) {
                    continue;
                }
                cost[index(next)] = total;
                parent[index(next)] = index(cell) as u32;
                open.push(Reverse((total + estimate(next), total, next)));
            }
        }
        Err(PlanError::NoValidPath)
    }

    fn neighbour(&self, (column, row): (usize, usize), right: isize, up: isize) -> Option<(usize, usize)> {
        let next = (column.checked_add_signed(right)?, row.checked_add_signed(up)?);
        (next.0 < self.width && next.1 < self.height).then_some(next)
    }

    fn trace(
        &self,
        parent: &[u32],
        from: (f64, f64),
        to: (f64, f64),
        start: (usize, usize),
        goal: (usize, usize),
    ) -> Vec<(f64, f64)> {
        let first = start.1 * self.width + start.0;
        let mut points = vec![to];
        let mut cell = goal.1 * self.width + goal.0;
        while cell != first {
            cell = parent[cell] as usize;
            points.push(self.center((cell % self.width, cell / self.width)));
        }
        // The start and goal points replace the middles of the first and last cell.
        if points.len() > 1 {
            points.pop();
        }
        points.push(from);
        points.reverse();
        points
    }
}

/// Removes the corners that the robot can bypass in a straight line.
fn remove_corners(space: &Space<'_>, radius: f64, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Some((&first, rest)) = points.split_first() else {
        return Vec::new();
    };
    let mut corners = vec![first];
    let (mut anchor, mut previous) = (first, first);
    for &point in rest {
        if previous != anchor && !space.is_line_free(anchor, point, radius) {
            corners.push(previous);
            anchor = previous;
        }
        previous = point;
    }
    corners.push(previous);
    corners
}

/// Poses every `spacing` metres along the corners. Each has the heading of its leg, the last one `final_yaw`. A path of
/// length zero has its start and its goal, because followers expect both.
pub fn sample(corners: &[(f64, f64)], spacing: f64, start_yaw: f64, final_yaw: f64) -> Vec<PlanarPose> {
    let length: f64 = corners
        .windows(2)
        .map(|leg| (leg[1].0 - leg[0].0).hypot(leg[1].1 - leg[0].1))
        .sum();
    let spacing = spacing.max(length / MAX_POSES).max(1e-3);
    let mut poses = Vec::new();
    let mut yaw = start_yaw;
    for leg in corners.windows(2) {
        let (x, y) = (leg[1].0 - leg[0].0, leg[1].1 - leg[0].1);
        let length = x.hypot(y);
        if length > 1e-9 {
            yaw = y.atan2(x);
        }
        let count = (length / spacing).ceil().max(1.0);
        for step in 0..count as usize {
            let fraction = step as f64 / count;
            poses.push(PlanarPose::new(
                leg[0].0 + fraction * x,
                leg[0].1 + fraction * y,
                yaw,
            ));
        }
    }
    if let Some(&(x, y)) = corners.last() {
        poses.push(PlanarPose::new(x, y, final_yaw));
    }
    poses
}

#[cfg(test)]
mod tests {
    use super::{PlanError, Planning, plan};
    use crate::sim::map::Map;
    use crate::sim::plane::PlanarPose;
    use crate::sim::space::{Disc, Space};

    const PLANNING: Planning = Planning {
        radius: 0.3,
        spacing: 0.05,
    };
    const OPEN: Space<'static> = Space {
        map: None,
        discs: &[],
    };

    fn length(path: &[PlanarPose]) -> f64 {
        path.windows(2).map(|pair| pair[0].distance(&pair[1])).sum()
    }

    fn check(space: &Space<'_>, path: &[PlanarPose]) {
        for pair in path.windows(2) {
            assert!(pair[0].distance(&pair[1]) < 0.051, "{pair:?}");
        }
        for pose in path {
            assert!(space.clearance(pose.x, pose.y) > 0.24, "{pose:?}");
        }
    }

    #[test]
    fn open_plane_is_a_straight_line() {
        let path = plan(
            &OPEN,
            PLANNING,
            PlanarPose::new(0.0, 0.0, 1.0),
            PlanarPose::new(3.0, 4.0, -1.0),
        )
        .unwrap();
        assert!((length(&path) - 5.0).abs() < 1e-9);
        assert_eq!(path.len(), 101);
        assert!((path[50].yaw - 4_f64.atan2(3.0)).abs() < 1e-9);
        assert_eq!(path.last().unwrap().yaw, -1.0);
    }

    #[test]
    fn goal_at_the_start_has_two_poses() {
        let here = PlanarPose::new(1.0, 1.0, 0.5);
        assert_eq!(plan(&OPEN, PLANNING, here, here).unwrap(), [here, here]);
    }

    #[test]
    fn goes_around_a_wall() {
        let map = Map::from_text(
            &["..........\n", "....#.....\n".repeat(8).as_str(), ".........."].concat(),
            0.5,
            (0.0, 0.0),
        )
        .unwrap();
        let space = Space {
            map: Some(&map),
            discs: &[],
        };
        let tight = Planning {
            radius: 0.25,
            ..PLANNING
        };
        let path = plan(
            &space,
            tight,
            PlanarPose::new(1.0, 2.5, 0.0),
            PlanarPose::new(4.0, 2.5, 0.0),
        )
        .unwrap();
        assert!(length(&path) > 4.5 && length(&path) < 7.0, "{}", length(&path));
        check(&space, &path);
    }

    #[test]
    fn goes_around_a_disc_on_the_open_plane() {
        let discs = [Disc {
            x: 2.0,
            y: 0.0,
            radius: 0.5,
        }];
        let space = Space {
            map: None,
            discs: &discs,
        };
        let path = plan(
            &space,
            PLANNING,
            PlanarPose::default(),
            PlanarPose::new(4.0, 0.0, 0.0),
        )
        .unwrap();
        assert!(length(&path) > 4.1 && length(&path) < 4.8, "{}", length(&path));
        check(&space, &path);
    }

    #[test]
    fn a_missing_path_has_its_reason() {
        let map = Map::from_text("......\n......\n##..##\n.####.\n......\n......", 0.5, (0.0, 0.0)).unwrap();
        let space = Space {
            map: Some(&map),
            discs: &[],
        };
        let at = |x, y| PlanarPose::new(x, y, 0.0);
        let error = |from, to| plan(&space, PLANNING, from, to).unwrap_err();
        assert_eq!(error(at(-1.0, 0.5), at(0.5, 0.5)), PlanError::StartOutsideMap);
        assert_eq!(error(at(0.5, 0.5), at(9.0, 0.5)), PlanError::GoalOutsideMap);
        assert_eq!(error(at(0.5, 0.5), at(f64::NAN, 0.5)), PlanError::GoalOutsideMap);
        assert_eq!(error(at(0.75, 1.75), at(0.5, 0.5)), PlanError::StartOccupied);
        assert_eq!(error(at(0.5, 0.5), at(0.75, 1.75)), PlanError::GoalOccupied);
        assert_eq!(error(at(0.5, 0.5), at(0.5, 2.5)), PlanError::NoValidPath);
    }

    #[test]
    fn a_start_too_close_to_a_wall_is_allowed() {
        let map = Map::from_text(
            "........\n........\n........\n........\n........\n########",
            0.25,
            (0.0, 0.0),
        )
        .unwrap();
        let space = Space {
            map: Some(&map),
            discs: &[],
        };
        let path = plan(
            &space,
            PLANNING,
            PlanarPose::new(1.0, 0.40, 0.0),
            PlanarPose::new(1.0, 1.1, 0.0),
        );
        assert!(path.is_ok(), "{path:?}");
    }

    #[test]
    fn far_goals_stay_small() {
        let path = plan(
            &OPEN,
            PLANNING,
            PlanarPose::default(),
            PlanarPose::new(1e7, 0.0, 0.0),
        )
        .unwrap();
        assert!(path.len() < 60_000);
    }
}
