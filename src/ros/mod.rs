//! The only room that knows rcl and r2r.
//!
//! `rcl` has its nodes, topics and services. r2r generates the messages. Actions and parameters are made of services and
//! topics here. Two threads carry messages to and from the tick thread; their waits do not delay a tick:
//!
//! ```text
//!              tasks                       messages
//!  any thread ───────▶  ros-spin ─────────────────────────▶ inbox ──▶ tick thread
//!                     (owns the node)  ─┐                    ▲           │
//!  middleware ───────▶                  │ wire events        │ notices   │ commands,
//!             marks                     ▼                    │           │ messages
//!                                  goal-tracker ─────────────┘ ◀─────────┘
//!                        (owns goals, clients, publishers; sends)
//! ```
//!
//! Two more threads only write, and exist while there is something to write: `answers` sends the results of goals to the
//! clients that wait for them and repeats what the middleware refused, and `console` writes the log. In the first half minute
//! of activity, `ros-search` looks for goals of an earlier run.
//!
//! - [`Ros`]: a node with its [`Clock`], [`ParameterStore`] and [`TransformBuffer`]; [`RosHandle`] gives access to it.
//! - [`GoalTrackerThread`] and [`Endpoints`]: for trees; [`RosLink`] is the `Link` of one world.
//! - [`ActionServer`], [`serve_service`]: the servers of this node.
//! - [`guardian`]: the process that cancels the goals of this process when it is killed.

mod action_client;
mod action_server;
pub mod announcements;
mod answers;
mod arguments;
mod caller;
mod checked;
mod clock;
mod connection;
mod console;
pub mod convert;
mod dry_run;
mod earlier_goals;
mod endpoint_table;
mod endpoint_uses;
mod endpoints;
mod error;
mod executor;
mod exit;
mod goal_tracker;
mod goals_view;
pub mod guardian;
mod inbox;
pub mod interfaces;
pub mod lifecycle;
mod link;
pub mod memory;
pub mod middleware;
mod names;
mod node;
mod node_thread;
pub mod parameters;
pub mod qos_overrides;
mod rcl;
mod ready;
mod retry;
mod robot_id;
mod robots;
mod rosidl;
mod rosout;
mod scheduling;
mod server_checks;
mod server_watch;
mod servers_board;
mod service_client;
mod service_server;
mod shared_subscription;
mod shortened;
mod spin;
mod stderr;
mod takeover;
mod thread_exit;
mod timer;
mod topic_publisher;
mod topic_types;
mod transforms;
mod type_descriptions;
mod wake;

pub use action_server::{
    Acceptance, ActionHandler, ActionServer, CancelDecision, GoalRequest, Results, ServerGoal,
};
pub use caller::{Caller, Lives};
pub use clock::Clock;
pub use connection::Ros;
pub use console::{Log, start_log};
pub use dry_run::DryRun;
pub use earlier_goals::EarlierGoals;
pub use endpoints::Endpoints;
pub use error::RosError;
pub use executor::{Executor, RosHandle};
pub use exit::exit_within;
pub use goal_tracker::{GoalTrackerHandle, GoalTrackerThread};
pub use goals_view::{GoalsView, PendingRequests};
pub use lifecycle::{Bond, Lifecycle, LifecycleHandle, LifecycleHandler};
pub use link::{LinkEvents, RosLink};
pub use names::is_name;
pub use node::RosNode;
pub use parameters::{Declaration, ParameterError, ParameterStore, ParameterValue};
pub use rcl::{Publisher, Reply};
pub use robots::Robots;
pub use rosout::{Rosout, RosoutLayer, rosout};
pub use server_watch::Probe;
pub use servers_board::KnownServer;
pub use service_server::{ServiceCall, serve_service};
pub use timer::TimerTrigger;
pub use topic_publisher::TopicPublisher;
pub use transforms::TransformBuffer;
pub use wake::Wake;
