//! The answers to the requests of Groot2.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::board::Board;
use super::hooks::{Effect, Hooks};
use super::request::{RequestHeader, RequestKind, breakpoint_reached, error_reply};
use super::transitions::Transitions;
use super::tree_xml::{order, tree_xml, uid};
use crate::bt::{NodeIndex, NodeStatus, Registry, Time, TreeDef};
use crate::monitor::pause::PauseControl;
use crate::navigator::{NavigationId, NavigatorKind};
use crate::record::stored::{StoredNavigation, StoredRecord};

/// Time without a request after which the client counts as gone: its breakpoints are disabled and the tree runs on.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The reply to a request without its second part.
const TWO_PARTS: &str = "must be 2 parts message";

/// What one endpoint publishes.
pub(super) struct Publisher {
    /// Another one for another tree: clients then request the tree again.
    uuid: [u8; 16],
    tree: Option<PublishedTree>,
    hooks: Hooks,
    transitions: Transitions,
    pause: Box<dyn PauseControl>,
    registry: Registry,
    /// The messages about breakpoints that were reached and that are not sent yet.
    notifications: Vec<Vec<Vec<u8>>>,
    /// The time of the last request on a clock that this computer does not set; `None`: the client has gone.
    last_request: Option<Time>,
    /// The time of the last record.
    now: Time,
    /// Records were lost since the last beginning of a navigation: another tree may run by now.
    has_lost: bool,
}

/// The tree that runs or ran.
struct PublishedTree {
    /// The goal that it runs for. The tick thread may have another one already.
    goal: NavigationId,
    def: Arc<TreeDef>,
    xml: Vec<u8>,
    order: Vec<NodeIndex>,
    /// The code of each node: its status, or 10 and the status before it became idle.
    codes: Vec<u8>,
    board: Board,
}

impl Drop for Publisher {
    /// Groot2 has ended, perhaps by a panic, and no client can resume the robot there.
    fn drop(&mut self) {
        let _ = self.pause.release();
    }
}

impl Publisher {
    /// A publisher without a tree.
    pub(super) fn new(pause: Box<dyn PauseControl>, registry: Registry) -> Self {
        Self {
            uuid: random_uuid(),
            tree: None,
            hooks: Hooks::default(),
            transitions: Transitions::default(),
            pause,
            registry,
            notifications: Vec::new(),
            last_request: None,
            now: Time::ZERO,
            has_lost: false,
        }
    }

    /// A navigation begins.
    pub(super) fn begin(&mut self, def: &Arc<TreeDef>, navigation: &StoredNavigation) {
        let Some(kind) = NavigatorKind::of_action(&navigation.action) else {
            return;
        };
        let goal = NavigationId {
            kind,
            goal: navigation.goal,
        };
        self.has_lost = false;
        let board = Board::new(navigation, def);
        // A pause does not outlast its goal.
        self.hooks.forget_reached();
        match &mut self.tree {
            Some(tree) if Arc::ptr_eq(&tree.def, def) => (tree.goal, tree.board) = (goal, board),
            _ => {
                if self.tree.is_some() {
                    self.uuid = random_uuid();
                    self.hooks = Hooks::default();
                    self.transitions = Transitions::default();
                }
                self.tree = Some(PublishedTree {
                    goal,
                    def: Arc::clone(def),
                    xml: tree_xml(def, &self.registry).into_bytes(),
                    order: order(def),
                    codes: vec![0; def.len()],
                    board,
                });
            }
        }
    }

    /// Records are lost. What follows may be about another tree, where a breakpoint would pause at another node: it is left
    /// out until a navigation begins.
    pub(super) fn lose(&mut self) {
        if !std::mem::replace(&mut self.has_lost, true) && self.tree.is_some() {
            tracing::warn!("Groot2: records are lost, so it shows nothing new until the next navigation");
        }
    }

    /// Takes a record of the run.
    pub(super) fn take(&mut self, time: Time, record: &StoredRecord) {
        self.now = time;
        let Some(tree) = self.tree.as_mut().filter(|_| !self.has_lost) else {
            return;
        };
        match record {
            StoredRecord::Changed { node, from, to } => {
                if let Some(code) = tree.codes.get_mut(node.index()) {
                    let is_idle = *to == NodeStatus::Idle;
                    *code = if is_idle { 10 + *from as u8 } else { *to as u8 };
                }
                let uid = uid(*node);
                self.transitions.add(time, uid, *to);
                self.reach(uid, *from, *to);
            }
            StoredRecord::Replaced { goal, .. } => tree.goal.goal = *goal,
            StoredRecord::Wrote { slot, value, .. } => tree.board.write(*slot, value.as_ref()),
            StoredRecord::Key { slot, scope, key } => tree.board.add_key(*slot, *scope, key),
            _ => {}
        }
    }

    /// Pauses the tree at a breakpoint.
    fn reach(&mut self, uid: u16, from: NodeStatus, to: NodeStatus) {
        if self.hooks.is_at_one() && !self.pause.is_held() {
            self.hooks.forget_reached();
        }
        let begins = from != NodeStatus::Running && to != NodeStatus::Idle;
        let is_reached =
            (begins && self.hooks.reach(uid, 0)) || (to.is_completed() && self.hooks.reach(uid, 1));
        let Some(tree) = self.tree.as_ref().filter(|_| is_reached) else {
            return;
        };
        if let Err(reason) = self.pause.pause(tree.goal) {
            tracing::warn!("Groot2: the breakpoint at node {uid} does not pause the tree: {reason}");
            if !self.pause.is_held() {
                // The tree runs on: there is nothing to unlock.
                self.hooks.miss_reached();
                return;
            }
        }
        let mut number = [0; 4];
        let _ = getrandom::fill(&mut number);
        self.notifications.push(breakpoint_reached(number, uid));
    }

    /// Takes the messages about breakpoints out.
    pub(super) fn take_notifications(&mut self) -> Vec<Vec<Vec<u8>>> {
        std::mem::take(&mut self.notifications)
    }

    /// Disables the hooks of a client that has gone. `now`: as for [`Publisher::answer`].
    pub(super) fn check_heartbeat(&mut self, now: Time) {
        if self.last_request.is_some_and(|last| now.since(last) > HEARTBEAT) {
            self.last_request = None;
            let effect = self.hooks.enable_all(false);
            self.do_effect(effect);
        }
    }

    /// Whether there is a client.
    pub(super) fn is_watched(&self) -> bool {
        self.last_request.is_some()
    }

    /// Answers a request: the frames without their envelope. `now`: on a clock that is never set.
    pub(super) fn answer(&mut self, frames: &[Vec<u8>], now: Time) -> Vec<Vec<u8>> {
        if self.last_request.replace(now).is_none() {
            self.hooks.enable_all(true);
        }
        let header = frames.first().and_then(|frame| RequestHeader::parse(frame));
        let Some(header) = header else {
            return error_reply("wrong request header");
        };
        let Some(kind) = header.kind() else {
            return error_reply("Request not recognized");
        };
        match self.content(kind, frames.get(1).map(Vec::as_slice)) {
            Ok(Some(content)) => vec![header.reply(self.uuid), content],
            Ok(None) => vec![header.reply(self.uuid)],
            Err(reason) => error_reply(&reason),
        }
    }

    /// The second frame of the reply; `None`: there is none.
    fn content(&mut self, kind: RequestKind, given: Option<&[u8]>) -> Result<Option<Vec<u8>>, String> {
        let part = given.ok_or_else(|| TWO_PARTS.to_owned());
        let nodes = self.tree.as_ref().map_or(0, |tree| tree.codes.len());
        let effect = match kind {
            RequestKind::FullTree => {
                let tree = self.tree.as_ref().ok_or("no tree has run yet")?;
                return Ok(Some(tree.xml.clone()));
            }
            RequestKind::Status => return Ok(Some(self.tree.as_ref().map_or_else(Vec::new, statuses))),
            RequestKind::Blackboard => {
                let names = String::from_utf8_lossy(part?);
                let tree = self.tree.as_ref().ok_or("no tree has run yet")?;
                return Ok(Some(tree.board.export(&names)));
            }
            RequestKind::DumpHooks => return Ok(Some(self.hooks.dump())),
            RequestKind::Record => return Ok(self.record(part?)),
            RequestKind::Transitions => return Ok(Some(self.transitions.take())),
            RequestKind::InsertHook => self.hooks.insert(part?, nodes)?,
            RequestKind::RemoveHook => self.hooks.remove(part?)?,
            RequestKind::Unlock => self.hooks.unlock(part?)?,
            RequestKind::RemoveAllHooks => self.hooks.clear(),
            RequestKind::DisableHooks => self.hooks.enable_all(false),
        };
        self.do_effect(effect);
        Ok(None)
    }

    /// Starts or stops the recording. The reply to a start is the time in µs since 1970.
    fn record(&mut self, word: &[u8]) -> Option<Vec<u8>> {
        match word {
            b"start" => {
                self.transitions.start(self.now);
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                return Some(now.as_micros().to_string().into_bytes());
            }
            b"stop" => self.transitions.stop(),
            _ => {}
        }
        None
    }

    fn do_effect(&self, effect: Effect) {
        if effect == Effect::Resume
            && let Err(reason) = self.pause.release()
        {
            tracing::warn!("Groot2: the tree is not resumed: {reason}");
        }
    }
}

/// UID and code of each node, in Groot2's order.
fn statuses(tree: &PublishedTree) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(tree.codes.len() * 3);
    for node in &tree.order {
        bytes.extend_from_slice(&uid(*node).to_le_bytes());
        bytes.push(tree.codes.get(node.index()).copied().unwrap_or(0));
    }
    bytes
}

/// A UUID of version 4. A client uses it only to notice another tree.
fn random_uuid() -> [u8; 16] {
    let mut uuid = [0; 16];
    let _ = getrandom::fill(&mut uuid);
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}
