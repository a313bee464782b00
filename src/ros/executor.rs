//! Starts the thread that owns the node, and gives access to it.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::names::Names;
use super::node_thread::NodeThread;
use super::rcl::{Context, Node};
use super::rosout::LogListener;
use super::thread_exit::ThreadExit;
use super::{ParameterValue, RosError, RosNode, answers, robot_id, scheduling};
use crate::goal::GoalIds;
use crate::nav::EndpointKind;

/// The name of the thread that owns the node.
const THREAD: &str = "ros-spin";

/// The thread `ros-spin` with the node. On drop, the node is destroyed, so peers see its endpoints disappear, and the
/// thread is joined.
#[derive(Debug)]
pub struct Executor {
    handle: RosHandle,
    thread: Option<JoinHandle<()>>,
}

/// Access to the node from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RosHandle {
    node_thread: NodeThread,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    names: Names,
    thread_exit: ThreadExit,
    log_listener: Arc<LogListener>,
}

impl Executor {
    /// Initializes ROS with the process's arguments (`--ros-args`: remapping, parameters, log level), creates a node
    /// and starts its thread. Also returns the parameter overrides of the command line and of parameter files. The name
    /// and the namespace are defaults, which `--ros-args -r __node:=…` overrides.
    ///
    /// # Errors
    /// [`RosError::Context`], [`RosError::Node`].
    pub fn start(name: &str, namespace: &str) -> Result<(Self, Vec<(String, ParameterValue)>), RosError> {
        Self::start_with(|context| Node::new(context, name, namespace))
    }

    /// Like [`Executor::start`], but the command line does not change the namespace: for one of several robots.
    ///
    /// # Errors
    /// [`RosError::Context`], [`RosError::Node`].
    pub fn start_in(namespace: &str, name: &str) -> Result<(Self, Vec<(String, ParameterValue)>), RosError> {
        Self::start_with(|context| Node::new_in(context, name, namespace))
    }

    fn start_with(
        create: impl FnOnce(&Arc<Context>) -> Result<Node, RosError>,
    ) -> Result<(Self, Vec<(String, ParameterValue)>), RosError> {
        if std::env::args_os().any(|argument| argument.to_str().is_none()) {
            return Err(RosError::Context("the arguments are not UTF-8".to_owned()));
        }
        let (context, is_new) = Context::of_process()?;
        let node = create(&context)?;
        let shared = Arc::new(Shared {
            names: Names::of(&node),
            thread_exit: ThreadExit::default(),
            log_listener: Arc::default(),
        });
        let overrides = super::parameters::overrides(&shared.full_name())?;
        let ending = Arc::clone(&shared);
        let end = move |end: Result<(), String>| {
            if let Err(fault) = &end {
                tracing::error!("{fault}");
            }
            ending.thread_exit.record(end);
        };
        let (node_thread, thread) = NodeThread::start(RosNode::new(node), THREAD, end)?;
        if is_new {
            scheduling::yield_timed_events();
        }
        let executor = Self {
            handle: RosHandle { node_thread, shared },
            thread: Some(thread),
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
        self.handle.node_thread.give(None);
        if let Some(thread) = self.thread.take() {
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

impl Shared {
    fn full_name(&self) -> String {
        let namespace = self.names.namespace.trim_end_matches('/');
        format!("{namespace}/{}", self.names.node)
    }
}

impl RosHandle {
    /// For tests: a handle without a node.
    #[cfg(test)]
    pub(super) fn of_nobody() -> Self {
        Self {
            node_thread: NodeThread::ended(),
            shared: Arc::new(Shared {
                names: Names {
                    node: "bt_navigator".to_owned(),
                    namespace: "/".to_owned(),
                    arguments: Vec::new(),
                },
                thread_exit: ThreadExit::default(),
                log_listener: Arc::default(),
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
        self.shared.full_name()
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
        std::thread::current().name() == Some(THREAD)
    }

    /// Runs a task on the node's thread at once. Does not wait. False if that thread has ended.
    pub fn post(&self, task: impl FnOnce(&mut RosNode) + Send + 'static) -> bool {
        // Also after the end of another thread: what remains of the node still cancels goals.
        self.node_thread.give(Some(Box::new(task)))
    }

    /// While the node rests, transforms, odometry and heartbeats of the bond are taken when its thread wakes for another
    /// reason, such as a goal: at least twice a second. Does not wait.
    pub fn set_at_rest(&self, is_at_rest: bool) {
        self.node_thread.set_at_rest(is_at_rest);
    }

    /// Like [`RosHandle::post`], and returns the result of the task. For threads that may wait: not the tick thread, and not the node's own.
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

    /// Makes a panic of a [`Worker`](crate::worker::Worker) a fault of the node: the function gets the text of the panic.
    pub(crate) fn fail_on_panic(&self, thread: &'static str) -> impl Fn(&str) + Send + Sync + 'static {
        let ros = self.clone();
        move |text| ros.fail(&format!("thread `{thread}` panicked: {text}"))
    }

    /// Calls `callback` when [`RosHandle::thread_exit`] is no longer `None`; at once if it already is not.
    pub fn on_thread_exit(&self, callback: impl FnOnce() + Send + 'static) {
        self.shared.thread_exit.on_exit(callback);
    }

    /// Calls `listener` with the level and the text of each line of the node's log, on the thread that writes the line. It
    /// must not wait, and must not write to the log.
    pub fn on_log_line(&self, listener: impl Fn(tracing::Level, &str) + Send + Sync + 'static) {
        self.shared.log_listener.set(listener);
    }

    pub(super) fn log_listener(&self) -> Arc<LogListener> {
        Arc::clone(&self.shared.log_listener)
    }

    /// The thread, and a number that is odd and grows with each round of its loop: at least twice a second.
    pub fn beats(&self) -> (&'static str, u64) {
        (THREAD, 2 * self.node_thread.rounds() + 1)
    }
}
