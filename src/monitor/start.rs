//! Starts what shows a node that runs.

use std::time::Duration;

use super::pause::{Client, ClientPause, PauseHolders};
use super::running::RunningMonitors;
use super::web::Pages;
use super::{diagnostics, groot2};
use crate::navigator::{MonitorSettings, NodeHandles, StartError};

/// Publishes the diagnostics with this period, unless it is zero, and serves the web page, if it has a port, and Groot2,
/// if it is enabled. `pages`: those of the process.
///
/// The result ends them when it is dropped.
///
/// # Errors
/// [`StartError`]. A port that is in use is not an error: the robot drives without its web page.
pub fn start(
    pages: &Pages,
    node_handles: &NodeHandles,
    diagnostics_period: Duration,
    settings: &MonitorSettings,
) -> Result<Box<dyn Send>, StartError> {
    if !diagnostics_period.is_zero() {
        diagnostics::publish(node_handles, diagnostics_period)?;
    }
    let pause = ClientPause::new(
        Client::Page,
        node_handles.ticks.clone(),
        node_handles.heartbeat.clone(),
        PauseHolders::default(),
    );
    let mut running = RunningMonitors::default();
    pages.serve(node_handles, &pause, settings, running.end())?;
    groot2::serve_groot(node_handles, &settings.groot, &pause, running.end())?;
    Ok(Box::new(running))
}
