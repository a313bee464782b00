//! Writes a recording to an MCAP file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Seek, Write};

use mcap::records::{MessageHeader, Metadata, op};
use mcap::{Attachment, Compression, McapError, WriteOptions, Writer};

use super::stored::TimedRecord;

/// The channel of the records.
pub(super) const RECORDS: &str = "/navtree/records";
/// The name of the metadata.
pub(super) const METADATA: &str = "navtree";
/// The first part of the name of an attachment with a file of the tree.
pub(super) const TREE_FILE: &str = "tree/";

/// Uncompressed bytes of a chunk. A file that is cut off can be read up to its last whole chunk.
const CHUNK_SIZE: u64 = 256 * 1024;

/// A channel: its topic, encoding and schema.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct ChannelInfo {
    pub(super) topic: Cow<'static, str>,
    pub(super) encoding: &'static str,
    /// Name and text of the schema; `None` if the channel has none.
    pub(super) schema: Option<(Cow<'static, str>, Cow<'static, str>)>,
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Time since the epoch of ROS, in ns.
    pub(super) log_time: u64,
    /// The index of its channel.
    pub(super) channel: usize,
    pub(super) data: Box<[u8]>,
}

impl Message {
    /// The memory of the message, in bytes.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.data.len()
    }
}

/// A file that is being written.
pub(super) struct McapFile<W: Write + Seek> {
    writer: Writer<W>,
    channels: Vec<u16>,
    sequence: u32,
}

impl<W: Write + Seek> McapFile<W> {
    /// Begins a file with the files of the tree, so that they can be read from a file that is cut off.
    pub(super) fn begin(out: W, files: &[(String, String)], log_time: u64) -> Result<Self, McapError> {
        let options = WriteOptions::new()
            // A file is kept open as long as its robot drives. A compressor of Zstd takes 1.3 to 3.6 MB meanwhile, one of LZ4
            // nothing between two chunks.
            .compression(Some(Compression::Lz4))
            .compression_threads(0)
            .chunk_size(Some(CHUNK_SIZE))
            .profile("ros2")
            .library(concat!("navtree ", env!("CARGO_PKG_VERSION")));
        let mut writer = options.create(out)?;
        for (name, text) in files {
            writer.attach(&Attachment {
                log_time,
                create_time: log_time,
                name: format!("{TREE_FILE}{name}"),
                media_type: "application/xml".to_owned(),
                data: Cow::Borrowed(text.as_bytes()),
            })?;
        }
        Ok(Self {
            writer,
            channels: Vec::new(),
            sequence: 0,
        })
    }

    /// Adds the channels whose numbers follow those of the earlier ones.
    pub(super) fn add_channels(&mut self, channels: &[ChannelInfo]) -> Result<(), McapError> {
        for channel in channels.iter().skip(self.channels.len()) {
            let schema = match &channel.schema {
                None => 0,
                Some((name, text)) => self.writer.add_schema(name, "ros2msg", text.as_bytes())?,
            };
            let id = self
                .writer
                .add_channel(schema, &channel.topic, channel.encoding, &BTreeMap::new())?;
            self.channels.push(id);
        }
        Ok(())
    }

    /// Writes a message of an added channel.
    pub(super) fn write(&mut self, message: &Message) -> Result<(), McapError> {
        let Some(channel_id) = self.channels.get(message.channel) else {
            return Ok(());
        };
        self.sequence = self.sequence.wrapping_add(1);
        let header = MessageHeader {
            channel_id: *channel_id,
            sequence: self.sequence,
            log_time: message.log_time,
            publish_time: message.log_time,
        };
        self.writer.write_to_known_channel(&header, &message.data)
    }

    /// Makes what was written so far readable, also if the process is killed.
    pub(super) fn flush(&mut self) -> Result<(), McapError> {
        self.writer.flush()
    }

    /// Writes metadata. The last ones count.
    pub(super) fn describe(&mut self, metadata: BTreeMap<String, String>) -> Result<(), McapError> {
        self.writer.write_metadata(&Metadata {
            name: METADATA.to_owned(),
            metadata,
        })
    }

    /// Ends the file.
    pub(super) fn finish(&mut self, metadata: BTreeMap<String, String>) -> Result<(), McapError> {
        self.describe(metadata)?;
        self.writer.finish()?;
        Ok(())
    }
}

/// The end of a copy of a file that is still being written: metadata, and no index. Readers then read it from its beginning.
pub(super) fn end_of_copy(metadata: &BTreeMap<String, String>) -> Vec<u8> {
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    let mut pairs = Vec::new();
    for (key, value) in metadata {
        text(&mut pairs, key);
        text(&mut pairs, value);
    }
    let mut description = Vec::new();
    text(&mut description, METADATA);
    description.extend_from_slice(&u32::try_from(pairs.len()).unwrap_or(u32::MAX).to_le_bytes());
    description.append(&mut pairs);
    let mut end = Vec::new();
    // A checksum of 0 is none; an offset of 0 is no index.
    for (kind, content) in [
        (op::METADATA, description),
        (op::DATA_END, vec![0; 4]),
        (op::FOOTER, vec![0; 20]),
    ] {
        end.push(kind);
        end.extend_from_slice(&(content.len() as u64).to_le_bytes());
        end.extend(content);
    }
    end.extend_from_slice(mcap::MAGIC);
    end
}

/// The data of a message with records.
pub(super) fn encode_records(records: &[TimedRecord]) -> Box<[u8]> {
    // The records contain nothing that MessagePack cannot hold.
    rmp_serde::to_vec_named(records).unwrap_or_default().into()
}
