//! State machines for goals on action servers and calls of services, and the GoalTracker. No r2r, no tokio, no own
//! clock.
//!
//! A tick never touches a goal. At the end of a tick, the tick thread sends [`Command`]s, cancels first, to the one
//! owner of a [`GoalTracker`]. The GoalTracker receives commands, [`WireEvent`]s and the current time. It pushes
//! [`Effect`]s: messages for a transport to send, and [`Notice`]s for the leaf.
//!
//! ```text
//!   tick thread ── Command ──▶ ┌─────────────┐ ── Effect::Send… ──▶ transports ──▶ servers
//!       ▲                      │ GoalTracker │                          │
//!       └──────── Notice ───── └─────────────┘ ◀────── WireEvent ───────┘
//! ```
//!
//! The guarantees, for any behavior of the network and the servers:
//!
//! - G3: a halted goal is tracked until its server reports a terminal status, the server is gone, or a deadline has
//!   passed and was reported. A goal that is accepted after the halt of its leaf is cancelled on acceptance.
//! - G4: after a halt was handled, no [`Notice`] for its [`Ticket`] is emitted.
//! - G5: a start waits while one of our goals is stopping on the same server, at most the cancel timeout of that goal.
//! - G6: an absent, silent or dead server results in a distinct [`Outcome`] within a bounded time.
//!
//! [`ActionGoal`] and [`ServiceCall`] are the state machines. Every event has a defined effect in every phase;
//! `docs/goal-lifecycle.md`, generated from the state machines, lists them. [`GoalTable`] is the server side: the goals
//! of one of our action servers.

mod abandoned_goals;
mod action;
mod command;
mod effect;
mod id;
mod options;
mod report;
mod server;
mod service;
mod status;
mod tracker;
mod transition;
mod wire;

#[cfg(test)]
#[cfg(not(model))]
mod lifecycle;
#[cfg(test)]
#[cfg(model)]
mod model;
#[cfg(test)]
#[cfg(not(model))]
mod random;
#[cfg(test)]
#[cfg_attr(not(model), allow(dead_code, reason = "test/model uses the rest"))]
mod world;

pub use abandoned_goals::{AbandonedGoal, AbandonedGoals};
pub use action::{ActionGoal, Found};
pub use command::Command;
pub use effect::{CancelTag, Effect, Notice, Outcome, Selection};
pub use id::{GoalId, GoalIds, LinkId, ServerId, Ticket};
pub use options::{GoalOptions, UpdatePolicy};
pub use report::{GoalIncident, IncidentKind, Severity};
pub use server::{CancelAnswer, GoalTable, ResultAnswer, TableError};
pub use service::{CallEvent, CallPhase, CallStep, CallVerdict, ServiceCall};
pub use status::{CancelCode, GoalStatus, Stamp, TerminalStatus};
pub use tracker::{Counters, GoalTracker, LiveGoal};
pub use transition::{GoalEvent, OutcomeKind, Phase, Step};
pub use wire::WireEvent;
