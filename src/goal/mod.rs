//! The life of a goal on an action or service server: pure state machines and the GoalTracker. No r2r, no
//! tokio, no clock of its own.
//!
//! A tick never touches a goal. At its end the tick thread sends [`Command`]s, cancels first, to the one
//! owner of a [`GoalTracker`]. The GoalTracker takes commands, [`WireEvent`]s and the passing of time, and pushes
//! [`Effect`]s: things for a transport to send, and [`Notice`]s that go back to the leaf.
//!
//! ```text
//!   tick thread ── Command ──▶ ┌─────────────┐ ── Effect::Send… ──▶ transports ──▶ servers
//!       ▲                      │ GoalTracker │                          │
//!       └──────── Notice ───── └─────────────┘ ◀────── WireEvent ───────┘
//! ```
//!
//! What it promises, whatever the network and the servers do:
//!
//! - G3: a halted goal is tracked until its server reports it terminal, the server is gone, or a deadline has
//!   passed and was reported. A goal accepted after its leaf was halted is cancelled on acceptance.
//! - G4: once a halt was handled no [`Notice`] for that [`Ticket`] is emitted.
//! - G5: a start waits while a goal of ours is stopping on the same server, at most that goal's cancel timeout.
//! - G6: a server that is absent, silent or dead is a distinct [`Outcome`] within a bound.
//!
//! [`ActionGoal`] and [`ServiceCall`] are the state machines; every event in every phase has a defined
//! outcome, listed in `docs/goal-lifecycle.md`, which is generated from them. [`GoalTable`] is the other side:
//! the goals of an action server of ours.

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
mod lifecycle;
#[cfg(test)]
mod model;
#[cfg(test)]
mod random;
#[cfg(test)]
mod world;

pub use abandoned_goals::{AbandonedGoal, AbandonedGoals};
pub use action::{ActionGoal, Found};
pub use command::Command;
pub use effect::{CancelTag, Effect, Notice, Outcome, Selection};
pub use id::{GoalId, GoalIds, ServerId, Ticket};
pub use options::{AfterHalt, GoalOptions, UpdatePolicy};
pub use report::{GoalIncident, IncidentKind, Severity};
pub use server::{CancelAnswer, GoalTable, ResultAnswer, TableError};
pub use service::{CallEvent, CallPhase, CallStep, CallVerdict, ServiceCall};
pub use status::{CancelCode, GoalStatus, Stamp, TerminalStatus};
pub use tracker::{Counters, GoalTracker, LiveGoal};
pub use transition::{GoalEvent, OutcomeKind, Phase, Step};
pub use wire::WireEvent;
