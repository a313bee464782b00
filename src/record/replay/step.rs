//! The steps of a recording.

use crate::bt::{HaltReason, Time};
use crate::record::stored::{StoredRecord, TimedRecord};

/// What a step does with the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// A tick.
    Tick,
    /// A halt of the whole tree.
    Halt(HaltReason),
}

/// A tick or a halt of the whole tree, with its inputs and its trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The number of the step, from 1.
    pub number: usize,
    /// Its time on the clock of the tree.
    pub time: Time,
    /// What it does.
    pub kind: StepKind,
    /// What the navigator did before it: writes, and newer goals.
    pub before: Vec<StoredRecord>,
    /// The messages and notices that arrived.
    pub arrived: Vec<StoredRecord>,
    /// The answers to the questions of the tree, in order, and the numbers of the names that it opened.
    pub answers: Vec<StoredRecord>,
    /// What the tree did, in order.
    pub trace: Vec<StoredRecord>,
    /// The end of the step is recorded.
    pub is_whole: bool,
}

/// The steps of the records from the beginning of a navigation to its end.
pub fn steps(records: &[TimedRecord]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut before = Vec::new();
    let mut arrived = Vec::new();
    let mut opened = Vec::new();
    let mut open: Option<Step> = None;
    for (time, record) in records {
        let kind = match record {
            StoredRecord::TickBegan => Some(StepKind::Tick),
            StoredRecord::HaltBegan(reason) => Some(StepKind::Halt(*reason)),
            _ => None,
        };
        if let Some(kind) = kind {
            steps.extend(open.take());
            open = Some(Step {
                number: steps.len() + 1,
                time: *time,
                kind,
                before: std::mem::take(&mut before),
                arrived: std::mem::take(&mut arrived),
                answers: std::mem::take(&mut opened),
                trace: vec![record.clone()],
                is_whole: false,
            });
            continue;
        }
        match (record, &mut open) {
            (StoredRecord::Message { .. } | StoredRecord::Notice(_), Some(step)) => {
                step.arrived.push(record.clone());
            }
            (StoredRecord::Message { .. } | StoredRecord::Notice(_), None) => arrived.push(record.clone()),
            (
                StoredRecord::Transform { .. }
                | StoredRecord::NoTransform { .. }
                | StoredRecord::Stamp(_)
                | StoredRecord::TopicFault(..)
                | StoredRecord::Server { .. }
                | StoredRecord::Topic { .. },
                Some(step),
            ) => step.answers.push(record.clone()),
            (StoredRecord::Server { .. } | StoredRecord::Topic { .. }, None) => opened.push(record.clone()),
            (
                StoredRecord::TickEnded(_) | StoredRecord::TickFailed(_) | StoredRecord::HaltEnded,
                Some(step),
            ) => {
                step.trace.push(record.clone());
                step.is_whole = true;
                steps.extend(open.take());
            }
            (trace, Some(step)) if trace.is_trace() => step.trace.push(record.clone()),
            (
                StoredRecord::Wrote { by: None, .. }
                | StoredRecord::Key { .. }
                | StoredRecord::Replaced { .. },
                None,
            ) => before.push(record.clone()),
            _ => {}
        }
    }
    // A step without its end was cut off: its trace is not whole.
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::{NodeIndex, NodeStatus};
    use crate::msg::Stamp;

    #[test]
    fn what_arrives_before_a_tick_and_within_a_halt_belongs_to_it() {
        let notice = || {
            let ticket = crate::goal::Ticket(1);
            StoredRecord::Notice(crate::record::stored::StoredNotice::Canceling { ticket })
        };
        let changed = StoredRecord::Changed {
            node: NodeIndex::ROOT,
            from: NodeStatus::Idle,
            to: NodeStatus::Running,
        };
        let answer = StoredRecord::Stamp(Stamp::ZERO);
        let records = [
            notice(),
            StoredRecord::TickBegan,
            answer.clone(),
            changed.clone(),
            StoredRecord::TickEnded(NodeStatus::Running),
            // For the log: not an input of the tree.
            answer.clone(),
            StoredRecord::HaltBegan(HaltReason::GoalCanceled),
            notice(),
            StoredRecord::HaltEnded,
            StoredRecord::TickBegan,
        ];
        let records: Vec<TimedRecord> = records.map(|record| (Time::ZERO, record)).into();
        let steps = steps(&records);
        assert_eq!(steps.len(), 2, "the last one has no end");
        assert_eq!((steps[0].arrived.len(), steps[1].arrived.len()), (1, 1));
        assert_eq!((&*steps[0].answers, &*steps[1].answers), (&[answer][..], &[][..]));
        assert_eq!(steps[0].trace[1], changed);
        assert_eq!(steps[1].kind, StepKind::Halt(HaltReason::GoalCanceled));
    }
}
