//! The names of the numbers in records: servers, topics, frames and parameters. They are known from their first use on,
//! so a recording that begins later begins with them.

use rustc_hash::FxHashMap;

use super::event::{Event, FramesInfo, ServerInfo, TopicInfo, TopicUsage};
use super::stored::StoredRecord;
use crate::goal::ServerId;
use crate::nav::TopicId;

/// The names of all records so far.
#[derive(Clone, Debug, Default)]
pub struct Names {
    servers: FxHashMap<ServerId, ServerInfo>,
    topics: FxHashMap<(TopicId, TopicUsage), TopicInfo>,
    frames: Vec<FramesInfo>,
    parameters: FxHashMap<String, Option<String>>,
}

impl Names {
    /// Takes the name that a record gives, if it gives one.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Server(info) => {
                self.servers.insert(info.server, (**info).clone());
            }
            Event::Topic(info) => {
                self.topics.insert((info.topic, info.usage), (**info).clone());
            }
            Event::Frames(info) => self.frames.push((**info).clone()),
            Event::Parameter(parameter) => {
                self.parameters.insert(parameter.0.clone(), parameter.1.clone());
            }
            _ => {}
        }
    }

    /// The server of a number.
    pub fn server(&self, server: ServerId) -> Option<&ServerInfo> {
        self.servers.get(&server)
    }

    /// The frames of a number.
    pub fn frames(&self, frames: u16) -> Option<&FramesInfo> {
        self.frames.iter().find(|info| info.frames == frames)
    }

    /// All frames, in the order of their numbers.
    pub fn all_frames(&self) -> impl Iterator<Item = &FramesInfo> {
        self.frames.iter()
    }

    /// The names as records, in the order of their numbers.
    pub fn records(&self) -> Vec<StoredRecord> {
        let mut servers: Vec<_> = self.servers.values().collect();
        servers.sort_unstable_by_key(|info| info.server);
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
