//! Starts the threads that own the nodes, and gives access to them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use futures::channel::oneshot;

use super::names::Names;
use super::node_thread::NodeThread;
use super::spin::SpinReading;
use super::thread_exit::ThreadExit;
use super::{ParameterValue, RosError, RosNode, answers, arguments, robot_id, scheduling};
use crate::bt::panic_text;
use crate::goal::GoalIds;
use crate::nav::EndpointKind;

/// The names of the threads that own nodes.
const SPIN: &str = "ros-spin";
const LISTEN: &str = "ros-listen";

/// The thread `ros-spin` with the node, and usually a thread `ros-listen` with a second node. On drop, both nodes are
/// destroyed, so peers see their endpoints disappear, and the threads are joined.
#[derive(Debug)]
pub struct Executor {
    handle: RosHandle,
    threads: Vec<(NodeThread, JoinHandle<()>)>,
}

/// The node that subscribes to topics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listening {
    /// A second node, `_NAME_listener`, which `ros2 node list` does not show: see [`Executor::start`].
    Apart,
    /// The node itself.
    Together,
}

/// Access to the node from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RosHandle {
    node_thread: NodeThread,
    listener: Option<NodeThread>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    names: Names,
    thread_exit: ThreadExit,
}

impl Executor {
    /// Initializes ROS with the process's arguments (`--ros-args`: remapping, parameters, log level), creates a node
    /// and starts its thread. Also returns the parameter overrides of the command line and of parameter files. The name
    /// and the namespace are defaults, which `--ros-args -r __node:=…` overrides.
    ///
    /// For each wait, r2r builds a wait set of all entities of a node: 180 µs with the sixty of a navigator, for every
    /// message of `/tf`, `/odom`, `/clock` and of feedback. So a second node subscribes to topics: its waits cost a
    /// quarter of that, and the waits of the first node seldom end. If a rule of the command line would rename the
    /// second node, or would not apply to it, there is only one node; see `src/ros/arguments.rs`.
    ///
    /// # Errors
    /// [`RosError::Context`], [`RosError::Node`].
    pub fn start(
        name: &str,
        namespace: &str,
        listening: Listening,
    ) -> Result<(Self, Vec<(String, ParameterValue)>), RosError> {
        let (context, node) = create(name, namespace)?;
        let full_name = node.fully_qualified_name().unwrap_or_default();
        let overrides = super::parameters::overrides(&full_name)?;
        let names = Names::of(&node);
        let apart = listening == Listening::Apart && arguments::allow_a_second_node(&names.arguments);
        let shared = Arc::new(Shared {
            names,
            thread_exit: ThreadExit::default(),
        });
        let (node_thread, mut start) = NodeThread::open(RosNode::new(node))?;
        let mut threads = Vec::new();
        let mut ear = None;
        let end = |shared: &Arc<Shared>| {
            let shared = Arc::clone(shared);
            move |end: Result<(), String>| {
                if let Err(fault) = &end {
                    tracing::error!("{fault}");
                }
                shared.thread_exit.record(end);
            }
        };
        if apart {
            let (_, listener) = create(&format!("_{}_listener", shared.names.node), namespace)?;
            let (listener, its_start) = NodeThread::open(RosNode::new(listener))?;
            start.node().listen_through(&listener);
            let thread = its_start.run(LISTEN, &context, end(&shared))?;
            ear = Some(listener.clone());
            threads.push((listener, thread));
        }
        let thread = start.run(SPIN, &context, end(&shared))?;
        // This thread ends first, because it may be waiting for the other one.
        threads.insert(0, (node_thread.clone(), thread));
        scheduling::yield_timed_events();
        let executor = Self {
            handle: RosHandle {
                node_thread,
                listener: ear,
                shared,
            },
            threads,
        };
        Ok((executor, overrides))
    }

    /// Access to the node.
    pub fn handle(&self) -> &RosHandle {
        &self.handle
    }
}

/// Maximum time for the last answers to leave.
const FAREWELL: Duration = Duration::from_millis(300);

impl Drop for Executor {
    fn drop(&mut self) {
        // Send the last results.
        answers::flush(FAREWELL);
        for (node_thread, thread) in self.threads.drain(..) {
            node_thread.give(None);
            let _ = thread.join();
        }
    }
}

/// Random bits that distinguish this run from earlier ones. They come from the standard library's hasher, which is
/// seeded by the system, so no crate is needed for eight bytes.
fn run_bits() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

/// r2r panics on an argument that it cannot read; this returns an error instead.
fn create(name: &str, namespace: &str) -> Result<(r2r::Context, r2r::Node), RosError> {
    if std::env::args_os().any(|argument| argument.to_str().is_none()) {
        return Err(RosError::Context("the arguments are not UTF-8".to_owned()));
    }
    if name.contains('\0') || namespace.contains('\0') {
        return Err(RosError::Node {
            name: name.replace('\0', "␀"),
            reason: "the name contains a zero byte".to_owned(),
        });
    }
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let context = catch_unwind(r2r::Context::create);
    std::panic::set_hook(hook);
    let context = match context {
        Ok(Ok(context)) => context,
        Ok(Err(error)) => return Err(RosError::Context(error.to_string())),
        Err(panic) => return Err(RosError::Context(panic_text(&*panic))),
    };
    let made = catch_unwind(AssertUnwindSafe(|| {
        r2r::Node::create(context.clone(), name, namespace).map_err(|error| error.to_string())
    }));
    let reason = match made {
        Ok(Ok(node)) => return Ok((context, node)),
        Ok(Err(reason)) => reason,
        Err(panic) => panic_text(&*panic),
    };
    Err(RosError::Node {
        name: name.to_owned(),
        reason,
    })
}

impl RosHandle {
    /// For tests: a handle without a node.
    #[cfg(test)]
    pub(super) fn of_nobody() -> Self {
        Self {
            node_thread: NodeThread::ended(),
            listener: None,
            shared: Arc::new(Shared {
                names: Names {
                    node: "bt_navigator".to_owned(),
                    namespace: "/".to_owned(),
                    arguments: Vec::new(),
                },
                thread_exit: ThreadExit::default(),
            }),
        }
    }

    /// The node's name, after remapping.
    pub fn name(&self) -> &str {
        &self.shared.names.node
    }

    /// The node's namespace, after remapping: `/` or `/robot1`.
    pub fn namespace(&self) -> &str {
        &self.shared.names.namespace
    }

    /// The node's full name: `/bt_navigator`, `/robot1/bt_navigator`.
    pub fn full_name(&self) -> String {
        let namespace = self.namespace().trim_end_matches('/');
        format!("{namespace}/{}", self.name())
    }

    /// Ids for goals that no other run of the node uses. Their marks distinguish purposes and robots. `robot`: the
    /// parameter `robot_id`; empty: this machine.
    pub fn goal_ids(&self, robot: &str, purpose: &str) -> GoalIds {
        let node = format!("{}{purpose}", self.full_name());
        GoalIds::new(robot_id::mark(&node, robot), run_bits())
    }

    /// The full name, after remapping, of a server that the node calls `name`.
    pub(super) fn server(&self, kind: EndpointKind, name: &str) -> String {
        self.shared.names.server(kind, name)
    }

    /// The full name, after remapping, of the node's topic `name`.
    pub(super) fn topic(&self, name: &str) -> String {
        self.shared.names.topic(name)
    }

    /// The full name, after remapping, of a service of the node's action `action`.
    pub(super) fn action_service(&self, action: &str, service: &str) -> String {
        self.shared.names.action_service(action, service)
    }

    /// Whether the caller runs on a thread that owns a node, which must not wait for this node.
    pub(super) fn is_this_thread(&self) -> bool {
        std::thread::current()
            .name()
            .is_some_and(|name| [SPIN, LISTEN].contains(&name))
    }

    /// Runs a task on the node's thread at once, by interrupting a waiting spin. Does not wait. False if that thread
    /// has ended.
    pub fn post(&self, task: impl FnOnce(&mut RosNode) + Send + 'static) -> bool {
        self.thread_exit().is_none() && self.node_thread.give(Some(Box::new(task)))
    }

    /// Like [`RosHandle::post`], and returns the result of the task.
    ///
    /// # Errors
    /// [`RosError::Down`].
    pub async fn with_node<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut RosNode) -> T + Send + 'static,
    ) -> Result<T, RosError> {
        self.ask(task).await.map_err(|_| RosError::Down)
    }

    /// Like [`RosHandle::with_node`], for threads that may wait: not the tick thread, and not the node's own.
    ///
    /// # Errors
    /// [`RosError::Down`]; [`RosError::Timeout`] after `patience`.
    pub fn with_node_blocking<T: Send + 'static>(
        &self,
        patience: Duration,
        task: impl FnOnce(&mut RosNode) -> T + Send + 'static,
    ) -> Result<T, RosError> {
        if self.thread_exit().is_some() {
            return Err(RosError::Down);
        }
        self.node_thread.ask(patience, task)
    }

    fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut RosNode) -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        self.post(move |node| {
            let _ = sender.send(task(node));
        });
        receiver
    }

    /// `None` while the node's thread runs; then whether it ended on request, or the fault. After a fault the process
    /// must end: halt the trees, exit with a code, and let the launch file restart it.
    pub fn thread_exit(&self) -> Option<Result<(), String>> {
        self.shared.thread_exit.result()
    }

    /// Reports that another thread of the process has failed, with the same consequences as a failure of the node's
    /// thread. The node continues: it sends the cancels and the results.
    pub fn fail(&self, fault: &str) {
        tracing::error!("{fault}");
        self.shared.thread_exit.record(Err(fault.to_owned()));
    }

    /// Starts a thread whose panic is a fault of the process.
    pub(super) fn spawn(
        &self,
        name: &'static str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<JoinHandle<()>, RosError> {
        let ros = self.clone();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
                    ros.fail(&format!("thread `{name}` panicked: {}", panic_text(&*panic)));
                }
            })
            .map_err(|error| RosError::Context(error.to_string()))
    }

    /// Calls `act` whenever the thread that listens to topics has received a message or has waited long enough.
    pub(super) fn whenever_awake(&self, act: impl FnMut() + Send + 'static) {
        let listening = self.listener.as_ref().unwrap_or(&self.node_thread);
        listening.give(Some(Box::new(move |node| node.every(Duration::ZERO, act))));
    }

    /// Calls `callback` when [`RosHandle::thread_exit`] is no longer `None`; at once if it already is not.
    pub fn on_thread_exit(&self, callback: impl FnOnce() + Send + 'static) {
        self.shared.thread_exit.on_exit(callback);
    }

    /// For each thread, a number that is odd and grows with each round of its loop: at least once in half a second.
    pub fn beats(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let own = (SPIN, self.node_thread.metrics());
        let listener = self
            .listener
            .as_ref()
            .map(|listener| (LISTEN, listener.metrics()));
        let beats = |(thread, reading): (_, SpinReading)| (thread, 2 * reading.spins + 1);
        std::iter::once(own).chain(listener).map(beats)
    }

    /// Metrics of the loops of the node and of the listening node.
    pub fn metrics(&self) -> SpinReading {
        let own = self.node_thread.metrics();
        self.listener
            .as_ref()
            .map_or(own, |listener| own.with(listener.metrics()))
    }
}
