//! Starts the thread that owns the node, and is the way to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures::channel::oneshot;

use super::interrupt::Interrupt;
use super::spin::{self, Errand, SpinMetrics, SpinReading};
use super::{ParameterValue, RosError, RosNode, Wake, answers};
use crate::bt::panic_text;

/// The name of the node's thread.
const THREAD: &str = "ros-spin";

/// The thread `ros-spin` and the node on it. Dropping it ends both: the node is destroyed, so that peers see its
/// endpoints go, and the thread is waited for.
#[derive(Debug)]
pub struct Executor {
    handle: RosHandle,
    thread: Option<JoinHandle<()>>,
}

/// The way to the node from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RosHandle {
    errands: Sender<Option<Errand>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    namespace: String,
    metrics: SpinMetrics,
    interrupt: Interrupt,
    end: Mutex<End>,
}

#[derive(Debug, Default)]
struct End {
    /// Whether the thread has ended, and the fault if it was one.
    death: Option<Result<(), String>>,
    wakes: Vec<Wake>,
}

impl Executor {
    /// Initialises ROS from the process's arguments (`--ros-args`: remapping, parameters, log level), makes a node
    /// and starts its thread; also what the command line and parameter files say of its parameters. The name and the
    /// namespace are defaults that `--ros-args -r __node:=…` overrides.
    ///
    /// # Errors
    /// [`RosError::Context`], [`RosError::Node`].
    pub fn start(name: &str, namespace: &str) -> Result<(Self, Vec<(String, ParameterValue)>), RosError> {
        let (context, node) = create(name, namespace)?;
        let read = |answer: r2r::Result<String>| answer.unwrap_or_default();
        let overrides = super::parameters::overrides(&read(node.fully_qualified_name()))?;
        let (name, namespace) = (read(node.name()), read(node.namespace()));
        let mut node = RosNode::new(node);
        let shared = Arc::new(Shared {
            name,
            namespace,
            metrics: SpinMetrics::default(),
            interrupt: Interrupt::open(&mut node)?,
            end: Mutex::default(),
        });
        let (errands, inbox) = channel();
        let in_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(move || {
                let shared = &in_thread;
                let end = spin::run(node, &context, &inbox, &shared.interrupt, &shared.metrics);
                if let Err(fault) = &end {
                    tracing::error!("{fault}");
                }
                in_thread.end(end);
            })
            .map_err(|error| RosError::Context(error.to_string()))?;
        let executor = Self {
            handle: RosHandle { errands, shared },
            thread: Some(thread),
        };
        Ok((executor, overrides))
    }

    /// The way to the node.
    pub fn handle(&self) -> &RosHandle {
        &self.handle
    }
}

/// How long the last answers may take to leave.
const FAREWELL: Duration = Duration::from_millis(300);

impl Drop for Executor {
    fn drop(&mut self) {
        // Results of the last moment.
        answers::flush(FAREWELL);
        self.handle.give(None);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// r2r answers an argument it cannot read with a panic; here it is an error like any other.
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
    /// The node's name, after remapping.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The node's namespace, after remapping: `/` or `/robot1`.
    pub fn namespace(&self) -> &str {
        &self.shared.namespace
    }

    /// The node's full name: `/bt_navigator`, `/robot1/bt_navigator`.
    pub fn full_name(&self) -> String {
        let namespace = self.namespace().trim_end_matches('/');
        format!("{namespace}/{}", self.name())
    }

    /// Whether the caller is the node's thread, which must not wait for itself.
    pub(super) fn is_this_thread(&self) -> bool {
        std::thread::current().name() == Some(THREAD)
    }

    /// Has something done on the node's thread, at once: a spin that waits is ended. Does not wait itself; false if that thread has ended.
    pub fn post(&self, errand: impl FnOnce(&mut RosNode) + Send + 'static) -> bool {
        self.death().is_none() && self.give(Some(Box::new(errand)))
    }

    /// `None` is the end.
    fn give(&self, errand: Option<Errand>) -> bool {
        let given = self.errands.send(errand).is_ok();
        self.shared.interrupt.raise();
        given
    }

    /// As [`RosHandle::post`], with an answer to wait for.
    ///
    /// # Errors
    /// [`RosError::Down`].
    pub async fn with_node<T: Send + 'static>(
        &self,
        errand: impl FnOnce(&mut RosNode) -> T + Send + 'static,
    ) -> Result<T, RosError> {
        self.ask(errand).await.map_err(|_| RosError::Down)
    }

    /// As [`RosHandle::with_node`], for threads that may wait: not the tick thread, not the node's own.
    ///
    /// # Errors
    /// [`RosError::Down`]; [`RosError::Timeout`] after `patience`.
    pub fn with_node_blocking<T: Send + 'static>(
        &self,
        patience: Duration,
        errand: impl FnOnce(&mut RosNode) -> T + Send + 'static,
    ) -> Result<T, RosError> {
        let (sender, receiver) = channel();
        let posted = self.post(move |node| {
            let _ = sender.send(errand(node));
        });
        if !posted {
            return Err(RosError::Down);
        }
        let until = Instant::now() + patience;
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(answer) => Ok(answer),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Err(RosError::Timeout),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(RosError::Down),
        }
    }

    fn ask<T: Send + 'static>(
        &self,
        errand: impl FnOnce(&mut RosNode) -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        self.post(move |node| {
            let _ = sender.send(errand(node));
        });
        receiver
    }

    /// `None` while the node's thread runs; then whether it ended on request, or by which fault. A fault is the end
    /// of the process: halt the trees, exit with a code, let the launch file start it again.
    pub fn death(&self) -> Option<Result<(), String>> {
        self.shared.lock().death.clone()
    }

    /// Another thread of the room has failed: as if this one had.
    pub(super) fn fail(&self, fault: &str) {
        tracing::error!("{fault}");
        self.shared.end(Err(fault.to_owned()));
        self.give(None);
    }

    /// Has a bell rung when the node's thread ends.
    pub fn ring_on_death(&self, wake: Wake) {
        let mut end = self.shared.lock();
        if end.death.is_some() {
            wake.ring();
        } else {
            end.wakes.push(wake);
        }
    }

    /// What the spin loop has done so far.
    pub fn metrics(&self) -> SpinReading {
        self.shared.metrics.read()
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, death: Result<(), String>) {
        let mut end = self.lock();
        end.death.get_or_insert(death);
        for wake in end.wakes.drain(..) {
            wake.ring();
        }
    }
}
