//! The process that a guardian becomes when its parent has ended and left goals: cancels them and exits.
//!
//! Most of its time is spent on finding servers, because Fast DDS 2.14 loses the servers' answers to the announcement
//! of a new participant; see [`crate::ros::announcements`]. If the announcements cannot be held back (the user has a profile
//! of Fast DDS), participants are added until all servers are found: a server answers each one.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::goals::{self, RemainingGoals};
use super::goals_of_robot::FILE as GOALS_OF_ROBOT;
use super::participant::{Participant, Response};
use super::sleeper;
use crate::goal::{CancelCode, GoalId, Selection};
use crate::ros::action_client::{cancel_code, cancel_request};
use crate::ros::announcements::Announcements;
use crate::ros::console::start_log;
use crate::ros::rosout::take_log;
use crate::ros::{Clock, Executor, RosError};

/// Maximum time for the cancels of all goals.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time after which a server that was not found has ended too: a running server announces itself every 3 s.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(6);
/// The period of cancel requests until there is an answer.
const RETRY_PERIOD: Duration = Duration::from_millis(250);
/// The time after which a goal that its server does not know counts as lost. Its request may still be under way, and a busy
/// server may accept it later: if nobody waits for the end of this process, cancels are sent until [`TIMEOUT`].
const UNKNOWN_GOAL_TIME: Duration = Duration::from_secs(2);
/// The period of the checks for servers and answers.
const POLL_PERIOD: Duration = Duration::from_millis(5);
/// The time after which a participant is added if not all servers were found, and the maximum number of participants.
const PARTICIPANT_PERIOD: Duration = Duration::from_millis(500);
const MAX_PARTICIPANTS: usize = 16;
/// The same if participants announce themselves before they listen, and the number of participants at the first check.
const EARLY_PARTICIPANT_PERIOD: Duration = Duration::from_millis(60);
const FIRST_EARLY_PARTICIPANTS: usize = 4;
/// The time at which the log is published if not all is done before: servers come first.
const LOG_DELAY: Duration = Duration::from_millis(1500);
/// How long the log is published: as long as its publisher may not know the readers of `/rosout`. And how much of that
/// after the last line.
const LOG_TIME: Duration = Duration::from_secs(4);
const LAST_LINE_TIME: Duration = Duration::from_secs(1);

/// Cancels the goals in the open file with this number. Returns false if a cancel failed.
pub(super) fn run(file: &OsStr) -> bool {
    sleeper::name_process();
    // The first participant reads the profile.
    let (_profile, announcements) = Announcements::set_up();
    let remaining = File::open(Path::new("/proc/self/fd").join(file)).and_then(|file| goals::read(&file));
    let _log = start_log();
    let done = match remaining {
        Ok(mut remaining) => {
            remaining.retain(|of_node| !of_node.goals.is_empty());
            match remaining.first() {
                // The next run of a robot waits for this process.
                Some(first) => cancel(&first.node, &remaining, announcements, file != GOALS_OF_ROBOT),
                None => return true,
            }
        }
        Err(error) => Err(RosError::Context(error.to_string())),
    };
    done.unwrap_or_else(|error| {
        tracing::error!("goals of a navigator that ended are not cancelled and may still execute: {error}");
        false
    })
}

/// `first`: the node that names the guardian's own. `is_patient`: see [`Canceller`].
fn cancel(
    first: &str,
    remaining: &[RemainingGoals],
    announcements: Option<Announcements>,
    is_patient: bool,
) -> Result<bool, RosError> {
    let (namespace, name) = first.rsplit_once('/').unwrap_or_default();
    let name = format!("_{name}_guardian");
    for RemainingGoals { node, goals } in remaining {
        tracing::warn!(
            "{node} ended without stopping its goals: cancelling {}",
            goals.len()
        );
    }
    let started_at = Instant::now();
    let mut canceller = Canceller::new(remaining, announcements, is_patient);
    let mut create_participant = |services: &[String]| Participant::new(&name, namespace, services);
    // Without a participant by now, the second run tries on.
    let _ = canceller.run(&mut create_participant, started_at + LOG_DELAY);
    let log = publish_log(&name, namespace);
    let published = Instant::now();
    canceller.run(&mut create_participant, started_at + TIMEOUT)?;
    let all_cancelled = canceller.report();
    let announcements = canceller.announcements.take();
    drop(canceller);
    if let Err(error) = &log {
        tracing::warn!("the log is not published on /rosout: {error}");
    }
    if let Ok(Some(_log)) = log {
        let until = Instant::now() + LOG_TIME.saturating_sub(published.elapsed()).max(LAST_LINE_TIME);
        while Instant::now() < until {
            std::thread::sleep(POLL_PERIOD);
            if let Some(announcements) = &announcements {
                announcements.forward();
            }
        }
    }
    Ok(all_cancelled)
}

/// Publishes the log, if it is not published yet, while the returned value exists.
fn publish_log(name: &str, namespace: &str) -> Result<Option<Executor>, RosError> {
    let Some(log) = take_log() else { return Ok(None) };
    let (executor, _) = Executor::start(name, namespace)?;
    log.attach(executor.handle(), &Clock::new(false))?;
    Ok(Some(executor))
}

struct Goal {
    id: GoalId,
    service: usize,
    next_request_at: Instant,
    requests: u32,
    unknown_since: Option<Instant>,
    /// Whether its request counts as lost, by the last answer.
    is_lost: bool,
    /// Whether a server has refused the cancel.
    was_refused: bool,
    is_done: bool,
}

struct Canceller {
    /// The time of the first participant.
    first_participant_at: Option<Instant>,
    services: Vec<String>,
    was_found: Vec<bool>,
    goals: Vec<Goal>,
    participants: Vec<Participant>,
    /// `None`: participants announce themselves before they listen.
    announcements: Option<Announcements>,
    /// Whether cancels of a goal that counts as lost are repeated.
    is_patient: bool,
    /// The goal of each request, by participant, service and request number.
    pending_requests: HashMap<(usize, usize, i64), usize>,
}

impl Canceller {
    fn new(remaining: &[RemainingGoals], announcements: Option<Announcements>, is_patient: bool) -> Self {
        let mut services: Vec<String> = Vec::new();
        let now = Instant::now();
        let goals = remaining
            .iter()
            .flat_map(|of_node| &of_node.goals)
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
                    next_request_at: now,
                    requests: 0,
                    unknown_since: None,
                    is_lost: false,
                    was_refused: false,
                    is_done: false,
                }
            })
            .collect();
        Self {
            first_participant_at: None,
            was_found: vec![false; services.len()],
            services,
            goals,
            participants: Vec::new(),
            announcements,
            is_patient,
            pending_requests: HashMap::new(),
        }
    }

    /// Runs until all goals are done, or until the time `until`, or until the servers of the other goals must have ended.
    /// `create_participant` creates a participant for services. It is called again after an error, because the cause
    /// may be temporary, for example a lack of memory.
    ///
    /// # Errors
    /// The last error of `create_participant`, if there was no participant until the end.
    fn run(
        &mut self,
        create_participant: &mut impl FnMut(&[String]) -> Result<Participant, RosError>,
        until: Instant,
    ) -> Result<(), RosError> {
        let (first_participants, period) = match self.announcements {
            Some(_) => (1, PARTICIPANT_PERIOD),
            None => (FIRST_EARLY_PARTICIPANTS, EARLY_PARTICIPANT_PERIOD),
        };
        let mut next_participant = Instant::now();
        let mut failure = None;
        while self.goals.iter().any(|goal| !goal.is_done) {
            let now = Instant::now();
            let count = self.participants.len();
            if now >= until || self.have_servers_ended(now) {
                break;
            }
            let is_due = count < first_participants && failure.is_none() || now >= next_participant;
            if is_due && count < MAX_PARTICIPANTS && self.was_found.contains(&false) {
                failure = match create_participant(&self.services) {
                    Ok(participant) => {
                        self.participants.push(participant);
                        self.first_participant_at.get_or_insert_with(Instant::now);
                        None
                    }
                    Err(error) => {
                        tracing::debug!("participant {count} not created, trying again: {error}");
                        Some(error)
                    }
                };
                tracing::debug!("participant {count} created in {:?}", now.elapsed());
                next_participant = Instant::now() + period;
            }
            if let Some(announcements) = &self.announcements {
                announcements.forward();
            }
            for participant in 0..self.participants.len() {
                self.poll_participant(participant);
            }
            std::thread::sleep(POLL_PERIOD);
        }
        match failure {
            Some(error) if self.participants.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether the servers of all unfinished goals must have ended: no participant has found them in time.
    fn have_servers_ended(&self, now: Instant) -> bool {
        let is_late = |first: Instant| now >= first + DISCOVERY_TIMEOUT;
        self.first_participant_at.is_some_and(is_late) && !self.is_any_server_found()
    }

    /// Whether the server of an unfinished goal was found.
    fn is_any_server_found(&self) -> bool {
        let mut unfinished = self.goals.iter().filter(|goal| !goal.is_done);
        unfinished.any(|goal| self.was_found.get(goal.service) == Some(&true))
    }

    /// Sends all due requests and reads all answers of one participant.
    fn poll_participant(&mut self, index: usize) {
        let Some(participant) = self.participants.get(index) else {
            return;
        };
        for (service, name) in self.services.iter().enumerate() {
            let now = Instant::now();
            while let Some((number, answer)) = participant.take_response(service) {
                let goal = self.pending_requests.remove(&(index, service, number));
                if let Some(goal) = goal.and_then(|goal| self.goals.get_mut(goal)) {
                    goal.handle_response(&answer, name, self.is_patient, now);
                }
            }
            let goals = self.goals.iter_mut().enumerate();
            let mut due = goals
                .filter(|(_, goal)| goal.service == service && !goal.is_done && goal.next_request_at <= now)
                .peekable();
            if due.peek().is_none() || !participant.is_server_available(service) {
                continue;
            }
            if let Some(was_found) = self.was_found.get_mut(service) {
                *was_found = true;
            }
            tracing::debug!("{name}: found by participant {index}");
            for (number, goal) in due {
                goal.next_request_at = now + RETRY_PERIOD;
                match participant.send_request(service, &cancel_request(Selection::Goal(goal.id))) {
                    Ok(request) => {
                        goal.requests += 1;
                        self.pending_requests.insert((index, service, request), number);
                    }
                    Err(error) => tracing::error!("{name}: {error}"),
                }
            }
        }
    }

    /// Logs the goals that were not cancelled. Returns whether there were none.
    fn report(&self) -> bool {
        let mut are_all_done = true;
        for goal in &self.goals {
            let service = self.services.get(goal.service).map_or("?", |service| service);
            if goal.is_lost {
                tracing::info!("{service}: goal {} is unknown to the server", goal.id);
                continue;
            }
            if goal.is_done {
                continue;
            }
            are_all_done = false;
            let reason = match goal.requests {
                _ if goal.was_refused => "the server rejected the cancel",
                _ if goal.unknown_since.is_some() => "the server does not know it",
                0 => "the server was not found",
                _ => "the server did not answer",
            };
            tracing::error!("{service}: goal {} was not cancelled: {reason}", goal.id);
        }
        are_all_done
    }
}

impl Goal {
    /// `is_patient`: see [`Canceller`].
    fn handle_response(&mut self, answer: &Response, service: &str, is_patient: bool, now: Instant) {
        if self.is_done {
            return;
        }
        let id = self.id;
        match cancel_code(Selection::Goal(id), answer) {
            // rcl sends this answer if the goal has ended, and also if it is already canceling: an answer was lost.
            CancelCode::GoalTerminated => {
                tracing::info!("{service}: goal {id} has ended or is already stopping");
                self.is_done = true;
            }
            CancelCode::None => {
                tracing::warn!("{service}: cancelled goal {id}");
                self.is_done = true;
            }
            CancelCode::UnknownGoal | CancelCode::UnknownToOne => {
                self.is_lost = now - *self.unknown_since.get_or_insert(now) >= UNKNOWN_GOAL_TIME;
                self.is_done = self.is_lost && !is_patient;
                return;
            }
            CancelCode::Rejected => self.was_refused = true,
        }
        self.unknown_since = None;
        self.is_lost = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The canceller of one goal.
    fn canceller(is_patient: bool) -> Canceller {
        let remaining = RemainingGoals {
            node: "/bt_navigator".to_owned(),
            goals: vec![(GoalId([1; 16]), "/spin/_action/cancel_goal".to_owned())],
        };
        Canceller::new(&[remaining], None, is_patient)
    }

    #[test]
    fn g11_a_late_participant_has_the_whole_time_to_find_servers() {
        let mut canceller = canceller(true);
        let begin = Instant::now();
        assert!(!canceller.have_servers_ended(begin + 2 * DISCOVERY_TIMEOUT));
        let first = begin + DISCOVERY_TIMEOUT;
        canceller.first_participant_at = Some(first);
        assert!(!canceller.have_servers_ended(first + DISCOVERY_TIMEOUT - POLL_PERIOD));
        assert!(canceller.have_servers_ended(first + DISCOVERY_TIMEOUT));
        canceller.was_found[0] = true;
        assert!(!canceller.have_servers_ended(first + DISCOVERY_TIMEOUT));
    }

    #[test]
    fn g11_a_participant_that_fails_is_created_again_until_the_timeout() {
        let mut canceller = canceller(true);
        let mut attempts = 0;
        let mut create_participant = |_: &[String]| {
            attempts += 1;
            Err(RosError::Context(format!("attempt {attempts}")))
        };
        let ended = canceller.run(
            &mut create_participant,
            Instant::now() + 3 * EARLY_PARTICIPANT_PERIOD,
        );
        let error = ended.unwrap_err().to_string();
        assert!(
            attempts > 1 && error.contains(&format!("attempt {attempts}")),
            "{error}"
        );
    }

    fn answered(canceller: &mut Canceller, return_code: i8, now: Instant) {
        let answer = Response {
            return_code,
            goals_canceling: Vec::new(),
        };
        let is_patient = canceller.is_patient;
        canceller.goals[0].handle_response(&answer, "/spin/_action/cancel_goal", is_patient, now);
    }

    #[test]
    fn g11_an_unknown_goal_is_cancelled_until_the_timeout_unless_a_robot_waits() {
        const UNKNOWN: i8 = 2;
        const TERMINATED: i8 = 3;
        let begin = Instant::now();
        let (mut patient, mut quick) = (canceller(true), canceller(false));
        for canceller in [&mut patient, &mut quick] {
            answered(canceller, UNKNOWN, begin);
            assert!(!canceller.report(), "its request may be under way");
            assert!(!canceller.goals[0].is_done);
        }
        let late = begin + UNKNOWN_GOAL_TIME;
        for canceller in [&mut patient, &mut quick] {
            answered(canceller, UNKNOWN, late);
            assert!(canceller.report());
        }
        assert!(quick.goals[0].is_done);
        assert!(!patient.goals[0].is_done, "a busy server may accept it now");
        answered(&mut patient, TERMINATED, late);
        assert!(patient.goals[0].is_done && !patient.goals[0].is_lost);
    }
}
