//! Cancels the goals of a robot that has failed, while the process goes on with its other robots.
//!
//! The same program cancels them as after the end of the process; see [`super::cancel`]. It reads a copy of the robot's
//! region.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{FILE_VARIABLE, goals};

/// The number of the program's file with the goals: its standard input.
pub(super) const FILE: &str = "0";
/// The longest time that the next run of a robot waits for the program.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct GoalsOfRobots {
    goals: Arc<File>,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    running: Vec<Running>,
}

struct Running {
    region: u64,
    program: Child,
    until: Instant,
}

impl GoalsOfRobots {
    /// Call it before the environment changes. `arguments`: those of the program, with its name.
    pub(super) fn new(goals: &Arc<File>, arguments: &[OsString]) -> Self {
        Self {
            goals: Arc::clone(goals),
            arguments: arguments.to_vec(),
            variables: std::env::vars_os().collect(),
            running: Vec::new(),
        }
    }

    /// Starts the program if the region has goals.
    pub(super) fn cancel(&mut self, region: u64) {
        let copy = match goals::copy(&self.goals, region) {
            Ok(Some(copy)) => copy,
            Ok(None) => return,
            Err(error) => return report(&error),
        };
        let mut command = Command::new("/proc/self/exe");
        if let Some((name, arguments)) = self.arguments.split_first() {
            command.arg0(name).args(arguments);
        }
        // The program reads the goals from its standard input. It has a group of its own, so that Ctrl-C does not end it.
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command
            .env_clear()
            .envs(variables)
            .env(FILE_VARIABLE, FILE)
            .stdin(copy)
            .stdout(Stdio::null())
            .process_group(0);
        match command.spawn() {
            Ok(program) => self.running.push(Running {
                region,
                program,
                until: Instant::now() + TIMEOUT,
            }),
            Err(error) => report(&error),
        }
    }

    pub(super) fn is_cancelling(&self, region: u64) -> bool {
        let now = Instant::now();
        self.running
            .iter()
            .any(|running| running.region == region && now < running.until)
    }

    /// Empties the regions whose goals were cancelled.
    pub(super) fn check(&mut self) {
        let goals = &self.goals;
        self.running
            .retain_mut(|running| match running.program.try_wait() {
                Ok(None) => true,
                // Later, the region may have goals of the next run.
                Ok(Some(status)) if status.success() && Instant::now() < running.until => {
                    let _ = goals::clear(goals, running.region);
                    false
                }
                _ => false,
            });
    }
}

fn report(error: &std::io::Error) {
    tracing::error!("goals of a robot that has failed are not cancelled and may still execute: {error}");
}
