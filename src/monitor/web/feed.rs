//! The run for the page: its tree, and its changes so far.
//!
//! Clients read at their own speed. Each has a cursor; what it has not read is kept up to a limit, and beyond it the oldest
//! changes are merged into the state from which a client begins. So the memory and the work of the server do not depend
//! on a slow client.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use tokio::sync::watch;

use super::change::{Change, ChangeKind, Key, to_json};
use crate::bt::Time;

/// Number of status changes in one push from which on only the last one of each node is kept.
const MAX_STATUSES: usize = 4000;

/// The run that all clients read. Cheap to clone; all clones are the same feed.
#[derive(Clone, Debug)]
pub struct Feed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    run: Mutex<Run>,
    /// Increments with each change of `run`, and at the end.
    version: watch::Sender<u64>,
    has_ended: AtomicBool,
}

#[derive(Debug)]
struct Run {
    /// The number of the run.
    number: u64,
    head: Arc<str>,
    /// The problems of its files, as JSON, if they are not in the head and known.
    problems: Option<Arc<str>>,
    /// The beginning of the run: times are relative to it.
    origin: Time,
    /// The last change of each key, from before the first frame, with its order.
    base: FxHashMap<Key, (u64, Change)>,
    merged: u64,
    frames: VecDeque<Frame>,
    /// The number of the first frame.
    first: u64,
    /// Memory of the frames, in bytes.
    bytes: usize,
    max_bytes: usize,
    /// The state of the node, as JSON, and its number.
    node: (u64, Arc<str>),
}

#[derive(Debug)]
struct Frame {
    event: Arc<str>,
    changes: Vec<Change>,
}

impl Frame {
    /// The memory of the frame, in bytes.
    fn size(&self) -> usize {
        size_of::<Self>() + self.event.len() + self.changes.iter().map(Change::size).sum::<usize>()
    }
}

/// How far a client has read.
#[derive(Debug, Default)]
pub(in crate::monitor) struct Cursor {
    run: u64,
    has_problems: bool,
    frame: u64,
    node: u64,
}

impl Feed {
    /// A feed without a run, which keeps changes up to this number of bytes of memory.
    pub fn new(max_bytes: usize) -> Self {
        Self(Arc::new(Shared {
            run: Mutex::new(Run {
                number: 1,
                head: "null".into(),
                problems: None,
                origin: Time::ZERO,
                base: FxHashMap::default(),
                merged: 0,
                frames: VecDeque::new(),
                first: 0,
                bytes: 0,
                max_bytes,
                node: (0, "null".into()),
            }),
            version: watch::Sender::new(0),
            has_ended: AtomicBool::new(false),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Run> {
        self.0.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins another run: `head` describes it. Returns its number.
    pub(in crate::monitor) fn begin(&self, head: &impl serde::Serialize, origin: Time) -> u64 {
        let head = json_text(head);
        let mut run = self.lock();
        run.number += 1;
        let number = run.number;
        run.head = head.into();
        run.problems = None;
        run.origin = origin;
        run.base.clear();
        run.frames.clear();
        run.first = 0;
        run.bytes = 0;
        drop(run);
        self.notify();
        number
    }

    /// Adds changes of the run.
    pub(in crate::monitor) fn push(&self, mut changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        drop_repeated(&mut changes);
        let mut run = self.lock();
        let event: Arc<str> = event("changes", &to_json(&changes, run.origin)).into();
        let frame = Frame { event, changes };
        run.bytes += frame.size();
        run.frames.push_back(frame);
        while run.bytes > run.max_bytes && run.frames.len() > 1 {
            run.merge_first();
        }
        drop(run);
        self.notify();
    }

    /// Sets the problems of the files of a run, unless another one has begun.
    pub(super) fn set_problems(&self, number: u64, problems: &impl serde::Serialize) {
        let problems = json_text(problems);
        let mut run = self.lock();
        if run.number == number {
            run.problems = Some(problems.into());
        }
        drop(run);
        self.notify();
    }

    /// Sets the state of the node: what is not part of the run.
    pub fn set_node(&self, node: &impl serde::Serialize) {
        let node: Arc<str> = json_text(node).into();
        let mut run = self.lock();
        if run.node.1 == node {
            return;
        }
        run.node = (run.node.0 + 1, node);
        drop(run);
        self.notify();
    }

    /// Whether a client reads.
    pub fn is_watched(&self) -> bool {
        self.0.version.receiver_count() > 0
    }

    /// Nothing follows: the node has ended. Clients are disconnected when they have read all, so that they ask for the next
    /// run of the node.
    pub(super) fn end(&self) {
        self.0.has_ended.store(true, Ordering::Release);
        self.notify();
    }

    /// Whether nothing follows.
    pub(super) fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::Acquire)
    }

    /// Whether both are the same feed.
    #[cfg(any(feature = "ros", test))]
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn notify(&self) {
        self.0.version.send_modify(|version| *version += 1);
    }

    /// Told of each change.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.0.version.subscribe()
    }

    /// The next events for a client, up to about `max_bytes`. Empty if it has read all.
    pub(in crate::monitor) fn read(&self, cursor: &mut Cursor, max_bytes: usize) -> String {
        let run = self.lock();
        let mut text = String::new();
        if cursor.run != run.number || cursor.frame < run.first {
            text += &event("run", &run.head);
            text += &run.base_event();
            (cursor.run, cursor.frame, cursor.has_problems) = (run.number, run.first, false);
        }
        if let Some(problems) = run.problems.as_ref().filter(|_| !cursor.has_problems) {
            text += &event("problems", problems);
            cursor.has_problems = true;
        }
        if cursor.node != run.node.0 {
            text += &event("node", &run.node.1);
            cursor.node = run.node.0;
        }
        let skipped = usize::try_from(cursor.frame - run.first).unwrap_or(usize::MAX);
        for frame in run.frames.iter().skip(skipped) {
            if text.len() >= max_bytes {
                break;
            }
            text += &frame.event;
            cursor.frame += 1;
        }
        text
    }
}

impl Run {
    fn merge_first(&mut self) {
        let Some(frame) = self.frames.pop_front() else {
            return;
        };
        self.first += 1;
        self.bytes -= frame.size();
        for change in frame.changes {
            if let ChangeKind::GoalEnded(ticket, ..) = change.kind {
                self.base.remove(&Key::Sent(ticket));
                self.base.remove(&Key::GoalState(ticket));
            }
            if let Some(key) = change.kind.key() {
                self.merged += 1;
                self.base.insert(key, (self.merged, change));
            }
        }
    }

    fn base_event(&self) -> String {
        if self.base.is_empty() {
            return String::new();
        }
        let mut base: Vec<&(u64, Change)> = self.base.values().collect();
        base.sort_unstable_by_key(|(order, _)| *order);
        let changes = base.into_iter().map(|(_, change)| change);
        event("changes", &to_json(changes, self.origin))
    }
}

/// The JSON of a value that contains nothing that JSON cannot hold.
fn json_text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// One Server-Sent Event. JSON has no line breaks.
fn event(name: &str, json: &str) -> String {
    format!("event: {name}\ndata: {json}\n\n")
}

/// Keeps only the last status of each node if there are too many for a page: a thousand nodes that change in each tick.
fn drop_repeated(changes: &mut Vec<Change>) {
    let is_status = |change: &Change| matches!(change.kind, ChangeKind::Status(..) | ChangeKind::Skipped(_));
    if changes.iter().filter(|change| is_status(change)).count() <= MAX_STATUSES {
        return;
    }
    let mut seen = rustc_hash::FxHashSet::default();
    let mut kept: Vec<Change> = Vec::new();
    for change in changes.drain(..).rev() {
        let key = change.kind.key().filter(|_| is_status(&change));
        if key.is_none_or(|key| seen.insert(key)) {
            kept.push(change);
        }
    }
    kept.reverse();
    *changes = kept;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bt::NodeStatus::{Failure, Idle, Running, Success};

    fn status(milliseconds: u64, node: u32, status: crate::bt::NodeStatus) -> Change {
        Change {
            time: Time::from_millis(milliseconds),
            kind: ChangeKind::Status(node, status),
        }
    }

    fn read_all(feed: &Feed, cursor: &mut Cursor) -> String {
        feed.read(cursor, usize::MAX)
    }

    #[test]
    fn a_client_gets_the_run_and_then_each_change_once() {
        let feed = Feed::new(1 << 20);
        let mut cursor = Cursor::default();
        assert_eq!(read_all(&feed, &mut cursor), "event: run\ndata: null\n\n");
        feed.begin(&json!({"tree": "T"}), Time::ZERO);
        feed.push(vec![status(1, 0, Running)]);
        assert_eq!(
            read_all(&feed, &mut cursor),
            "event: run\ndata: {\"tree\":\"T\"}\n\nevent: changes\ndata: [[\"@\",1.0],[\"c\",0,1]]\n\n"
        );
        assert_eq!(read_all(&feed, &mut cursor), "");
        feed.push(vec![status(2, 0, Success)]);
        assert_eq!(
            read_all(&feed, &mut cursor),
            "event: changes\ndata: [[\"@\",2.0],[\"c\",0,2]]\n\n"
        );
    }

    #[test]
    fn a_slow_client_gets_the_state_instead_of_what_it_missed() {
        let feed = Feed::new(150);
        let mut cursor = Cursor::default();
        feed.begin(&json!({}), Time::ZERO);
        read_all(&feed, &mut cursor);
        for tick in 0..1000 {
            feed.push(vec![
                status(tick, 0, Running),
                status(tick, 0, Failure),
                status(tick, 0, Idle),
            ]);
        }
        let text = read_all(&feed, &mut cursor);
        assert!(text.len() < 400, "{text}");
        assert!(text.starts_with("event: run\n"), "{text}");
        assert!(text.contains(r#"["c",0,3],["c",0,0]"#), "{text}");
        assert!(text.contains("[\"@\",999.0]"), "{text}");
        assert_eq!(read_all(&feed, &mut cursor), "");
    }

    #[test]
    fn the_bound_counts_all_that_is_kept() {
        let feed = Feed::new(100_000);
        feed.begin(&json!({}), Time::ZERO);
        let text = "x".repeat(1000);
        for tick in 0..1000 {
            let kind = ChangeKind::Wrote(0, None, Some(text.clone()), String::new());
            let time = Time::from_millis(tick);
            feed.push(vec![Change { time, kind }]);
        }
        let run = feed.lock();
        let kept: usize = run.frames.iter().map(Frame::size).sum();
        assert_eq!(kept, run.bytes);
        // Each text is there twice: as JSON, and in the change that is merged later.
        assert!((40..50).contains(&run.frames.len()), "{}", run.frames.len());
    }

    #[test]
    fn ended_goals_leave_the_state() {
        let feed = Feed::new(1);
        feed.begin(&json!({}), Time::ZERO);
        let change = |kind| Change {
            time: Time::ZERO,
            kind,
        };
        feed.push(vec![
            change(ChangeKind::Sent(7, "goal".into(), Some(1), "spin".into())),
            change(ChangeKind::GoalState(7, "accepted".into(), String::new())),
            change(ChangeKind::Sent(8, "goal".into(), Some(2), "wait".into())),
        ]);
        feed.push(vec![change(ChangeKind::GoalEnded(
            7,
            "succeeded".into(),
            String::new(),
        ))]);
        feed.push(vec![status(1, 0, Running)]);
        let text = read_all(&feed, &mut Cursor::default());
        assert!(!text.contains("spin") && text.contains("wait"), "{text}");
    }

    #[test]
    fn a_flood_of_statuses_keeps_the_last_of_each_node() {
        let feed = Feed::new(1 << 20);
        feed.begin(&json!({}), Time::ZERO);
        let flood = (0..10_000).map(|number| {
            status(
                number,
                (number % 1000) as u32,
                if number < 9000 { Running } else { Success },
            )
        });
        feed.push(flood.collect());
        let text = read_all(&feed, &mut Cursor::default());
        assert_eq!(text.matches("[\"c\"").count(), 1000);
        assert!(!text.contains(",1]"));
    }
}
