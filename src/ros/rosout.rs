//! Log lines on `/rosout`.

use std::fmt::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use r2r::QosProfile;
use r2r::rcl_interfaces::msg::Log;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::convert::{Convert, wire_text};
use super::{Clock, RosError, RosHandle, RosNode};
use crate::msg::Stamp;

/// The maximum number of lines that wait for the node's thread. Further ones are dropped: a log must not delay the
/// threads that write it.
const QUEUE: usize = 512;

/// A layer for `tracing` that publishes the lines that pass its filter on `/rosout`. Since Jazzy rcl leaves this to
/// client libraries.
///
/// It is created before there is a node, so logging can be set up first. Lines wait until [`Rosout::attach`].
#[derive(Debug)]
pub struct RosoutLayer {
    lines: SyncSender<Line>,
}

/// The receiver of a [`RosoutLayer`].
#[derive(Debug)]
pub struct Rosout {
    lines: Receiver<Line>,
}

#[derive(Debug)]
struct Line {
    stamp: Stamp,
    level: Level,
    text: String,
    target: &'static str,
    file: &'static str,
    line: u32,
}

impl Line {
    fn message(&self, name: &str, stamp: Stamp) -> Log {
        Log {
            stamp: stamp.to_wire(),
            level: severity(self.level),
            name: name.to_owned(),
            // A line may contain any text: a key, a file name, a text from a topic.
            msg: wire_text(&self.text),
            file: self.file.to_owned(),
            function: self.target.to_owned(),
            line: self.line,
        }
    }
}

/// Creates a layer and its receiver.
pub fn rosout() -> (RosoutLayer, Rosout) {
    let (sender, receiver) = sync_channel(QUEUE);
    (RosoutLayer { lines: sender }, Rosout { lines: receiver })
}

impl<S: Subscriber> Layer<S> for RosoutLayer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut text = Text::default();
        event.record(&mut text);
        // The receiver, which knows the clock, replaces the stamp under use_sim_time.
        let _ = self.lines.try_send(Line {
            stamp: Clock::system_stamp(),
            level: *metadata.level(),
            text: text.0,
            target: metadata.target(),
            file: metadata.file().unwrap_or_default(),
            line: metadata.line().unwrap_or_default(),
        });
    }
}

impl Rosout {
    /// Publishes all lines so far and later ones, under the node's name.
    ///
    /// # Errors
    /// [`RosError`].
    pub fn attach(self, ros: &RosHandle, clock: &Clock) -> Result<(), RosError> {
        let name = ros.full_name().trim_start_matches('/').replace('/', ".");
        let clock = clock.clone();
        ros.with_node_blocking(Duration::from_secs(10), move |node| {
            self.publish(node, name, clock)
        })?
    }

    fn publish(self, node: &mut RosNode, name: String, clock: Clock) -> Result<(), RosError> {
        let qos = QosProfile::default()
            .keep_last(1000)
            .transient_local()
            .lifespan(Duration::from_secs(10));
        let publisher = node.publisher::<Log>("/rosout", qos)?;
        // Runs whenever the node's thread was awake.
        node.every(Duration::ZERO, move || {
            while let Ok(line) = self.lines.try_recv() {
                let stamp = if clock.is_simulated() {
                    clock.stamp()
                } else {
                    line.stamp
                };
                let _ = publisher.publish(&line.message(&name, stamp));
            }
        });
        Ok(())
    }
}

/// The severity numbers of `rcl_interfaces/Log`.
fn severity(level: Level) -> u8 {
    match level {
        Level::TRACE | Level::DEBUG => 10,
        Level::INFO => 20,
        Level::WARN => 30,
        Level::ERROR => 40,
    }
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        } else {
            let separator = if self.0.is_empty() { "" } else { " " };
            let _ = write!(self.0, "{separator}{}={value:?}", field.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn g8_a_zero_byte_in_a_line_is_replaced() {
        let line = Line {
            stamp: Stamp::ZERO,
            level: Level::WARN,
            text: "the frame `ma\0p` does not exist".to_owned(),
            target: "navtree",
            file: "a.rs",
            line: 1,
        };
        let message = line.message("bt_navigator", Stamp::ZERO);
        assert_eq!(message.msg, "the frame `ma␀p` does not exist");
        // r2r does the same when it sends.
        drop(r2r::NativeMsg::from(&message));
    }

    #[test]
    fn lines_wait_for_a_node_and_a_full_queue_blocks_no_writer() {
        let (layer, rosout) = rosout();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!(goal = 3, "not stopped");
            for _ in 0..2 * QUEUE {
                tracing::info!("more");
            }
        });
        let first = rosout.lines.try_recv().unwrap();
        assert_eq!(
            (first.text.as_str(), severity(first.level)),
            ("not stopped goal=3", 30)
        );
        assert!(first.file.ends_with("rosout.rs") && first.line > 0);
        assert_eq!(rosout.lines.try_iter().count(), QUEUE - 1);
    }
}
