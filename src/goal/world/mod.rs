//! A small world for the proofs: one leaf, the real GoalTracker, a bad network and a bad server, whose goals are in a
//! real [`GoalTable`]. The model checker explores it completely, the property tests at random.

mod actions;
mod check;
mod server;
mod setup;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::bt::{HaltReason, Time};
use crate::goal::{Effect, GoalId, GoalIds, GoalTable, GoalTracker, ServerId, Ticket, WireEvent};

pub(crate) use actions::{Action, Message};
pub(crate) use setup::Setup;

/// The complete state. Times are relative to now, so equal situations at different times are the same state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct World {
    goal_tracker: GoalTracker<u8>,
    /// The running activation and its run time.
    running: Option<(Ticket, Duration)>,
    /// Activations whose leaf was halted, with the time since then.
    finished: BTreeMap<Ticket, Duration>,
    started: u64,
    /// The number of updates of the running activation. The goal and the result of each carry this number.
    updated: u8,
    /// The payloads of goals, if not 0.
    payloads: BTreeMap<GoalId, u8>,
    messages: BTreeSet<Message>,
    is_server_up: bool,
    /// The server's process is another one, or one of two, and the GoalTracker does not know this yet.
    has_server_changed: bool,
    /// Another server with its name exists.
    has_second_server: bool,
    /// Endpoints of another server with its name are on the graph, whether it runs or has crashed.
    has_second_endpoint: bool,
    table: GoalTable<u8, GoalId>,
    /// The goal that is accepted and not in the table yet.
    accepted_early: Option<GoalId>,
    /// Goals with a waiting result request at the server. Repeated requests count once.
    result_requests: BTreeSet<GoalId>,
    /// Goals that were reported as not stopped in time. The next goal may start in parallel.
    reported_slow: BTreeSet<GoalId>,
    /// Goals that ignored every cancel and were reported as possibly running forever. A goal leaves this set when it is
    /// seen again. Goals given up because of a silent or unreachable server are not in it, because they must be found.
    abandoned: BTreeSet<GoalId>,
    /// Goals of an earlier run that the server accepted after its first list for this run. The search window covers
    /// them, and it ends.
    accepted_late: BTreeSet<GoalId>,
    /// Goals that another client cancelled.
    foreign_canceled: BTreeSet<GoalId>,
    /// The activation for which the robot must not move any more: the GoalTracker knows that another client cancelled
    /// its goal.
    stopped_activation: Option<Ticket>,
    /// The goal that another client cancelled before the cancel of this node arrived, if nobody was told yet.
    untold_cancel: Option<GoalId>,
    /// Whether somebody was told of a cancel of another client.
    has_told_of_cancel: bool,
    /// The cancel requests that arrive twice and have arrived once. A client takes only the first answer to a request.
    repeated_cancels: BTreeSet<(GoalId, u32)>,
    /// Whether the running leaf was notified of such a cancel.
    is_notified_of_cancel: bool,
    /// Whether this run may adopt. The first run has no goals to adopt.
    is_adoption_allowed: bool,
    /// Whether a status list has arrived since the server was discovered.
    has_status_list: bool,
    /// Whether the latest status list must be repeated: it was lost, or is older than its reader. A reader that has
    /// received it does not get it again, even after its server seemed absent, because some middleware does not
    /// repeat it.
    must_repeat_status: bool,
    /// Whether effects are delayed; `effects` are the effects that are not applied yet.
    has_delayed_effects: bool,
    effects: Vec<Effect<u8>>,
    used_faults: UsedFaults,
    /// The first violation of an invariant.
    pub(crate) violation: Option<&'static str>,
    pub(crate) seen: Seen,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct UsedFaults {
    updates: u8,
    losses: u8,
    duplicates: u8,
    server_crashes: u8,
    second_servers: u8,
    partitions: u8,
    dropped_results: u8,
    process_crashes: u8,
    early_acceptances: u8,
    foreign_cancels: u8,
    delayed_effects: u8,
}

/// Observations of the last step. A proof without them would prove nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) succeeded: bool,
    pub(crate) cancelled_late: bool,
    pub(crate) adopted: bool,
    pub(crate) found_again: bool,
    pub(crate) retried: bool,
    pub(crate) server_gone: bool,
    pub(crate) result_lost: bool,
    pub(crate) gave_up: bool,
    pub(crate) canceled_by_another: bool,
    pub(crate) told_after_halt: bool,
}

const SERVER: ServerId = ServerId(0);
const NOW: Time = Time::from_millis(1_000_000_000);
const REASON: HaltReason = HaltReason::Preempted;

impl World {
    pub(crate) fn new(setup: &Setup) -> Self {
        let mut world = Self {
            goal_tracker: GoalTracker::new(GoalIds::new(1, 0), setup.options()),
            running: None,
            finished: BTreeMap::new(),
            started: 0,
            updated: 0,
            payloads: BTreeMap::new(),
            messages: BTreeSet::new(),
            is_server_up: true,
            has_server_changed: false,
            has_second_server: false,
            has_second_endpoint: false,
            table: GoalTable::new(Duration::ZERO),
            accepted_early: None,
            result_requests: BTreeSet::new(),
            reported_slow: BTreeSet::new(),
            abandoned: BTreeSet::new(),
            accepted_late: BTreeSet::new(),
            foreign_canceled: BTreeSet::new(),
            stopped_activation: None,
            untold_cancel: None,
            has_told_of_cancel: false,
            repeated_cancels: BTreeSet::new(),
            is_notified_of_cancel: false,
            is_adoption_allowed: true,
            has_status_list: false,
            must_repeat_status: false,
            has_delayed_effects: false,
            effects: Vec::new(),
            used_faults: UsedFaults::default(),
            violation: None,
            seen: Seen::default(),
        };
        world.wire(WireEvent::ServerBack { server: SERVER });
        world
    }

    pub(crate) fn messages_under_way(&self) -> usize {
        self.messages.len()
    }

    /// Continues without faults: the leaf is halted, the server stays present, messages arrive, and time passes. False
    /// if the world does not come to rest.
    pub(crate) fn reach_rest(&mut self, setup: &Setup) -> bool {
        for _ in 0..500 {
            let action = if self.has_delayed_effects {
                Action::ReleaseEffects
            } else if self.accepted_early.is_some() {
                Action::StoreGoal
            } else if self.running.is_some() {
                Action::Halt
            } else if !self.is_server_up {
                Action::RestartServer
            } else if !self.goal_tracker.is_present(SERVER) {
                Action::NoticePresence
            } else if self.has_second_endpoint {
                Action::RemoveSecondServer
            } else if self.has_server_changed {
                Action::NoticeChange
            } else if !self.is_adoption_allowed {
                Action::AllowAdoption
            } else if let Some(message) = self.messages.first() {
                Action::Deliver(message.clone())
            } else if self.can_repeat_status() {
                Action::RepeatStatus
            } else if self.goal_tracker.next_deadline().is_some() {
                Action::Wait
            } else {
                return self.is_quiet();
            };
            self.act(setup, action);
        }
        false
    }

    /// Whether no message is under way, no leaf waits, and no timer is set.
    pub(crate) fn is_quiet(&self) -> bool {
        self.messages.is_empty()
            && !self.has_delayed_effects
            && self.accepted_early.is_none()
            && !self.can_repeat_status()
            && self.is_adoption_allowed
            && !self.has_server_changed
            && !self.has_second_endpoint
            && self.running.is_none()
            && self.goal_tracker.is_idle()
            && self.goal_tracker.next_deadline().is_none()
            && self.is_server_up == self.goal_tracker.is_present(SERVER)
    }
}
