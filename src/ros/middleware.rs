//! What is asked of the middleware before it starts.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const PROFILE: &str = include_str!("../../config/fast_dds.xml");

/// The variable that names a profile for Fast DDS 2 (Humble, Jazzy), and all that may say that somebody has chosen one.
const VARIABLE: &str = "FASTRTPS_DEFAULT_PROFILES_FILE";
const CHOSEN: [&str; 2] = [VARIABLE, "FASTDDS_DEFAULT_PROFILES_FILE"];
const CHOSEN_FILES: [&str; 2] = ["DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml"];

/// The file of the profile, removed when this is dropped. Fast DDS reads it with the first node, and a file that has no
/// name any more it does not find.
#[derive(Debug)]
pub struct Profile(PathBuf);

impl Drop for Profile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Has Fast DDS make room for samples when they come. It makes room for a hundred in every endpoint at once, which for
/// this node's endpoints are 3.3 MiB, a quarter of its private memory, never used. rcl has no setting for that, so it is
/// a profile; where a user has one, that one counts, and `None` is returned. To be called before any node and any
/// thread of this process's own is started, and kept until there is a node.
pub fn spare_samples() -> Option<Profile> {
    let chosen = CHOSEN.iter().any(|name| std::env::var_os(name).is_some())
        || CHOSEN_FILES.iter().any(|name| Path::new(name).exists());
    if chosen {
        return None;
    }
    let profile = written(PROFILE)?;
    // SAFETY: the only other threads are those that libraries start when they are loaded (LTTng's). What they may read
    // meanwhile is the list that the kernel made, which the first change copies and leaves where it is.
    unsafe { std::env::set_var(VARIABLE, &profile.0) };
    Some(profile)
}

/// A new file with a text. `None` where there is no place for one: the profile saves memory, and nothing depends on it.
fn written(text: &str) -> Option<Profile> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let name = format!("navtree-{}-{}.xml", std::process::id(), now.as_nanos());
    let path = std::env::temp_dir().join(name);
    // A file that is there already is somebody else's.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).ok()?;
    let profile = Profile(path);
    file.write_all(text.as_bytes()).ok()?;
    Some(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_there_as_long_as_it_is_needed() {
        let profile = written(PROFILE).unwrap();
        let path = profile.0.clone();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), PROFILE);
        drop(profile);
        assert!(!path.exists());
    }
}
