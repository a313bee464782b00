//! Log lines on `/rosout`.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use r2r::QosProfile;
use r2r::rcl_interfaces::msg::Log;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::convert::{Convert, wire_text};
use super::shortened::{MAX_LOG_LINE, shortened};
use super::{Clock, Publisher, RosError, RosHandle};
use crate::msg::Stamp;
use crate::robot_name;

/// The maximum number of lines that wait for the node's thread. Further ones are dropped and counted: a log must not delay
/// the threads that write it.
const QUEUE: usize = 512;

/// A layer for `tracing` that publishes the lines that pass its filter on `/rosout`. Since Jazzy rcl leaves this to
/// client libraries.
///
/// It is created before there is a node, so logging can be set up first. Lines wait until [`Rosout::attach`].
#[derive(Debug)]
pub struct RosoutLayer {
    lines: Sender,
}

/// The receiver of a [`RosoutLayer`].
#[derive(Debug)]
pub struct Rosout {
    lines: Queue,
}

/// Takes the level and the text of a line.
type TakeLine = Box<dyn Fn(Level, &str) + Send + Sync>;

/// Told of each line of a node, besides `/rosout`, on the thread that writes it: a recording that ends with a navigation
/// has the lines until then.
#[derive(Default)]
pub(super) struct LogListener(OnceLock<TakeLine>);

impl std::fmt::Debug for LogListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LogListener")
            .field(&self.0.get().is_some())
            .finish()
    }
}

impl LogListener {
    /// Sets the listener, which must not wait. A second one is ignored.
    pub(super) fn set(&self, listener: impl Fn(Level, &str) + Send + Sync + 'static) {
        let _ = self.0.set(Box::new(listener));
    }

    fn tell(&self, line: &Line) {
        if let Some(listener) = self.0.get() {
            listener(line.level, &line.text);
        }
    }
}

/// The log until there is a node. A process has one log, and `tracing` keeps its other end in a global too.
static WAITING: Mutex<Option<Rosout>> = Mutex::new(None);

/// The queues of the lines of several robots, by the full names of their nodes. The lines of other threads, and of a robot
/// without a node, are in the queue of the [`Rosout`].
static ROBOTS: RwLock<Vec<(Arc<str>, Sender)>> = RwLock::new(Vec::new());

/// Publishes the log of the process with the next node that is started.
pub(super) fn wait_for_node(log: Rosout) {
    *WAITING.lock().unwrap_or_else(PoisonError::into_inner) = Some(log);
}

/// The log that waits for a node.
pub(super) fn take_log() -> Option<Rosout> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Publishes the log of the process, if no node does, and the lines of the robot of this node, if the process has several.
///
/// # Errors
/// [`RosError`].
pub(super) fn attach(ros: &RosHandle, clock: &Clock) -> Result<(), RosError> {
    let robot = robot_name::current().filter(|robot| **robot == *ros.full_name());
    if let Some(robot) = robot {
        let (sender, own) = queue();
        let of_robot = OfRobot::new(own, &WAITING, ros.log_listener());
        publish_lines(of_robot, ros, clock)?;
        let mut robots = ROBOTS.write().unwrap_or_else(PoisonError::into_inner);
        robots.retain(|(other, _)| *other != robot);
        robots.push((robot, sender));
        return Ok(());
    }
    match take_log() {
        Some(log) => log.attach(ros, clock),
        None => Ok(()),
    }
}

/// The end of a queue of lines that is written to.
#[derive(Clone, Debug)]
struct Sender {
    /// Boxed: the channel has room for all of them from its start, for each robot.
    lines: SyncSender<Box<Line>>,
    shared: Arc<Shared>,
}

/// The end of a queue of lines that a node publishes.
#[derive(Debug)]
struct Queue {
    lines: Receiver<Box<Line>>,
    shared: Arc<Shared>,
}

#[derive(Default, Debug)]
struct Shared {
    /// Number of lines that found no place in the queue.
    dropped: AtomicU64,
    /// The listener of the node that publishes the lines.
    listener: RwLock<Option<Arc<LogListener>>>,
}

fn queue() -> (Sender, Queue) {
    let (sender, lines) = sync_channel(QUEUE);
    let shared = Arc::<Shared>::default();
    let sender = Sender {
        lines: sender,
        shared: Arc::clone(&shared),
    };
    (sender, Queue { lines, shared })
}

impl Sender {
    /// Returns the line if the other end no longer exists.
    fn send(&self, line: Line) -> Option<Line> {
        let listener = self
            .shared
            .listener
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = &*listener {
            listener.tell(&line);
        }
        match self.lines.try_send(Box::new(line)) {
            Ok(()) => None,
            Err(TrySendError::Full(_)) => {
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
                None
            }
            Err(TrySendError::Disconnected(line)) => Some(*line),
        }
    }
}

impl Queue {
    fn set_listener(&self, listener: Option<Arc<LogListener>>) {
        *self
            .shared
            .listener
            .write()
            .unwrap_or_else(PoisonError::into_inner) = listener;
    }

    fn next(&self) -> Option<Line> {
        self.lines.try_recv().ok().map(|line| *line)
    }

    /// A line that tells the number of lines that were dropped since the last call.
    fn notice(&self) -> Option<Line> {
        let dropped = self.shared.dropped.swap(0, Ordering::Relaxed);
        (dropped > 0).then(|| Line {
            robot: None,
            stamp: Clock::system_stamp(),
            level: Level::WARN,
            text: format!("{dropped} lines of the log are missing on /rosout: the queue was full"),
            target: module_path!(),
            file: file!(),
            line: line!(),
        })
    }
}

#[derive(Debug)]
struct Line {
    /// The robot of the thread that wrote it.
    robot: Option<Arc<str>>,
    stamp: Stamp,
    level: Level,
    text: String,
    target: &'static str,
    file: &'static str,
    line: u32,
}

impl Line {
    fn message(&self, node: &str, stamp: Stamp) -> Log {
        Log {
            stamp: stamp.to_wire(),
            level: severity(self.level),
            name: logger(self.robot.as_deref().unwrap_or(node)),
            // A line may contain any text: a key, a file name, a text from a topic.
            msg: wire_text(&self.text),
            file: self.file.to_owned(),
            function: self.target.to_owned(),
            line: self.line,
        }
    }
}

/// The name of the logger of a node with this full name.
fn logger(node: &str) -> String {
    node.trim_start_matches('/').replace('/', ".")
}

/// Creates a layer and its receiver.
pub fn rosout() -> (RosoutLayer, Rosout) {
    let (sender, lines) = queue();
    (RosoutLayer { lines: sender }, Rosout { lines })
}

impl<S: Subscriber> Layer<S> for RosoutLayer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut text = Text::default();
        event.record(&mut text);
        let robot = robot_name::current();
        // The receiver, which knows the clock, replaces the stamp under use_sim_time.
        let line = Line {
            robot: robot.clone(),
            stamp: Clock::system_stamp(),
            level: *metadata.level(),
            text: shortened(text.0, MAX_LOG_LINE),
            target: metadata.target(),
            file: metadata.file().unwrap_or_default(),
            line: metadata.line().unwrap_or_default(),
        };
        let rejected = match robot {
            Some(robot) => send_of(&robot, line),
            None => Some(line),
        };
        if let Some(line) = rejected {
            self.lines.send(line);
        }
    }
}

/// Puts a line into the queue of a robot. Returns it if the robot has no node.
fn send_of(robot: &Arc<str>, line: Line) -> Option<Line> {
    let robots = ROBOTS.read().unwrap_or_else(PoisonError::into_inner);
    match robots.iter().find(|(other, _)| other == robot) {
        Some((_, queue)) => queue.send(line),
        None => Some(line),
    }
}

impl Rosout {
    /// Publishes all lines so far and later ones, under the node's name.
    ///
    /// # Errors
    /// [`RosError`].
    pub fn attach(self, ros: &RosHandle, clock: &Clock) -> Result<(), RosError> {
        self.lines.set_listener(Some(ros.log_listener()));
        publish_lines(Returned(Some(self)), ros, clock)
    }
}

/// A source of lines. Dropped at the end of the node.
trait Lines: Send + 'static {
    fn next(&mut self) -> Option<Line>;

    /// See [`Queue::notice`].
    fn notice(&self) -> Option<Line>;
}

/// The log of the process, which waits for the next node when the present one ends.
struct Returned(Option<Rosout>);

impl Lines for Returned {
    fn next(&mut self) -> Option<Line> {
        self.0.as_ref()?.lines.next()
    }

    fn notice(&self) -> Option<Line> {
        self.0.as_ref()?.lines.notice()
    }
}

impl Drop for Returned {
    fn drop(&mut self) {
        if let Some(log) = self.0.take() {
            log.lines.set_listener(None);
            wait_for_node(log);
        }
    }
}

/// The lines of one of several robots, and the log of the process if no other robot has it: when the robot that had it
/// fails, a running one takes it.
struct OfRobot {
    own: Queue,
    process: Option<Rosout>,
    waiting: &'static Mutex<Option<Rosout>>,
    listener: Arc<LogListener>,
}

impl OfRobot {
    fn new(own: Queue, waiting: &'static Mutex<Option<Rosout>>, listener: Arc<LogListener>) -> Self {
        own.set_listener(Some(Arc::clone(&listener)));
        Self {
            own,
            process: None,
            waiting,
            listener,
        }
    }

    fn waiting(&self) -> MutexGuard<'static, Option<Rosout>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines for OfRobot {
    fn next(&mut self) -> Option<Line> {
        if let Some(line) = self.own.next() {
            return Some(line);
        }
        if self.process.is_none() {
            self.process = self.waiting().take();
            if let Some(log) = &self.process {
                log.lines.set_listener(Some(Arc::clone(&self.listener)));
            }
        }
        self.process.as_ref()?.lines.next()
    }

    fn notice(&self) -> Option<Line> {
        let of_process = || self.process.as_ref()?.lines.notice();
        self.own.notice().or_else(of_process)
    }
}

impl Drop for OfRobot {
    fn drop(&mut self) {
        self.own.set_listener(None);
        if let Some(log) = self.process.take() {
            log.lines.set_listener(None);
            *self.waiting() = Some(log);
        }
    }
}

/// The maximum number of lines that are published at once. Code of a leaf may write them faster than they are published,
/// and the node's thread has to receive cancels.
const MAX_LINES: usize = 64;

/// Publishes lines under the node's name.
fn publish_lines(mut lines: impl Lines, ros: &RosHandle, clock: &Clock) -> Result<(), RosError> {
    let (name, clock) = (ros.full_name(), clock.clone());
    ros.with_node_blocking(Duration::from_secs(10), move |node| {
        let qos = QosProfile::default()
            .keep_last(1000)
            .transient_local()
            .lifespan(Duration::from_secs(10));
        let publisher: Publisher<Log> = node.publisher("/rosout", qos)?;
        // Runs whenever the node's thread was awake, and at least twice a second.
        let ready = node.ready().clone();
        node.every(Duration::ZERO, move || {
            let publish = |line: &Line| {
                let stamp = if clock.is_simulated() {
                    clock.stamp()
                } else {
                    line.stamp
                };
                let _ = publisher.publish(&line.message(&name, stamp));
            };
            if let Some(line) = lines.notice() {
                publish(&line);
            }
            for _ in 0..MAX_LINES {
                let Some(line) = lines.next() else { return };
                publish(&line);
            }
            // More lines may wait.
            ready.wake();
        });
        Ok(())
    })?
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
    use crate::ros::Ros;
    use crate::ros::rcl::tests::harness::{TIMEOUT, alone};

    #[test]
    fn g8_a_zero_byte_in_a_line_is_replaced() {
        let line = Line {
            robot: None,
            stamp: Stamp::ZERO,
            level: Level::WARN,
            text: "the frame `ma\0p` does not exist".to_owned(),
            target: "navtree",
            file: "a.rs",
            line: 1,
        };
        let message = line.message("/r1/bt_navigator", Stamp::ZERO);
        assert_eq!(message.name, "r1.bt_navigator");
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
        let mut lines = std::iter::from_fn(|| rosout.lines.next());
        let first = lines.next().unwrap();
        assert_eq!(
            (first.text.as_str(), severity(first.level)),
            ("not stopped goal=3", 30)
        );
        assert!(first.file.ends_with("rosout.rs") && first.line > 0);
        assert_eq!(lines.count(), QUEUE - 1);
        let notice = rosout.lines.notice().unwrap();
        assert!(
            notice.text.starts_with("513 lines of the log are missing"),
            "{notice:?}"
        );
        assert!(rosout.lines.notice().is_none());
    }

    #[test]
    fn a_long_line_is_cut() {
        let (layer, rosout) = rosout();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!("{}", "x".repeat(1 << 20));
        });
        let text = rosout.lines.next().unwrap().text;
        assert_eq!(text, format!("{}…", "x".repeat(MAX_LOG_LINE)));
    }

    #[test]
    fn a_listener_is_told_of_a_line_by_the_thread_that_writes_it() {
        let (layer, rosout) = rosout();
        let told = Arc::<Mutex<Vec<String>>>::default();
        let listener = LogListener::default();
        let lines = Arc::clone(&told);
        listener.set(move |_, text| lines.lock().unwrap().push(text.to_owned()));
        rosout.lines.set_listener(Some(Arc::new(listener)));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            for _ in 0..2 * QUEUE {
                tracing::info!("driving");
            }
            assert_eq!(told.lock().unwrap().len(), 2 * QUEUE);
            rosout.lines.set_listener(None);
            tracing::info!("without a node");
        });
        assert_eq!(told.lock().unwrap().len(), 2 * QUEUE);
    }

    #[test]
    fn the_lines_of_a_robot_are_in_its_queue_while_it_has_a_node() {
        let (layer, rosout) = rosout();
        let robot: Arc<str> = Arc::from("/queue_test/bt_navigator");
        let (sender, lines) = queue();
        ROBOTS.write().unwrap().push((Arc::clone(&robot), sender));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            robot_name::with(Some(&robot), || tracing::info!("of the robot"));
            tracing::info!("of the process");
            assert_eq!(lines.next().unwrap().text, "of the robot");
            assert!(lines.next().is_none());
            drop(lines);
            robot_name::with(Some(&robot), || tracing::info!("without a node"));
        });
        let left: Vec<Line> = std::iter::from_fn(|| rosout.lines.next()).collect();
        assert_eq!(left[0].text, "of the process");
        let message = left[1].message("/other", Stamp::ZERO);
        assert_eq!(
            (message.msg.as_str(), message.name.as_str()),
            ("without a node", "queue_test.bt_navigator")
        );
    }

    #[test]
    fn a_running_robot_takes_the_log_of_the_process_from_one_that_has_ended() {
        static WAITING: Mutex<Option<Rosout>> = Mutex::new(None);
        let (layer, log) = rosout();
        *WAITING.lock().unwrap() = Some(log);
        let robot = || OfRobot::new(queue().1, &WAITING, Arc::default());
        let write = || {
            let line = Line {
                robot: None,
                stamp: Stamp::ZERO,
                level: Level::INFO,
                text: "told".to_owned(),
                target: "",
                file: "",
                line: 1,
            };
            assert!(layer.lines.send(line).is_none());
        };
        let (mut first, mut second) = (robot(), robot());
        write();
        assert!(first.next().is_some() && second.next().is_none());
        drop(first);
        write();
        assert!(second.next().is_some());
    }

    /// A leaf that logs without end.
    struct Endless;

    impl Lines for Endless {
        fn notice(&self) -> Option<Line> {
            None
        }

        fn next(&mut self) -> Option<Line> {
            Some(Line {
                robot: None,
                stamp: Stamp::ZERO,
                level: Level::INFO,
                text: "waiting".to_owned(),
                target: "leaf",
                file: "a.rs",
                line: 1,
            })
        }
    }

    #[test]
    fn g8_a_leaf_that_logs_without_end_does_not_keep_the_node_from_its_messages() {
        let name =
            "ros::rosout::tests::g8_a_leaf_that_logs_without_end_does_not_keep_the_node_from_its_messages";
        alone(name, || {
            let ros = Ros::start("logs", "").unwrap();
            publish_lines(Endless, ros.handle(), ros.clock()).unwrap();
            for _ in 0..3 {
                ros.handle().with_node_blocking(TIMEOUT, |_| ()).unwrap();
            }
        });
    }
}
