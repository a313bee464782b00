//! The parameters by which a user overrides the quality of service of a subscription, as in rclcpp.

use r2r::QosProfile;
use r2r::qos::{DurabilityPolicy, HistoryPolicy, ReliabilityPolicy};

use super::{Declaration, ParameterError, ParameterStore, ParameterValue};

/// One policy of a quality of service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The number of messages kept.
    Depth,
    /// Whether messages from before the subscription are received.
    Durability,
    /// Which messages are kept.
    History,
    /// Whether lost messages are sent again.
    Reliability,
}

impl Policy {
    /// All policies of a subscription.
    pub const ALL: [Self; 4] = [Self::Depth, Self::Durability, Self::History, Self::Reliability];
    /// The policies of `/tf_static`, whose messages are always received.
    pub const OF_STATIC: [Self; 3] = [Self::Depth, Self::History, Self::Reliability];

    fn name(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Durability => "durability",
            Self::History => "history",
            Self::Reliability => "reliability",
        }
    }

    /// The allowed values, if they are texts.
    fn values(self) -> &'static [&'static str] {
        match self {
            Self::Depth => &[],
            Self::Durability => &["volatile", "transient_local", "system_default", "best_available"],
            Self::History => &["keep_last", "keep_all", "system_default"],
            Self::Reliability => &["reliable", "best_effort", "system_default", "best_available"],
        }
    }

    fn default_of(self, qos: &QosProfile) -> ParameterValue {
        match self {
            Self::Depth => i64::try_from(qos.depth).unwrap_or(i64::MAX).into(),
            Self::Durability if qos.durability == DurabilityPolicy::TransientLocal => {
                "transient_local".into()
            }
            Self::Durability => "volatile".into(),
            Self::History => "keep_last".into(),
            Self::Reliability if qos.reliability == ReliabilityPolicy::BestEffort => "best_effort".into(),
            Self::Reliability => "reliable".into(),
        }
    }

    fn apply(self, value: &ParameterValue, qos: &mut QosProfile) {
        let text = value.as_str().unwrap_or_default();
        match self {
            Self::Depth => {
                let depth = value.as_integer().and_then(|depth| usize::try_from(depth).ok());
                qos.depth = depth.unwrap_or(qos.depth);
            }
            Self::Durability => {
                qos.durability = match text {
                    "transient_local" => DurabilityPolicy::TransientLocal,
                    "system_default" => DurabilityPolicy::SystemDefault,
                    "best_available" => DurabilityPolicy::BestAvailable,
                    _ => DurabilityPolicy::Volatile,
                }
            }
            Self::History => {
                qos.history = match text {
                    "keep_all" => HistoryPolicy::KeepAll,
                    "system_default" => HistoryPolicy::SystemDefault,
                    _ => HistoryPolicy::KeepLast,
                }
            }
            Self::Reliability => {
                qos.reliability = match text {
                    "best_effort" => ReliabilityPolicy::BestEffort,
                    "system_default" => ReliabilityPolicy::SystemDefault,
                    "best_available" => ReliabilityPolicy::BestAvailable,
                    _ => ReliabilityPolicy::Reliable,
                }
            }
        }
    }
}

/// Declares `qos_overrides.TOPIC.subscription.POLICY` for the policies of a topic, with its full name. Returns `qos`
/// with the overrides.
///
/// # Errors
/// A value that is not allowed.
pub fn declare(
    store: &ParameterStore,
    topic: &str,
    mut qos: QosProfile,
    policies: &[Policy],
) -> Result<QosProfile, ParameterError> {
    for policy in policies {
        let name = policy.name();
        let declaration = Declaration::new(
            &format!("qos_overrides.{topic}.subscription.{name}"),
            policy.default_of(&qos),
            &format!("QoS of the subscription to {topic}: {name}."),
        );
        let declaration = match policy.values() {
            [] => declaration.within(0.0, 1e6),
            values => declaration.validated(&values.join(", "), move |value| {
                let text = value.as_str().unwrap_or_default();
                match values.contains(&text) {
                    true => Ok(()),
                    false => Err(format!("`{text}` is not a {name}: use {}", values.join(", "))),
                }
            }),
        };
        policy.apply(&store.declare(declaration.read_only())?, &mut qos);
    }
    Ok(qos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(given: &[(&str, ParameterValue)]) -> Result<QosProfile, ParameterError> {
        let given = given
            .iter()
            .map(|(policy, value)| (format!("qos_overrides./tf.subscription.{policy}"), value.clone()));
        let store = ParameterStore::new(given);
        declare(&store, "/tf", QosProfile::default().keep_last(100), &Policy::ALL)
    }

    #[test]
    fn what_nobody_overrides_stays() {
        assert_eq!(declared(&[]), Ok(QosProfile::default().keep_last(100)));
    }

    #[test]
    fn overrides_are_honoured_and_others_refused() {
        let given = [
            ("depth", 7_i64.into()),
            ("reliability", "best_effort".into()),
            ("durability", "transient_local".into()),
            ("history", "keep_all".into()),
        ];
        let wanted = QosProfile::default()
            .keep_last(7)
            .keep_all()
            .best_effort()
            .transient_local();
        let found = declared(&given).unwrap();
        assert_eq!(
            (found.depth, found.history, found.reliability, found.durability),
            (7, wanted.history, wanted.reliability, wanted.durability)
        );
        let fault = declared(&[("reliability", "sloppy".into())]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "`sloppy` is not a reliability: use reliable, best_effort, system_default, best_available"
        );
    }
}
