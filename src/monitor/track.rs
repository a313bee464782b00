//! The driven path of the robot on the map, as text for the terminal and as a picture.

use std::fmt::Write;

use super::walls::{Area, Walls};
use crate::msg::Point;

/// The points of a drive, and its goal.
#[derive(Clone, Debug, Default)]
pub struct Track {
    points: Vec<Point>,
    goal: Option<Point>,
    /// The last received plan.
    plan: Vec<Point>,
    walls: Option<Walls>,
}

/// Minimum distance between two points, metres. Closer points are dropped.
const STEP: f64 = 0.02;

impl Track {
    /// Creates an empty track towards `goal`.
    pub fn towards(goal: Point) -> Self {
        Self {
            goal: Some(goal),
            ..Self::default()
        }
    }

    /// Adds a position of the robot.
    pub fn add(&mut self, point: Point) {
        let far = self
            .points
            .last()
            .is_none_or(|last| crate::msg::distance_xy(last, &point) >= STEP);
        if far {
            self.points.push(point);
        }
    }

    /// Sets the planned path.
    pub fn set_plan(&mut self, plan: Vec<Point>) {
        self.plan = plan;
    }

    /// Sets the map.
    pub fn set_walls(&mut self, walls: Walls) {
        self.walls = Some(walls);
    }

    /// Driven distance, metres.
    pub fn length(&self) -> f64 {
        self.points
            .windows(2)
            .map(|pair| crate::msg::distance_xy(&pair[0], &pair[1]))
            .sum()
    }

    /// The bounds of the drawing, with a margin: on a map, what is around the track.
    fn bounds(&self) -> Area {
        let all = || self.points.iter().chain(&self.goal).chain(&self.plan);
        let x = all().map(|point| point.x);
        let y = all().map(|point| point.y);
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MAX, f64::min);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MIN, f64::max);
        let margin = if self.walls.is_some() { 1.5 } else { 0.3 };
        let (left, right) = (least(&mut x.clone()) - margin, most(&mut x.clone()) + margin);
        let (bottom, top) = (least(&mut y.clone()) - margin, most(&mut y.clone()) + margin);
        let area = if left > right {
            (-1.0, 1.0, -1.0, 1.0)
        } else {
            (left, right, bottom, top)
        };
        self.walls.as_ref().map_or(area, |walls| walls.clip(area))
    }

    /// Lines of at most `width` characters: `#` wall, `o` start, `*` track, `.` plan, `X` goal.
    pub fn text(&self, width: usize) -> Vec<String> {
        let (left, right, bottom, top) = self.bounds();
        let width = width.clamp(10, 200);
        let metres = (right - left) / (width - 1) as f64;
        // A character is about twice as high as it is wide.
        let height = (((top - bottom) / (2.0 * metres)).ceil() as usize).clamp(3, 40);
        let row_metres = (top - bottom) / (height - 1) as f64;
        let mut rows = vec![vec![' '; width]; height];
        if let Some(walls) = &self.walls {
            for (row, cells) in rows.iter_mut().enumerate() {
                for (column, cell) in cells.iter_mut().enumerate() {
                    let (x, y) = (left + column as f64 * metres, top - row as f64 * row_metres);
                    let (beside, above) = (metres / 2.0, row_metres / 2.0);
                    if walls.is_in((x - beside, x + beside, y - above, y + above)) {
                        *cell = '#';
                    }
                }
            }
        }
        let mut draw = |point: &Point, letter: char| {
            let column = ((point.x - left) / metres).round() as usize;
            let row = ((top - point.y) / row_metres).round() as usize;
            if let Some(cell) = rows.get_mut(row).and_then(|row| row.get_mut(column)) {
                *cell = letter;
            }
        };
        for point in &self.plan {
            draw(point, '.');
        }
        for point in &self.points {
            draw(point, '*');
        }
        if let Some(goal) = &self.goal {
            draw(goal, 'X');
        }
        if let Some(start) = self.points.first() {
            draw(start, 'o');
        }
        rows.into_iter()
            .map(|row| row.into_iter().collect::<String>().trim_end().to_owned())
            .collect()
    }

    /// An SVG picture with 100 pixels per metre.
    pub fn svg(&self) -> String {
        let (left, right, bottom, top) = self.bounds();
        let (width, height) = ((right - left) * 100.0, (top - bottom) * 100.0);
        let at = |point: &Point| ((point.x - left) * 100.0, (top - point.y) * 100.0);
        let line = |points: &[Point]| {
            points.iter().fold(String::new(), |mut out, point| {
                let (x, y) = at(point);
                let _ = write!(out, "{x:.1},{y:.1} ");
                out
            })
        };
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        let walls = self
            .walls
            .iter()
            .flat_map(|walls| walls.rectangles((left, right, bottom, top)));
        for (west, east, south, north) in walls {
            let (x, y) = ((west - left) * 100.0, (top - north) * 100.0);
            let (wide, high) = ((east - west) * 100.0, (north - south) * 100.0);
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" fill=\"#667\"/>"
            );
        }
        for metre in left.ceil() as i64..=right.floor() as i64 {
            let x = (metre as f64 - left) * 100.0;
            let _ = writeln!(
                out,
                "<line x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{height:.1}\" stroke=\"#eee\"/>"
            );
        }
        for metre in bottom.ceil() as i64..=top.floor() as i64 {
            let y = (top - metre as f64) * 100.0;
            let _ = writeln!(
                out,
                "<line x1=\"0\" y1=\"{y:.1}\" x2=\"{width:.1}\" y2=\"{y:.1}\" stroke=\"#eee\"/>"
            );
        }
        for (points, style) in [
            (
                &self.plan,
                "stroke=\"#9ab\" stroke-dasharray=\"6 6\" stroke-width=\"2\"",
            ),
            (
                &self.points,
                "stroke=\"#06c\" stroke-width=\"4\" stroke-linejoin=\"round\"",
            ),
        ] {
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" {style}/>",
                line(points).trim_end()
            );
        }
        for (point, colour) in [(self.points.first(), "#080"), (self.goal.as_ref(), "#c00")] {
            if let Some((x, y)) = point.map(at) {
                let _ = writeln!(
                    out,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\" fill=\"{colour}\"/>"
                );
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::{MapMetaData, OccupancyGrid};

    fn point(x: f64, y: f64) -> Point {
        Point { x, y, z: 0.0 }
    }

    #[test]
    fn the_drawing_shows_start_track_and_goal() {
        let mut track = Track::towards(point(2.0, 1.0));
        for step in 0..=20 {
            track.add(point(f64::from(step) * 0.1, f64::from(step) * 0.05));
        }
        assert!((track.length() - 5.0_f64.sqrt()).abs() < 1e-6);
        let lines = track.text(40);
        assert!(lines.first().is_some_and(|line| line.trim().is_empty()));
        assert_eq!(lines.concat().matches('X').count(), 1);
        assert_eq!(lines.concat().matches('o').count(), 1);
        assert!(track.svg().contains("polyline"));
    }

    #[test]
    fn an_empty_track_is_drawn_too() {
        assert!(!Track::default().text(40).is_empty());
        assert!(Track::default().svg().ends_with("</svg>\n"));
    }

    #[test]
    fn the_drawing_shows_the_walls_of_the_map() {
        let mut track = Track::towards(point(3.0, 1.5));
        for step in 0..=20 {
            track.add(point(1.0 + f64::from(step) * 0.1, 1.5));
        }
        // A room of 4 by 3 m with walls of 0.5 m.
        let is_wall = |column: i32, row: i32| !(1..7).contains(&column) || !(1..5).contains(&row);
        let cells =
            (0..6).flat_map(|row| (0..8).map(move |column| if is_wall(column, row) { 100 } else { 0 }));
        let grid = OccupancyGrid {
            info: MapMetaData {
                resolution: 0.5,
                width: 8,
                height: 6,
                ..MapMetaData::default()
            },
            data: cells.collect(),
            ..OccupancyGrid::default()
        };
        track.set_walls(Walls::new(&grid).unwrap());
        let text = track.text(33);
        assert_eq!(text.first().unwrap(), &"#".repeat(33), "{text:#?}");
        assert_eq!(text.first(), text.last());
        let middle = &text[text.len() / 2];
        assert!(
            middle.starts_with("####") && middle.ends_with("####"),
            "{text:#?}"
        );
        assert!(middle.contains("o**") && middle.contains("**X"), "{text:#?}");
        let svg = track.svg();
        assert!(svg.contains("viewBox=\"0 0 400 300\""), "{svg}");
        assert_eq!(svg.matches("fill=\"#667\"").count(), 10, "{svg}");
    }
}
