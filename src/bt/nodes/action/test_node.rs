//! The stand-in of substitution rules: a result and scripts, now or some time later.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::bt::script::Script;
use crate::bt::{Behavior, Context, NodeStatus, PortValue, Ports, Thrown, Tick, Time, Value};

/// What a [`TestNode`] does.
#[derive(Clone)]
pub struct TestNodeConfig {
    /// Its result, unless a function or a script gives it.
    pub return_status: NodeStatus,
    /// Gives the result as a text or a number; knows the names of statuses.
    pub return_status_script: String,
    /// How long it runs before it completes.
    pub async_delay: Duration,
    /// Runs when it succeeds.
    pub success_script: String,
    /// Runs when it fails.
    pub failure_script: String,
    /// Runs when it completes, after the two others.
    pub post_script: String,
    /// Gives the result; goes before script and status.
    pub complete: Option<Complete>,
}

/// A function that gives a result.
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

/// Stands in for another node; made by [`Substitutions`](crate::bt::Substitutions) only.
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
            ports.problem("a node must not return IDLE, not in a test either");
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
            // Only this one knows the names of statuses, so that entries of those names stay visible to the others.
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
    /// `memory.mark` is when the delay ends.
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
            // One without a delay that returned RUNNING runs for ever, as BehaviorTree.CPP's does.
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
