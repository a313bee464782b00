//! The feed of a node that runs.

use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::Value as Json;

use super::change::{Change, ChangeKind};
use super::feed::Feed;
use super::run_head::{Mode, node_paths, run_head, scope_paths};
use super::translator::Translator;
use crate::bt::{Time, TreeDef};
use crate::goal::Notice;
use crate::record::event::{Event, Navigation};
use crate::record::stored::StoredRecord;
use crate::record::stream::Reader;

/// Memory of the changes that a client gets when it connects, in bytes: some minutes of a usual tree.
const HISTORY: usize = 16 << 20;

/// Finds the problems of the files of a tree: [`problems`](super::run_head::problems).
type FindProblems = Arc<dyn Fn(&TreeDef) -> Json + Send + Sync>;

/// Passes the records of an event stream on to a feed.
pub struct LiveRun {
    reader: Reader,
    translator: Translator,
    feed: Feed,
    find_problems: FindProblems,
    /// The number of the run and its tree, until the check of its files has begun.
    unchecked: Option<(u64, Arc<TreeDef>)>,
    /// The thread that checks files.
    check: Option<JoinHandle<()>>,
    last: Time,
}

impl LiveRun {
    /// Reads a stream.
    pub fn new(reader: Reader, find_problems: impl Fn(&TreeDef) -> Json + Send + Sync + 'static) -> Self {
        Self {
            reader,
            translator: Translator::default(),
            feed: Feed::new(HISTORY),
            find_problems: Arc::new(find_problems),
            unchecked: None,
            check: None,
            last: Time::ZERO,
        }
    }

    /// The feed.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Takes what was written since the last call. Call it often: the stream keeps a second for each reader.
    pub fn poll(&mut self) {
        let mut changes = Vec::new();
        while let Some(batch) = self.reader.read() {
            if batch.lost > 0 {
                changes.push(Change {
                    time: self.last,
                    kind: ChangeKind::Lost(batch.lost),
                });
            }
            for record in batch.records.iter() {
                self.last = record.time;
                if let Event::Began(navigation) = &record.event {
                    changes = self.begin(navigation, record.time, &record.event);
                } else if let Some(stored) = shown(&record.event) {
                    changes.extend(self.translator.change(record.time, &stored));
                }
            }
        }
        self.feed.push(changes);
        self.check_files();
    }

    /// Checks the files of the tree if somebody watches: one tree at a time, on a thread of its own, because a check may
    /// take long, and the page's acts must not wait for it.
    fn check_files(&mut self) {
        let is_busy = self.check.as_ref().is_some_and(|check| !check.is_finished());
        if is_busy || !self.feed.is_watched() {
            return;
        }
        let Some((run, def)) = self.unchecked.take() else {
            return;
        };
        let (feed, find_problems) = (self.feed.clone(), Arc::clone(&self.find_problems));
        let check = move || feed.set_problems(run, &find_problems(&def));
        let thread = std::thread::Builder::new().name("tree-check".to_owned());
        self.check = thread.spawn(check).ok();
    }

    fn begin(&mut self, navigation: &Navigation, time: Time, event: &Event) -> Vec<Change> {
        let StoredRecord::Began(stored) = StoredRecord::of(event) else {
            return Vec::new();
        };
        let def = &navigation.tree;
        let initial = self
            .translator
            .begin(&stored, node_paths(def), scope_paths(def), time);
        let keys: Vec<String> = stored
            .slots
            .iter()
            .map(|(scope, key)| self.translator.key(*scope, key))
            .collect();
        let head = run_head(Mode::Live, def, Some(&stored), &keys, Json::Null);
        let run = self.feed.begin(&head, time);
        self.unchecked = Some((run, Arc::clone(def)));
        initial
    }
}

/// The stored form of an event that the page shows. Messages are left out: their stored form takes time and memory.
pub(in crate::monitor) fn shown(event: &Event) -> Option<StoredRecord> {
    Some(match event {
        Event::Message { .. }
        | Event::Transform { .. }
        | Event::NoTransform(_)
        | Event::Stamp(_)
        | Event::TopicFault(_)
        | Event::Published { .. }
        | Event::Topic(_)
        | Event::Frames(_)
        | Event::Parameter(_)
        | Event::Notice(Notice::Feedback { .. }) => return None,
        Event::Command {
            kind,
            ticket,
            server,
            leaf,
            ..
        } => StoredRecord::Command {
            kind: *kind,
            ticket: *ticket,
            server: *server,
            leaf: leaf.as_ref().map(Arc::clone),
            payload: None,
        },
        other => StoredRecord::of(other),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::bt::builder::{leaf, sequence};
    use crate::bt::testing::Scene;
    use crate::record::event::LogLevel;
    use crate::record::{Stream, Tracer};

    const TIMEOUT: Duration = Duration::from_secs(20);

    #[test]
    fn a_navigation_is_fed_with_its_tree_and_changes() {
        let root = sequence([
            leaf("Script").port("code", "a := 1"),
            leaf("AlwaysSuccess").name("drive"),
        ]);
        let mut tree = Scene::new(root).compile().unwrap();
        let stream = Stream::default();
        let mut distributor = stream.distribute();
        let (looking, looks) = channel();
        let (release, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let mut live = LiveRun::new(distributor.subscribe().reader(), move |_| {
            looking.send(()).unwrap();
            gate.lock().unwrap().recv_timeout(TIMEOUT).unwrap();
            json!(["a problem"])
        });
        let def = Arc::clone(tree.definition());
        tree.set_observer(Some(Box::new(Tracer::new(stream.clone(), &def))));
        let navigation = Navigation::of_tree(&mut tree);
        stream.set_time(Time::from_millis(500));
        stream.write(Event::Began(Box::new(navigation)));
        tree.tick(Time::from_millis(510)).unwrap();
        stream.log(LogLevel::Warn, "a port is in use");
        distributor.distribute();
        live.poll();
        let text = live
            .feed()
            .read(&mut super::super::feed::Cursor::default(), usize::MAX);
        for part in [
            r#""name":"drive""#,
            r#"["t",10.0],"#,
            r#"["w",0,1,"1","#,
            r#"["c",2,2]"#,
            r#""keys":["a"]"#,
            r#"["L","WARN","a port is in use"]"#,
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(looks.try_recv().is_err(), "nobody watches");
        let mut feed = live.feed().watch();
        live.poll();
        // The check still runs.
        looks.recv_timeout(TIMEOUT).unwrap();
        live.poll();
        feed.mark_unchanged();
        release.send(()).unwrap();
        let deadline = std::time::Instant::now() + TIMEOUT;
        while !feed.has_changed().unwrap() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        let mut cursor = super::super::feed::Cursor::default();
        let text = live.feed().read(&mut cursor, usize::MAX);
        assert!(
            text.contains("event: problems\ndata: [\"a problem\"]\n\n"),
            "{text}"
        );
        assert_eq!(live.feed().read(&mut cursor, usize::MAX), "", "once");
    }
}
