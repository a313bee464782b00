//! The monitors of a node that runs.

use tokio::sync::oneshot;

/// Ends the threads of the monitors when it is dropped, so that the next run of the node finds their ports free.
#[derive(Debug, Default)]
pub(super) struct RunningMonitors(Vec<oneshot::Sender<()>>);

/// Completes when the monitors are to end.
pub(super) type MonitorsEnd = oneshot::Receiver<()>;

impl RunningMonitors {
    /// A future that completes when this is dropped.
    pub(super) fn end(&mut self) -> MonitorsEnd {
        let (sender, receiver) = oneshot::channel();
        self.0.push(sender);
        receiver
    }
}
