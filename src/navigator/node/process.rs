//! The process: its robots, the signals that end it, and the guardian.
//!
//! The main thread starts the robots and waits. In between it makes the [`Checks`] of all robots, so that no robot needs
//! a thread for them. It never waits for a robot: robots start and shut down on threads that exist meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::signal::unix::Signal;
use tokio::sync::Notify;

use super::checks::Checks;
use super::earlier_run::EarlierRun;
use super::shutdown::{ShutdownTimeouts, TEARDOWN};
use super::{Node, Setup, StartError};
use crate::bt::panic_text;
use crate::navigator::signals::Signals;
use crate::robot_name;
use crate::ros::announcements::Announcements;
use crate::ros::exit_within;
use crate::ros::guardian::Guardian;
use crate::ros::middleware::Profile;

/// The pause before a robot that has failed is started again. It doubles with each failure, up to a minute, and begins
/// again after a minute without one.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The longest sleep of the main thread.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// The number of robots that start side by side. One that takes longer than [`START_TIME`], because it waits for a file or
/// for the middleware, does not delay the others, until there are [`MAX_SLOW_STARTS`]: where all are slow because there
/// are many, more starts at a time make each so slow that it fails.
const MAX_STARTS: usize = 2;
const MAX_SLOW_STARTS: usize = 4;
const START_TIME: Duration = Duration::from_secs(2);

/// The period of the checks whether an earlier run of a robot is over.
const CHECK_PERIOD: Duration = Duration::from_millis(500);

/// Time to write the last log line before the process is aborted.
const LAST_LINE_TIME: Duration = Duration::from_millis(200);

/// Runs the robots of this process until a signal ends it, or until the only robot fails. `profile`: the settings of the
/// middleware, which are read with the first node. `announcements`: those of the nodes, if this process forwards them.
pub(super) fn run(
    signals: Signals,
    setup: Setup,
    guardian: Option<Guardian>,
    profile: Option<Profile>,
    announcements: Option<Announcements>,
) -> ExitCode {
    let mut process = Process::new(setup, guardian, profile);
    let ending = Arc::clone(&process.setup);
    let signals = signals.split(move || {
        // On a thread of its own: the main thread may wait for a lock held by a thread that stalls in the middleware, or
        // run code of a user's type.
        ending.is_ending.store(true, Ordering::Release);
        exit_within(ShutdownTimeouts::REGULAR.all + TEARDOWN, 0);
        ending.wake.notify_one();
    });
    let started = signals.map_err(StartError::Thread).and_then(|signals| {
        if process.robots.len() == 1 {
            process.start_now(0)?;
        }
        Ok(signals)
    });
    match started {
        Ok((runtime, child)) => {
            // It runs whenever the main thread waits.
            let _forwarding =
                announcements.map(|announcements| runtime.spawn(announcements.forward_always()));
            process.run(&runtime, child)
        }
        Err(StartError::Ending) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            eprintln!("navtree: {error}");
            ExitCode::from(1)
        }
    }
}

/// The state of one robot.
enum State {
    /// Waits for its start.
    Due,
    /// Is started by a thread of its own, since this time.
    Starting(Instant),
    Running(Box<Node>),
    /// Shuts down on a thread of its own: after a fault of one of several robots, until this time. Otherwise the end of
    /// the process has a limit.
    Ending(Option<Instant>),
    /// Has failed, and is started again at this time.
    Pausing(Instant),
    /// The process ends, or the robot did not end in time after a fault.
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
    /// What may go on after its earlier run.
    earlier_run: Option<EarlierRun>,
}

/// What the threads of the robots report to the main thread.
enum Event {
    Started(usize, Result<Box<(Node, Checks)>, StartError>),
    /// Whether a thread of the robot had failed, before its end or in it.
    Ended(usize, bool),
}

struct Process {
    setup: Arc<Setup>,
    guardian: Option<Guardian>,
    /// There is a file as long as no node exists that has read it.
    profile: Option<Profile>,
    robots: Vec<Robot>,
    events: Receiver<Event>,
    report: Sender<Event>,
    /// A robot has been started.
    has_started: bool,
    /// A signal has come, or the only robot has failed, or none could start: no robot is started again.
    is_ending: bool,
    code: u8,
}

impl Process {
    fn new(setup: Setup, guardian: Option<Guardian>, profile: Option<Profile>) -> Self {
        let (report, events) = channel();
        let count = setup.robots.count();
        let name = |robot| setup.robots.full_name(robot).filter(|_| count > 1);
        let robots = (0..count).map(|robot| Robot::new(name(robot))).collect();
        Self {
            setup: Arc::new(setup),
            guardian,
            profile,
            robots,
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

    /// Starts the robots that are due, a few at a time. Returns the time of the next call.
    fn start_due(&mut self, now: Instant) -> Instant {
        let mut next = now + MAX_SLEEP;
        let starts = self.robots.iter().filter_map(|robot| match robot.state {
            State::Starting(since) => Some(since + START_TIME),
            _ => None,
        });
        let (mut quick, mut slow) = (MAX_STARTS, MAX_SLOW_STARTS);
        for end in starts {
            if now < end {
                quick = quick.saturating_sub(1);
                next = next.min(end);
            } else {
                slow = slow.saturating_sub(1);
            }
        }
        let mut room = if slow > 0 { quick } else { 0 };
        for number in 0..self.robots.len() {
            let is_due = |robot: &Robot| matches!(robot.state, State::Due);
            if self.robots.get(number).is_some_and(is_due) && room > 0 {
                room -= 1;
                self.start(number);
                next = next.min(now + START_TIME);
            }
        }
        next
    }

    /// Starts a robot on another thread.
    fn start(&mut self, number: usize) {
        self.prepare_middleware();
        let Some(robot) = self.robots.get_mut(number) else {
            return;
        };
        let (report, setup, name) = (self.report.clone(), Arc::clone(&self.setup), robot.name.clone());
        let start = move || {
            let start = AssertUnwindSafe(|| robot_name::with(name.as_ref(), || Node::start(&setup, number)));
            let node =
                catch_unwind(start).unwrap_or_else(|panic| Err(StartError::Panic(panic_text(&*panic))));
            let _ = report.send(Event::Started(number, node.map(Box::new)));
            setup.wake.notify_one();
        };
        let started = std::thread::Builder::new()
            .name("start-robot".to_owned())
            .spawn(start);
        robot.state = match started {
            Ok(_) => State::Starting(Instant::now()),
            Err(_) => State::Pausing(Instant::now() + robot.next_pause(Instant::now())),
        };
    }

    /// Writes the settings of the middleware again before the first node of a context is created.
    fn prepare_middleware(&self) {
        let has_node = |robot: &Robot| !matches!(robot.state, State::Due | State::Pausing(_) | State::Ended);
        if let Some(profile) = &self.profile
            && !self.robots.iter().any(has_node)
        {
            profile.restore();
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
        if let Some(profile) = &self.profile {
            profile.remove();
        }
        if let Some(robot) = self.robots.get_mut(robot) {
            robot.state = State::Running(Box::new(node));
            robot.checks = Some(checks);
            robot.started_at = Some(Instant::now());
        }
    }

    fn run(mut self, runtime: &Runtime, mut child: Signal) -> ExitCode {
        runtime.block_on(async {
            loop {
                if !self.is_ending && self.setup.is_ending.load(Ordering::Acquire) {
                    self.end_all();
                }
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
                Event::Ended(robot, has_failed) => {
                    if self.is_ending && has_failed {
                        self.code = 1;
                    }
                    self.has_ended(robot, None);
                }
            }
        }
    }

    /// A robot has ended, or could not start.
    fn has_ended(&mut self, number: usize, error: Option<&str>) {
        let Some(robot) = self.robots.get_mut(number) else {
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
        // A robot whose goals did not stop drives on, and its next run may be a long time away.
        if let Some(guardian) = &mut self.guardian {
            guardian.cancel_goals_of(number);
        }
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

    /// Ends the process if no robot could start, or none has ended in time: a launch file shows that it is of no use.
    fn end_without_robots(&mut self) {
        let are_all = |is: fn(&State) -> bool| self.robots.iter().all(|robot| is(&robot.state));
        let have_all_failed = !self.has_started && are_all(|state| matches!(state, State::Pausing(_)));
        if !self.is_ending && (have_all_failed || are_all(|state| matches!(state, State::Ended))) {
            self.is_ending = true;
            self.code = 1;
            // Threads of robots that did not end may block the end of the process.
            exit_within(TEARDOWN, self.code);
            (0..self.robots.len()).for_each(|robot| self.end(robot, None));
        }
    }

    /// A signal has come: ends all robots side by side.
    fn end_all(&mut self) {
        self.is_ending = true;
        for robot in 0..self.robots.len() {
            self.end(robot, None);
        }
    }

    /// Shuts a robot down on another thread, with the fault for which it ends, if there is one.
    fn end(&mut self, number: usize, fault: Option<String>) {
        let Some(robot) = self.robots.get_mut(number) else {
            return;
        };
        let limit = ShutdownTimeouts::FAULT.all + TEARDOWN;
        let until = (!self.is_ending).then(|| Instant::now() + limit);
        let node = match std::mem::replace(&mut robot.state, State::Ending(until)) {
            State::Running(node) => node,
            State::Due | State::Pausing(_) => {
                robot.state = State::Ended;
                return;
            }
            // The limit of a single robot would abort the process while the other robots shut down. The process has its
            // own.
            State::Ending(_) if self.is_ending => {
                robot.state = State::Ending(None);
                return;
            }
            other => {
                robot.state = other;
                return;
            }
        };
        if self.is_ending && fault.is_some() {
            exit_within(limit, self.code);
        }
        robot.earlier_run = Some(node.earlier_run());
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
        let has_guardian = self.guardian.as_ref().is_some_and(Guardian::is_running);
        for number in 0..self.robots.len() {
            let Some(robot) = self.robots.get_mut(number) else {
                continue;
            };
            if let Some(checks) = &mut robot.checks {
                next = robot_name::with(robot.name.as_ref(), || checks.run(now, has_guardian)).min(next);
            }
            match robot.state {
                State::Pausing(at) if at <= now => {
                    let is_cancelling =
                        |guardian: &Guardian| !self.is_ending && guardian.is_cancelling_goals_of(number);
                    if self.guardian.as_ref().is_some_and(is_cancelling) || !robot.is_earlier_run_over(now) {
                        next = next.min(now + CHECK_PERIOD);
                    } else {
                        robot.state = State::Due;
                    }
                }
                State::Ending(Some(until)) if until <= now => next = next.min(self.give_up(number, now)),
                State::Pausing(at) | State::Ending(Some(at)) => next = at.min(next),
                _ => {}
            }
        }
        next.min(self.start_due(now))
    }

    /// A robot did not end in time after a fault. Returns the time of the next call.
    fn give_up(&mut self, number: usize, now: Instant) -> Instant {
        let Some(robot) = self.robots.get_mut(number) else {
            return now + MAX_SLEEP;
        };
        let guardian = self.guardian.as_ref();
        let has_goals = guardian.is_some_and(|guardian| guardian.has_goals_of(number));
        if has_goals && !guardian.is_some_and(Guardian::is_running) {
            return now + CHECK_PERIOD;
        }
        robot_name::with(robot.name.as_ref(), || {
            if has_goals {
                tracing::error!(
                    "did not end in time after a fault: aborting the process, so that the guardian cancels its goals"
                );
                std::thread::sleep(LAST_LINE_TIME);
                process::abort();
            }
            tracing::error!("did not end in time after a fault: not started again before it has ended");
        });
        robot.state = State::Ended;
        now
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
        let has_failed = robot_name::with(self.name.as_ref(), || {
            catch_unwind(AssertUnwindSafe(|| node.shut_down(self.fault))).unwrap_or_else(|panic| {
                tracing::error!("the shutdown has panicked: {}", panic_text(&*panic));
                true
            })
        });
        let _ = self.report.send(Event::Ended(self.robot, has_failed));
        self.wake.notify_one();
    }
}

impl Robot {
    fn new(name: Option<String>) -> Self {
        Self {
            name: name.map(Arc::from),
            state: State::Due,
            checks: None,
            started_at: None,
            pause: MIN_PAUSE,
            earlier_run: None,
        }
    }

    /// Whether nothing of the earlier run goes on, so that the robot may be started again.
    fn is_earlier_run_over(&mut self, now: Instant) -> bool {
        let Some(earlier_run) = &mut self.earlier_run else {
            return true;
        };
        let is_over = robot_name::with(self.name.as_ref(), || earlier_run.is_over(now));
        if is_over {
            self.earlier_run = None;
        }
        is_over
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
