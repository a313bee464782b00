//! `nav_msgs/OccupancyGrid`.

use super::declare::messages;
use super::geometry::Pose;
use super::header::{Header, Stamp};

messages! {
    nav_msgs

    /// Size and place of a map.
    struct MapMetaData {
        /// The time when the map was loaded.
        map_load_time: Stamp,
        /// Size of a cell, in m.
        resolution: f32,
        /// Number of cells along x.
        width: u32,
        /// Number of cells along y.
        height: u32,
        /// The lower left corner of the first cell.
        origin: Pose,
    }

    /// A map of cells.
    struct OccupancyGrid {
        /// Frame and time of the map.
        header: Header,
        /// Size and place.
        info: MapMetaData,
        /// The cells row by row, from the lowest y: 0 is free, 100 is occupied, -1 is unknown.
        data: Vec<i8>,
    }
}
