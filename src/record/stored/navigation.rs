//! The stored form of the beginning of a navigation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::VERSION;
use crate::bt::{Checkpoint, EntryState, Memory, NodeIndex, ScopeId, SlotId, Time};
use crate::goal::GoalId;
use crate::msg::{PoseStamped, Stamp};
use crate::nav::{OdometrySample, Sample, Settings, TopicId, TopicSpec, WorldCheckpoint};
use crate::record::codec::{Encoded, StoredValue, decode_payload, encode_payload, type_info};
use crate::record::event::{Navigation, NavigatorKeys};

/// The stored form of a [`Navigation`]. The files of its tree are attachments.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "they are those of Navigation")]
pub struct StoredNavigation {
    /// The version of the format.
    pub version: u32,
    pub action: String,
    pub goal: GoalId,
    /// The ID of the main tree.
    pub tree: String,
    /// The names of the files of the tree; the requested one is first.
    pub files: Vec<String>,
    /// The path of each node.
    pub nodes: Vec<String>,
    /// The scope and the key of each entry of the definition.
    pub slots: Vec<(ScopeId, Arc<str>)>,
    pub poses: Vec<PoseStamped>,
    pub accepted: Time,
    pub run_accepted: Time,
    pub stamp: Stamp,
    pub settings: Settings,
    pub keys: NavigatorKeys,
    pub checkpoint: StoredCheckpoint,
    pub world: StoredWorld,
}

/// The stored form of a [`Checkpoint`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "they are those of Checkpoint")]
pub struct StoredCheckpoint {
    pub ticks: u64,
    pub ticked: [Time; 2],
    pub random: u64,
    /// Index, count and mark of each node.
    pub memories: Vec<(u32, u32, u64)>,
    pub states: Vec<(NodeIndex, StoredValue)>,
    pub entries: Vec<StoredEntry>,
    pub added: Vec<(ScopeId, Arc<str>)>,
}

/// The stored form of an [`EntryState`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "they are those of EntryState")]
pub struct StoredEntry {
    pub value: Option<StoredValue>,
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    pub sequence: u64,
    pub stamp: Time,
}

/// The stored form of a [`WorldCheckpoint`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "they are those of WorldCheckpoint")]
pub struct StoredWorld {
    pub next_ticket: u64,
    pub messages: u64,
    pub topics: Vec<StoredSample>,
    pub closed: Vec<(TopicId, TopicSpec)>,
    pub odometry: Vec<StoredOdometry>,
    pub odometry_arrived: Time,
}

/// The stored form of a [`Sample`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "they are those of Sample")]
pub struct StoredSample {
    pub topic: TopicId,
    pub payload: Option<Encoded>,
    pub count: u64,
    pub order: u64,
    pub received: Time,
}

/// The stored form of an [`OdometrySample`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "they are those of OdometrySample")]
pub struct StoredOdometry {
    pub stamp: Stamp,
    pub twist: crate::msg::Twist,
}

impl StoredNavigation {
    pub(super) fn of(navigation: &Navigation) -> Self {
        Self {
            version: VERSION,
            action: navigation.action.to_owned(),
            goal: navigation.goal,
            tree: navigation.tree.id().to_owned(),
            files: navigation
                .tree
                .files()
                .into_iter()
                .map(|(name, _)| name.to_owned())
                .collect(),
            nodes: navigation
                .tree
                .nodes()
                .map(|(_, node)| node.path.to_string())
                .collect(),
            slots: (0..navigation.tree.slots.len())
                .map(|slot| {
                    let slot = SlotId::from_index(u32::try_from(slot).unwrap_or(u32::MAX));
                    let key = navigation.tree.key(slot);
                    key.map_or_else(
                        || (ScopeId::ROOT, "".into()),
                        |(scope, key)| (scope, Arc::clone(key)),
                    )
                })
                .collect(),
            poses: navigation.poses.clone(),
            accepted: navigation.accepted,
            run_accepted: navigation.run_accepted,
            stamp: navigation.stamp,
            settings: navigation.settings.clone(),
            keys: navigation.keys.clone(),
            checkpoint: StoredCheckpoint::of(&navigation.checkpoint),
            world: StoredWorld::of(&navigation.world),
        }
    }
}

impl StoredEntry {
    fn of(state: &EntryState) -> Self {
        Self {
            value: state.value.as_ref().map(StoredValue::of),
            type_name: state.info.map(|info| info.name.to_owned()),
            sequence: state.sequence,
            stamp: state.stamp,
        }
    }
}

impl StoredCheckpoint {
    fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            ticks: checkpoint.ticks,
            ticked: checkpoint.ticked,
            random: checkpoint.random,
            memories: checkpoint
                .memories
                .iter()
                .map(|memory| (memory.index, memory.count, memory.mark))
                .collect(),
            states: checkpoint
                .states
                .iter()
                .map(|(node, state)| (*node, StoredValue::of(state)))
                .collect(),
            entries: checkpoint.entries.iter().map(StoredEntry::of).collect(),
            added: checkpoint.added.clone(),
        }
    }

    /// The checkpoint. What cannot be read back is reported and left out.
    pub fn checkpoint(&self, problems: &mut Vec<String>) -> Checkpoint {
        let mut value = |stored: &StoredValue| match stored.value() {
            Ok(value) => Some(value),
            Err(problem) => {
                problems.push(problem);
                None
            }
        };
        Checkpoint {
            ticks: self.ticks,
            ticked: self.ticked,
            random: self.random,
            memories: self
                .memories
                .iter()
                .map(|(index, count, mark)| Memory {
                    index: *index,
                    count: *count,
                    mark: *mark,
                })
                .collect(),
            states: self
                .states
                .iter()
                .filter_map(|(node, state)| Some((*node, value(state)?)))
                .collect(),
            entries: self
                .entries
                .iter()
                .map(|entry| EntryState {
                    value: entry
                        .value
                        .as_ref()
                        .map(|stored| value(stored).unwrap_or_default()),
                    info: entry.type_name.as_deref().and_then(type_info),
                    sequence: entry.sequence,
                    stamp: entry.stamp,
                })
                .collect(),
            added: self.added.clone(),
        }
    }
}

impl StoredWorld {
    fn of(world: &WorldCheckpoint) -> Self {
        Self {
            next_ticket: world.next_ticket,
            messages: world.messages,
            topics: world
                .topics
                .iter()
                .map(|(topic, sample)| StoredSample {
                    topic: *topic,
                    payload: sample.payload.as_ref().map(encode_payload),
                    count: sample.count,
                    order: sample.order,
                    received: sample.received,
                })
                .collect(),
            closed: world.closed.clone(),
            odometry: world
                .odometry
                .iter()
                .map(|sample| StoredOdometry {
                    stamp: sample.stamp,
                    twist: sample.twist,
                })
                .collect(),
            odometry_arrived: world.odometry_arrived,
        }
    }

    /// The checkpoint. What cannot be read back is reported and left out.
    pub fn checkpoint(&self, problems: &mut Vec<String>) -> WorldCheckpoint {
        let mut payload = |stored: &Encoded| match decode_payload(stored) {
            Ok(payload) => Some(payload),
            Err(problem) => {
                problems.push(problem);
                None
            }
        };
        WorldCheckpoint {
            next_ticket: self.next_ticket,
            messages: self.messages,
            topics: self
                .topics
                .iter()
                .map(|sample| {
                    let restored = Sample {
                        payload: sample.payload.as_ref().and_then(&mut payload),
                        count: sample.count,
                        order: sample.order,
                        received: sample.received,
                    };
                    (sample.topic, restored)
                })
                .collect(),
            closed: self.closed.clone(),
            odometry: self
                .odometry
                .iter()
                .map(|sample| OdometrySample {
                    stamp: sample.stamp,
                    twist: sample.twist,
                })
                .collect(),
            odometry_arrived: self.odometry_arrived,
        }
    }
}
