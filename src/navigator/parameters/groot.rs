//! The parameters of Groot2's protocol.

use super::reader::Reader;
use crate::navigator::NavigatorKind;
use crate::ros::{Declaration, ParameterError};

/// A navigator whose trees Groot2 may show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrootSettings {
    /// The name of its action: `navigate_to_pose`.
    pub action: &'static str,
    /// `groot_server_port`. Breakpoints are published on the next port.
    pub port: u16,
}

/// Declares these parameters of each navigator, as in Nav2. Returns the navigators that are to be monitored.
pub(super) fn groot(read: &Reader<'_>) -> Result<Vec<GrootSettings>, ParameterError> {
    let mut monitored = Vec::new();
    for (kind, port) in NavigatorKind::ALL.into_iter().zip([1667_i64, 1669]) {
        let action = kind.action();
        let is_enabled = read.flag(
            &format!("{action}.enable_groot_monitoring"),
            false,
            "Serve Groot2, a viewer for trees, on this machine.\nThere is no password: each program of this machine can read \
             the run and set breakpoints, which pause the tree. From another machine: forward both ports with `ssh -L`.",
        )?;
        let declaration = Declaration::new(
            &format!("{action}.groot_server_port"),
            port,
            "TCP port for Groot2. Breakpoints are published on the next port.",
        );
        let declaration = declaration.within(1.0, 65534.0).read_only();
        let port = read.value(declaration)?.as_integer();
        let port = port.and_then(|port| u16::try_from(port).ok());
        if let Some(port) = port.filter(|_| is_enabled) {
            monitored.push(GrootSettings { action, port });
        }
    }
    Ok(monitored)
}
