//! The script of an action server for one goal.

use std::time::Duration;

use crate::goal::TerminalStatus;
use crate::msg::Action;
use crate::nav::Payload;

/// The server's behavior for a goal. [`Plan::success`] accepts and succeeds at once, which takes two ticks.
#[derive(Debug)]
pub struct Plan<A: Action> {
    answer_after: Option<Duration>,
    reject: bool,
    feedback: Vec<(Duration, A::Feedback)>,
    run: Option<Duration>,
    end: TerminalStatus,
    result: A::Result,
    result_after: Duration,
    stop_after: Option<Duration>,
}

/// A [`Plan`] without its type.
pub(super) struct Script {
    pub(super) answer_after: Option<Duration>,
    pub(super) reject: bool,
    pub(super) feedback: Vec<(Duration, Payload)>,
    pub(super) run: Option<Duration>,
    pub(super) end: TerminalStatus,
    pub(super) result: Payload,
    pub(super) result_after: Duration,
    pub(super) stop_after: Option<Duration>,
    pub(super) canceled: Payload,
}

impl<A: Action> Plan<A> {
    fn ending(end: TerminalStatus, result: A::Result) -> Self {
        Self {
            answer_after: Some(Duration::ZERO),
            reject: false,
            feedback: Vec::new(),
            run: Some(Duration::ZERO),
            end,
            result,
            result_after: Duration::ZERO,
            stop_after: Some(Duration::ZERO),
        }
    }

    /// Succeeds with an empty result.
    pub fn success() -> Self {
        Self::result(A::Result::default())
    }

    /// Succeeds with a result.
    pub fn result(result: A::Result) -> Self {
        Self::ending(TerminalStatus::Succeeded, result)
    }

    /// Aborts with an error code.
    pub fn abort(code: u16) -> Self {
        Self::ending(TerminalStatus::Aborted, A::failure(code, "scripted"))
    }

    /// Never ends on its own.
    pub fn endless() -> Self {
        Self {
            run: None,
            ..Self::success()
        }
    }

    /// Rejects the goal.
    pub fn reject() -> Self {
        Self {
            reject: true,
            ..Self::success()
        }
    }

    /// Never answers the goal request.
    pub fn silent() -> Self {
        Self {
            answer_after: None,
            ..Self::success()
        }
    }

    /// Answers the goal request after this many milliseconds.
    #[must_use]
    pub fn answer_after(mut self, milliseconds: u64) -> Self {
        self.answer_after = Some(Duration::from_millis(milliseconds));
        self
    }

    /// Ends this many milliseconds after acceptance.
    #[must_use]
    pub fn after(mut self, milliseconds: u64) -> Self {
        self.run = Some(Duration::from_millis(milliseconds));
        self
    }

    /// Sends the result this many milliseconds after the final status.
    #[must_use]
    pub fn result_after(mut self, milliseconds: u64) -> Self {
        self.result_after = Duration::from_millis(milliseconds);
        self
    }

    /// Sends feedback this many milliseconds after acceptance.
    #[must_use]
    pub fn feedback(mut self, milliseconds: u64, feedback: A::Feedback) -> Self {
        self.feedback
            .push((Duration::from_millis(milliseconds), feedback));
        self
    }

    /// Ends this many milliseconds after a cancel.
    #[must_use]
    pub fn stop_after(mut self, milliseconds: u64) -> Self {
        self.stop_after = Some(Duration::from_millis(milliseconds));
        self
    }

    /// Rejects cancel requests.
    #[must_use]
    pub fn unstoppable(mut self) -> Self {
        self.stop_after = None;
        self
    }

    pub(super) fn script(self) -> Script {
        Script {
            answer_after: self.answer_after,
            reject: self.reject,
            feedback: self
                .feedback
                .into_iter()
                .map(|(after, feedback)| (after, Payload::new(feedback)))
                .collect(),
            run: self.run,
            end: self.end,
            result: Payload::new(self.result),
            result_after: self.result_after,
            stop_after: self.stop_after,
            canceled: Payload::new(A::Result::default()),
        }
    }
}
