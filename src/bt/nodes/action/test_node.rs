//! The test node of substitution rules: returns a result and runs scripts, at once or after a delay.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::bt::script::Script;
use crate::bt::{Behavior, Context, NodeStatus, PortValue, Ports, Thrown, Tick, Time, Value};

/// The configuration of a [`TestNode`].
#[derive(Clone)]
pub struct TestNodeConfig {
    /// The result, unless a function or a script computes it.
    pub return_status: NodeStatus,
    /// A script that computes the result as a text or a number. It knows the names of statuses.
    pub return_status_script: String,
    /// The running time before the node completes.
    pub async_delay: Duration,
    /// A script that runs on success.
    pub success_script: String,
    /// A script that runs on failure.
    pub failure_script: String,
    /// A script that runs on completion, after the other two.
    pub post_script: String,
    /// A function that computes the result; has priority over script and status.
    pub complete: Option<Complete>,
}

/// A function that computes a result.
pub type Complete = Arc<dyn Fn(&mut Context<'_>) -> NodeStatus + Send + Sync>;

impl Default for TestNodeConfig {
    fn default() -> Self {
        Self {
            return_status: NodeStatus::Success,
            return_status_script: String::new(),
            async_delay: Duration::ZERO,
            success_script: String::new(),
            failure_script: String::new(),
            post_script: String::new(),
            complete: None,
        }
    }
}

impl fmt::Debug for TestNodeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestNodeConfig")
            .field("return_status", &self.return_status)
            .field("return_status_script", &self.return_status_script)
            .field("async_delay", &self.async_delay)
            .finish_non_exhaustive()
    }
}

/// Replaces another node. Created only by [`Substitutions`](crate::bt::Substitutions).
#[derive(Debug)]
pub struct TestNode {
    config: TestNodeConfig,
    status: Option<Script>,
    success: Option<Script>,
    failure: Option<Script>,
    post: Option<Script>,
}

impl TestNode {
    pub(crate) fn bind(config: &TestNodeConfig, ports: &mut Ports<'_>) -> Self {
        if config.return_status == NodeStatus::Idle && config.return_status_script.is_empty() {
            ports.problem("a test node must not return IDLE; use SUCCESS, FAILURE, RUNNING or SKIPPED");
        }
        let statuses = [
            NodeStatus::Idle,
            NodeStatus::Running,
            NodeStatus::Success,
            NodeStatus::Failure,
            NodeStatus::Skipped,
        ];
        let mut script = |name: &str, text: &str, names: &[NodeStatus]| {
            let names: Vec<_> = names
                .iter()
                .map(|status| (status.name(), *status as i64))
                .collect();
            (!text.is_empty())
                .then(|| ports.compile(name, text, &names))
                .flatten()
        };
        Self {
            // Only this script knows the names of statuses. The other scripts can use entries with these names.
            status: script("return_status_script", &config.return_status_script, &statuses),
            success: script("success_script", &config.success_script, &[]),
            failure: script("failure_script", &config.failure_script, &[]),
            post: script("post_script", &config.post_script, &[]),
            config: config.clone(),
        }
    }

    fn complete(&self, cx: &mut Context<'_>) -> Tick {
        let status = match (&self.config.complete, &self.status) {
            (Some(complete), _) => complete(cx),
            (None, Some(script)) => {
                let value = cx.run(script)?;
                status_of(&value, cx)?
            }
            (None, None) => self.config.return_status,
        };
        let script = match status {
            NodeStatus::Success => &self.success,
            NodeStatus::Failure => &self.failure,
            NodeStatus::Idle | NodeStatus::Running | NodeStatus::Skipped => &None,
        };
        for script in [script, &self.post].into_iter().flatten() {
            cx.run(script)?;
        }
        Ok(status)
    }
}

fn status_of(value: &Value, cx: &mut Context<'_>) -> Result<NodeStatus, Thrown> {
    let status = match value {
        Value::Text(text) => NodeStatus::from_name(text).ok_or_else(|| format!("`{text}` is not a status")),
        value => NodeStatus::from_value(value),
    };
    status.map_err(|reason| cx.throw(format!("return_status_script: {reason}")))
}

impl Behavior for TestNode {
    /// `memory.mark` is the end of the delay.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        match cx.status() {
            NodeStatus::Idle | NodeStatus::Skipped => {
                if self.config.async_delay.is_zero() {
                    return self.complete(cx);
                }
                let end = cx.now() + self.config.async_delay;
                cx.memory().mark = end.as_nanos();
                cx.wake_at(end);
                Ok(NodeStatus::Running)
            }
            // Without a delay, RUNNING is returned forever, as in BehaviorTree.CPP.
            NodeStatus::Running if self.config.async_delay.is_zero() => Ok(NodeStatus::Running),
            NodeStatus::Running => {
                let end = Time::from_nanos(cx.memory().mark);
                if cx.now() < end {
                    cx.wake_at(end);
                    return Ok(NodeStatus::Running);
                }
                self.complete(cx)
            }
            completed => Ok(completed),
        }
    }
}
