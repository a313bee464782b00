//! The parameters of the monitor: the web page of the node, and Groot2.

use super::groot::{GrootSettings, groot};
use super::reader::Reader;
use crate::ros::{Declaration, ParameterError};

/// The settings of the monitor.
#[derive(Clone, Default)]
pub struct MonitorSettings {
    /// `monitor_port`; `None`: no monitor.
    pub port: Option<u16>,
    /// `monitor_address`.
    pub address: String,
    /// `monitor_token`. Empty: a random one.
    pub token: String,
    /// The navigators whose trees Groot2 may show.
    pub groot: Vec<GrootSettings>,
}

/// The ports of Groot2 of one robot: two for each navigator.
const GROOT_PORTS: u16 = 4;

impl MonitorSettings {
    /// Moves Groot2's ports for a robot of a process with several: each next robot has the next ports. The robots share the
    /// web page.
    pub(crate) fn shift_ports(&mut self, robot: usize) {
        let robot = u16::try_from(robot).unwrap_or(u16::MAX);
        for groot in &mut self.groot {
            groot.port = groot.port.saturating_add(robot.saturating_mul(GROOT_PORTS));
        }
    }
}

impl std::fmt::Debug for MonitorSettings {
    /// The token stays out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MonitorSettings")
            .field("port", &self.port)
            .field("address", &self.address)
            .field("groot", &self.groot)
            .finish_non_exhaustive()
    }
}

/// Declares these parameters.
pub(super) fn monitor(read: &Reader<'_>) -> Result<MonitorSettings, ParameterError> {
    let port = Declaration::new(
        "monitor_port",
        0_i64,
        "TCP port of the web page that shows the run, and of its metrics. 0: no web page.",
    )
    .within(0.0, 65535.0)
    .read_only();
    let port = read
        .value(port)?
        .as_integer()
        .and_then(|port| u16::try_from(port).ok());
    Ok(MonitorSettings {
        port: port.filter(|port| *port > 0),
        address: read.text(
            "monitor_address",
            "127.0.0.1",
            "Address or name of this machine on which the web page is served.\n`0.0.0.0` serves it on all networks, \
             without encryption.",
        )?,
        token: read.text(
            "monitor_token",
            "",
            "Secret for reading the run and acting on it in the web page. Empty: a random one, which the node \
             prints on standard error at start.\nAt least 16 characters: letters, digits and `-._~`.",
        )?,
        groot: groot(read)?,
    })
}
