//! The events of a feed, read from its stream of Server-Sent Events.

use crate::bt::Time;
use crate::monitor::web::{Change, NodeReport, RunHead, UP_TO_DATE, from_json};

/// Maximum size of one event, in bytes. The largest contain the files of a tree.
const MAX_EVENT: usize = 64 << 20;

/// An event of a feed.
#[derive(Clone, Debug)]
pub(super) enum FeedEvent {
    /// A run begins; `None`: there is none yet.
    Run(Option<Box<RunHead>>),
    /// Changes of the run.
    Changes(Vec<Change>),
    /// The state of the node.
    Node(NodeReport),
    /// All that happened before the connection has come.
    UpToDate,
}

/// Reads a stream piece by piece.
#[derive(Debug, Default)]
pub(super) struct EventParser {
    buffer: Vec<u8>,
    /// The last time of the run.
    time: Time,
}

impl EventParser {
    /// Takes a piece of the stream and returns the events that it completes. Events with another name are left out.
    ///
    /// # Errors
    /// The stream is not that of a feed.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<Vec<FeedEvent>, String> {
        // The end of an event may be in two pieces.
        let mut from = self.buffer.len().saturating_sub(1);
        self.buffer.extend_from_slice(piece);
        let mut events = Vec::new();
        let mut begin = 0;
        while let Some(end) = find_end(&self.buffer[from..]).map(|end| from + end) {
            let event = std::str::from_utf8(&self.buffer[begin..end])
                .map_err(|error| format!("the events are not text: {error}"))?;
            let time = &mut self.time;
            events.extend(read_event(event, time)?);
            (begin, from) = (end, end);
        }
        self.buffer.drain(..begin);
        if self.buffer.len() > MAX_EVENT {
            return Err(format!("an event has more than {} MB", MAX_EVENT >> 20));
        }
        Ok(events)
    }
}

/// The place after the empty line that ends an event.
fn find_end(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(2)
        .position(|pair| pair == b"\n\n")
        .map(|place| place + 2)
}

fn read_event(event: &str, time: &mut Time) -> Result<Option<FeedEvent>, String> {
    if event == UP_TO_DATE {
        return Ok(Some(FeedEvent::UpToDate));
    }
    let parts = event
        .strip_prefix("event: ")
        .and_then(|event| event.trim_end().split_once("\ndata: "));
    let Some((name, data)) = parts else {
        return Ok(None);
    };
    let with_name = |error: serde_json::Error| format!("event {name:?}: {error}");
    Ok(match name {
        "run" => {
            *time = Time::ZERO;
            Some(FeedEvent::Run(serde_json::from_str(data).map_err(with_name)?))
        }
        "changes" => {
            let list = serde_json::from_str(data).map_err(with_name)?;
            Some(FeedEvent::Changes(from_json(&list, time)))
        }
        "node" => {
            let report: Option<NodeReport> = serde_json::from_str(data).map_err(with_name)?;
            report.map(FeedEvent::Node)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "event: run\ndata: null\n\nevent: node\ndata: {\"paused\":true}\n\n: still here\n\n\
                          event: new\ndata: 1\n\nevent: changes\ndata: [[\"t\",5.0],[\"c\",0,1]]\n\n: up to date\n\n";

    #[test]
    fn events_are_complete_however_the_stream_is_cut() {
        for size in [1, 2, 3, 7, 1000] {
            let mut parser = EventParser::default();
            let events: Vec<FeedEvent> = STREAM
                .as_bytes()
                .chunks(size)
                .flat_map(|piece| parser.take(piece).unwrap())
                .collect();
            let [
                FeedEvent::Run(None),
                FeedEvent::Node(report),
                FeedEvent::Changes(changes),
                FeedEvent::UpToDate,
            ] = events.as_slice()
            else {
                panic!("{size}: {events:?}");
            };
            assert!(report.paused && !report.running);
            assert_eq!((changes.len(), changes[1].time), (2, Time::from_millis(5)));
        }
    }

    #[test]
    fn another_stream_is_an_error() {
        for wrong in [
            &b"event: run\ndata: 3\n\n"[..],
            b"event: changes\ndata: [\n\n",
            b"\xff\n\n",
        ] {
            assert!(EventParser::default().take(wrong).is_err());
        }
        assert!(EventParser::default().take(b"<html>\n\n").unwrap().is_empty());
    }
}
