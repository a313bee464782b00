//! Reads a recording.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use mcap::read::{ChunkFlattener, Options};
use mcap::records::Record;

use super::file::{METADATA, RECORDS, TREE_FILE};
use super::stored::{StoredNavigation, StoredRecord, TimedRecord, VERSION};

/// Maximum size of a file. A recording of ten minutes has some megabytes.
const MAX_BYTES: u64 = 1 << 30;

/// Maximum number of records.
const MAX_RECORDS: usize = 20_000_000;

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
        let options = Options::IgnoreEndMagic | Options::ValidateChunkCrcs;
        let records = ChunkFlattener::new_with_options(bytes, options)
            .map_err(|error| ReadError::NotMcap(error.to_string()))?;
        let mut recording = Self::default();
        let mut channel = None;
        let mut has_header = false;
        let mut has_end = false;
        for record in records {
            match record {
                Ok(Record::Header(_)) => has_header = true,
                Ok(Record::Attachment { header, data, .. }) => {
                    if let Some(name) = header.name.strip_prefix(TREE_FILE) {
                        let text = String::from_utf8_lossy(&data).into_owned();
                        recording.files.push((name.to_owned(), text));
                    }
                }
                Ok(Record::Channel(found)) if found.topic == RECORDS => channel = Some(found.id),
                Ok(Record::Metadata(found)) if found.name == METADATA => recording.metadata = found.metadata,
                Ok(Record::Message { header, data }) if Some(header.channel_id) == channel => {
                    recording.add(&data)?;
                }
                Ok(Record::DataEnd(_)) => {
                    has_end = true;
                    break;
                }
                Ok(_) => {}
                Err(error) => {
                    recording.damage = Some(error.to_string());
                    break;
                }
            }
            if recording.records.len() > MAX_RECORDS {
                recording.damage = Some(format!("more than {MAX_RECORDS} records"));
                break;
            }
        }
        if !has_header {
            return Err(ReadError::NotMcap(
                recording.damage.unwrap_or_else(|| "no header".to_owned()),
            ));
        }
        if !has_end {
            recording
                .damage
                .get_or_insert_with(|| "the file ends before the end of the recording".to_owned());
        }
        recording.take_beginning()
    }

    fn add(&mut self, data: &[u8]) -> Result<(), ReadError> {
        match rmp_serde::from_slice::<Vec<TimedRecord>>(data) {
            Ok(mut records) => self.records.append(&mut records),
            Err(error) => {
                self.damage.get_or_insert_with(|| error.to_string());
            }
        }
        match self.records.first() {
            Some((_, StoredRecord::Began(navigation))) if navigation.version > VERSION => {
                Err(ReadError::TooNew(navigation.version))
            }
            _ => Ok(()),
        }
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
