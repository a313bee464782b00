//! `sensor_msgs/BatteryState`.

use serde::{Deserialize, Serialize};

use super::header::Header;

/// The state of a battery. Omitted: temperature, design capacity, technology, the state of single cells, location,
/// serial number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BatteryState {
    /// The time of the measurement.
    pub header: Header,
    /// Volts.
    pub voltage: f32,
    /// Amperes, negative while discharging; NaN if not measured.
    pub current: f32,
    /// Ampere-hours left; NaN if not measured.
    pub charge: f32,
    /// Ampere-hours when full; NaN if not measured.
    pub capacity: f32,
    /// Charge from 0 (empty) to 1 (full); NaN if not measured.
    pub percentage: f32,
    /// One of the `POWER_SUPPLY_STATUS_` constants.
    pub power_supply_status: u8,
    /// One of the `POWER_SUPPLY_HEALTH_` values of the interface; 0 is unknown.
    pub power_supply_health: u8,
    /// Whether the battery is present.
    pub present: bool,
}

impl Default for BatteryState {
    /// All numbers zero, as in the interface (which documents NaN for unmeasured ones but sets no default).
    fn default() -> Self {
        Self {
            header: Header::default(),
            voltage: 0.0,
            current: 0.0,
            charge: 0.0,
            capacity: 0.0,
            percentage: 0.0,
            power_supply_status: Self::POWER_SUPPLY_STATUS_UNKNOWN,
            power_supply_health: 0,
            present: false,
        }
    }
}

impl BatteryState {
    /// Unknown.
    pub const POWER_SUPPLY_STATUS_UNKNOWN: u8 = 0;
    /// Charging.
    pub const POWER_SUPPLY_STATUS_CHARGING: u8 = 1;
    /// Discharging.
    pub const POWER_SUPPLY_STATUS_DISCHARGING: u8 = 2;
    /// On the charger, not charging.
    pub const POWER_SUPPLY_STATUS_NOT_CHARGING: u8 = 3;
    /// Full.
    pub const POWER_SUPPLY_STATUS_FULL: u8 = 4;
}
