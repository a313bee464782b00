//! A process that cancels the navigator's goals when the navigator cannot (guarantee G11).
//!
//! A process that is killed, or that aborts in C++ code, sends no cancels to the servers of its goals: the robot drives
//! on. So a child is forked before there is a thread. It contains no ROS and sleeps until its parent has ended. Then,
//! if the parent has not dismissed it and has left goals on servers, the child executes this program again, cancels the
//! goals and exits. A normal exit of the parent does not dismiss it: a server may have refused a cancel or not answered
//! it.
//!
//! ```text
//!   navigator ── goals ──▶ memory ◀── reads ── goal-guard, a process of one thread
//!       │                                            │ sleeps
//!       └──────── dismissal (pipe), end (pidfd) ────▶│
//!                                                    ▼ execve
//!                                     cancel: a node, one client per server
//! ```
//!
//! Both processes share the memory with the goals, so a killed child can be replaced without sending the goals again.

mod cancel;
mod goals;
mod goals_of_robot;
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

pub use goals::{GoalLists, GuardedGoals};

use super::arguments;
use goals_of_robot::GoalsOfRobots;
use sleeper::{KeptFiles, Program};

/// The environment variable of the cancelling process: the number of the open file with the goals.
const FILE_VARIABLE: &str = "NAVTREE_GUARDIAN";

/// The pause before a killed child is replaced. It doubles each time, up to a minute, if the previous child did not run
/// for a minute: a cause that kills every child must not keep this process busy.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// How long to wait for the end of a dismissed child before it is left to the system.
const DISMISSAL_TIMEOUT: Duration = Duration::from_millis(100);

/// The child process, and the data to start another one.
pub struct Guardian {
    program: Program,
    /// The programs that cancel the goals of robots that have failed.
    of_robots: GoalsOfRobots,
    goals: Arc<File>,
    parent: Option<OwnedFd>,
    child: Option<Child>,
    pause: Duration,
    restart_at: Option<Instant>,
}

struct Child {
    pid: libc::pid_t,
    dismissal: PipeWriter,
    started_at: Instant,
}

impl std::fmt::Debug for Guardian {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pid = self.child.as_ref().map(|child| child.pid);
        f.debug_struct("Guardian")
            .field("pid", &pid)
            .finish_non_exhaustive()
    }
}

/// If this process was started by a guardian, cancels the goals and exits. Otherwise returns. Call it before any action
/// that only one navigator may do.
pub fn cancel_if_told() {
    if let Some(goals) = std::env::var_os(FILE_VARIABLE) {
        process::exit(i32::from(!cancel::run(&goals)));
    }
}

impl Guardian {
    /// Starts the child. Call it before there is a thread, and before the environment or the arguments change.
    ///
    /// # Errors
    /// The system refuses a file, a pipe or a process.
    pub fn start() -> io::Result<Self> {
        let goals = goals::create()?;
        let mut variables: Vec<OsString> = std::env::vars_os()
            .map(|(mut name, value)| {
                name.push("=");
                name.push(value);
                name
            })
            .collect();
        variables.push(format!("{FILE_VARIABLE}={}", goals.as_raw_fd()).into());
        let mut arguments = arguments::without_nodes(std::env::args_os());
        if let Some(program) = arguments.first_mut() {
            *program = sleeper::NAME.to_string_lossy().into_owned().into();
        }
        let goals = Arc::new(goals);
        let mut guardian = Self {
            of_robots: GoalsOfRobots::new(&goals, &arguments),
            program: Program::new(arguments, variables)?,
            goals,
            parent: sleeper::own_process().ok(),
            child: None,
            pause: MIN_PAUSE,
            restart_at: None,
        };
        guardian.start_child()?;
        Ok(guardian)
    }

    fn start_child(&mut self) -> io::Result<()> {
        let (reader, dismissal) = io::pipe()?;
        let kept_files = KeptFiles {
            goals: &self.goals,
            dismissal: &reader,
            parent: self.parent.as_ref(),
        };
        let pid = sleeper::start(&self.program, &kept_files)?;
        self.child = Some(Child {
            pid,
            dismissal,
            started_at: Instant::now(),
        });
        Ok(())
    }

    /// Makes the lists of goals of the robots of this process.
    pub fn lists(&self) -> GoalLists {
        GoalLists(Arc::clone(&self.goals))
    }

    /// Checks whether the child has ended. Then [`Guardian::restart_at`] is the time of the next step.
    pub fn check(&mut self) {
        self.of_robots.check();
        let Some(child) = self.child.take_if(|child| sleeper::has_ended(child.pid)) else {
            return;
        };
        if child.started_at.elapsed() > MAX_PAUSE {
            self.pause = MIN_PAUSE;
        }
        tracing::warn!(
            "the guardian (process {}) ended; starting another in {:?}",
            child.pid,
            self.pause
        );
        self.restart_at = Some(Instant::now() + self.pause);
        self.pause = MAX_PAUSE.min(self.pause * 2);
    }

    /// Cancels the goals of the robot with this number at once, by another process. The robot has ended, while this process
    /// goes on.
    pub fn cancel_goals_of(&mut self, robot: usize) {
        self.of_robots.cancel(robot as u64);
    }

    /// Whether that process runs. Until it has ended, or has taken too long, the robot must not be started again.
    pub fn is_cancelling_goals_of(&self, robot: usize) -> bool {
        self.of_robots.is_cancelling(robot as u64)
    }

    /// Whether the robot with this number has goals in its list.
    pub fn has_goals_of(&self, robot: usize) -> bool {
        goals::copy(&self.goals, robot as u64).is_ok_and(|copy| copy.is_some())
    }

    /// Whether the child exists.
    pub fn is_running(&self) -> bool {
        self.child.is_some()
    }

    /// The time at which to call [`Guardian::restart`], if at all.
    pub fn restart_at(&self) -> Option<Instant> {
        self.restart_at
    }

    /// Starts another child.
    pub fn restart(&mut self) {
        self.restart_at = None;
        if let Err(error) = self.start_child() {
            tracing::error!("guardian not started, next attempt in {:?}: {error}", self.pause);
            self.restart_at = Some(Instant::now() + self.pause);
            self.pause = MAX_PAUSE.min(self.pause * 2);
        }
    }

    /// Dismisses the child, if no guardian is needed: it exits without reading the goals.
    pub fn dismiss(self) {
        let Some(mut child) = self.child else { return };
        if child.dismissal.write_all(&[1]).is_err() {
            // It has already ended.
            return;
        }
        let until = Instant::now() + DISMISSAL_TIMEOUT;
        while !sleeper::has_ended(child.pid) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// For tests: a list of goals without a child.
#[cfg(test)]
pub(super) fn list_of_goals(node: &str) -> GuardedGoals {
    let file = Arc::new(goals::create().unwrap());
    GoalLists(file).list(0, node).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(condition: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_secs(30);
        while !condition() {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the process exists and is not a zombie.
    fn is_alive(pid: libc::pid_t) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, state)| !state.starts_with('Z'))
    }

    #[test]
    fn g11_an_ended_guardian_is_replaced_until_it_is_dismissed() {
        let mut guardian = Guardian::start().unwrap();
        let pid = |guardian: &Guardian| guardian.child.as_ref().map(|child| child.pid).unwrap();
        let first = pid(&guardian);
        let comm = format!("/proc/{first}/comm");
        wait_for(|| std::fs::read_to_string(&comm).is_ok_and(|name| name == "goal-guard\n"));
        // `pkill -f` finds it neither by the name of the program nor by that of a node.
        let arguments = format!("/proc/{first}/cmdline");
        wait_for(|| {
            std::fs::read_to_string(&arguments).is_ok_and(|all| all.trim_end_matches('\0') == "goal-guard")
        });
        // The only open files of this process that it keeps are those it needs.
        wait_for(|| std::fs::read_dir(format!("/proc/{first}/fd")).is_ok_and(|open| open.count() <= 6));
        process::Command::new("true").status().unwrap();
        guardian.check();
        assert!(is_alive(first) && guardian.restart_at().is_none());
        // SAFETY: sends a signal.
        unsafe { libc::kill(first, libc::SIGTERM) };
        // SAFETY: sends a signal.
        unsafe { libc::kill(first, libc::SIGKILL) };
        wait_for(|| !is_alive(first));
        guardian.check();
        assert!(guardian.restart_at().is_some());
        guardian.restart();
        let second = pid(&guardian);
        assert!(second != first && guardian.restart_at().is_none());
        guardian.dismiss();
        wait_for(|| !is_alive(second));
    }
}
