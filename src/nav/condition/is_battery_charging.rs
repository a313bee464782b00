//! `IsBatteryCharging`: checks whether the battery is charging.

use super::is_battery_low::BatteryTopic;
use super::verdict;
use crate::bt::{Behavior, Context, Node, NodeKind, Ports, Tick};
use crate::msg::BatteryState;

/// Reads the newest battery state.
#[derive(Debug)]
pub struct IsBatteryCharging {
    topic: BatteryTopic,
}

impl Node for IsBatteryCharging {
    const ID: &'static str = "IsBatteryCharging";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the battery reports that it is charging; a full battery is not \
        charging. FAILURE before the first message. A message of an earlier navigation counts, because batteries \
        publish seldom.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            topic: BatteryTopic::bind(ports),
        }
    }
}

impl Behavior for IsBatteryCharging {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let charging = self.topic.read(cx, |battery| {
            battery.power_supply_status == BatteryState::POWER_SUPPLY_STATUS_CHARGING
        })?;
        Ok(verdict(charging.unwrap_or(false)))
    }

    fn attach(&self, cx: &mut Context<'_>) {
        self.topic.attach(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::BatteryState;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::Bench;

    #[test]
    fn test_is_battery_charging() {
        let mut bench = Bench::new("<IsBatteryCharging/>");
        assert_eq!(bench.tick(), Failure);
        for (power_supply_status, status) in [
            (BatteryState::POWER_SUPPLY_STATUS_UNKNOWN, Failure),
            (BatteryState::POWER_SUPPLY_STATUS_CHARGING, Success),
            (BatteryState::POWER_SUPPLY_STATUS_DISCHARGING, Failure),
            (BatteryState::POWER_SUPPLY_STATUS_NOT_CHARGING, Failure),
            (BatteryState::POWER_SUPPLY_STATUS_FULL, Failure),
        ] {
            let state = BatteryState {
                power_supply_status,
                ..Default::default()
            };
            bench.publish("/battery_status", state);
            assert_eq!(bench.tick(), status, "{power_supply_status}");
        }
    }
}
