//! The names of the numbers in records: servers, topics, frames and parameters. They are known from their first use on,
//! so a recording that begins later begins with them.

use rustc_hash::FxHashMap;

use super::event::{Event, FramesInfo, ServerInfo, TopicInfo, TopicUsage};
use super::stored::StoredRecord;
use crate::goal::ServerId;
use crate::nav::{Opened, TopicId};

/// The names of all records so far.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// By number and name: two spellings of one name have one number.
    servers: FxHashMap<(ServerId, String), ServerInfo>,
    topics: FxHashMap<(TopicId, TopicUsage), TopicInfo>,
    frames: Vec<FramesInfo>,
    parameters: FxHashMap<String, Option<String>>,
    /// What trees use, if something was closed since the last [`Names::forget_closed`].
    in_use: Option<Opened>,
}

impl Names {
    /// Takes the name that a record gives, if it gives one.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Server(info) => {
                if let Some(in_use) = &mut self.in_use {
                    in_use.add_server(info.server, 1);
                }
                let key = (info.server, info.name.clone());
                self.servers.insert(key, (**info).clone());
            }
            Event::Topic(info) => {
                if let Some(in_use) = &mut self.in_use {
                    in_use.add_topic(info.topic, 1);
                }
                self.topics.insert((info.topic, info.usage), (**info).clone());
            }
            Event::InUse(in_use) => self.in_use = Some((**in_use).clone()),
            Event::Frames(info) => self.frames.push((**info).clone()),
            Event::Parameter(parameter) => {
                self.parameters.insert(parameter.0.clone(), parameter.1.clone());
            }
            _ => {}
        }
    }

    /// Forgets servers and topics that were closed. For the begin of a navigation: the records of the one before name them.
    /// A mission may name new ones for months.
    pub fn forget_closed(&mut self) {
        if let Some(in_use) = self.in_use.take() {
            self.servers.retain(|(server, _), _| in_use.has_server(*server));
            self.topics.retain(|(topic, _), _| in_use.has_topic(*topic));
        }
    }

    /// All frames, in the order of their numbers.
    pub fn all_frames(&self) -> impl Iterator<Item = &FramesInfo> {
        self.frames.iter()
    }

    /// The names as records, in the order of their numbers.
    pub fn records(&self) -> Vec<StoredRecord> {
        let mut servers: Vec<_> = self.servers.values().collect();
        servers.sort_unstable_by_key(|info| (info.server, &info.name));
        let mut topics: Vec<_> = self.topics.values().collect();
        topics.sort_by_key(|info| info.topic);
        let mut parameters: Vec<_> = self.parameters.iter().collect();
        parameters.sort_unstable();
        let servers = servers
            .into_iter()
            .map(|info| StoredRecord::of(&Event::Server(Box::new(info.clone()))));
        let topics = topics
            .into_iter()
            .map(|info| StoredRecord::of(&Event::Topic(Box::new(info.clone()))));
        let frames = self
            .frames
            .iter()
            .map(|info| StoredRecord::of(&Event::Frames(Box::new(info.clone()))));
        let parameters = parameters
            .into_iter()
            .map(|(name, value)| StoredRecord::Parameter(name.clone(), value.clone()));
        servers.chain(topics).chain(frames).chain(parameters).collect()
    }
}
