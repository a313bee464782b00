//! `sensor_msgs/BatteryState`.

use super::declare::messages;
use super::header::Header;

messages! {
    sensor_msgs

    /// The state of a battery. Omitted: temperature, design capacity, technology, the state of single cells, location,
    /// serial number. All numbers are zero by default, as in the interface (which documents NaN for unmeasured ones but
    /// sets no default).
    struct BatteryState {
        /// The time of the measurement.
        header: Header,
        /// Volts.
        voltage: f32,
        /// Amperes, negative while discharging; NaN if not measured.
        current: f32,
        /// Ampere-hours left; NaN if not measured.
        charge: f32,
        /// Ampere-hours when full; NaN if not measured.
        capacity: f32,
        /// Charge from 0 (empty) to 1 (full); NaN if not measured.
        percentage: f32,
        /// One of the `POWER_SUPPLY_STATUS_` constants.
        power_supply_status: u8,
        /// One of the `POWER_SUPPLY_HEALTH_` values of the interface; 0 is unknown.
        power_supply_health: u8,
        /// Whether the battery is present.
        present: bool,
    } omits {
        temperature: f32::NAN,
        design_capacity: f32::NAN,
        power_supply_technology: 0,
        cell_voltage: Vec::new(),
        cell_temperature: Vec::new(),
        location: String::new(),
        serial_number: String::new(),
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
