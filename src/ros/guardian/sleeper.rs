//! The child process that sleeps until its parent has ended.
//!
//! The parent may have threads at the fork, so the child calls only functions that are safe in a signal handler: it
//! allocates no memory and takes no lock. Its data was created before. It frees the allocated memory, see
//! [`super::mappings`].

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint};
use std::fs::File;
use std::io::{self, PipeReader};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use super::goals::{is_of_node, record_offset};
use super::mappings::free_allocated;

/// The program that the child executes when its parent has ended: this program, with other arguments and variables.
pub(super) struct Program {
    arguments: Strings,
    variables: Strings,
}

/// A list for `execve`, in memory shared between processes, which remains when a child frees the allocated memory. It
/// is read-only, so a fault of the parent cannot change it.
struct Strings {
    pointers: *const *const c_char,
    bytes: usize,
}

impl Strings {
    fn new(texts: impl IntoIterator<Item = impl AsRef<OsStr>>) -> io::Result<Self> {
        let strings: Vec<CString> = texts
            .into_iter()
            .map(|text| CString::new(text.as_ref().as_bytes()))
            .collect::<Result<_, _>>()?;
        let table = (strings.len() + 1) * size_of::<*const c_char>();
        let texts = strings.iter().map(|text| text.as_bytes_with_nul().len());
        let bytes = table + texts.sum::<usize>();
        // SAFETY: the memory is new and has room for the table of pointers, which ends with a null, and for the texts.
        unsafe {
            let (rights, shared) = (
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            );
            let memory = libc::mmap(ptr::null_mut(), bytes, rights, shared, -1, 0);
            if memory == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let pointers: *mut *const c_char = memory.cast();
            let mut text: *mut c_char = memory.byte_add(table).cast();
            for (index, string) in strings.iter().enumerate() {
                pointers.add(index).write(text);
                let length = string.as_bytes_with_nul().len();
                text.copy_from_nonoverlapping(string.as_ptr(), length);
                text = text.add(length);
            }
            libc::mprotect(memory, bytes, libc::PROT_READ);
            Ok(Self { pointers, bytes })
        }
    }
}

impl Drop for Strings {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and no pointer to it is left.
        unsafe { libc::munmap(self.pointers.cast_mut().cast(), self.bytes) };
    }
}

impl Program {
    pub(super) fn new(
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        variables: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> io::Result<Self> {
        Ok(Self {
            arguments: Strings::new(arguments)?,
            variables: Strings::new(variables)?,
        })
    }
}

/// The files that the child keeps open besides standard error.
pub(super) struct KeptFiles<'f> {
    /// See [`super::goals`].
    pub(super) goals: &'f File,
    /// A pipe from the parent: a byte dismisses the child.
    pub(super) dismissal: &'f PipeReader,
    /// The parent process. `None` if the kernel does not support it (before 5.3): then the end of the pipe counts as
    /// its end.
    pub(super) parent: Option<&'f OwnedFd>,
}

/// A file descriptor of this process, by which its children wait for its end.
pub(super) fn own_process() -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: the arguments are plain numbers; the result is checked and has no other owner.
    unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0);
        match c_int::try_from(process) {
            Ok(process) if process >= 0 => Ok(OwnedFd::from_raw_fd(process)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Starts the child, and returns its process id.
pub(super) fn start(program: &Program, kept: &KeptFiles<'_>) -> io::Result<libc::pid_t> {
    let argument_memory = find_argument_memory();
    // SAFETY: each set is filled by the call that receives it. A signal that reached the child before it ignores
    // signals would run a handler of the parent, so signals are blocked until then.
    let (pid, before) = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        (libc::fork(), before)
    };
    if pid == 0 {
        // SAFETY: this is the child of a fork; see the module.
        unsafe { sleep(program, kept, &before, &argument_memory) }
    }
    let error = io::Error::last_os_error();
    // SAFETY: the set was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    if pid > 0 { Ok(pid) } else { Err(error) }
}

/// Whether a child has ended; if so, the system removes it.
pub(super) fn has_ended(pid: libc::pid_t) -> bool {
    // SAFETY: the status may be null.
    unsafe { libc::waitpid(pid, ptr::null_mut(), libc::WNOHANG) != 0 }
}

/// The name of the process, in `ps` and `top`, and its first argument. It contains neither the name of the program nor that of
/// a node: `pkill -9 -f bt_navigator` or `pkill -9 navtree` must not kill the guardian together with the navigator.
pub(super) const NAME: &CStr = c"goal-guard";

/// Sets the name of this process in `ps` and `top`.
pub(super) fn name_process() {
    // SAFETY: the name is a C string of less than 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
}

/// The memory of this process from which the kernel shows its arguments; empty if it does not say.
fn find_argument_memory() -> Range<usize> {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, a name in parentheses, may contain anything. The third follows it; these are fields 48 and 49.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let mut bounds = fields
        .split_ascii_whitespace()
        .skip(45)
        .map_while(|field| field.parse().ok());
    match (bounds.next(), bounds.next()) {
        (Some(start), Some(end)) if start != 0 => start..end,
        _ => 0..0,
    }
}

/// Shows [`NAME`] in place of the arguments that the child has from its parent.
///
/// # Safety
/// The range is that of [`find_argument_memory`], and nothing of this process reads its arguments any more.
unsafe fn rename_arguments(argument_memory: &Range<usize>) {
    let name = NAME.to_bytes();
    if argument_memory.len() <= name.len() {
        return;
    }
    let memory: *mut u8 = ptr::with_exposed_provenance_mut(argument_memory.start);
    // SAFETY: the range is mapped and writable, as the stack is, and it is longer than the name.
    unsafe {
        memory.write_bytes(0, argument_memory.len());
        memory.copy_from_nonoverlapping(name.as_ptr(), name.len());
    }
}

/// # Safety
/// Call it only in the child of a fork.
unsafe fn sleep(
    program: &Program,
    kept: &KeptFiles<'_>,
    signals: &libc::sigset_t,
    argument_memory: &Range<usize>,
) -> ! {
    let goals = kept.goals.as_raw_fd();
    let dismissal = kept.dismissal.as_raw_fd();
    let parent = kept.parent.map_or(-1, AsRawFd::as_raw_fd);
    let (arguments, variables) = (program.arguments.pointers, program.variables.pointers);
    // SAFETY: system calls with numbers, and with memory that outlives the call.
    unsafe {
        // Signals that end a terminal, a shell's job or a service also end the parent, which then cancels its goals.
        libc::setsid();
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // A handler of the parent would access memory that no longer exists.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const *signals, ptr::null_mut());
        name_process();
        rename_arguments(argument_memory);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if null >= 0 {
            libc::dup2(null, libc::STDIN_FILENO);
            libc::dup2(null, libc::STDOUT_FILENO);
        }
        close_all_except([goals, dismissal, parent]);
        // It is read after each wait, and the read never blocks.
        libc::fcntl(dismissal, libc::F_SETFL, libc::O_NONBLOCK);
        free_allocated();
        wait_for_parent(dismissal, parent);
        if !has_goals(goals) {
            libc::_exit(0);
        }
        libc::fcntl(goals, libc::F_SETFD, 0);
        libc::execve(c"/proc/self/exe".as_ptr(), arguments, variables);
        let text = "navtree: guardian not started; goals of the navigator, which has ended, are not cancelled and may still \
             execute\n";
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        libc::_exit(1)
    }
}

/// Closes all files of the process except standard input, output and error, and `kept`: a socket or a lock of the
/// parent must not outlive it.
unsafe fn close_all_except(mut kept: [c_int; 3]) {
    kept.sort_unstable();
    let close = |first: c_int, last: c_int| {
        let (Ok(from), Ok(to)) = (c_uint::try_from(first), c_uint::try_from(last)) else {
            return;
        };
        if from > to {
            return;
        }
        // SAFETY: this process does not use the closed files.
        unsafe {
            if libc::syscall(libc::SYS_close_range, from, to, 0) != 0 {
                // For kernels before 5.9.
                for file in first..=last.min(MAX_FILES) {
                    libc::close(file);
                }
            }
        }
    };
    let mut next = libc::STDERR_FILENO + 1;
    for file in kept.into_iter().filter(|file| *file >= 0) {
        close(next, file - 1);
        next = file + 1;
    }
    close(next, c_int::MAX);
}

/// The number of files closed one by one if the kernel cannot close all.
const MAX_FILES: c_int = 4096;

/// Waits until the parent has ended. If the parent dismisses the child, exits and does not return.
///
/// If the process itself can be waited for, the end of the pipe does not count as the parent's end: a process that
/// replaces itself closes the pipe and continues, and another child may keep the pipe open after the parent's end.
unsafe fn wait_for_parent(dismissal: c_int, parent: c_int) {
    let event = |fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut events = [event(dismissal), event(parent)];
    loop {
        let mut byte = 0_u8;
        // SAFETY: there are two events, and one byte to read into.
        let (count, read) = unsafe {
            let count = libc::poll(events.as_mut_ptr(), 2, -1);
            (count, libc::read(dismissal, (&raw mut byte).cast(), 1))
        };
        if read > 0 {
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) }
        }
        if count <= 0 {
            continue;
        }
        if events[1].revents != 0 || (read == 0 && parent < 0) {
            return;
        }
        if read == 0 {
            events[0].fd = -1;
        }
    }
}

unsafe fn has_goals(goals: c_int) -> bool {
    for record in 0.. {
        let mut used = 0_u8;
        let Ok(offset) = libc::off_t::try_from(record_offset(record)) else {
            return false;
        };
        // SAFETY: reads one byte into one.
        let read = unsafe { libc::pread(goals, (&raw mut used).cast(), 1, offset) };
        if read != 1 {
            // The end of the file, which has grown since the start of this process if there are several robots.
            return false;
        }
        if used != 0 && !is_of_node(record) {
            return true;
        }
    }
    false
}
