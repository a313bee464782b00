//! The fault plan of each server, from parameters.

use std::time::Duration;

use super::setting::settings;

/// A fault parameter that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// The text is not a set of goals.
    #[error("`{0}` is not a set of goals; write `all`, or numbers and ranges from 1: `2`, `1,4-6`, `3-`")]
    Goals(String),
    /// The number is not a valid time.
    #[error("{0} is not a time; write seconds, 0 or above")]
    Seconds(String),
    /// The number is not a valid error code.
    #[error("{0} is not an error code; write 0 to 65535")]
    Code(i64),
}

/// The goals of a server that a fault affects, counted from 1 since the start of `nav_sim`: none, `all`, or numbers and
/// ranges such as `2`, `1,4-6` or `3-`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct GoalSet(Vec<(u64, u64)>);

impl GoalSet {
    /// Reads a set.
    ///
    /// # Errors
    /// The part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, FaultError> {
        let error = |part: &str| FaultError::Goals(part.to_owned());
        let number = |part: &str| match part.trim().parse::<u64>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(error(part.trim())),
        };
        if text.trim() == "all" {
            return Ok(Self(vec![(1, u64::MAX)]));
        }
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let ranges = parts.map(|part| match part.split_once('-') {
            None => number(part).map(|number| (number, number)),
            Some((first, last)) => {
                let last = if last.trim().is_empty() {
                    u64::MAX
                } else {
                    number(last)?
                };
                Ok((number(first)?, last))
            }
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether goal `number` is affected.
    pub fn contains(&self, number: u64) -> bool {
        self.0
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&number))
    }
}

settings! {
    /// The faults of one action server. Goals are counted from 1 since the start; sets of goals are written `all`,
    /// `2`, `1,4-6` or `3-`. Times are simulated seconds.
    ActionFaults {
        /// Goals that are rejected.
        refuse_goals: String = "";
        /// Goals that are accepted or rejected only after `accept_delay`.
        delay_goals: String = "all";
        /// Time from the arrival of a goal to its acceptance or rejection, in s.
        accept_delay: f64 = 0.0;
        /// Goals that are aborted with `abort_code`.
        abort_goals: String = "";
        /// Error code of the aborted goals. 0: no error code.
        abort_code: i64 = 0;
        /// Time from acceptance to abort, in s.
        abort_after: f64 = 0.0;
        /// Goals that are accepted and then not executed. They end only when they are cancelled.
        hang_goals: String = "";
        /// Goals whose cancel request is rejected.
        refuse_cancel_goals: String = "";
        /// Goals whose cancel request is accepted and then ignored.
        ignore_cancel_goals: String = "";
        /// Time from an accepted cancel request to its effect, in s.
        cancel_delay: f64 = 0.0;
        /// Goals during which the server leaves the graph, without a result to its clients.
        vanish_goals: String = "";
        /// Time from acceptance until the server leaves the graph, in s.
        vanish_after: f64 = 0.0;
        /// Time until the server returns, in s. 0: it does not return.
        return_after: f64 = 0.0;
        /// Goals whose request is ignored and not answered.
        ignore_goals: String = "";
        /// Goals that are accepted and executed, without a response to the client.
        mute_goals: String = "";
        /// Goals whose goal response is sent twice.
        twice_goals: String = "";
        /// Goals whose goal response and result are sent `answer_delay` late, after status and feedback.
        late_answer_goals: String = "";
        /// Delay of the responses of `late_answer_goals`, in s.
        answer_delay: f64 = 0.1;
        /// Goals whose result requests are not answered.
        lose_result_goals: String = "";
        /// Goals with 10,000 feedback messages per second.
        flood_goals: String = "";
        /// Goals during which feedback and status of unknown goals are published.
        wrong_id_goals: String = "";
    }
}

settings! {
    /// The faults of one service. Requests are counted like goals.
    ServiceFaults {
        /// Requests that are not answered.
        ignore_requests: String = "";
        /// Time from a request to its response, in s.
        answer_delay: f64 = 0.0;
    }
}

impl ActionFaults {
    pub(super) fn check(&self) -> Result<(), FaultError> {
        self.plan().map(|_| ())
    }

    /// The fault plan of these parameters.
    ///
    /// # Errors
    /// The parameter that cannot be read.
    pub fn plan(&self) -> Result<ActionPlan, FaultError> {
        Ok(ActionPlan {
            refuse: GoalSet::parse(&self.refuse_goals)?,
            delay: GoalSet::parse(&self.delay_goals)?,
            accept_delay: seconds(self.accept_delay)?,
            abort: GoalSet::parse(&self.abort_goals)?,
            abort_code: u16::try_from(self.abort_code).map_err(|_| FaultError::Code(self.abort_code))?,
            abort_after: seconds(self.abort_after)?,
            hang: GoalSet::parse(&self.hang_goals)?,
            refuse_cancel: GoalSet::parse(&self.refuse_cancel_goals)?,
            ignore_cancel: GoalSet::parse(&self.ignore_cancel_goals)?,
            cancel_delay: seconds(self.cancel_delay)?,
            vanish: GoalSet::parse(&self.vanish_goals)?,
            vanish_after: seconds(self.vanish_after)?,
            return_after: Some(seconds(self.return_after)?).filter(|time| !time.is_zero()),
            ignore: GoalSet::parse(&self.ignore_goals)?,
            mute: GoalSet::parse(&self.mute_goals)?,
            twice: GoalSet::parse(&self.twice_goals)?,
            late_answer: GoalSet::parse(&self.late_answer_goals)?,
            answer_delay: seconds(self.answer_delay)?,
            lose_result: GoalSet::parse(&self.lose_result_goals)?,
            flood: GoalSet::parse(&self.flood_goals)?,
            wrong_id: GoalSet::parse(&self.wrong_id_goals)?,
        })
    }
}

impl ServiceFaults {
    pub(super) fn check(&self) -> Result<(), FaultError> {
        self.plan().map(|_| ())
    }

    /// The fault plan of these parameters.
    ///
    /// # Errors
    /// The parameter that cannot be read.
    pub fn plan(&self) -> Result<ServicePlan, FaultError> {
        Ok(ServicePlan {
            ignore: GoalSet::parse(&self.ignore_requests)?,
            answer_delay: seconds(self.answer_delay)?,
        })
    }
}

/// The parsed fault plan of an action server.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ActionPlan {
    /// Goals that are rejected.
    pub refuse: GoalSet,
    /// Goals whose answer is delayed.
    pub delay: GoalSet,
    /// The delay of the answer.
    pub accept_delay: Duration,
    /// Goals that are aborted.
    pub abort: GoalSet,
    /// The error code of aborted goals.
    pub abort_code: u16,
    /// Time from acceptance to abort.
    pub abort_after: Duration,
    /// Goals that are accepted and never executed.
    pub hang: GoalSet,
    /// Goals whose cancel is refused.
    pub refuse_cancel: GoalSet,
    /// Goals whose cancel is accepted and has no effect.
    pub ignore_cancel: GoalSet,
    /// Time from an accepted cancel to its effect.
    pub cancel_delay: Duration,
    /// Goals during which the server vanishes.
    pub vanish: GoalSet,
    /// Time from acceptance to vanishing.
    pub vanish_after: Duration,
    /// Time from vanishing to return; `None` for never.
    pub return_after: Option<Duration>,
    /// Goals that are neither accepted nor answered.
    pub ignore: GoalSet,
    /// Goals that are accepted and not answered.
    pub mute: GoalSet,
    /// Goals whose goal response is sent twice.
    pub twice: GoalSet,
    /// Goals whose acceptance and result are answered late.
    pub late_answer: GoalSet,
    /// The delay of late answers.
    pub answer_delay: Duration,
    /// Goals whose result is sent to no client.
    pub lose_result: GoalSet,
    /// Goals with a flood of feedback.
    pub flood: GoalSet,
    /// Goals during which feedback and status of unknown goals are published.
    pub wrong_id: GoalSet,
}

/// The parsed fault plan of a service.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ServicePlan {
    /// Requests that are not answered.
    pub ignore: GoalSet,
    /// The delay of answers.
    pub answer_delay: Duration,
}

fn seconds(value: f64) -> Result<Duration, FaultError> {
    if value.is_nan() || value < 0.0 {
        return Err(FaultError::Seconds(value.to_string()));
    }
    Ok(crate::msg::duration::from_seconds(value))
}

#[cfg(test)]
mod tests {
    use super::{ActionFaults, FaultError, GoalSet};

    fn affected_goals(text: &str) -> Vec<u64> {
        let set = GoalSet::parse(text).unwrap();
        (1..=9).filter(|number| set.contains(*number)).collect()
    }

    #[test]
    fn sets_of_goals() {
        assert!(affected_goals("").is_empty());
        assert_eq!(affected_goals("all").len(), 9);
        assert_eq!(affected_goals("2"), [2]);
        assert_eq!(affected_goals("1, 4-6"), [1, 4, 5, 6]);
        assert_eq!(affected_goals("8-"), [8, 9]);
        for invalid in ["0", "x", "-3", "1-x", "3.5", "1;2"] {
            assert!(
                matches!(GoalSet::parse(invalid), Err(FaultError::Goals(_))),
                "{invalid}"
            );
        }
    }

    #[test]
    fn plans_are_checked() {
        let faults = ActionFaults {
            abort_code: 70_000,
            ..ActionFaults::default()
        };
        assert_eq!(faults.plan(), Err(FaultError::Code(70_000)));
        let faults = ActionFaults {
            accept_delay: f64::NAN,
            ..ActionFaults::default()
        };
        assert!(faults.plan().is_err());
        let plan = ActionFaults::default().plan().unwrap();
        assert_eq!(plan.return_after, None);
    }
}
