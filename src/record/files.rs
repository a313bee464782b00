//! The files of recordings: their names, and the limits of their number and size.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::recorder::MemoryRecording;
use crate::goal::GoalId;
use crate::msg::Stamp;

/// A folder of recordings. The oldest ones make room for new ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordingFiles {
    /// `recordings_directory`.
    pub directory: PathBuf,
    /// `recordings_kept`: maximum number of files.
    pub max_files: usize,
    /// `recordings_megabytes`, in bytes: maximum size of all files together.
    pub max_bytes: u64,
}

/// Whether recordings can be written, as far as known. Threads share it.
#[derive(Clone, Debug, Default)]
pub struct DiskState(Arc<AtomicBool>);

impl DiskState {
    /// Whether the last attempt has failed.
    pub fn has_failed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set_failed(&self, failed: bool) {
        self.0.store(failed, Ordering::Relaxed);
    }
}

/// The size of the file with which the disk is probed, in bytes.
const PROBE_SIZE: usize = 1 << 16;

impl RecordingFiles {
    /// Writes nothing, but finds out whether it could.
    ///
    /// # Errors
    /// The reason why no file can be written.
    pub(super) fn probe(&self) -> Result<(), String> {
        // The robots of a process may share a folder: one must not remove the file of another.
        static PROBES: AtomicU64 = AtomicU64::new(0);
        let number = PROBES.fetch_add(1, Ordering::Relaxed);
        let path = self
            .directory
            .join(format!("probe-{}-{number}.{PART}", std::process::id()));
        // A full disk may still take an empty file.
        let written = fs::create_dir_all(&self.directory).and_then(|()| fs::write(&path, [0; PROBE_SIZE]));
        let removed = fs::remove_file(&path);
        written
            .and(removed)
            .map_err(|error| format!("{}: {error}", self.directory.display()))
    }

    /// The file of a navigation that began at a ROS time.
    pub fn path(&self, action: &str, goal: GoalId, began: Stamp) -> PathBuf {
        let goal = goal.to_string();
        let short: String = goal.chars().rev().take(12).collect();
        let short: String = short.chars().rev().collect();
        self.directory
            .join(format!("{}_{action}_{short}.mcap", time_name(began)))
    }

    /// The file of a recording.
    pub(super) fn path_of(&self, recording: &MemoryRecording) -> PathBuf {
        self.path(recording.action, recording.goal_id, recording.began)
    }

    /// The file of a navigation that runs, and its name until it can be read.
    pub(super) fn part_paths(&self, recording: &MemoryRecording) -> [PathBuf; 2] {
        let path = self.path_of(recording);
        [RUNNING, BEGUN].map(|extension| path.with_extension(extension))
    }

    /// Writes a recording, and then removes the oldest ones beyond the limits. The file has another name until it is whole,
    /// so that a full disk leaves an earlier recording of the same navigation.
    ///
    /// # Errors
    /// The reason why the file cannot be written.
    pub fn write(&self, recording: &MemoryRecording) -> Result<PathBuf, String> {
        let path = self.path_of(recording);
        let with_path = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        fs::create_dir_all(&self.directory).map_err(|error| with_path(&error))?;
        let part = path.with_extension(PART);
        let file = File::create(&part).map_err(|error| with_path(&error))?;
        let written = recording
            .write(BufWriter::new(file))
            .and_then(|()| fs::rename(&part, &path).map_err(|error| error.to_string()));
        if let Err(error) = written {
            // A full disk must not stay full.
            let _ = fs::remove_file(&part);
            return Err(with_path(&error));
        }
        self.remove_oldest(&path);
        Ok(path)
    }

    /// Removes the oldest recordings beyond the limits, but not the newest one. Files that may still be written count as
    /// none.
    pub(super) fn remove_oldest(&self, newest: &Path) {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return;
        };
        let now = SystemTime::now();
        let running = newest.with_extension(RUNNING);
        let mut files: Vec<(SystemTime, PathBuf, u64)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let path = entry.path();
                let metadata = entry.metadata().ok()?;
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                // A time after now counts as now.
                let age = now.duration_since(modified).unwrap_or_default();
                let is_unfinished = is_part(&path) && age < MAX_PAUSE;
                (is_recording(&path) && !is_unfinished).then_some((modified, path, metadata.len()))
            })
            .filter(|(_, path, _)| path != newest && *path != running)
            .collect();
        // The time in a name may be that of a simulation.
        files.sort_unstable_by(|left, right| right.cmp(left));
        let mut count = 1;
        let mut bytes = fs::metadata(newest).map_or(0, |metadata| metadata.len());
        for (_, path, size) in files {
            count += 1;
            bytes += size;
            if count > self.max_files.max(1) || bytes > self.max_bytes {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The extension of a file that is being written. One whose process was killed is removed like a recording.
const PART: &str = "mcap.part";

/// The extension of the file of a navigation that runs. It is not that of a request to write the navigation so far.
const RUNNING: &str = "running.mcap.part";
/// Its extension until it can be read.
const BEGUN: &str = "begun.mcap.part";

/// Time without an addition after which a file is not being written any more: its process was killed.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Whether a file is not whole.
fn is_part(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.ends_with(PART))
}

/// Whether a file has the name of a recording. No other file is removed.
fn is_recording(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    (name.ends_with(".mcap") || name.ends_with(PART))
        && name.contains("_navigate_")
        && name.starts_with(|first: char| first.is_ascii_digit())
}

/// `2026-03-01T12-30-00.250` in UTC: sorted by name is sorted by time.
fn time_name(stamp: Stamp) -> String {
    let seconds = i64::from(stamp.sec);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}-{:02}-{:02}.{:03}",
        second / 3600,
        second / 60 % 60,
        second % 60,
        stamp.nanosec / 1_000_000
    )
}

/// Year, month and day of a number of days since 1970-01-01 (H. Hinnant, `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_times_in_utc() {
        let name = |seconds: i32| {
            time_name(Stamp {
                sec: seconds,
                nanosec: 250_000_000,
            })
        };
        assert_eq!(name(0), "1970-01-01T00-00-00.250");
        assert_eq!(name(951_782_400), "2000-02-29T00-00-00.250");
        assert_eq!(name(1_795_442_399), "2026-11-23T13-59-59.250");
    }

    #[test]
    fn the_oldest_recordings_make_room_and_other_files_stay() {
        let directory = std::env::temp_dir().join(format!("navtree-recordings-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let files = RecordingFiles {
            directory: directory.clone(),
            max_files: 3,
            max_bytes: 1000,
        };
        let stamp = |sec| Stamp { sec, nanosec: 0 };
        let paths: Vec<PathBuf> = (0..5)
            .map(|second| files.path("navigate_to_pose", GoalId::ZERO, stamp(second)))
            .collect();
        for path in &paths {
            fs::write(path, [0; 100]).unwrap();
        }
        fs::write(directory.join("notes.mcap"), "mine").unwrap();
        files.remove_oldest(&paths[4]);
        let left: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        assert_eq!(left, [false, false, true, true, true]);
        // The newest one stays, however large it is.
        fs::write(&paths[4], [0; 2000]).unwrap();
        files.remove_oldest(&paths[4]);
        let left: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        assert_eq!(left, [false, false, false, false, true]);
        assert!(directory.join("notes.mcap").exists());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_running_navigation_takes_no_place_and_stays() {
        let directory = std::env::temp_dir().join(format!("navtree-running-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let files = RecordingFiles {
            directory: directory.clone(),
            max_files: 1,
            max_bytes: 1000,
        };
        let path = |sec| files.path("navigate_to_pose", GoalId::ZERO, Stamp { sec, nanosec: 0 });
        let [whole, running, killed, own] = [
            path(1),
            path(2).with_extension(RUNNING),
            path(3).with_extension(RUNNING),
            path(1).with_extension(RUNNING),
        ];
        for file in [&whole, &running, &killed, &own] {
            fs::write(file, [0; 400]).unwrap();
        }
        let old = SystemTime::now() - MAX_PAUSE;
        for file in [&killed, &own] {
            File::options()
                .write(true)
                .open(file)
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
        files.remove_oldest(&whole);
        let left = [&whole, &running, &killed, &own].map(|path| path.exists());
        assert_eq!(left, [true, true, false, true]);
        fs::remove_dir_all(&directory).unwrap();
    }
}
