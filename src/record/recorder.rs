//! The flight recorder: keeps the records of the last minutes of a navigation in memory, and writes them to a file.

use std::collections::BTreeMap;
use std::io::{Seek, Write};
use std::time::Duration;

use super::event::{End, Event, Record};
use super::file::{ChannelInfo, McapFile, Message, RECORDS, encode_records};
use super::names::Names;
use super::series::Series;
use super::store::MessageStore;
use super::stored::{StoredRecord, TimedRecord};
use super::stream::Batch;
use crate::bt::Time;
use crate::goal::GoalId;
use crate::msg::Stamp;

/// Number of records in one message. Usually a message has those of one tick.
const MAX_SECTION: usize = 2000;

/// Bytes of the payloads in one message. While ticks are paused, no tick ends a message.
const MAX_SECTION_BYTES: usize = 1 << 20;

/// Limits of what the recorder keeps in memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// `recorder_minutes`.
    pub duration: Duration,
    /// `recorder_megabytes`, in bytes.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(600),
            bytes: 32 << 20,
        }
    }
}

/// Makes recordings of the records of a stream, one for each navigation.
#[derive(Debug)]
pub struct Recorder {
    limits: Limits,
    names: Names,
    current: Option<MemoryRecording>,
}

impl Recorder {
    /// A recorder that keeps this much.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            names: Names::default(),
            current: None,
        }
    }

    /// Takes records. Returns the recordings of the navigations that ended with them.
    pub fn take(&mut self, batch: &Batch) -> Vec<MemoryRecording> {
        let mut ended = Vec::new();
        self.add_lost(batch.lost);
        for record in batch.records.iter() {
            self.names.note(&record.event);
            if let Event::Began(_) = record.event {
                // A navigation without an end: the goal was replaced by one with another tree.
                ended.extend(self.current.take().map(|current| current.with_names(&self.names)));
                self.names.forget_closed();
                let mut began = MemoryRecording::new(record, &self.names);
                // The lost records may be some of this navigation.
                began.add_lost(batch.lost);
                self.current = Some(began);
            }
            if let Event::Ended(end) = &record.event
                && let Some(unended) = self.current.take_if(|current| current.goal_id != end.first_goal)
            {
                // Its end is lost, and so is the beginning of the navigation that ends here.
                ended.push(unended.with_names(&self.names));
            }
            if let Some(current) = &mut self.current {
                current.add(record, self.limits);
                if matches!(record.event, Event::Ended(_)) {
                    ended.extend(self.current.take().map(|current| current.with_names(&self.names)));
                }
            }
        }
        ended
    }

    fn add_lost(&mut self, count: u64) {
        if let Some(current) = &mut self.current {
            current.add_lost(count);
        }
    }

    /// Whether a navigation is being recorded.
    pub fn is_recording(&self) -> bool {
        self.current.is_some()
    }

    /// The current navigation, without the names of its numbers.
    pub(super) fn current(&self) -> Option<&MemoryRecording> {
        self.current.as_ref()
    }

    /// The recording of the current navigation so far.
    pub fn snapshot(&self) -> Option<MemoryRecording> {
        Some(self.current.clone()?.with_names(&self.names))
    }
}

/// A recording in memory.
#[derive(Clone, Debug)]
pub struct MemoryRecording {
    /// The action: `navigate_to_pose`.
    pub action: &'static str,
    /// The goal.
    pub goal_id: GoalId,
    /// ROS time at the beginning.
    pub began: Stamp,
    /// The result, once the navigation has ended.
    pub end: Option<End>,
    files: Vec<(String, String)>,
    channels: Vec<ChannelInfo>,
    /// Names and the beginning of the navigation.
    head: Vec<TimedRecord>,
    messages: MessageStore,
    /// Records for the next message.
    section: Vec<TimedRecord>,
    /// Bytes of their payloads.
    section_bytes: usize,
    pub(super) lost: u64,
    /// The time of the tree at the beginning, and the time since the epoch of ROS in ns.
    origin: (Time, u64),
    series: Option<Series>,
}

impl MemoryRecording {
    fn new(began: &Record, names: &Names) -> Self {
        let mut recording = Self {
            action: "",
            goal_id: GoalId::ZERO,
            began: Stamp::ZERO,
            end: None,
            files: Vec::new(),
            channels: vec![ChannelInfo {
                topic: RECORDS.into(),
                encoding: "msgpack",
                schema: None,
            }],
            head: Vec::new(),
            messages: MessageStore::default(),
            section: Vec::new(),
            section_bytes: 0,
            lost: 0,
            origin: (began.time, 0),
            series: None,
        };
        if let Event::Began(navigation) = &began.event {
            let files = navigation.tree.files().into_iter();
            recording.action = navigation.action;
            recording.goal_id = navigation.goal;
            recording.began = navigation.stamp;
            recording.files = files
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect();
            recording.origin.1 = u64::try_from(navigation.stamp.as_nanos()).unwrap_or(0);
            recording.head.push((began.time, StoredRecord::of(&began.event)));
            let mut series = Series::new(navigation);
            for info in names.all_frames() {
                series.note_frames(info);
            }
            recording.channels.extend_from_slice(series.channels());
            recording.series = Some(series);
        }
        recording
    }

    /// Time since the epoch of ROS, in ns, of a time of the tree.
    fn log_time(&self, time: Time) -> u64 {
        let since = u64::try_from(time.since(self.origin.0).as_nanos()).unwrap_or(u64::MAX);
        self.origin.1.saturating_add(since)
    }

    /// Adds a record, and drops the oldest ones beyond the limits.
    fn add(&mut self, record: &Record, limits: Limits) {
        self.add_series(record, limits);
        match &record.event {
            Event::Began(_) => return,
            Event::Ended(end) => self.end = Some((**end).clone()),
            _ => {}
        }
        let stored = StoredRecord::of(&record.event);
        self.section_bytes += stored.payload_bytes();
        self.section.push((record.time, stored));
        let ends_section = matches!(
            record.event,
            Event::TickEnded(_) | Event::TickFailed(_) | Event::HaltEnded | Event::Ended(_)
        );
        if ends_section || self.section.len() >= MAX_SECTION || self.section_bytes >= MAX_SECTION_BYTES {
            self.end_section(record.time, limits);
        }
    }

    /// Adds the messages for other tools.
    fn add_series(&mut self, record: &Record, limits: Limits) {
        let Some(series) = &mut self.series else { return };
        if let Event::Frames(info) = &record.event {
            series.note_frames(info);
        }
        let first = self.channels.len() - series.channels().len();
        let messages = series.messages(record);
        let log_time = self.log_time(record.time);
        for (channel, data) in messages {
            let message = Message {
                log_time,
                channel: first + channel,
                data: data.into(),
            };
            self.messages.push(message, limits);
        }
    }

    fn add_lost(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        self.lost += count;
        let time = self.section.last().map_or(self.origin.0, |(time, _)| *time);
        self.section.push((time, StoredRecord::Lost(count)));
    }

    fn end_section(&mut self, time: Time, limits: Limits) {
        let section = self.records(&self.section, time);
        self.section.clear();
        self.section_bytes = 0;
        self.messages.push(section, limits);
    }

    /// Adds the names of the numbers, which the recording needs from before its beginning too.
    fn with_names(mut self, names: &Names) -> Self {
        let origin = self.origin.0;
        let names = names.records().into_iter().map(|record| (origin, record));
        self.head = names.chain(self.head.drain(..)).collect();
        self
    }

    /// Whether the navigation failed.
    pub fn has_failed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.has_failed)
    }

    /// Whether the recording has all records since the beginning of the navigation, so that it can be replayed.
    pub fn is_complete(&self) -> bool {
        self.has_beginning() && self.lost == 0
    }

    /// Whether no message was dropped because of the limits.
    pub(super) fn has_beginning(&self) -> bool {
        self.messages.dropped() == 0
    }

    /// What tells this navigation from others.
    pub(super) fn navigation(&self) -> (GoalId, Stamp) {
        (self.goal_id, self.began)
    }

    /// The messages.
    pub(super) fn messages(&self) -> &MessageStore {
        &self.messages
    }

    /// All channels so far.
    pub(super) fn channels(&self) -> &[ChannelInfo] {
        &self.channels
    }

    /// Writes the recording as an MCAP file.
    ///
    /// # Errors
    /// The reason why the file cannot be written.
    pub fn write<W: Write + Seek>(&self, out: W) -> Result<(), String> {
        self.write_mcap(out).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        })
    }

    fn write_mcap<W: Write + Seek>(&self, out: W) -> Result<(), mcap::McapError> {
        let mut file = self.begin_file(out)?;
        if let Some((time, _)) = self.section.last() {
            file.write(&self.records(&self.section, *time))?;
        }
        file.flush()?;
        file.finish(self.metadata())
    }

    /// Begins a file with the messages so far. Records that are not in a message yet will be in a later one.
    pub(super) fn begin_file<W: Write + Seek>(&self, out: W) -> Result<McapFile<W>, mcap::McapError> {
        let mut file = McapFile::begin(out, &self.files, self.origin.1)?;
        if !self.is_complete() {
            // Also if the process is killed, and the file has no end.
            file.describe(self.metadata())?;
        }
        file.add_channels(&self.channels)?;
        file.write(&self.records(&self.head, self.origin.0))?;
        for message in self.messages.iter() {
            file.write(&message)?;
        }
        Ok(file)
    }

    fn records(&self, records: &[TimedRecord], time: Time) -> Message {
        Message {
            log_time: self.log_time(time),
            channel: 0,
            data: encode_records(records),
        }
    }

    /// The metadata of a file that has the messages, too, which the memory has dropped.
    pub(super) fn metadata_of_whole(&self) -> BTreeMap<String, String> {
        let mut metadata = self.metadata();
        metadata.insert("complete".to_owned(), (self.lost == 0).to_string());
        metadata
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::from([
            ("navtree".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("action".to_owned(), self.action.to_owned()),
            ("goal".to_owned(), self.goal_id.to_string()),
            ("complete".to_owned(), self.is_complete().to_string()),
        ]);
        if let Some(end) = &self.end {
            metadata.insert("status".to_owned(), format!("{:?}", end.status));
            metadata.insert("error_code".to_owned(), end.error_code.to_string());
            metadata.insert("error_message".to_owned(), end.error_message.clone());
        }
        metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::Random;
    use crate::bt::builder::leaf;
    use crate::bt::testing::Scene;
    use crate::goal::ServerId;
    use crate::goal::TerminalStatus;
    use crate::nav::{EndpointKind, Form, Opened, Payload, TopicId};
    use crate::record::event::{Navigation, ServerInfo};

    fn goal(number: u8) -> GoalId {
        GoalId([number; 16])
    }

    fn began(number: u8) -> Event {
        let mut tree = Scene::new(leaf("AlwaysFailure")).compile().unwrap();
        let mut navigation = Navigation::of_tree(&mut tree);
        navigation.goal = goal(number);
        Event::Began(Box::new(navigation))
    }

    fn failed(first: u8, last: u8) -> Event {
        Event::Ended(Box::new(End {
            goal: goal(last),
            first_goal: goal(first),
            status: TerminalStatus::Aborted,
            has_failed: true,
            error_code: 0,
            error_message: String::new(),
        }))
    }

    /// The recordings of two batches. Records are lost between them.
    fn recordings(first: Event, second: Event) -> Vec<MemoryRecording> {
        let mut recorder = Recorder::new(Limits::default());
        let batches = [(first, 0), (second, 2)].map(|(event, lost)| Batch {
            records: [Record {
                time: Time::ZERO,
                event,
            }]
            .into(),
            lost,
        });
        let ended = batches.iter().flat_map(|batch| recorder.take(batch)).collect();
        assert!(!recorder.is_recording());
        ended
    }

    #[test]
    fn the_end_of_a_navigation_whose_beginning_is_lost_is_not_that_of_the_one_before() {
        let [before] = &recordings(began(1), failed(2, 2))[..] else {
            panic!("one navigation began");
        };
        assert_eq!((before.goal_id, before.lost), (goal(1), 2));
        assert!(before.end.is_none() && !before.has_failed());
    }

    #[test]
    fn a_navigation_that_a_newer_goal_has_taken_over_keeps_its_recording() {
        let [whole] = &recordings(began(1), failed(1, 2))[..] else {
            panic!("one navigation began");
        };
        assert_eq!(whole.goal_id, goal(1));
        assert!(whole.has_failed());
    }

    /// The events without lost ones in between.
    fn batch(events: impl IntoIterator<Item = Event>) -> Batch {
        let records = events.into_iter().map(|event| Record {
            time: Time::ZERO,
            event,
        });
        Batch {
            records: records.collect(),
            lost: 0,
        }
    }

    fn server(number: u32) -> Event {
        Event::Server(Box::new(ServerInfo {
            server: ServerId(number),
            kind: EndpointKind::Action,
            name: format!("/door_{number}"),
            type_name: String::new(),
            form: Form::Json,
        }))
    }

    /// Only these servers are in use.
    fn in_use(servers: impl IntoIterator<Item = u32>) -> Event {
        let mut in_use = Opened::default();
        for server in servers {
            in_use.add_server(ServerId(server), 1);
        }
        Event::InUse(Box::new(in_use))
    }

    #[test]
    fn a_recording_names_the_servers_of_its_navigation_only() {
        let mut recorder = Recorder::new(Limits::default());
        for number in 1..100 {
            let events = [
                server(2 * number),
                began(1),
                server(2 * number + 1),
                in_use([2 * number + 1]),
                failed(1, 1),
            ];
            let ended = recorder.take(&batch(events));
            let [recording] = &ended[..] else {
                panic!("one navigation ended");
            };
            let names = recording.head.iter().filter_map(|(_, record)| match record {
                StoredRecord::Server { server, .. } => Some(server.0),
                _ => None,
            });
            let mut named: Vec<u32> = names.collect();
            // The server of the navigation before was in use at the last change.
            named.retain(|server| *server != 2 * number - 1);
            assert_eq!(named, [2 * number, 2 * number + 1]);
        }
    }

    #[test]
    fn messages_that_arrive_while_ticks_are_paused_use_bounded_memory() {
        let limits = Limits {
            bytes: 4 << 20,
            ..Limits::default()
        };
        let mut recorder = Recorder::new(limits);
        recorder.take(&batch([began(1)]));
        let mut random = Random::new(1);
        for _ in 0..100 {
            // No compression makes it small.
            let digits = (0..1 << 15).map(|_| format!("{:016x}", random.next()));
            let text: String = digits.collect();
            let payload = Payload::new(serde_json::json!({ "data": text }));
            recorder.take(&batch([Event::Message {
                topic: TopicId(1),
                payload,
                received: Time::ZERO,
            }]));
            let current = recorder.current().unwrap();
            assert!(current.messages.bytes() <= limits.bytes && current.section.len() <= 2);
        }
        assert!(!recorder.current().unwrap().has_beginning());
    }
}
