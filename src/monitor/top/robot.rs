//! What is known about one robot: its run, its node and the connection.

use super::event_parser::FeedEvent;
use super::run::Run;
use crate::monitor::web::NodeReport;

/// News of a source.
#[derive(Clone, Debug)]
pub(super) enum Update {
    /// The connection is open.
    Connected,
    /// There is no connection, for this reason. The client tries again.
    Disconnected(String),
    /// An event of the feed.
    Event(FeedEvent),
}

/// A robot.
#[derive(Clone, Debug)]
pub(super) struct Robot {
    /// The file or the address.
    pub(super) name: String,
    pub(super) run: Option<Run>,
    pub(super) report: NodeReport,
    /// Why there is no connection.
    pub(super) trouble: Option<String>,
    /// All that happened before the connection has come.
    pub(super) is_up_to_date: bool,
}

impl Robot {
    /// A robot of which nothing is known.
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            run: None,
            report: NodeReport::default(),
            trouble: None,
            is_up_to_date: false,
        }
    }

    /// Takes news.
    pub(super) fn take(&mut self, update: Update) {
        match update {
            Update::Connected => self.trouble = None,
            Update::Disconnected(reason) => {
                self.trouble = Some(reason);
                self.is_up_to_date = false;
            }
            Update::Event(FeedEvent::Run(head)) => self.run = head.map(|head| Run::new(*head)),
            Update::Event(FeedEvent::Changes(changes)) => {
                if let Some(run) = &mut self.run {
                    run.add(changes);
                }
            }
            Update::Event(FeedEvent::Node(report)) => self.report = report,
            Update::Event(FeedEvent::UpToDate) => self.is_up_to_date = true,
        }
    }
}
