//! Actions and conditions.

use super::model::{Kind, Status};
use super::{Event, Interpreter};

impl Interpreter {
    pub(super) fn tick_leaf(&mut self, node: usize) -> Status {
        let passed = |holds: bool| if holds { Status::Success } else { Status::Failure };
        match self.nodes[node].kind.clone() {
            Kind::Leaf(outcomes) => {
                let outcome = outcomes[self.state[node].ticks % outcomes.len()];
                self.state[node].ticks += 1;
                if let Some((key, value)) = outcome.write {
                    self.write(key, value);
                }
                self.events.push(Event::Ticked(node, outcome.status));
                outcome.status
            }
            Kind::AlwaysSuccess => Status::Success,
            Kind::AlwaysFailure => Status::Failure,
            Kind::Script(effect) => {
                self.run(effect);
                Status::Success
            }
            Kind::ScriptCondition(test) => passed(self.holds(test)),
            Kind::WasEntryUpdated(key) => {
                let current = self.keys[key].1;
                let updated = self.state[node].seen != current;
                self.state[node].seen = current;
                passed(updated)
            }
            Kind::Sleep(msec) => self.tick_sleep(node, msec),
            _ => unreachable!("not a leaf"),
        }
    }

    /// A StatefulActionNode (2.6): it starts where it was idle, and a completed one gives its stored status again.
    fn tick_sleep(&mut self, node: usize, msec: u64) -> Status {
        match self.status[node] {
            Status::Idle if msec == 0 => Status::Success,
            Status::Idle => {
                self.state[node].deadline = Some(self.now + msec);
                Status::Running
            }
            Status::Running
                if self.state[node]
                    .deadline
                    .is_some_and(|deadline| self.now < deadline) =>
            {
                Status::Running
            }
            Status::Running => Status::Success,
            stored => stored,
        }
    }
}
