//! The availability of servers, readable from all threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::goal::ServerId;
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// A server that a tree has opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownServer {
    /// The name of the action or service in the tree.
    pub name: Arc<str>,
    /// Whether the server was present at the last check.
    pub present: bool,
}

/// Written by the GoalTracker's thread when a server is opened, appears or disappears.
#[derive(Default)]
pub(super) struct ServersBoard(Mutex<BTreeMap<ServerId, KnownServer>>);

impl ServersBoard {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerId, KnownServer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an opened server. It is absent until it is found.
    pub(super) fn opened(&self, server: ServerId, name: Arc<str>) {
        self.lock().insert(server, KnownServer { name, present: false });
    }

    /// Removes a server that was closed.
    pub(super) fn closed(&self, server: ServerId) {
        self.lock().remove(&server);
    }

    /// Records whether a server is present.
    pub(super) fn seen(&self, server: ServerId, present: bool) {
        if let Some(known) = self.lock().get_mut(&server) {
            known.present = present;
        }
    }

    /// The known state of some servers, in the given order.
    pub(super) fn of(&self, servers: &[ServerId]) -> Vec<KnownServer> {
        let known = self.lock();
        servers
            .iter()
            .filter_map(|server| known.get(server).cloned())
            .collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_absent_until_it_is_seen_and_again_when_it_is_gone() {
        let board = ServersBoard::default();
        board.opened(ServerId(1), "spin".into());
        board.opened(ServerId(2), "wait".into());
        let present = || {
            board
                .of(&[ServerId(1), ServerId(9)])
                .into_iter()
                .map(|s| s.present)
                .collect::<Vec<_>>()
        };
        assert_eq!(present(), [false]);
        board.seen(ServerId(1), true);
        board.seen(ServerId(9), true);
        assert_eq!(present(), [true]);
        assert!(!board.of(&[ServerId(2)])[0].present);
        board.seen(ServerId(1), false);
        assert_eq!(present(), [false]);
    }
}
