//! The battery of the simulated robot.

use crate::msg::{BatteryState, FrameId, Header, Stamp};

use super::plane::PlanarPose;
use super::settings::Base;
use super::space::Disc;

/// A battery that drains with time and distance, and charges at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Battery {
    /// Charge, from 0 to 1.
    pub charge: f64,
    /// The robot is at the charger.
    pub charging: bool,
    charger: Option<Disc>,
}

/// Reads `x y radius`; an empty text means no charger.
///
/// # Errors
/// A sentence.
pub fn parse_charger(text: &str) -> Result<Option<Disc>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let numbers: Vec<f64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers[..] {
        [x, y, radius]
            if text.split_whitespace().count() == 3 && x.is_finite() && y.is_finite() && radius > 0.0 =>
        {
            Ok(Some(Disc { x, y, radius }))
        }
        _ => Err(format!("`{text}` is not a place; write `x y radius` in metres")),
    }
}

impl Battery {
    /// The battery at the start.
    pub fn new(settings: &Base) -> Self {
        Self {
            charge: settings.battery_charge.min(1.0),
            charging: false,
            charger: parse_charger(&settings.charger).unwrap_or_default(),
        }
    }

    /// Sets another charger; the charge stays.
    pub fn configure(&mut self, settings: &Base) {
        self.charger = parse_charger(&settings.charger).unwrap_or_default();
    }

    /// Advances by `seconds`, in which the robot drove `metres`.
    pub fn step(&mut self, settings: &Base, robot: &PlanarPose, seconds: f64, metres: f64) {
        self.charging = self
            .charger
            .is_some_and(|charger| charger.clearance(robot.x, robot.y) <= 0.0);
        let gain = if self.charging {
            settings.charging_rate * seconds
        } else {
            0.0
        };
        let loss = settings.battery_drain * seconds + settings.battery_drain_driving * metres;
        self.charge = (self.charge + gain - loss).clamp(0.0, 1.0);
    }

    /// The state message. The voltage falls by a quarter from full to empty, the usual range of a lithium pack.
    pub fn state(&self, settings: &Base, stamp: Stamp, frame: &FrameId) -> BatteryState {
        BatteryState {
            header: Header::new(stamp, FrameId::clone(frame)),
            voltage: (settings.battery_voltage * (0.75 + 0.25 * self.charge)) as f32,
            current: f32::NAN,
            charge: f32::NAN,
            capacity: f32::NAN,
            percentage: self.charge as f32,
            power_supply_status: if !self.charging {
                BatteryState::POWER_SUPPLY_STATUS_DISCHARGING
            } else if self.charge >= 1.0 {
                BatteryState::POWER_SUPPLY_STATUS_FULL
            } else {
                BatteryState::POWER_SUPPLY_STATUS_CHARGING
            },
            power_supply_health: 0,
            present: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Battery, parse_charger};
    use crate::msg::{BatteryState, Stamp};
    use crate::sim::plane::PlanarPose;
    use crate::sim::settings::Base;

    #[test]
    fn drains_and_charges() {
        let settings = Base {
            battery_drain: 0.01,
            battery_drain_driving: 0.02,
            charger: "5 0 0.5".into(),
            charging_rate: 0.11,
            ..Base::default()
        };
        let mut battery = Battery::new(&settings);
        battery.step(&settings, &PlanarPose::default(), 10.0, 5.0);
        assert!((battery.charge - 0.8).abs() < 1e-9);
        let state = battery.state(&settings, Stamp::ZERO, &"base_link".into());
        assert_eq!(
            state.power_supply_status,
            BatteryState::POWER_SUPPLY_STATUS_DISCHARGING
        );
        battery.step(&settings, &PlanarPose::new(5.2, 0.0, 0.0), 1.0, 0.0);
        assert!((battery.charge - 0.9).abs() < 1e-9 && battery.charging);
        battery.step(&settings, &PlanarPose::new(5.2, 0.0, 0.0), 99.0, 0.0);
        let state = battery.state(&settings, Stamp::ZERO, &"base_link".into());
        assert_eq!(state.power_supply_status, BatteryState::POWER_SUPPLY_STATUS_FULL);
        assert_eq!((state.percentage, state.voltage), (1.0, 24.0));
    }

    #[test]
    fn chargers_are_read() {
        assert_eq!(parse_charger(" "), Ok(None));
        assert!(parse_charger("1 2 0.5").unwrap().is_some());
        for wrong in ["1 2", "1 2 x", "1 2 3 4", "1 2 0", "nan 0 1"] {
            assert!(parse_charger(wrong).is_err(), "{wrong}");
        }
    }
}
