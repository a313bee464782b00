//! Decorators, of versions 4 and 3.

use super::model::{Kind, Status, Version};
use super::{Interpreter, Result};

impl Interpreter {
    pub(super) fn tick_decorator(&mut self, node: usize) -> Result<Status> {
        match self.nodes[node].kind.clone() {
            Kind::Inverter => self.tick_converting(node, |status| match status {
                Status::Success => Status::Failure,
                _ => Status::Success,
            }),
            Kind::ForceSuccess => self.tick_converting(node, |_| Status::Success),
            Kind::ForceFailure => self.tick_converting(node, |_| Status::Failure),
            Kind::Repeat(cycles) => self.tick_counting(node, cycles, Status::Success),
            Kind::Retry(attempts) => self.tick_counting(node, attempts, Status::Failure),
            Kind::KeepRunningUntilFailure => {
                self.status[node] = Status::Running;
                let (status, _) = self.tick_child(node, 0)?;
                if status.is_completed() {
                    self.reset_child(node, 0);
                }
                Ok(match status {
                    Status::Failure => Status::Failure,
                    _ => Status::Running,
                })
            }
            Kind::Timeout(msec) => self.tick_timeout(node, msec),
            Kind::Delay(msec) => self.tick_delay(node, msec),
            Kind::RunOnce { then_skip } => {
                if let Some(latched) = self.state[node].latched {
                    return Ok(if then_skip { Status::Skipped } else { latched });
                }
                self.status[node] = Status::Running;
                let (status, _) = self.tick_child(node, 0)?;
                if status.is_completed() {
                    self.state[node].latched = Some(status);
                    self.reset_child(node, 0);
                }
                Ok(status)
            }
            Kind::Precondition { test, otherwise } => {
                // `child_running` is the flag that outlives halts and skipped children.
                if !self.state[node].child_running {
                    if !self.holds(test) {
                        return Ok(otherwise);
                    }
                    self.state[node].child_running = true;
                }
                let (status, _) = self.tick_child(node, 0)?;
                if status.is_completed() {
                    self.reset_child(node, 0);
                    self.state[node].child_running = false;
                }
                Ok(status)
            }
            Kind::LoopInt { items, if_empty } => self.tick_loop(node, items, if_empty),
            Kind::SkipUnlessUpdated(key) => self.tick_updated(node, key, Status::Skipped),
            Kind::WaitValueUpdate(key) => self.tick_updated(node, key, Status::Running),
            Kind::BlackboardCheckInt { key, value, mismatch } => {
                if self.keys[key].0 == value {
                    return Ok(self.tick_child(node, 0)?.0);
                }
                if self.status[self.child(node, 0)] == Status::Running {
                    self.reset_child(node, 0);
                }
                Ok(mismatch)
            }
            Kind::SubTree => {
                if self.status[node] == Status::Idle {
                    self.status[node] = Status::Running;
                }
                let (status, _) = self.tick_child(node, 0)?;
                if status.is_completed() {
                    self.reset_child(node, 0);
                }
                Ok(status)
            }
            _ => unreachable!("not a decorator"),
        }
    }

    fn tick_converting(&mut self, node: usize, convert: fn(Status) -> Status) -> Result<Status> {
        self.status[node] = Status::Running;
        let (status, _) = self.tick_child(node, 0)?;
        if !status.is_completed() {
            return Ok(status);
        }
        self.reset_child(node, 0);
        Ok(convert(status))
    }

    /// Repeat counts SUCCESS, Retry counts FAILURE; the other result ends either.
    fn tick_counting(&mut self, node: usize, most: i64, counted: Status) -> Result<Status> {
        let more = |count: i64| count < most || most == -1;
        self.status[node] = Status::Running;
        while more(self.state[node].count) {
            let (status, before) = self.tick_child(node, 0)?;
            match status {
                Status::Running => return Ok(Status::Running),
                Status::Skipped => {
                    self.reset_child(node, 0);
                    return Ok(Status::Skipped);
                }
                _ if status == counted => {
                    self.state[node].count += 1;
                    self.reset_child(node, 0);
                    let work_left = more(self.state[node].count);
                    if self.version == Version::V4 && self.yields(before, work_left) {
                        return Ok(Status::Running);
                    }
                }
                _ => {
                    self.state[node].count = 0;
                    self.reset_child(node, 0);
                    return Ok(status);
                }
            }
        }
        self.state[node].count = 0;
        Ok(counted)
    }

    fn tick_timeout(&mut self, node: usize, msec: u64) -> Result<Status> {
        if !self.state[node].started {
            self.state[node].started = true;
            self.status[node] = Status::Running;
            self.state[node].deadline = (msec > 0).then_some(self.now + msec);
        }
        if self.state[node]
            .deadline
            .is_some_and(|deadline| self.now >= deadline)
        {
            // The timer fires once; it finds the child running or has no effect.
            self.state[node].deadline = None;
            if self.status[self.child(node, 0)] == Status::Running {
                self.reset_child(node, 0);
                self.state[node].started = false;
                return Ok(Status::Failure);
            }
        }
        let (status, _) = self.tick_child(node, 0)?;
        if status.is_completed() {
            self.state[node].started = false;
            self.state[node].deadline = None;
            self.reset_child(node, 0);
        }
        Ok(status)
    }

    fn tick_delay(&mut self, node: usize, msec: u64) -> Result<Status> {
        if !self.state[node].started {
            self.state[node].started = true;
            self.state[node].deadline = Some(self.now + msec);
            self.status[node] = Status::Running;
            return Ok(Status::Running);
        }
        if self.state[node]
            .deadline
            .is_some_and(|deadline| self.now < deadline)
        {
            return Ok(Status::Running);
        }
        let (status, _) = self.tick_child(node, 0)?;
        if status.is_completed() {
            self.state[node].started = false;
            self.state[node].deadline = None;
            self.reset_child(node, 0);
        }
        Ok(status)
    }

    fn tick_loop(&mut self, node: usize, items: usize, if_empty: Status) -> Result<Status> {
        if self.status[node] == Status::Idle {
            self.state[node].child_running = false;
            self.state[node].queue = None;
        }
        if !self.state[node].child_running {
            let left = self.state[node].queue.unwrap_or(items);
            self.state[node].queue = Some(left.saturating_sub(1));
            if left == 0 {
                return Ok(if_empty);
            }
        }
        self.status[node] = Status::Running;
        let (status, _) = self.tick_child(node, 0)?;
        self.state[node].child_running = status == Status::Running;
        if status.is_completed() {
            self.reset_child(node, 0);
        }
        Ok(match status {
            Status::Failure => Status::Failure,
            _ => Status::Running,
        })
    }

    fn tick_updated(&mut self, node: usize, key: usize, if_not: Status) -> Result<Status> {
        if !self.state[node].child_running {
            let current = self.keys[key].1;
            if self.state[node].seen == current {
                return Ok(if_not);
            }
            self.state[node].seen = current;
        }
        let (status, _) = self.tick_child(node, 0)?;
        self.state[node].child_running = status == Status::Running;
        Ok(status)
    }
}
