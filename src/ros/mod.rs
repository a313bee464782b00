//! The only room that knows r2r.

mod action_client;
mod clock;
mod custodian_task;
mod error;
mod executor;
mod inbox;
pub mod interfaces;
mod link;
pub mod mirror;
mod names;
mod node;
pub mod parameters;
mod service_client;
mod spin;
mod transforms;
mod wake;

pub use clock::{Clock, Woken};
pub use error::RosError;
pub use executor::{Executor, RosHandle};
pub use node::{Caller, Probe, RosNode};
pub use spin::{SpinMetrics, SpinReading};
pub use wake::Wake;
pub use custodian_task::{CustodianHandle, CustodianTask, GoalsView};
pub use link::{Endpoints, RosLink};
pub use names::is_name;
pub use parameters::{Declaration, ParameterError, ParameterStore, ParameterValue};
pub use transforms::TransformBuffer;
