//! Reads a recording.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use mcap::McapError;
use mcap::parse_record;
use mcap::records::Record;
use mcap::sans_io::{LinearReadEvent, LinearReader, LinearReaderOptions};

use super::file::{METADATA, RECORDS, TREE_FILE};
use super::stored::{StoredNavigation, StoredRecord, TimedRecord, VERSION};

/// Maximum size of a file. A recording of ten minutes has some megabytes.
const MAX_BYTES: u64 = 1 << 30;

/// Maximum number of records. Ten minutes at 100 Hz have about three millions.
const MAX_RECORDS: usize = 10_000_000;

/// Maximum size of one record of the file, and of a chunk. The recorder writes chunks of 256 KiB; a larger one holds one
/// message. Without this limit, a damaged length would reserve its memory.
const MAX_RECORD_BYTES: usize = 128 << 20;

/// Maximum size of all attachments and messages together, uncompressed. A small file can expand to any size.
const MAX_CONTENT_BYTES: usize = 1 << 30;

/// The reason why a file is not a recording.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is too large.
    #[error("the file has {0} bytes; recordings have at most {MAX_BYTES}")]
    TooLarge(u64),
    /// It is not an MCAP file.
    #[error("not an MCAP file: {0}")]
    NotMcap(String),
    /// It contains no records of navtree.
    #[error("no records of navtree (channel {RECORDS}) before the end of the file{0}")]
    NoRecords(String),
    /// A newer version has written it.
    #[error("the recording has the format {0}, and this navtree reads up to {VERSION}: use a newer navtree")]
    TooNew(u32),
}

/// A recording of one navigation.
#[derive(Debug, Default)]
pub struct Recording {
    /// The beginning of the navigation.
    pub navigation: StoredNavigation,
    /// Name and text of each file of the tree; the requested one is first.
    pub files: Vec<(String, String)>,
    /// All records in order, names and the beginning included.
    pub records: Vec<TimedRecord>,
    /// Result and origin, for people. Empty if the file is cut off.
    pub metadata: BTreeMap<String, String>,
    /// Why the rest of the file could not be read.
    pub damage: Option<String>,
}

impl Recording {
    /// Reads a file. Of a file that is cut off or damaged, the part before that is read.
    ///
    /// # Errors
    /// [`ReadError`] if that part contains no beginning of a navigation.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let size = std::fs::metadata(path)?.len();
        if size > MAX_BYTES {
            return Err(ReadError::TooLarge(size));
        }
        Self::from_bytes(&std::fs::read(path)?)
    }

    /// Reads the content of a file.
    ///
    /// # Errors
    /// As [`Recording::read`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        let options = LinearReaderOptions::default()
            .with_skip_end_magic(true)
            .with_validate_chunk_crcs(true)
            .with_record_length_limit(MAX_RECORD_BYTES);
        let mut reader = LinearReader::new_with_options(options);
        let mut rest = bytes;
        let mut recording = Self::default();
        let mut progress = Progress::default();
        while !progress.has_end
            && let Some(event) = reader.next_event()
        {
            let taken = match event {
                Ok(LinearReadEvent::ReadRequest(wanted)) => {
                    let (now, later) = rest.split_at(wanted.min(rest.len()));
                    reader.insert(now.len()).copy_from_slice(now);
                    reader.notify_read(now.len());
                    rest = later;
                    continue;
                }
                Ok(LinearReadEvent::Record { data, opcode }) => {
                    parse_record(opcode, data).map(|record| recording.take(record, &mut progress))
                }
                Err(error) => Err(error),
            };
            match taken {
                Ok(Ok(())) => {}
                Ok(Err(damage)) => {
                    recording.damage = Some(damage);
                    break;
                }
                Err(error) => {
                    recording.damage = Some(in_words(&error));
                    break;
                }
            }
        }
        if !progress.has_header {
            return Err(ReadError::NotMcap(
                recording.damage.unwrap_or_else(|| "no header".to_owned()),
            ));
        }
        if !progress.has_end {
            recording
                .damage
                .get_or_insert_with(|| "the file ends before the end of the recording".to_owned());
        }
        recording.take_beginning()
    }

    /// Takes a record of the file.
    ///
    /// # Errors
    /// The reason why the rest of the file is not read.
    fn take(&mut self, record: Record<'_>, progress: &mut Progress) -> Result<(), String> {
        match record {
            Record::Header(_) => progress.has_header = true,
            Record::DataEnd(_) => progress.has_end = true,
            Record::Channel(found) if found.topic == RECORDS => progress.channel = Some(found.id),
            Record::Metadata(found) if found.name == METADATA => self.metadata = found.metadata,
            Record::Attachment { header, data, .. } => {
                if let Some(name) = header.name.strip_prefix(TREE_FILE) {
                    progress.count(data.len())?;
                    let text = String::from_utf8_lossy(&data).into_owned();
                    self.files.push((name.to_owned(), text));
                }
            }
            Record::Message { header, data } if Some(header.channel_id) == progress.channel => {
                progress.count(data.len())?;
                let mut records =
                    rmp_serde::from_slice::<Vec<TimedRecord>>(&data).map_err(|error| error.to_string())?;
                self.records.append(&mut records);
                if self.records.len() > MAX_RECORDS {
                    return Err(format!("more than {MAX_RECORDS} records"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Finds the beginning of the navigation.
    fn take_beginning(mut self) -> Result<Self, ReadError> {
        let navigation = self.records.iter().find_map(|(_, record)| match record {
            StoredRecord::Began(navigation) => Some((**navigation).clone()),
            _ => None,
        });
        let Some(navigation) = navigation else {
            let damage = self.damage.map(|damage| format!(": {damage}"));
            return Err(ReadError::NoRecords(damage.unwrap_or_default()));
        };
        if navigation.version > VERSION {
            return Err(ReadError::TooNew(navigation.version));
        }
        self.navigation = navigation;
        Ok(self)
    }

    /// Whether the recording tells at which place of its tick a message was published. Older ones do not.
    pub fn has_places_of_messages(&self) -> bool {
        self.navigation.version >= 3
    }

    /// Number of records that the recorder was too slow for.
    pub fn lost(&self) -> u64 {
        let lost = self.records.iter().map(|(_, record)| match record {
            StoredRecord::Lost(count) => *count,
            _ => 0,
        });
        lost.sum()
    }

    /// Number of ticks and halts of the whole tree.
    pub fn ticks(&self) -> usize {
        let is_tick = |record: &&TimedRecord| matches!(record.1, StoredRecord::TickBegan);
        self.records.iter().filter(is_tick).count()
    }
}

/// What of the file has been read so far.
#[derive(Default)]
struct Progress {
    has_header: bool,
    has_end: bool,
    /// The channel of the records.
    channel: Option<u16>,
    /// Bytes of attachments and messages.
    bytes: usize,
}

impl Progress {
    fn count(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_CONTENT_BYTES {
            return Err(format!("more than {MAX_CONTENT_BYTES} bytes of records"));
        }
        Ok(())
    }
}

fn in_words(error: &McapError) -> String {
    match error {
        McapError::UnexpectedEof | McapError::UnexpectedEoc => "it is cut off".to_owned(),
        other => other.to_string(),
    }
}
