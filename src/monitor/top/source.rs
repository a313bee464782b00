//! Where runs come from.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::address::Address;
use super::client;
use super::event_parser::{EventParser, FeedEvent};
use super::robot::{Robot, Update};
use super::screen::Screen;
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

/// Number of updates between a thread that reads and the screen. A full queue makes the server wait, not the node.
const QUEUE: usize = 64;

/// Opens all sources. Returns the screen for them, and their news.
pub(super) fn open(sources: Vec<Source>) -> std::io::Result<(Screen, Receiver<NumberedUpdate>)> {
    let robots = sources.iter().map(|source| Robot::new(source.name()));
    let screen = Screen::new(robots.collect());
    let (sender, updates) = sync_channel(QUEUE);
    for (number, source) in sources.into_iter().enumerate() {
        source.send(number, sender.clone())?;
    }
    Ok((screen, updates))
}

impl Source {
    /// The name for the user.
    fn name(&self) -> String {
        match self {
            Self::Feed(name, _) => name.clone(),
            Self::Node(address) => address.to_string(),
        }
    }

    /// Sends all that is known and, of a node, what happens, until the receiver is dropped. Returns at once.
    fn send(self, number: usize, updates: SyncSender<NumberedUpdate>) -> std::io::Result<()> {
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
