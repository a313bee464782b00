//! The parameters of the flight recorder.

use std::path::PathBuf;
use std::time::Duration;

use super::reader::Reader;
use crate::record::recorder::Limits;
use crate::record::{Occasion, RecordingFiles};
use crate::ros::{Declaration, ParameterError};

/// The settings of the flight recorder.
#[derive(Clone, Debug)]
pub(crate) struct RecorderSettings {
    pub(crate) limits: Limits,
    pub(crate) files: RecordingFiles,
    pub(crate) occasion: Occasion,
}

impl Default for RecorderSettings {
    /// Nothing is kept and nothing is written.
    fn default() -> Self {
        Self {
            limits: Limits {
                duration: Duration::ZERO,
                bytes: 0,
            },
            files: RecordingFiles {
                directory: default_directory(),
                max_files: 1,
                max_bytes: 0,
            },
            occasion: Occasion::Never,
        }
    }
}

/// Declares these parameters. `None`: nothing is recorded.
pub(super) fn recorder(read: &Reader<'_>) -> Result<Option<RecorderSettings>, ParameterError> {
    let minutes = read.number(
        "recorder_minutes",
        10.0,
        (0.0, 1440.0),
        "Time of a navigation that the flight recorder keeps in memory, in min. 0: nothing is recorded.\nA file \
         has the rest of a longer navigation, unless `record_on` is `never`.",
    )?;
    let megabytes = read.number(
        "recorder_megabytes",
        32.0,
        (1.0, 4096.0),
        "Memory of the flight recorder, in MB. The oldest ticks make room.\nA file has all ticks, unless `record_on` is \
         `never`.",
    )?;
    let directory = read.text(
        "recordings_directory",
        "",
        "Directory of recordings. Empty: `navtree` in the log directory of ROS (`ROS_LOG_DIR`, or `log` in `ROS_HOME` or \
         `~/.ros`).",
    )?;
    let occasion = occasion(read)?;
    let kept = read.number(
        "recordings_kept",
        20.0,
        (1.0, 1e6),
        "Maximum number of recordings. The oldest one is removed first.",
    )?;
    let size = read.number(
        "recordings_megabytes",
        500.0,
        (1.0, 1e6),
        "Maximum size of all recordings, in MB. The oldest one is removed first.\nThe file of the navigation that runs has at most \
         half of it; a longer one loses its beginning, and cannot be replayed.",
    )?;
    let settings = RecorderSettings {
        limits: Limits {
            duration: Duration::from_secs_f64(minutes * 60.0),
            bytes: (megabytes * 1e6) as usize,
        },
        files: RecordingFiles {
            directory: if directory.is_empty() {
                default_directory()
            } else {
                PathBuf::from(directory)
            },
            max_files: kept as usize,
            max_bytes: (size * 1e6) as u64,
        },
        occasion,
    };
    Ok((minutes > 0.0).then_some(settings))
}

fn occasion(read: &Reader<'_>) -> Result<Occasion, ParameterError> {
    const WORDS: [(&str, Occasion); 3] = [
        ("failure", Occasion::Failure),
        ("always", Occasion::Always),
        ("never", Occasion::Never),
    ];
    let declaration = Declaration::new(
        "record_on",
        "failure".to_owned(),
        "When a recording is written: `failure`, `always` or `never`.\nThe service `~/save_recording` writes one at any \
         time.",
    )
    .validated("failure, always or never", |value| {
        let word = value.as_str().unwrap_or_default();
        if WORDS.iter().any(|(known, _)| *known == word) {
            Ok(())
        } else {
            Err(format!("`{word}` is not one of failure, always, never"))
        }
    })
    .read_only();
    let value = read.value(declaration)?;
    let word = value.as_str().unwrap_or_default();
    let known = WORDS.iter().find(|(known, _)| *known == word);
    Ok(known.map_or(Occasion::Failure, |(_, occasion)| *occasion))
}

/// The log directory of ROS, as its loggers find it.
fn default_directory() -> PathBuf {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let log = variable("ROS_LOG_DIR").unwrap_or_else(|| {
        let home = variable("ROS_HOME").or_else(|| Some(variable("HOME")?.join(".ros")));
        home.unwrap_or_else(std::env::temp_dir).join("log")
    });
    log.join("navtree")
}
