//! A process that cancels the navigator's goals where the navigator cannot (guarantee G11).
//!
//! A process that is killed, or that aborts in C++ code, says nothing to the servers of its goals: the robot drives on. So
//! a child is forked before there is a thread. It holds nothing of ROS and sleeps until its parent has ended. Where the
//! parent has not dismissed it, and goals of its live on servers, the child becomes this program anew, cancels them and
//! ends. An orderly end is no dismissal: a server may have refused to cancel a goal, or not have answered.
//!
//! ```text
//!   navigator ── goals ──▶ memory ◀── reads ── goal-guard, a process of one thread
//!       │                                            │ sleeps
//!       └──────── farewell (pipe), end (pidfd) ─────▶│
//!                                                    ▼ execve
//!                                     cancel: a node, one client a server
//! ```
//!
//! The goals are in memory that both have, so a child that was killed is replaced, and nothing has to be told twice.

mod announcements;
mod cancel;
mod goals;
mod mappings;
mod participant;
mod sleeper;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeWriter, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use goals::GuardedGoals;

use super::arguments;
use sleeper::{Kept, Program};

/// The variable by which the process knows that it is to cancel goals: the number of the open file that names them.
const VARIABLE: &str = "NAVTREE_GUARDIAN";

/// How soon a child that was killed is replaced. Doubled each time, up to a minute, where the one before did not live for
/// a minute: what kills every child must not keep this process busy.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a child that was dismissed may take to end before it is left to the system.
const DISMISSAL: Duration = Duration::from_millis(100);

/// The child process, and what another one would need.
pub struct Guardian {
    program: Program,
    goals: Arc<File>,
    parent: Option<OwnedFd>,
    child: Option<Child>,
    pause: Duration,
    restart_at: Option<Instant>,
}

struct Child {
    pid: libc::pid_t,
    farewell: PipeWriter,
    since: Instant,
}

impl std::fmt::Debug for Guardian {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pid = self.child.as_ref().map(|child| child.pid);
        f.debug_struct("Guardian")
            .field("pid", &pid)
            .finish_non_exhaustive()
    }
}

/// Where this process is what a guardian has become: cancels the goals and ends. Otherwise returns. To be called before
/// the process does anything that only one navigator may do.
pub fn cancel_if_told() {
    if let Some(goals) = std::env::var_os(VARIABLE) {
        process::exit(i32::from(!cancel::run(&goals)));
    }
}

impl Guardian {
    /// Starts the child. To be called before there is a thread, and before the environment or the arguments change.
    ///
    /// # Errors
    /// Where the system refuses a file, a pipe or a process.
    pub fn start() -> io::Result<Self> {
        let goals = goals::create()?;
        let mut variables: Vec<OsString> = std::env::vars_os()
            .map(|(mut name, value)| {
                name.push("=");
                name.push(value);
                name
            })
            .collect();
        variables.push(format!("{VARIABLE}={}", goals.as_raw_fd()).into());
        let mut arguments = arguments::without_nodes(std::env::args_os());
        if let Some(program) = arguments.first_mut() {
            *program = sleeper::NAME.to_string_lossy().into_owned().into();
        }
        let mut guardian = Self {
            program: Program::new(arguments, variables)?,
            goals: Arc::new(goals),
            parent: sleeper::own_process().ok(),
            child: None,
            pause: PAUSE,
            restart_at: None,
        };
        guardian.start_child()?;
        Ok(guardian)
    }

    fn start_child(&mut self) -> io::Result<()> {
        let (reader, farewell) = io::pipe()?;
        let kept = Kept {
            goals: &self.goals,
            farewell: &reader,
            parent: self.parent.as_ref(),
        };
        let pid = sleeper::start(&self.program, &kept)?;
        self.child = Some(Child {
            pid,
            farewell,
            since: Instant::now(),
        });
        Ok(())
    }

    /// The list of goals, empty, of a node of this full name.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn goals(&self, node: &str) -> io::Result<GuardedGoals> {
        GuardedGoals::new(&self.goals, node)
    }

    /// A child of this process may have ended: where it is this one, [`Guardian::restart_at`] says what follows.
    pub fn look(&mut self) {
        let Some(child) = self.child.take_if(|child| sleeper::has_ended(child.pid)) else {
            return;
        };
        if child.since.elapsed() > LONGEST_PAUSE {
            self.pause = PAUSE;
        }
        tracing::warn!(
            "the guardian (process {}) was killed; another is started in {:?}",
            child.pid,
            self.pause
        );
        self.restart_at = Some(Instant::now() + self.pause);
        self.pause = LONGEST_PAUSE.min(self.pause * 2);
    }

    /// When [`Guardian::restart`] is to be called, if at all.
    pub fn restart_at(&self) -> Option<Instant> {
        self.restart_at
    }

    /// Starts another child.
    pub fn restart(&mut self) {
        self.restart_at = None;
        if let Err(error) = self.start_child() {
            tracing::error!(
                "no guardian could be started, the next try is in {:?}: {error}",
                self.pause
            );
            self.restart_at = Some(Instant::now() + self.pause);
            self.pause = LONGEST_PAUSE.min(self.pause * 2);
        }
    }

    /// Says farewell, where no guardian is wanted: the child ends without a look at the goals.
    pub fn dismiss(self) {
        let Some(mut child) = self.child else { return };
        if child.farewell.write_all(&[1]).is_err() {
            // It has ended before.
            return;
        }
        let until = Instant::now() + DISMISSAL;
        while !sleeper::has_ended(child.pid) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// For a test: a list of goals without a child.
#[cfg(test)]
pub(super) fn list_of_goals(node: &str) -> GuardedGoals {
    let file = Arc::new(goals::create().unwrap());
    GuardedGoals::new(&file, node).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(what: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_secs(30);
        while !what() {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the process is there, and no zombie.
    fn is_alive(pid: libc::pid_t) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, state)| !state.starts_with('Z'))
    }

    #[test]
    fn g11_a_guardian_outlives_other_children_and_is_replaced_until_it_is_dismissed() {
        let mut guardian = Guardian::start().unwrap();
        let pid = |guardian: &Guardian| guardian.child.as_ref().map(|child| child.pid).unwrap();
        let first = pid(&guardian);
        let comm = format!("/proc/{first}/comm");
        wait_for(|| std::fs::read_to_string(&comm).is_ok_and(|name| name == "goal-guard\n"));
        // `pkill -f` with the name of the program or of a node finds it as little.
        let arguments = format!("/proc/{first}/cmdline");
        wait_for(|| {
            std::fs::read_to_string(&arguments).is_ok_and(|all| all.trim_end_matches('\0') == "goal-guard")
        });
        // It keeps nothing open of this process but what it needs.
        wait_for(|| std::fs::read_dir(format!("/proc/{first}/fd")).is_ok_and(|open| open.count() <= 6));
        process::Command::new("true").status().unwrap();
        guardian.look();
        assert!(is_alive(first) && guardian.restart_at().is_none());
        // SAFETY: sends a signal.
        unsafe { libc::kill(first, libc::SIGTERM) };
        // SAFETY: the same.
        unsafe { libc::kill(first, libc::SIGKILL) };
        wait_for(|| !is_alive(first));
        guardian.look();
        assert!(guardian.restart_at().is_some());
        guardian.restart();
        let second = pid(&guardian);
        assert!(second != first && guardian.restart_at().is_none());
        guardian.dismiss();
        wait_for(|| !is_alive(second));
    }
}
