//! The statuses of the node for `/diagnostics`: one file per part. Also decides when to send them.
//!
//! | status | worse than OK |
//! |---|---|
//! | `navtree: ticks` | ticks were missed in the last ten seconds; a leaf keeps the tick thread |
//! | `navtree: goals` | a goal has not stopped in time, its server is gone, or it was given up |
//! | `navtree: servers` | the tree calls servers that are absent |
//! | `navtree: tree` | a tree was refused in the last minute |

mod condition;
mod goals;
#[cfg(feature = "ros")]
mod publish;
mod servers;
mod ticks;
mod tree;

use std::time::Duration;

use condition::Condition;

pub use goals::GoalsSeen;
#[cfg(feature = "ros")]
pub use publish::publish;
pub use servers::ServersSeen;
pub use ticks::TicksSeen;
pub use tree::TreeSeen;

use crate::bt::Time;
use crate::msg::{DiagnosticLevel, DiagnosticStatus};

/// The observed state of the node at one moment.
#[derive(Clone, Debug)]
pub struct Seen<'s> {
    /// The tick thread.
    pub ticks: TicksSeen<'s>,
    /// The goals on servers.
    pub goals: GoalsSeen,
    /// The servers of the tree.
    pub servers: ServersSeen,
    /// The trees.
    pub tree: TreeSeen,
}

/// Evaluates the observed state and decides when to send it.
#[derive(Debug)]
pub struct Diagnostics {
    /// The full name of the node.
    hardware_id: String,
    period: Duration,
    window: ticks::Window,
    told: Option<(Time, Vec<DiagnosticLevel>)>,
}

impl Diagnostics {
    /// Creates the diagnostics of a node with this full name, sent every `period`.
    pub fn new(hardware_id: impl Into<String>, period: Duration) -> Self {
        Self {
            hardware_id: hardware_id.into(),
            period,
            window: ticks::Window::default(),
            told: None,
        }
    }

    /// Makes the next statuses due at once, for a new subscriber.
    pub fn forget(&mut self) {
        self.told = None;
    }

    /// The statuses, if they are due: after a period, and at once if one got worse.
    pub fn check(&mut self, seen: &Seen<'_>, now: Time) -> Option<Vec<DiagnosticStatus>> {
        let conditions = [
            ("navtree: ticks", self.window.status(seen.ticks, now)),
            ("navtree: goals", goals::status(&seen.goals)),
            ("navtree: servers", servers::status(&seen.servers)),
            ("navtree: tree", tree::status(&seen.tree)),
        ];
        let levels: Vec<_> = conditions.iter().map(|(_, condition)| condition.level).collect();
        if let Some((at, told)) = &self.told {
            let worse = levels.iter().zip(told).any(|(now, before)| now > before);
            if !worse && now.since(*at) < self.period {
                return None;
            }
        }
        self.told = Some((now, levels));
        Some(
            conditions
                .map(|(name, condition)| self.named(name, condition))
                .into(),
        )
    }

    fn named(&self, name: &str, condition: Condition) -> DiagnosticStatus {
        DiagnosticStatus {
            level: condition.level,
            name: name.to_owned(),
            message: condition.message,
            hardware_id: self.hardware_id.clone(),
            values: condition.values,
        }
    }
}

#[cfg(test)]
pub(super) use tests::tick_status;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::navigator::{NavigatorKind, Snapshot, TickStatistics, TickStatus};

    /// The status of a thread that has done nothing.
    pub(in crate::monitor) fn tick_status() -> TickStatus {
        TickStatus {
            statistics: TickStatistics::default(),
            period: Duration::from_millis(10),
            is_paused: false,
            navigator: Snapshot {
                last_end: None,
                kind: NavigatorKind::ToPose,
                is_running: false,
                is_stopping: false,
                tree: None,
                servers: Vec::new(),
            },
        }
    }

    /// A value of a condition.
    pub(super) fn value<'c>(condition: &'c Condition, key: &str) -> &'c str {
        let found = condition.values.iter().find(|value| value.key == key);
        found.map_or_else(|| panic!("no `{key}` in {condition:#?}"), |value| &value.value)
    }

    #[test]
    fn diagnostics_are_published_every_period_and_at_once_when_one_gets_worse() {
        let tick_status = tick_status();
        let mut diagnostics = Diagnostics::new("/robot1/bt_navigator", Duration::from_secs(1));
        let mut told = Vec::new();
        for tenth in 0..40_u64 {
            let now = Time::from_millis(100 * tenth);
            // The server is absent from 1.3 s to 2.6 s.
            let absent = (13..26).contains(&tenth).then(|| "spin".into());
            let seen = Seen {
                ticks: TicksSeen {
                    tick_status: Some(&tick_status),
                    asked: now,
                    leaf: None,
                },
                goals: GoalsSeen::default(),
                servers: ServersSeen {
                    present: vec!["wait".into()],
                    absent: absent.into_iter().collect(),
                },
                tree: TreeSeen {
                    defaults: [Some("a.xml".to_owned()), None],
                    ..TreeSeen::default()
                },
            };
            if let Some(statuses) = diagnostics.check(&seen, now) {
                assert!(
                    statuses
                        .iter()
                        .all(|status| status.hardware_id == "/robot1/bt_navigator")
                );
                let names: Vec<_> = statuses.iter().map(|status| status.name.as_str()).collect();
                assert_eq!(
                    names,
                    [
                        "navtree: ticks",
                        "navtree: goals",
                        "navtree: servers",
                        "navtree: tree"
                    ]
                );
                told.push((tenth, statuses.iter().map(|status| status.level as u8).max()));
            }
        }
        let (ok, warn) = (Some(0), Some(1));
        assert_eq!(told, [(0, ok), (10, ok), (13, warn), (23, warn), (33, ok)]);
    }
}
