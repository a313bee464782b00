//! The parameters of the node.
//!
//! r2r's own handler cannot refuse a change, does not support ranges, and ends when a client does not wait for its
//! answer. Here a [`ParameterStore`] is a table of the declared parameters, without ROS; [`serve()`] provides the ROS
//! services.

mod declaration;
mod overrides;
mod serve;
mod store;
mod value;

pub use declaration::{Declaration, Range, Validator};
pub(super) use overrides::overrides;
pub use serve::serve;
pub use store::{ParameterError, ParameterStore};
pub use value::{ParameterType, ParameterValue};
