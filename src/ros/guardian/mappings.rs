//! Reads the kernel's list of the process's memory, and frees memory that the child of a fork does not need.
//!
//! A child shares the pages of its parent until the parent writes to them; then the child keeps a copy. So a child of a
//! running process gets a copy of the parent's heap over time, 2 MiB and more. A restart of the program instead takes
//! 4.4 MiB for the tables of 115 libraries.

use std::ffi::{c_int, c_void};

/// The maximum number of freed mappings. A thread has two, its stack and its heap.
const MAX_MAPPINGS: usize = 512;
/// The number of bytes read of each line: file names may be longer, but do not matter.
const LINE_SIZE: usize = 128;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mapping<'l> {
    start: usize,
    end: usize,
    is_writable: bool,
    /// Empty without a name.
    name: &'l [u8],
}

impl<'l> Mapping<'l> {
    /// Reads a line of `/proc/self/maps`.
    fn parse(line: &'l [u8]) -> Option<Self> {
        let mut fields = line.splitn(6, |byte| *byte == b' ');
        let (range, rights) = (fields.next()?, fields.next()?);
        let mut ends = range.splitn(2, |byte| *byte == b'-').map(hexadecimal);
        Some(Self {
            start: ends.next()??,
            end: ends.next()??,
            is_writable: *rights.get(1)? == b'w',
            name: fields.nth(3).unwrap_or_default().trim_ascii(),
        })
    }

    /// Whether the memory was allocated while the process ran: a heap or a thread's stack. A mapping that follows a
    /// file without a gap contains the variables of that library.
    fn is_allocated(&self, follows_file: bool) -> bool {
        let is_heap = self.name == b"[heap]" || self.name.starts_with(b"[anon");
        self.is_writable && (is_heap || self.name.is_empty() && !follows_file)
    }

    fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }
}

fn hexadecimal(digits: &[u8]) -> Option<usize> {
    digits.iter().try_fold(0_usize, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(number << 4 | digit as usize)
    })
}

/// Finds the mappings to free in the list, which is read in pieces.
struct Finder {
    /// Addresses in the stack and in the thread's own variables.
    kept: [usize; 2],
    line: [u8; LINE_SIZE],
    length: usize,
    /// The end of the last mapping of a file or of its variables.
    file_end: usize,
    found: [(usize, usize); MAX_MAPPINGS],
    count: usize,
}

impl Finder {
    fn new(kept: [usize; 2]) -> Self {
        Self {
            kept,
            line: [0; LINE_SIZE],
            length: 0,
            file_end: 0,
            found: [(0, 0); MAX_MAPPINGS],
            count: 0,
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                self.end_line();
                self.length = 0;
            } else if let Some(slot) = self.line.get_mut(self.length) {
                *slot = *byte;
                self.length += 1;
            }
        }
    }

    fn end_line(&mut self) {
        let line = self.line;
        let Some(mapping) = line.get(..self.length).and_then(Mapping::parse) else {
            return;
        };
        let follows_file = mapping.start == self.file_end;
        if mapping.name.starts_with(b"/") || mapping.name.is_empty() && follows_file {
            self.file_end = mapping.end;
        }
        let is_kept = self.kept.iter().any(|address| mapping.contains(*address));
        if mapping.is_allocated(follows_file)
            && !is_kept
            && let Some(slot) = self.found.get_mut(self.count)
        {
            *slot = (mapping.start, mapping.end);
            self.count += 1;
        }
    }
}

/// Frees all allocated memory except the stack and the thread's own variables. The list stays valid while it is read,
/// because the process has one thread, which maps nothing meanwhile.
///
/// # Safety
/// Call it only in the child of a fork that no longer uses any memory allocated before.
pub(super) unsafe fn free_allocated() {
    let on_stack = 0_u8;
    // SAFETY: returns the address of a variable of this thread.
    let errno_address = unsafe { libc::__errno_location() };
    let mut finder = Finder::new([(&raw const on_stack).addr(), errno_address.addr()]);
    let mut bytes = [0_u8; 1024];
    // SAFETY: the name is a C string, the buffer can be written, and this function owns the file.
    unsafe {
        let file: c_int = libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return;
        }
        while let Ok(read) = usize::try_from(libc::read(file, bytes.as_mut_ptr().cast(), bytes.len()))
            && read > 0
        {
            finder.read(bytes.get(..read).unwrap_or_default());
        }
        libc::close(file);
    }
    for (start, end) in finder.found.iter().take(finder.count) {
        let address: *mut c_void = std::ptr::with_exposed_provenance_mut(*start);
        // SAFETY: the memory is no longer used; see above.
        unsafe { libc::munmap(address, end - start) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0001000 r--p 00000000 08:01 1234                       /opt/navtree/lib/navtree
55d0c0001000-55d0c0002000 rw-p 00001000 08:01 1234                       /opt/navtree/lib/navtree
55d0c0002000-55d0c0003000 rw-p 00000000 00:00 0 
55d0c0003000-55d0c0004000 rw-p 00000000 00:00 0 
55d0c1000000-55d0c1100000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000021000 rw-p 00000000 00:00 0 
7f0000021000-7f0004000000 ---p 00000000 00:00 0 
7f0004000000-7f0004021000 rw-p 00000000 00:00 0                          [anon: glibc: malloc]
7f0005000000-7f0005001000 rw-s 00000000 00:01 1056                       /dev/zero (deleted)
7f0006000000-7f0006010000 rw-p 00000000 00:00 0 
7f0007000000-7f0007010000 rw-p 00000000 00:00 0 
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
7ffc00030000-7ffc00032000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn g11_heaps_and_other_stacks_are_freed_but_not_library_variables() {
        let long = format!(
            "{:<73}/{}\n",
            "7f0008000000-7f0008001000 r--p 00000000 08:01 9",
            "x/".repeat(300)
        );
        let maps = format!("{long}{MAPS}nonsense\n\n");
        for piece in [1, 7, 1024, maps.len()] {
            // An address on the stack, and one in the mapping of the thread's own variables.
            let mut finder = Finder::new([0x7ffc_0000_0100, 0x7f00_0600_0740]);
            maps.as_bytes().chunks(piece).for_each(|bytes| finder.read(bytes));
            let expected = [
                (0x55d0_c100_0000, 0x55d0_c110_0000),
                (0x7f00_0000_0000, 0x7f00_0002_1000),
                (0x7f00_0400_0000, 0x7f00_0402_1000),
                (0x7f00_0700_0000, 0x7f00_0701_0000),
            ];
            assert_eq!(finder.found[..finder.count], expected);
        }
    }

    #[test]
    fn g11_the_heap_is_freed_but_not_the_stack_or_variables() {
        let maps = std::fs::read("/proc/self/maps").unwrap();
        let on_stack = 0_u8;
        let on_heap = Box::new(0_u8);
        let mut finder = Finder::new([(&raw const on_stack).addr(), 0]);
        finder.read(&maps);
        let holds = |address: usize| {
            let mut found = finder.found[..finder.count].iter();
            found.any(|(start, end)| (*start..*end).contains(&address))
        };
        assert!(!holds((&raw const on_stack).addr()));
        assert!(holds((&raw const *on_heap).addr()));
        assert!(!holds(MAPS.as_ptr().addr()));
        static VARIABLE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        assert!(!holds((&raw const VARIABLE).addr()));
    }
}
