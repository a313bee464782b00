//! `std_msgs/String`: what selector topics carry.

use serde::{Deserialize, Serialize};

/// One text.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StringMessage {
    /// The text.
    pub data: String,
}
