//! Where runs come from.

use std::sync::mpsc::SyncSender;

use super::address::Address;
use super::client;
use super::event_parser::{EventParser, FeedEvent};
use super::robot::Update;
use crate::monitor::web::{Cursor, Feed};

/// Where a run comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A recording or a tree, with its name.
    Feed(String, Feed),
    /// A node.
    Node(Address),
}

/// News, and the number of the robot.
pub(super) type NumberedUpdate = (usize, Update);

impl Source {
    /// The name for the user.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Feed(name, _) => name.clone(),
            Self::Node(address) => address.to_string(),
        }
    }

    /// Sends all that is known and, of a node, what happens, until the receiver is dropped. Returns at once.
    pub(super) fn send(self, number: usize, updates: SyncSender<NumberedUpdate>) -> std::io::Result<()> {
        let builder = std::thread::Builder::new().name("source".to_owned());
        builder.spawn(move || match self {
            Self::Node(address) => client::run(&address, |update| updates.send((number, update)).is_ok()),
            Self::Feed(_, feed) => {
                let update = |event| updates.send((number, event)).is_ok();
                let events = EventParser::default()
                    .take(feed.read(&mut Cursor::default(), usize::MAX).as_bytes())
                    .unwrap_or_default();
                let events = events.into_iter().chain([FeedEvent::UpToDate]);
                let _ = update(Update::Connected) && events.map(Update::Event).all(update);
            }
        })?;
        Ok(())
    }
}
