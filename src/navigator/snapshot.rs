//! A snapshot of a navigator.

use std::sync::Arc;

use super::NavigatorKind;
use super::goal::NavigationResult;
use crate::bt::TreeDef;
use crate::goal::ServerId;

/// The state of a navigator.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The kind of the current or last goal.
    pub kind: NavigatorKind,
    /// The tree runs.
    pub is_running: bool,
    /// Goals or jobs of the tree are still stopping.
    pub is_stopping: bool,
    /// The tree; `None` before the first one.
    pub tree: Option<Arc<TreeDef>>,
    /// The servers that the tree has opened.
    pub servers: Vec<ServerId>,
    /// The result of the last navigation.
    pub last_end: Option<(NavigatorKind, NavigationResult)>,
}
