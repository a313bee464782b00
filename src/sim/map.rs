//! The static map: walls on a grid, from a text or a Nav2 map file.

use std::fmt;
use std::fs;
use std::path::{Path as FilePath, PathBuf};

use serde::Deserialize;

use super::pgm;
use crate::msg::{FrameId, Header, MapMetaData, OccupancyGrid, Pose};

/// The reason why a map could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The YAML file is not a map description.
    #[error("{path}: not a map description: {source}")]
    Yaml {
        /// The file.
        path: PathBuf,
        /// Line, column and reason.
        source: serde_yaml::Error,
    },
    /// The image cannot be decoded.
    #[error("{path}: {source}")]
    Image {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: pgm::PgmError,
    },
    /// A character that text maps do not allow.
    #[error("line {line}, column {column} of the map: `{character}`; walls are `#`, free is `.` or a blank")]
    Character {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The character.
        character: char,
    },
    /// The map is empty, or a number is invalid.
    #[error("{0}")]
    Unusable(String),
}

/// A grid of walls.
#[derive(Clone, PartialEq)]
pub struct Map {
    /// Size of a cell, in metres.
    pub resolution: f64,
    /// Number of cells along x.
    pub width: usize,
    /// Number of cells along y.
    pub height: usize,
    /// The lower left corner, in metres.
    pub origin: (f64, f64),
    /// The walls row by row, from the lowest y.
    walls: Vec<bool>,
    /// Distance from the middle of each cell to the edge of the nearest wall cell, in metres. Computed once, because
    /// planner, controller and drive read it many times per step.
    clearance: Vec<f32>,
}

/// Maximum number of cells. It is larger than a usual map, and a wrong resolution soon exceeds it.
const MAX_CELLS: usize = 64 << 20;

impl Map {
    /// Creates a map from a picture in text: `#` is wall, `.` or blank is free, the first row has the largest y, rows
    /// end with a line break or `/`, short rows are filled with free cells. `origin` is the lower left corner.
    ///
    /// # Errors
    /// Another character, no rows, or a resolution that is not positive.
    pub fn from_text(text: &str, resolution: f64, origin: (f64, f64)) -> Result<Self, MapError> {
        let rows: Vec<&str> = text
            .trim_matches(['\n', '\r'])
            .split(['\n', '/'])
            .map(str::trim_end)
            .collect();
        let width = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
        let mut walls = vec![false; width * rows.len()];
        for (line, row) in rows.iter().enumerate() {
            for (column, character) in row.chars().enumerate() {
                walls[(rows.len() - 1 - line) * width + column] = match character {
                    '#' => true,
                    '.' | ' ' => false,
                    character => {
                        return Err(MapError::Character {
                            line: line + 1,
                            column: column + 1,
                            character,
                        });
                    }
                };
            }
        }
        Self::new(resolution, width, rows.len(), origin, walls)
    }

    /// Loads a map from a file: a map_server YAML with a PGM image (trinary mode), or any other file as text for
    /// [`Map::from_text`] with `resolution` and `origin`.
    ///
    /// # Errors
    /// With the file's name: unreadable, not a map, or an unsupported image.
    pub fn from_file(path: &FilePath, resolution: f64, origin: (f64, f64)) -> Result<Self, MapError> {
        let text = read(path)?;
        let text = String::from_utf8_lossy(&text);
        if !path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            return Self::from_text(&text, resolution, origin);
        }
        let description: Description = serde_yaml::from_str(&text).map_err(|source| MapError::Yaml {
            path: path.to_owned(),
            source,
        })?;
        let image_path = path
            .parent()
            .unwrap_or(FilePath::new(""))
            .join(&description.image);
        let image = pgm::decode(&read(&image_path)?).map_err(|source| MapError::Image {
            path: image_path,
            source,
        })?;
        let mut walls = vec![false; image.width * image.height];
        for (row, pixels) in image.pixels.chunks(image.width.max(1)).enumerate() {
            for (column, brightness) in pixels.iter().enumerate() {
                let occupancy = if description.negate == 0 {
                    1.0 - brightness
                } else {
                    *brightness
                };
                walls[(image.height - 1 - row) * image.width + column] =
                    occupancy > description.occupied_thresh;
            }
        }
        let [x, y, _] = description.origin;
        Self::new(description.resolution, image.width, image.height, (x, y), walls)
    }

    fn new(
        resolution: f64,
        width: usize,
        height: usize,
        origin: (f64, f64),
        walls: Vec<bool>,
    ) -> Result<Self, MapError> {
        if walls.is_empty() {
            return Err(MapError::Unusable("the map has no cells".into()));
        }
        if walls.len() > MAX_CELLS {
            return Err(MapError::Unusable(format!(
                "the map has {} cells, more than the maximum of {MAX_CELLS}",
                walls.len()
            )));
        }
        if !(resolution.is_finite() && resolution > 0.0 && origin.0.is_finite() && origin.1.is_finite()) {
            return Err(MapError::Unusable(format!(
                "resolution {resolution} or origin {origin:?} is invalid: the resolution is in metres per cell, \
                 above 0"
            )));
        }
        let clearance = distances(&walls, width, height)
            .into_iter()
            .map(|cells| ((f64::from(cells) - 0.5) * resolution) as f32)
            .collect();
        Ok(Self {
            resolution,
            width,
            height,
            origin,
            walls,
            clearance,
        })
    }

    /// Returns whether the point is on the map.
    pub fn contains(&self, x: f64, y: f64) -> bool {
        self.index(x, y).is_some()
    }

    /// Returns whether the point is in a wall. There are no walls outside the map.
    pub fn is_wall(&self, x: f64, y: f64) -> bool {
        self.index(x, y).is_some_and(|index| self.walls[index])
    }

    /// The map as a message.
    pub fn grid(&self, frame: &FrameId) -> OccupancyGrid {
        let cells = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        OccupancyGrid {
            header: Header::in_frame(frame.clone()),
            info: MapMetaData {
                resolution: self.resolution as f32,
                width: cells(self.width),
                height: cells(self.height),
                origin: Pose::planar(self.origin.0, self.origin.1, 0.0),
                ..MapMetaData::default()
            },
            data: self
                .walls
                .iter()
                .map(|is_wall| if *is_wall { 100 } else { 0 })
                .collect(),
        }
    }

    /// Distance from the point to the nearest wall, in metres; negative inside a wall, infinite outside the map. It is
    /// interpolated between the middles of cells: exact along straight walls, up to a fifth of a cell too large at a
    /// corner. Without interpolation it would jump by a cell, and a robot beside a wall would get "free" and then
    /// "blocked".
    pub fn clearance(&self, x: f64, y: f64) -> f64 {
        if !self.contains(x, y) {
            return f64::INFINITY;
        }
        let column = ((x - self.origin.0) / self.resolution - 0.5).clamp(0.0, (self.width - 1) as f64);
        let row = ((y - self.origin.1) / self.resolution - 0.5).clamp(0.0, (self.height - 1) as f64);
        let at =
            |column: f64, row: f64| f64::from(self.clearance[row as usize * self.width + column as usize]);
        let interpolate = |a: f64, b: f64, share: f64| a + (b - a) * share;
        let (left, right, column_fraction) = (column.floor(), column.ceil(), column.fract());
        let lower = interpolate(at(left, row.floor()), at(right, row.floor()), column_fraction);
        let upper = interpolate(at(left, row.ceil()), at(right, row.ceil()), column_fraction);
        interpolate(lower, upper, row.fract())
    }

    /// Lower left and upper right corner, in metres.
    pub fn bounds(&self) -> ((f64, f64), (f64, f64)) {
        let (x, y) = self.origin;
        (
            (x, y),
            (
                x + self.width as f64 * self.resolution,
                y + self.height as f64 * self.resolution,
            ),
        )
    }

    fn index(&self, x: f64, y: f64) -> Option<usize> {
        let column = ((x - self.origin.0) / self.resolution).floor();
        let row = ((y - self.origin.1) / self.resolution).floor();
        let inside = column >= 0.0 && row >= 0.0 && column < self.width as f64 && row < self.height as f64;
        inside.then(|| row as usize * self.width + column as usize)
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Map({}x{} cells of {} m)",
            self.width, self.height, self.resolution
        )
    }
}

/// The used fields of map_server's YAML.
#[derive(Deserialize)]
struct Description {
    image: PathBuf,
    resolution: f64,
    origin: [f64; 3],
    #[serde(default)]
    negate: u8,
    #[serde(default = "default_threshold")]
    occupied_thresh: f64,
}

fn default_threshold() -> f64 {
    0.65
}

fn read(path: &FilePath) -> Result<Vec<u8>, MapError> {
    fs::read(path).map_err(|source| MapError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

/// The distance, in cells, from each cell's middle to the nearest wall cell's middle (Felzenszwalb and
/// Huttenlocher, "Distance transforms of sampled functions", 2012): lower envelopes of parabolas, first along
/// columns, then along rows; linear in the number of cells.
fn distances(walls: &[bool], width: usize, height: usize) -> Vec<f32> {
    // Larger than any distance, and its square is still an exact integer in f64.
    let max_distance = (width + height) as f64;
    let mut squares: Vec<f64> = walls
        .iter()
        .map(|wall| if *wall { 0.0 } else { max_distance * max_distance })
        .collect();
    let mut line = Vec::new();
    for column in 0..width {
        line.clear();
        line.extend((0..height).map(|row| squares[row * width + column]));
        for (row, value) in envelope(&line).into_iter().enumerate() {
            squares[row * width + column] = value;
        }
    }
    for row in squares.chunks_mut(width.max(1)) {
        let lower = envelope(row);
        row.copy_from_slice(&lower);
    }
    squares.into_iter().map(|square| square.sqrt() as f32).collect()
}

/// For each i the minimum of `values[j] + (i - j)²`.
fn envelope(values: &[f64]) -> Vec<f64> {
    let crossing = |a: usize, b: usize| {
        let (x, y) = (a as f64, b as f64);
        ((values[b] + y * y) - (values[a] + x * x)) / (2.0 * (y - x))
    };
    let mut parabolas: Vec<(usize, f64)> = Vec::new();
    for index in 0..values.len() {
        while let Some(&(last, start)) = parabolas.last() {
            if crossing(last, index) > start {
                break;
            }
            parabolas.pop();
        }
        let start = parabolas
            .last()
            .map_or(f64::NEG_INFINITY, |&(last, _)| crossing(last, index));
        parabolas.push((index, start));
    }
    let mut current = 0;
    (0..values.len())
        .map(|index| {
            while parabolas
                .get(current + 1)
                .is_some_and(|&(_, start)| start <= index as f64)
            {
                current += 1;
            }
            let (center, _) = parabolas[current];
            values[center] + (index as f64 - center as f64).powi(2)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Map, MapError, distances};
    use std::fs;

    const ROOM_MAP: &str = "#####\n#...#\n#.#.#\n#...#\n#####";

    #[test]
    fn text_is_drawn_with_y_up() {
        let map = Map::from_text("..#\n...", 1.0, (10.0, 20.0)).unwrap();
        assert!(map.is_wall(12.5, 21.5));
        assert!(!map.is_wall(12.5, 20.5));
        assert!(map.contains(10.0, 20.0) && !map.contains(13.0, 20.0) && !map.contains(f64::NAN, 0.0));
        assert_eq!(map, Map::from_text("  #/", 1.0, (10.0, 20.0)).unwrap());
    }

    #[test]
    fn wrong_text_is_located() {
        let error = Map::from_text("...\n.x.", 1.0, (0.0, 0.0)).unwrap_err();
        assert!(
            matches!(
                error,
                MapError::Character {
                    line: 2,
                    column: 2,
                    character: 'x'
                }
            ),
            "{error}"
        );
        assert!(Map::from_text("", 1.0, (0.0, 0.0)).is_err());
        assert!(Map::from_text("..", 0.0, (0.0, 0.0)).is_err());
    }

    #[test]
    fn clearance_is_distance_to_the_nearest_wall() {
        let map = Map::from_text(ROOM_MAP, 1.0, (0.0, 0.0)).unwrap();
        assert!((map.clearance(1.5, 1.5) - 0.5).abs() < 1e-6);
        assert!(
            (map.clearance(1.5, 1.2) - 0.2).abs() < 1e-6,
            "{}",
            map.clearance(1.5, 1.2)
        );
        assert!(map.clearance(2.5, 2.5) < 0.0 && map.clearance(0.1, 0.1) < 0.0);
        assert_eq!(map.clearance(-1.0, 0.0), f64::INFINITY);
    }

    #[test]
    fn distances_equal_brute_force() {
        let (width, height) = (13, 9);
        let walls: Vec<bool> = (0..width * height).map(|index| index % 17 == 3).collect();
        for (index, distance) in distances(&walls, width, height).into_iter().enumerate() {
            let (x, y) = ((index % width) as f64, (index / width) as f64);
            let expected = walls
                .iter()
                .enumerate()
                .filter(|(_, wall)| **wall)
                .map(|(wall, _)| (x - (wall % width) as f64).hypot(y - (wall / width) as f64))
                .fold(f64::INFINITY, f64::min);
            assert!(
                (f64::from(distance) - expected).abs() < 1e-4,
                "{x} {y}: {distance} {expected}"
            );
        }
    }

    #[test]
    fn reads_a_map_server_file() {
        let folder = std::env::temp_dir().join(format!("navtree-map-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join("room.pgm"),
            b"P2\n# two rows\n3 2\n255\n0 254 205\n254 254 254\n",
        )
        .unwrap();
        let file = folder.join("room.yaml");
        let yaml = "image: room.pgm\nmode: trinary\nresolution: 0.5\norigin: [-1.0, 2.0, 0]\nnegate: 0\n\
                    occupied_thresh: 0.65\nfree_thresh: 0.25\n";
        fs::write(&file, yaml).unwrap();
        let map = Map::from_file(&file, 9.0, (9.0, 9.0)).unwrap();
        fs::write(folder.join("room.pgm"), b"P9").unwrap();
        let error = Map::from_file(&file, 9.0, (9.0, 9.0)).unwrap_err().to_string();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((map.width, map.height, map.resolution), (3, 2, 0.5));
        assert_eq!(map.bounds(), ((-1.0, 2.0), (0.5, 3.0)));
        assert!(map.is_wall(-0.75, 2.75), "black, top left");
        assert!(!map.is_wall(0.25, 2.75), "unknown is no wall");
        assert!(error.contains("room.pgm"), "{error}");
    }
}
