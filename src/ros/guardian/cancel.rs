//! The process that a guardian becomes when its parent has ended and left goals: cancels them and exits.
//!
//! Most of its time is spent on finding servers, because Fast DDS 2.14 loses the servers' answers to the announcement
//! of a new participant; see [`super::announcements`]. If the announcements cannot be held back (the user has a profile
//! of Fast DDS), participants are added until all servers are found: a server answers each one.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::announcements::Announcements;
use super::goals::{self, Left};
use super::participant::{Participant, Response};
use super::sleeper;
use crate::goal::{CancelCode, GoalId, Selection};
use crate::ros::action_client::{cancel_code, cancel_request};
use crate::ros::console::{start_log, take_log};
use crate::ros::{Clock, Executor, Listening, RosError};

/// Maximum time for the cancels of all goals.
const GIVE_UP: Duration = Duration::from_secs(10);
/// The time after which a server that was not found has ended too: a running server announces itself every 3 s.
const NOT_FOUND: Duration = Duration::from_secs(6);
/// The period of cancel requests until there is an answer.
const RETRY: Duration = Duration::from_millis(250);
/// How long a cancel is repeated if the server does not know the goal: its request may still be under way.
const UNKNOWN: Duration = Duration::from_secs(2);
/// The period of the checks for servers and answers.
const LOOK: Duration = Duration::from_millis(5);
/// The time after which a participant is added if not all servers were found, and the maximum number of participants.
const NEXT_PARTICIPANT: Duration = Duration::from_millis(500);
const MAX_PARTICIPANTS: usize = 16;
/// The same if participants announce themselves before they listen, and the number of participants at the first check.
const NEXT_EARLY_PARTICIPANT: Duration = Duration::from_millis(60);
const FIRST_EARLY_PARTICIPANTS: usize = 4;
/// The time at which the log is published if not all is done before: servers come first.
const LOG: Duration = Duration::from_millis(1500);
/// How long the log is published: as long as its publisher may not know the readers of `/rosout`. And how much of that
/// after the last line.
const STAY: Duration = Duration::from_secs(4);
const LAST_LINE: Duration = Duration::from_secs(1);

/// Cancels the goals in the open file with this number. Returns false if a cancel failed.
pub(super) fn run(file: &OsStr) -> bool {
    sleeper::name_process();
    // The first participant reads the profile.
    let (_profile, announcements) = Announcements::set_up();
    let left = File::open(Path::new("/proc/self/fd").join(file)).and_then(|file| goals::read(&file));
    let _log = start_log();
    let done = match left {
        Ok(left) if left.goals.is_empty() => return true,
        Ok(left) => cancel(&left, announcements),
        Err(error) => Err(RosError::Context(error.to_string())),
    };
    done.unwrap_or_else(|error| {
        tracing::error!("goals of a navigator that ended are not cancelled and may still execute: {error}");
        false
    })
}

fn cancel(left: &Left, announcements: Option<Announcements>) -> Result<bool, RosError> {
    let (namespace, name) = left.node.rsplit_once('/').unwrap_or_default();
    let name = format!("_{name}_guardian");
    tracing::warn!(
        "{} ended without stopping its goals: cancelling {}",
        left.node,
        left.goals.len()
    );
    let began = Instant::now();
    let mut canceller = Canceller::new(left, announcements);
    let mut make = |services: &[String]| Participant::new(&name, namespace, services);
    // Without a participant by now, the second run tries on.
    let _ = canceller.run(&mut make, began + LOG);
    let log = publish_log(&name, namespace);
    let published = Instant::now();
    canceller.run(&mut make, began + GIVE_UP)?;
    let all = canceller.report();
    let announcements = canceller.announcements.take();
    drop(canceller);
    if let Some(_log) = log? {
        let until = Instant::now() + STAY.saturating_sub(published.elapsed()).max(LAST_LINE);
        while Instant::now() < until {
            std::thread::sleep(LOOK);
            if let Some(announcements) = &announcements {
                announcements.pass_on();
            }
        }
    }
    Ok(all)
}

/// Publishes the log, if it is not published yet, while the returned value exists.
fn publish_log(name: &str, namespace: &str) -> Result<Option<Executor>, RosError> {
    let Some(log) = take_log() else { return Ok(None) };
    let (executor, _) = Executor::start(name, namespace, Listening::Together)?;
    log.attach(executor.handle(), &Clock::new(false))?;
    Ok(Some(executor))
}

struct Goal {
    id: GoalId,
    service: usize,
    ask_at: Instant,
    requests: u32,
    unknown_since: Option<Instant>,
    /// Whether a server has refused the cancel.
    was_refused: bool,
    is_done: bool,
}

struct Canceller {
    began: Instant,
    services: Vec<String>,
    was_found: Vec<bool>,
    goals: Vec<Goal>,
    participants: Vec<Participant>,
    /// `None`: participants announce themselves before they listen.
    announcements: Option<Announcements>,
    /// The goal of each request, by participant, service and request number.
    asked: HashMap<(usize, usize, i64), usize>,
}

impl Canceller {
    fn new(left: &Left, announcements: Option<Announcements>) -> Self {
        let mut services: Vec<String> = Vec::new();
        let now = Instant::now();
        let goals = left
            .goals
            .iter()
            .map(|(id, name)| {
                let service = services
                    .iter()
                    .position(|known| known == name)
                    .unwrap_or_else(|| {
                        services.push(name.clone());
                        services.len() - 1
                    });
                Goal {
                    id: *id,
                    service,
                    ask_at: now,
                    requests: 0,
                    unknown_since: None,
                    was_refused: false,
                    is_done: false,
                }
            })
            .collect();
        Self {
            began: now,
            was_found: vec![false; services.len()],
            services,
            goals,
            participants: Vec::new(),
            announcements,
            asked: HashMap::new(),
        }
    }

    /// Runs until all goals are done, or until `until`, or until the servers of the other goals must have ended. `make`
    /// makes a participant for services. A failure may pass, as one for lack of memory: it is tried again.
    ///
    /// # Errors
    /// The last error of `make`, if there was no participant until the end.
    fn run(
        &mut self,
        make: &mut impl FnMut(&[String]) -> Result<Participant, RosError>,
        until: Instant,
    ) -> Result<(), RosError> {
        let (first_participants, pause) = match self.announcements {
            Some(_) => (1, NEXT_PARTICIPANT),
            None => (FIRST_EARLY_PARTICIPANTS, NEXT_EARLY_PARTICIPANT),
        };
        let mut next_participant = Instant::now();
        let mut failure = None;
        while self.goals.iter().any(|goal| !goal.is_done) {
            let now = Instant::now();
            let count = self.participants.len();
            if now >= until || count > 0 && now >= self.began + NOT_FOUND && !self.is_any_found() {
                break;
            }
            let is_due = count < first_participants && failure.is_none() || now >= next_participant;
            if is_due && count < MAX_PARTICIPANTS && self.was_found.contains(&false) {
                failure = match make(&self.services) {
                    Ok(participant) => {
                        self.participants.push(participant);
                        None
                    }
                    Err(error) => {
                        tracing::debug!("participant {count} not created, trying again: {error}");
                        Some(error)
                    }
                };
                tracing::debug!("participant {count} created in {:?}", now.elapsed());
                next_participant = Instant::now() + pause;
            }
            if let Some(announcements) = &self.announcements {
                announcements.pass_on();
            }
            for participant in 0..self.participants.len() {
                self.ask_through(participant);
            }
            std::thread::sleep(LOOK);
        }
        match failure {
            Some(error) if self.participants.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether the server of an unfinished goal was found.
    fn is_any_found(&self) -> bool {
        let mut open = self.goals.iter().filter(|goal| !goal.is_done);
        open.any(|goal| self.was_found.get(goal.service) == Some(&true))
    }

    /// Sends all due requests and reads all answers of one participant.
    fn ask_through(&mut self, index: usize) {
        let Some(participant) = self.participants.get(index) else {
            return;
        };
        for (service, name) in self.services.iter().enumerate() {
            let now = Instant::now();
            while let Some((number, answer)) = participant.take(service) {
                let goal = self.asked.remove(&(index, service, number));
                if let Some(goal) = goal.and_then(|goal| self.goals.get_mut(goal)) {
                    goal.answered(&answer, name, now);
                }
            }
            let goals = self.goals.iter_mut().enumerate();
            let mut due = goals
                .filter(|(_, goal)| goal.service == service && !goal.is_done && goal.ask_at <= now)
                .peekable();
            if due.peek().is_none() || !participant.is_there(service) {
                continue;
            }
            if let Some(was_found) = self.was_found.get_mut(service) {
                *was_found = true;
            }
            tracing::debug!("{name}: found by participant {index}");
            for (number, goal) in due {
                goal.ask_at = now + RETRY;
                match participant.ask(service, &cancel_request(Selection::Goal(goal.id))) {
                    Ok(request) => {
                        goal.requests += 1;
                        self.asked.insert((index, service, request), number);
                    }
                    Err(error) => tracing::error!("{name}: {error}"),
                }
            }
        }
    }

    /// Logs the goals that were not cancelled. Returns whether there were none.
    fn report(&self) -> bool {
        for goal in self.goals.iter().filter(|goal| !goal.is_done) {
            let service = self.services.get(goal.service).map_or("?", |service| service);
            let why = match goal.requests {
                _ if goal.was_refused => "the server rejected the cancel",
                0 => "the server was not found",
                _ => "the server did not answer",
            };
            tracing::error!("{service}: goal {} was not cancelled: {why}", goal.id);
        }
        self.goals.iter().all(|goal| goal.is_done)
    }
}

impl Goal {
    fn answered(&mut self, answer: &Response, service: &str, now: Instant) {
        if self.is_done {
            return;
        }
        let id = self.id;
        match cancel_code(Selection::Goal(id), answer) {
            // rcl sends this answer if the goal has ended, and also if it is already canceling: the first answer was
            // lost.
            CancelCode::GoalTerminated if self.requests == 1 => {
                tracing::info!("{service}: goal {id} has ended or is already stopping");
                self.is_done = true;
            }
            CancelCode::None | CancelCode::GoalTerminated => {
                tracing::warn!("{service}: cancelled goal {id}");
                self.is_done = true;
            }
            CancelCode::UnknownGoal | CancelCode::UnknownToOne => {
                if now - *self.unknown_since.get_or_insert(now) >= UNKNOWN {
                    tracing::info!("{service}: goal {id} is unknown to the server");
                    self.is_done = true;
                }
            }
            CancelCode::Rejected => self.was_refused = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g11_a_participant_that_cannot_be_made_is_tried_again_until_the_end() {
        let left = Left {
            node: "/bt_navigator".to_owned(),
            goals: vec![(GoalId([1; 16]), "/spin/_action/cancel_goal".to_owned())],
        };
        let mut canceller = Canceller::new(&left, None);
        let mut attempts = 0;
        let mut make = |_: &[String]| {
            attempts += 1;
            Err(RosError::Context(format!("attempt {attempts}")))
        };
        let ended = canceller.run(&mut make, Instant::now() + 3 * NEXT_EARLY_PARTICIPANT);
        let error = ended.unwrap_err().to_string();
        assert!(
            attempts > 1 && error.contains(&format!("attempt {attempts}")),
            "{error}"
        );
    }
}
