//! Pre- and postconditions: script attributes that any node may have.

use super::behavior::{Thrown, Tick};
use super::context::Context;
use super::script::{Script, ScriptResult};
use super::{HaltReason, NodeStatus};

/// The compiled script attributes of one node.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    pub(crate) failure_if: Option<Script>,
    pub(crate) success_if: Option<Script>,
    pub(crate) skip_if: Option<Script>,
    pub(crate) while_true: Option<Script>,
    pub(crate) on_halted: Option<Script>,
    pub(crate) on_failure: Option<Script>,
    pub(crate) on_success: Option<Script>,
    pub(crate) post: Option<Script>,
}

impl Guards {
    /// The attribute names, in the order of evaluation.
    pub(crate) const NAMES: [&'static str; 8] = [
        "_failureIf",
        "_successIf",
        "_skipIf",
        "_while",
        "_onHalted",
        "_onFailure",
        "_onSuccess",
        "_post",
    ];

    /// The field for the script of an attribute, and its result type.
    pub(crate) fn field(&mut self, name: &str) -> Option<(&mut Option<Script>, ScriptResult)> {
        use ScriptResult::{Ignored, Truth};
        Some(match name {
            "_failureIf" => (&mut self.failure_if, Truth),
            "_successIf" => (&mut self.success_if, Truth),
            "_skipIf" => (&mut self.skip_if, Truth),
            "_while" => (&mut self.while_true, Truth),
            "_onHalted" => (&mut self.on_halted, Ignored),
            "_onFailure" => (&mut self.on_failure, Ignored),
            "_onSuccess" => (&mut self.on_success, Ignored),
            "_post" => (&mut self.post, Ignored),
            _ => return None,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        [
            &self.failure_if,
            &self.success_if,
            &self.skip_if,
            &self.while_true,
            &self.on_halted,
            &self.on_failure,
            &self.on_success,
            &self.post,
        ]
        .into_iter()
        .all(Option::is_none)
    }

    /// The result forced by the preconditions, if any. The stored status selects the preconditions: all for a fresh
    /// activation, only `_while` for a running node, none for a completed one.
    pub(crate) fn before(&self, cx: &mut Context<'_>) -> Result<Option<NodeStatus>, Thrown> {
        match cx.status() {
            NodeStatus::Idle | NodeStatus::Skipped => {
                for (script, forced) in [
                    (&self.failure_if, NodeStatus::Failure),
                    (&self.success_if, NodeStatus::Success),
                    (&self.skip_if, NodeStatus::Skipped),
                ] {
                    if let Some(script) = script
                        && cx.test(script)?
                    {
                        return Ok(Some(forced));
                    }
                }
                match &self.while_true {
                    Some(script) if !cx.test(script)? => Ok(Some(NodeStatus::Skipped)),
                    _ => Ok(None),
                }
            }
            NodeStatus::Running => match &self.while_true {
                Some(script) if !cx.test(script)? => {
                    cx.halt_self(HaltReason::Preempted);
                    Ok(Some(NodeStatus::Skipped))
                }
                _ => Ok(None),
            },
            NodeStatus::Success | NodeStatus::Failure => Ok(None),
        }
    }

    /// Runs the postconditions of a completed node.
    pub(crate) fn after(&self, cx: &mut Context<'_>, status: NodeStatus) -> Tick {
        let on_result = match status {
            NodeStatus::Success => &self.on_success,
            NodeStatus::Failure => &self.on_failure,
            NodeStatus::Idle | NodeStatus::Running | NodeStatus::Skipped => return Ok(status),
        };
        for script in [on_result, &self.post].into_iter().flatten() {
            cx.run(script)?;
        }
        Ok(status)
    }
}
