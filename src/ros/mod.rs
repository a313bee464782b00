//! The only room that knows r2r.

mod clock;
mod error;
mod executor;
mod node;
mod spin;
mod wake;

pub use clock::{Clock, Woken};
pub use error::RosError;
pub use executor::{Executor, RosHandle};
pub use node::{Caller, Probe, RosNode};
pub use spin::{SpinMetrics, SpinReading};
pub use wake::Wake;
