//! `IsBatteryLow`: checks whether the battery is at or below a limit.

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, PortRange, Ports, Text, Tick};
use crate::msg::BatteryState;
use crate::nav::World;
use crate::nav::endpoint::world;
use crate::nav::topic::{Subscription, TopicKind};

/// Compares the newest battery state with a limit.
#[derive(Debug)]
pub struct IsBatteryLow {
    limit: Input<f64>,
    topic: BatteryTopic,
    is_voltage: Input<bool>,
}

/// The port of a battery topic, with its subscription.
#[derive(Debug)]
pub(super) struct BatteryTopic(Input<Text>);

impl BatteryTopic {
    pub(super) fn bind(ports: &mut Ports<'_>) -> Self {
        Self(
            ports
                .input("battery_topic")
                .default("/battery_status")
                .doc("Battery topic.")
                .bind(),
        )
    }

    /// Subscribes at once: the first tick then knows messages published before it.
    pub(super) fn attach(&self, cx: &mut Context<'_>) {
        let mut subscription = cx.take_state::<Subscription>();
        subscription.open_port(cx, TopicKind::BATTERY, &self.0);
        cx.put_state(subscription);
    }

    /// Reads a value of the newest state. `None` before the first message.
    pub(super) fn read<R>(
        &self,
        cx: &mut Context<'_>,
        read: impl FnOnce(&BatteryState) -> R,
    ) -> Result<Option<R>, crate::bt::Thrown> {
        if self.0.slot().is_some() && cx.is_fresh() {
            self.attach(cx);
        }
        let Some(topic) = cx.state::<Subscription>().topic() else {
            return Ok(None);
        };
        let world: &World = world!(cx);
        let payload = world.sample(topic).and_then(|sample| sample.payload.as_ref());
        Ok(payload.and_then(|payload| payload.get()).map(read))
    }
}

impl Node for IsBatteryLow {
    const ID: &'static str = "IsBatteryLow";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the battery is at or below the limit. Before the first message: \
        FAILURE, unless the parameter battery_unknown_is_low is true. A message of an earlier navigation counts, \
        because batteries publish seldom.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            limit: ports
                .input("min_battery")
                .range(PortRange::at_least(0.0))
                .doc("Limit: a ratio from 0 to 1, or a voltage.")
                .required()
                .bind(),
            topic: BatteryTopic::bind(ports),
            is_voltage: ports
                .input("is_voltage")
                .default("false")
                .doc("Whether the limit is a voltage.")
                .bind(),
        };
        if let (Some(limit), Some(false)) = (node.limit.literal(), node.is_voltage.literal())
            && *limit > 1.0
        {
            let message = format!(
                "`min_battery` is {limit}: write a ratio from 0 to 1, or `is_voltage=\"true\"` for volts"
            );
            ports.doubt_of("min_battery", message);
        }
        node
    }
}

impl Behavior for IsBatteryLow {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let limit = self.limit.require(cx)?;
        let is_voltage = self.is_voltage.require(cx)?;
        let level = self.topic.read(cx, |battery| {
            f64::from(if is_voltage {
                battery.voltage
            } else {
                battery.percentage
            })
        })?;
        // An unmeasured level is NaN and counts as unknown, like a missing message.
        Ok(match level.filter(|level| !level.is_nan()) {
            Some(level) => verdict(level <= limit),
            None => verdict(world!(cx).settings.battery_unknown_is_low),
        })
    }

    fn attach(&self, cx: &mut Context<'_>) {
        self.topic.attach(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::Bench;

    #[test]
    fn test_is_battery_low_check_low_percentage() {
        let mut bench = Bench::new("<IsBatteryLow min_battery=\"0.5\" battery_topic=\"/battery\"/>");
        for (percentage, status) in [(1.0, Failure), (0.49, Success), (0.51, Failure), (0.0, Success)] {
            bench.publish(
                "/battery",
                BatteryState {
                    percentage,
                    ..Default::default()
                },
            );
            assert_eq!(bench.tick(), status, "{percentage}");
        }
    }

    #[test]
    fn test_is_battery_low_check_low_voltage() {
        let mut bench =
            Bench::new("<IsBatteryLow min_battery=\"5.0\" battery_topic=\"/battery\" is_voltage=\"true\"/>");
        for (voltage, status) in [(10.0, Failure), (4.9, Success), (5.1, Failure), (0.0, Success)] {
            bench.publish(
                "/battery",
                BatteryState {
                    voltage,
                    ..Default::default()
                },
            );
            assert_eq!(bench.tick(), status, "{voltage}");
        }
    }

    #[test]
    fn nav2_4802_a_parameter_decides_before_the_first_battery_message() {
        let mut bench = Bench::new("<IsBatteryLow min_battery=\"0.5\"/>");
        assert_eq!(bench.tick(), Failure);
        bench.world().settings.battery_unknown_is_low = true;
        assert_eq!(bench.tick(), Success);
        bench.publish(
            "/battery_status",
            BatteryState {
                percentage: f32::NAN,
                ..Default::default()
            },
        );
        assert_eq!(bench.tick(), Success, "an unmeasured level is unknown");
    }
}
