//! The feed of a node that runs.

use std::sync::Arc;

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
type FindProblems = Box<dyn Fn(&TreeDef) -> Json + Send>;

/// Passes the records of an event stream on to a feed.
pub struct LiveRun {
    reader: Reader,
    translator: Translator,
    feed: Feed,
    find_problems: FindProblems,
    last: Time,
}

impl LiveRun {
    /// Reads a stream.
    pub fn new(reader: Reader, find_problems: FindProblems) -> Self {
        Self {
            reader,
            translator: Translator::default(),
            feed: Feed::new(HISTORY),
            find_problems,
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
        let problems = (self.find_problems)(def);
        let head = run_head(Mode::Live, def, Some(&stored), &keys, problems);
        self.feed.begin(&head, time);
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
    use serde_json::json;

    use super::*;
    use crate::bt::builder::{leaf, sequence};
    use crate::bt::testing::Scene;
    use crate::record::{Stream, Tracer};

    #[test]
    fn a_navigation_is_fed_with_its_tree_and_changes() {
        let root = sequence([
            leaf("Script").port("code", "a := 1"),
            leaf("AlwaysSuccess").name("drive"),
        ]);
        let mut tree = Scene::new(root).compile().unwrap();
        let stream = Stream::default();
        let mut distributor = stream.distribute();
        let mut live = LiveRun::new(distributor.subscribe().reader(), Box::new(|_| json!([])));
        let def = Arc::clone(tree.definition());
        tree.set_observer(Some(Box::new(Tracer::new(stream.clone(), &def))));
        let navigation = Navigation::of_tree(&mut tree);
        stream.set_time(Time::from_millis(500));
        stream.write(Event::Began(Box::new(navigation)));
        tree.tick(Time::from_millis(510)).unwrap();
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
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
}
