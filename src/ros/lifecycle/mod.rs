//! The life cycle of a managed node, as in `rcl_lifecycle`: a pure state machine and its services.

mod bond;
mod machine;
mod serve;

pub use bond::Bond;
pub use machine::{LifecycleState, Machine, StepError, Transition, TransitionEdge, TransitionResult};
pub use serve::{Lifecycle, LifecycleHandle, LifecycleHandler};
