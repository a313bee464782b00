//! What a navigator tells of itself when it is asked.

use std::sync::Arc;

use super::NavigatorKind;
use super::goal::NavigationResult;
use crate::bt::TreeDef;
use crate::goal::ServerId;

/// What a navigator is doing.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Whose tree runs, or ran last.
    pub kind: NavigatorKind,
    /// Whether it runs.
    pub is_running: bool,
    /// Whether what it had started is still stopping.
    pub is_stopping: bool,
    /// The tree; `None` where there was none yet.
    pub tree: Option<Arc<TreeDef>>,
    /// The servers that it has opened.
    pub servers: Vec<ServerId>,
    /// How the last navigation ended.
    pub last_end: Option<(NavigatorKind, NavigationResult)>,
}
