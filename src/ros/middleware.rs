//! What is asked of the middleware before it starts.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fs::File;
use std::io::Write;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::path::Path;

const PROFILE: &str = include_str!("../../config/fast_dds.xml");

/// The variable that names a profile for Fast DDS 2 (Humble, Jazzy), and all that may say that somebody has chosen one.
const VARIABLE: &str = "FASTRTPS_DEFAULT_PROFILES_FILE";
const CHOSEN: [&str; 2] = [VARIABLE, "FASTDDS_DEFAULT_PROFILES_FILE"];
const CHOSEN_FILES: [&str; 2] = ["DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml"];

#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
}

/// Has Fast DDS make room for samples when they come. It makes room for a hundred in every endpoint at once, which for
/// this node's endpoints are 3.3 MiB, a quarter of its private memory, never used. rcl has no setting for that, so it is
/// a profile, in a file that is nowhere but in memory; where a user has a profile, that one counts. To be called before
/// any node and any thread of this process's own is started. Whether it was done.
pub fn spare_samples() -> bool {
    let chosen = CHOSEN.iter().any(|name| std::env::var_os(name).is_some())
        || CHOSEN_FILES.iter().any(|name| Path::new(name).exists());
    if chosen {
        return false;
    }
    let Some(path) = in_memory(c"navtree_fast_dds", PROFILE) else {
        return false;
    };
    // SAFETY: the only other threads are those that libraries start when they are loaded (LTTng's). What they may read
    // meanwhile is the list that the kernel made, which the first change copies and leaves where it is.
    unsafe { std::env::set_var(VARIABLE, path) };
    true
}

/// The path of a file in memory, readable by this process as long as it lives.
#[cfg(target_os = "linux")]
fn in_memory(name: &CStr, text: &str) -> Option<String> {
    // SAFETY: the name ends with a zero byte and is only read during the call.
    let descriptor = unsafe { memfd_create(name.as_ptr(), 0) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the descriptor was made just now, and nobody else has it.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    file.write_all(text.as_bytes()).ok()?;
    Some(format!("/proc/self/fd/{}", file.into_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn in_memory(_name: &CStr, _text: &str) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_memory_is_read_as_any_other() {
        let path = in_memory(c"test", PROFILE).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), PROFILE);
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            PROFILE,
            "as often as asked for"
        );
    }
}
