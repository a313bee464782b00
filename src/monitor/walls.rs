//! The walls of a map, for the drawing of a track.

use crate::msg::OccupancyGrid;

/// The value of a cell from which on it is a wall, as in Nav2's `map_server`.
const OCCUPIED: i8 = 65;
/// Maximum number of rows and columns of a picture: a larger map is drawn with larger cells.
const MAX_CELLS: usize = 400;

/// The occupied cells of a map. A turned map has none: its cells are not parallel to the axes.
#[derive(Clone, Debug, Default)]
pub struct Walls {
    /// Size of a cell, in m.
    resolution: f64,
    /// The lower left corner, in m.
    origin: (f64, f64),
    width: usize,
    height: usize,
    cells: Vec<bool>,
}

/// A part of the plane: left, right, bottom and top, in m.
pub(super) type Area = (f64, f64, f64, f64);

impl Walls {
    /// The walls of a map. `None` if the message is not a map, or if the map is turned.
    pub fn new(grid: &OccupancyGrid) -> Option<Self> {
        let info = &grid.info;
        let (width, height) = (
            usize::try_from(info.width).ok()?,
            usize::try_from(info.height).ok()?,
        );
        let is_map = width.checked_mul(height) == Some(grid.data.len())
            && !grid.data.is_empty()
            && info.resolution > 0.0
            && info.origin.yaw().abs() < 1e-3;
        let (x, y) = (info.origin.position.x, info.origin.position.y);
        (is_map && x.is_finite() && y.is_finite()).then(|| Self {
            resolution: f64::from(info.resolution),
            origin: (x, y),
            width,
            height,
            cells: grid.data.iter().map(|cell| *cell >= OCCUPIED).collect(),
        })
    }

    /// The part of an area that the map has; the area itself if it is outside of the map.
    pub(super) fn clip(&self, (left, right, bottom, top): Area) -> Area {
        let size = |cells: usize| cells as f64 * self.resolution;
        let (x, y) = self.origin;
        let clipped = (
            left.max(x),
            right.min(x + size(self.width)),
            bottom.max(y),
            top.min(y + size(self.height)),
        );
        if clipped.0 < clipped.1 && clipped.2 < clipped.3 {
            clipped
        } else {
            (left, right, bottom, top)
        }
    }

    /// Whether a part of an area is a wall.
    pub(super) fn is_in(&self, (left, right, bottom, top): Area) -> bool {
        let columns = self.range(left, right, self.origin.0, self.width);
        let mut rows = self.range(bottom, top, self.origin.1, self.height);
        rows.any(|row| columns.clone().any(|column| self.cell(column, row)))
    }

    /// The walls in an area as rectangles.
    pub(super) fn rectangles(&self, area: Area) -> Vec<Area> {
        let (left, right, bottom, top) = area;
        let columns = self.range(left, right, self.origin.0, self.width);
        let rows = self.range(bottom, top, self.origin.1, self.height);
        let step = columns.len().max(rows.len()).div_ceil(MAX_CELLS).max(1);
        let size = step as f64 * self.resolution;
        let at = |column: usize, row: usize| {
            let x = self.origin.0 + column as f64 * self.resolution;
            let y = self.origin.1 + row as f64 * self.resolution;
            (x, y)
        };
        let mut found = Vec::new();
        for row in rows.step_by(step) {
            let mut open: Option<Area> = None;
            for column in columns.clone().step_by(step) {
                let is_wall =
                    (row..row + step).any(|row| (column..column + step).any(|column| self.cell(column, row)));
                let (x, y) = at(column, row);
                match &mut open {
                    Some(run) if is_wall => run.1 = x + size,
                    None if is_wall => open = Some((x, x + size, y, y + size)),
                    _ => found.extend(open.take()),
                }
            }
            found.extend(open);
        }
        found
    }

    fn cell(&self, column: usize, row: usize) -> bool {
        column < self.width
            && self
                .cells
                .get(row * self.width + column)
                .copied()
                .unwrap_or(false)
    }

    /// The numbers of the cells between two coordinates.
    fn range(&self, from: f64, to: f64, origin: f64, count: usize) -> std::ops::Range<usize> {
        // A negative number becomes zero.
        let first = ((from - origin) / self.resolution).floor() as usize;
        let end = ((to - origin) / self.resolution).ceil() as usize;
        first.min(count)..end.min(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::{MapMetaData, Pose};

    /// Rows from the top, as a picture.
    fn grid(resolution: f32, origin: Pose, picture: &[&str]) -> OccupancyGrid {
        let rows = picture.iter().rev();
        let cells = rows.flat_map(|row| row.bytes().map(|byte| if byte == b'#' { 100 } else { 0 }));
        OccupancyGrid {
            info: MapMetaData {
                resolution,
                width: picture[0].len() as u32,
                height: picture.len() as u32,
                origin,
                ..MapMetaData::default()
            },
            data: cells.collect(),
            ..OccupancyGrid::default()
        }
    }

    #[test]
    fn walls_are_found_where_the_map_has_them() {
        let map = grid(0.5, Pose::planar(-1.0, 0.0, 0.0), &["####", "#..#", "##.#"]);
        let walls = Walls::new(&map).unwrap();
        assert!(walls.is_in((-1.0, -0.9, 0.6, 0.7)));
        assert!(!walls.is_in((-0.4, 0.4, 0.6, 0.9)));
        assert!(!walls.is_in((5.0, 6.0, 5.0, 6.0)), "outside");
        assert_eq!(walls.clip((-9.0, 9.0, 0.5, 9.0)), (-1.0, 1.0, 0.5, 1.5));
        assert_eq!(
            walls.rectangles((-1.0, 1.0, 0.0, 0.5)),
            [(-1.0, 0.0, 0.0, 0.5), (0.5, 1.0, 0.0, 0.5)]
        );
        // A large map has larger cells.
        let large = OccupancyGrid {
            data: vec![100; 900 * 900],
            info: MapMetaData {
                resolution: 0.1,
                width: 900,
                height: 900,
                ..MapMetaData::default()
            },
            ..OccupancyGrid::default()
        };
        let rectangles = Walls::new(&large).unwrap().rectangles((0.0, 90.0, 0.0, 90.0));
        assert_eq!(rectangles.len(), 300);
    }

    #[test]
    fn what_is_no_map_has_no_walls() {
        let map = || grid(0.5, Pose::default(), &["#"]);
        assert!(Walls::new(&map()).is_some());
        let mut wrong = [map(), map(), map(), map()];
        wrong[0].info.width = u32::MAX;
        wrong[1].info.resolution = f32::NAN;
        wrong[2].info.origin = Pose::planar(0.0, 0.0, 1.0);
        wrong[3].info.origin.position.x = f64::INFINITY;
        for wrong in wrong {
            assert!(Walls::new(&wrong).is_none(), "{wrong:?}");
        }
        assert!(Walls::new(&OccupancyGrid::default()).is_none());
    }
}
