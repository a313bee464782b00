//! What the process holds of the machine's memory.
//!
//! Two thirds of what a ROS 2 node holds are pages of shared libraries, most of them touched once: a loader's
//! relocations, constructors, type descriptions, the discovery of the first second.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{BufRead, BufReader};

// Of glibc, which every ROS 2 that runs on Linux is built for. A crate for three functions would be one more to trust.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    fn mallopt(option: c_int, value: c_int) -> c_int;
    fn malloc_trim(keep: usize) -> c_int;
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
const M_ARENA_MAX: c_int = -8;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MADV_DONTNEED: c_int = 4;

/// Has all threads share two heaps. The default is eight a core, each of which keeps what its busiest moment needed;
/// a node's threads allocate too seldom to meet at a lock. To be called before any thread is started.
pub fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a number; glibc allows it at any time.
    unsafe {
        mallopt(M_ARENA_MAX, 2);
    }
}

/// Gives back what only the start needed: free memory of the heap, and pages of the executable and its libraries that
/// can be read again from their files. Those that are needed come back one by one, mostly from the system's cache.
/// Returns how many bytes were looked at.
pub fn give_back() -> usize {
    let mut given = 0;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: trims the heap under its own locks.
        unsafe { malloc_trim(0) };
        let Ok(file) = File::open("/proc/self/smaps") else {
            return 0;
        };
        for (start, length) in unchanged(BufReader::new(file)) {
            // SAFETY: the mapping is private, backed by a file and not writable, and no page of it was ever written
            // to, so what is dropped here is read again from the file, the same as before.
            let done = unsafe { madvise(start as *mut c_void, length, MADV_DONTNEED) };
            if done == 0 {
                given += length;
            }
        }
    }
    given
}

/// Start and length of the mappings of files whose pages are as in the file, and cannot be written to.
fn unchanged(smaps: impl BufRead) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut candidate = None;
    for line in smaps.lines().map_while(Result::ok) {
        if let Some(mapping) = mapping(&line) {
            candidate = mapping;
        } else if let Some(anonymous) = line.strip_prefix("Anonymous:")
            // Pages that relocation wrote to before the mapping was made read-only: they are nowhere else.
            && anonymous.trim() == "0 kB"
            && let Some(unchanged) = candidate.take()
        {
            found.push(unchanged);
        }
    }
    found
}

/// `None` where the line begins no mapping; `Some(None)` where it begins one of no interest.
fn mapping(line: &str) -> Option<Option<(usize, usize)>> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let (permissions, _offset, _device, inode) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let of_file = inode != "0" && fields.next().is_some_and(|path| path.starts_with('/'));
    let fixed = matches!(permissions, "r-xp" | "r--p");
    Some((of_file && fixed).then(|| (start, end.saturating_sub(start))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f00-7f10 r--p 00000000 fe:00 77 /usr/lib/a.so
Rss:                   4 kB
Anonymous:             0 kB
THPeligible:           0
7f10-7f40 r-xp 00010000 fe:00 77 /usr/lib/a.so
Anonymous:             0 kB
7f40-7f50 r--p 00040000 fe:00 77 /usr/lib/a.so
Anonymous:             4 kB
7f50-7f60 rw-p 00050000 fe:00 77 /usr/lib/a.so
Anonymous:             0 kB
7f60-7f70 r--p 00000000 00:00 0
Anonymous:             0 kB
7f70-7f80 r--s 00000000 fe:00 78 /dev/shm/b
Anonymous:             0 kB
7f80-7f90 r-xp 00000000 00:00 0 [vdso]
Anonymous:             0 kB
";

    #[test]
    fn only_what_is_in_a_file_and_was_never_written_to() {
        assert_eq!(unchanged(SMAPS.as_bytes()), [(0x7f00, 0x10), (0x7f10, 0x30)]);
    }

    #[test]
    fn the_process_goes_on_without_what_it_gave_back() {
        share_heaps();
        let before: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
        assert!(give_back() > 0);
        assert_eq!(before.iter().map(String::len).sum::<usize>(), 2890);
    }
}
