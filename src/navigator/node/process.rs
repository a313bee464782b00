//! The process: its robots, the signals that end it, and the guardian.
//!
//! The main thread starts the robots and waits. In between it makes the [`Checks`] of all robots, so that no robot needs
//! a thread for them. It never waits for a robot: robots start and shut down on threads that exist meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::checks::Checks;
use super::shutdown::{ShutdownTimeouts, TEARDOWN};
use super::{Node, Setup, StartError};
use crate::bt::panic_text;
use crate::navigator::signals::Signals;
use crate::robot_name;
use crate::ros::exit_within;
use crate::ros::guardian::Guardian;
use crate::worker::Worker;

/// The pause before a robot that has failed is started again. It doubles with each failure, up to a minute, and begins
/// again after a minute without one.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The longest sleep of the main thread.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// Runs the robots of this process until a signal ends it, or until the only robot fails.
pub(super) fn run(signals: Signals, setup: Setup, guardian: Option<Guardian>) -> ExitCode {
    let robots = setup.robots.clone();
    let mut process = Process::new(setup, guardian);
    if robots.count() == 1 {
        match process.start_now(0) {
            Ok(()) => {}
            Err(error) => {
                tracing::error!("{error}");
                eprintln!("navtree: {error}");
                return ExitCode::from(1);
            }
        }
    } else {
        (0..robots.count()).for_each(|robot| process.start(robot));
    }
    process.run(signals)
}

/// The state of one robot.
enum State {
    Starting,
    Running(Box<Node>),
    /// Shuts down on a thread of its own.
    Ending,
    /// Has failed, and is started again at this time.
    Pausing(Instant),
    Ended,
}

struct Robot {
    /// The full name of its node, if there are several robots.
    name: Option<Arc<str>>,
    state: State,
    /// While it runs or shuts down.
    checks: Option<Checks>,
    /// `None` while it does not run.
    started_at: Option<Instant>,
    /// The pause after its next failure.
    pause: Duration,
}

/// What the threads of the robots report to the main thread.
enum Event {
    Started(usize, Result<Box<(Node, Checks)>, StartError>),
    Ended(usize),
}

struct Process {
    setup: Arc<Setup>,
    guardian: Option<Guardian>,
    robots: Vec<Robot>,
    /// Starts robots, one after the other.
    starter: Worker<usize>,
    events: Receiver<Event>,
    report: Sender<Event>,
    /// A robot has been started.
    has_started: bool,
    /// A signal has come, or the only robot has failed, or none could start: no robot is started again.
    is_ending: bool,
    code: u8,
}

impl Process {
    fn new(setup: Setup, guardian: Option<Guardian>) -> Self {
        let setup = Arc::new(setup);
        let (report, events) = channel();
        let count = setup.robots.count();
        let name = |robot| setup.robots.full_name(robot).filter(|_| count > 1);
        let robots: Vec<Robot> = (0..count).map(|robot| Robot::new(name(robot))).collect();
        let names: Vec<Option<Arc<str>>> = robots.iter().map(|robot| robot.name.clone()).collect();
        let (starting, started) = (Arc::clone(&setup), report.clone());
        let starter = Worker::new(
            "robots",
            count,
            |_| (),
            move |robot: Option<usize>| {
                if let Some(robot) = robot {
                    let name = names.get(robot).and_then(Option::as_ref);
                    let start = || robot_name::with(name, || Node::start(&starting, robot));
                    let node = catch_unwind(AssertUnwindSafe(start))
                        .unwrap_or_else(|panic| Err(StartError::Panic(panic_text(&*panic))));
                    let _ = started.send(Event::Started(robot, node.map(Box::new)));
                    starting.wake.notify_one();
                }
                None
            },
        );
        Self {
            setup,
            guardian,
            robots,
            starter,
            events,
            report,
            has_started: false,
            is_ending: false,
            code: 0,
        }
    }

    /// Starts a robot on the calling thread.
    fn start_now(&mut self, robot: usize) -> Result<(), StartError> {
        let started = Node::start(&self.setup, robot)?;
        self.has_started(robot, started);
        Ok(())
    }

    /// Starts a robot on another thread.
    fn start(&mut self, robot: usize) {
        let is_asked = self.starter.put(robot).is_ok();
        if let Some(robot) = self.robots.get_mut(robot) {
            robot.state = if is_asked {
                State::Starting
            } else {
                State::Pausing(Instant::now() + robot.next_pause(Instant::now()))
            };
        }
    }

    fn has_started(&mut self, robot: usize, (node, checks): (Node, Checks)) {
        if self.robots.len() == 1 && !checks.is_guarded {
            // Not wanted. With several robots, the guardian may be wanted for another one.
            if let Some(guardian) = self.guardian.take() {
                guardian.dismiss();
            }
        }
        self.has_started = true;
        if let Some(robot) = self.robots.get_mut(robot) {
            robot.state = State::Running(Box::new(node));
            robot.checks = Some(checks);
            robot.started_at = Some(Instant::now());
        }
    }

    fn run(mut self, signals: Signals) -> ExitCode {
        let (runtime, mut end, mut child) = signals.split();
        runtime.block_on(async {
            loop {
                self.take_events();
                self.end_failed_robots();
                self.end_without_robots();
                let next = self.step(Instant::now());
                if self.is_ending
                    && self
                        .robots
                        .iter()
                        .all(|robot| matches!(robot.state, State::Ended))
                {
                    return;
                }
                tokio::select! {
                    () = end(), if !self.is_ending => self.end_all(),
                    // The guardian is checked above.
                    _ = child.recv() => {}
                    () = self.setup.wake.notified() => self.look_soon(),
                    () = tokio::time::sleep_until(next.into()) => {}
                }
            }
        });
        // The guardian is not dismissed. It ends with this process; if a goal did not stop, the guardian first cancels
        // it again.
        ExitCode::from(self.code)
    }

    /// Takes the reports of the threads that start and end robots.
    fn take_events(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            match event {
                Event::Started(robot, Ok(started)) => {
                    self.has_started(robot, *started);
                    if self.is_ending {
                        self.end(robot, None);
                    }
                }
                Event::Started(robot, Err(error)) => self.has_ended(robot, Some(&error.to_string())),
                Event::Ended(robot) => self.has_ended(robot, None),
            }
        }
    }

    /// A robot has ended, or could not start.
    fn has_ended(&mut self, robot: usize, error: Option<&str>) {
        let Some(robot) = self.robots.get_mut(robot) else {
            return;
        };
        robot.checks = None;
        if self.is_ending {
            robot.state = State::Ended;
            return;
        }
        let pause = robot.next_pause(Instant::now());
        robot.state = State::Pausing(Instant::now() + pause);
        robot_name::with(robot.name.as_ref(), || match error {
            Some(error) => tracing::error!("not started, next attempt in {pause:?}: {error}"),
            None => tracing::error!("ended after a fault; starting it again in {pause:?}"),
        });
    }

    /// Ends the robots that have failed. With one robot, the process ends: a launch file starts it again.
    fn end_failed_robots(&mut self) {
        for robot in 0..self.robots.len() {
            let state = self.robots.get(robot).map(|robot| &robot.state);
            let Some(State::Running(node)) = state else {
                continue;
            };
            let Some(fault) = node.fault() else { continue };
            if self.robots.len() == 1 {
                self.is_ending = true;
                self.code = 1;
            }
            self.end(robot, Some(fault));
        }
    }

    /// Ends the process if no robot could start: a launch file shows that it is of no use.
    fn end_without_robots(&mut self) {
        let have_all_failed = self
            .robots
            .iter()
            .all(|robot| matches!(robot.state, State::Pausing(_)));
        if !self.has_started && have_all_failed {
            self.is_ending = true;
            self.code = 1;
            (0..self.robots.len()).for_each(|robot| self.end(robot, None));
        }
    }

    /// A signal has come: ends all robots side by side.
    fn end_all(&mut self) {
        self.is_ending = true;
        // First of all, because the following calls may wait for a lock held by a thread that stalls in the middleware.
        exit_within(ShutdownTimeouts::REGULAR.all + TEARDOWN, self.code);
        for robot in 0..self.robots.len() {
            self.end(robot, None);
        }
    }

    /// Shuts a robot down on another thread, with the fault for which it ends, if there is one.
    fn end(&mut self, number: usize, fault: Option<String>) {
        let Some(robot) = self.robots.get_mut(number) else {
            return;
        };
        let node = match std::mem::replace(&mut robot.state, State::Ending) {
            State::Running(node) => node,
            State::Pausing(_) => {
                robot.state = State::Ended;
                return;
            }
            other => {
                robot.state = other;
                return;
            }
        };
        if self.is_ending && fault.is_some() {
            exit_within(ShutdownTimeouts::FAULT.all + TEARDOWN, self.code);
        }
        let ending = Ending {
            robot: number,
            name: robot.name.clone(),
            fault,
            report: self.report.clone(),
            wake: Arc::clone(&self.setup.wake),
        };
        // Passed on after the start of the thread: a thread that does not start would drop the node.
        let (give, given) = channel::<Box<Node>>();
        let of_thread = ending.clone();
        let started = std::thread::Builder::new()
            .name("shutdown".to_owned())
            .spawn(move || {
                if let Ok(node) = given.recv() {
                    of_thread.shut_down(*node);
                }
            });
        match started {
            Ok(_) => drop(give.send(node)),
            Err(_) => ending.shut_down(*node),
        }
    }

    /// Makes what is due. Returns the time of the next call.
    fn step(&mut self, now: Instant) -> Instant {
        let mut next = now + MAX_SLEEP;
        if let Some(guardian) = &mut self.guardian {
            guardian.check();
            if guardian.restart_at().is_some_and(|at| at <= now) {
                guardian.restart();
            }
            next = guardian.restart_at().map_or(next, |at| at.min(next));
        }
        for number in 0..self.robots.len() {
            let Some(robot) = self.robots.get_mut(number) else {
                continue;
            };
            if let Some(checks) = &mut robot.checks {
                next = robot_name::with(robot.name.as_ref(), || checks.run(now)).min(next);
            }
            match robot.state {
                State::Pausing(at) if at <= now => self.start(number),
                State::Pausing(at) => next = at.min(next),
                _ => {}
            }
        }
        next
    }

    /// Another thread has woken this one.
    fn look_soon(&mut self) {
        for robot in &mut self.robots {
            if let Some(checks) = &mut robot.checks {
                checks.look_soon();
            }
        }
    }
}

/// The end of a robot.
#[derive(Clone)]
struct Ending {
    robot: usize,
    name: Option<Arc<str>>,
    /// The fault for which it ends, if there is one.
    fault: Option<String>,
    report: Sender<Event>,
    wake: Arc<Notify>,
}

impl Ending {
    fn shut_down(self, node: Node) {
        robot_name::with(self.name.as_ref(), || node.shut_down(self.fault));
        let _ = self.report.send(Event::Ended(self.robot));
        self.wake.notify_one();
    }
}

impl Robot {
    fn new(name: Option<String>) -> Self {
        Self {
            name: name.map(Arc::from),
            state: State::Ended,
            checks: None,
            started_at: None,
            pause: MIN_PAUSE,
        }
    }

    /// The pause after a failure now.
    fn next_pause(&mut self, now: Instant) -> Duration {
        let started_at = self.started_at.take();
        if started_at.is_some_and(|at| now.saturating_duration_since(at) > MAX_PAUSE) {
            self.pause = MIN_PAUSE;
        }
        let next = MAX_PAUSE.min(self.pause * 2);
        std::mem::replace(&mut self.pause, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_until_the_robot_has_run_for_a_minute() {
        let mut robot = Robot::new(None);
        let start = Instant::now();
        let mut pause = |seconds: Option<u64>| {
            robot.started_at = seconds.map(|_| start);
            robot
                .next_pause(start + Duration::from_secs(seconds.unwrap_or(1000)))
                .as_secs()
        };
        let pauses = [None; 8].map(&mut pause);
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!([Some(5), Some(61), Some(5)].map(pause), [60, 1, 2]);
    }
}
