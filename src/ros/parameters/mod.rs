//! The parameters of the node.
//!
//! r2r's own handler cannot refuse a change, knows no ranges and dies with the first client that does not wait for its
//! answer. Here a [`ParameterStore`] is a table of what was declared, without ROS; [`serve()`] puts it on the wire.

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
