//! Control nodes.

use super::model::{Kind, Status, TEXT_KEY, Version};
use super::{Interpreter, Raised, Result};

impl Interpreter {
    pub(super) fn tick_control(&mut self, node: usize) -> Result<Status> {
        match self.nodes[node].kind.clone() {
            Kind::Sequence => self.tick_ordered(node, Status::Success, false),
            Kind::AsyncSequence => self.tick_ordered(node, Status::Success, true),
            Kind::Fallback => self.tick_ordered(node, Status::Failure, false),
            Kind::AsyncFallback => self.tick_ordered(node, Status::Failure, true),
            Kind::SequenceWithMemory => self.tick_with_memory(node),
            Kind::ReactiveSequence => self.tick_reactive(node, Status::Success),
            Kind::ReactiveFallback => self.tick_reactive(node, Status::Failure),
            Kind::Parallel { success, failure } if self.version == Version::V3 => {
                self.tick_parallel_v3(node, success, failure)
            }
            Kind::Parallel { success, failure } => self.tick_parallel(node, success, failure),
            Kind::ParallelAll { failures } => self.tick_parallel_all(node, failures),
            Kind::IfThenElse => self.tick_if_then_else(node),
            Kind::WhileDoElse => self.tick_while_do_else(node),
            Kind::Switch { cases } => self.tick_switch(node, &cases),
            Kind::TryCatch { .. } => self.tick_try_catch(node),
            _ => unreachable!("not a control"),
        }
    }

    /// Sequence (goes on after SUCCESS) and Fallback (goes on after FAILURE), and their asynchronous variants.
    fn tick_ordered(&mut self, node: usize, goes_on: Status, asynchronous: bool) -> Result<Status> {
        if !self.status[node].is_active() {
            self.state[node].skipped = 0;
        }
        self.status[node] = Status::Running;
        while self.state[node].index < self.count(node) {
            let (status, before) = self.tick_child(node, self.state[node].index)?;
            if status == Status::Running {
                return Ok(Status::Running);
            } else if status == Status::Skipped {
                self.state[node].index += 1;
                self.state[node].skipped += 1;
            } else if status == goes_on {
                self.state[node].index += 1;
                let work_left = self.state[node].index < self.count(node);
                if asynchronous && self.yields(before, work_left) {
                    return Ok(Status::Running);
                }
            } else {
                self.reset_children(node);
                self.state[node].index = 0;
                return Ok(status);
            }
        }
        let all_skipped = self.state[node].skipped == self.count(node);
        self.reset_children(node);
        self.state[node].index = 0;
        self.state[node].skipped = 0;
        Ok(if all_skipped { Status::Skipped } else { goes_on })
    }

    fn tick_with_memory(&mut self, node: usize) -> Result<Status> {
        if !self.status[node].is_active() {
            self.state[node].skipped = 0;
        }
        self.status[node] = Status::Running;
        while self.state[node].index < self.count(node) {
            let (status, before) = self.tick_child(node, self.state[node].index)?;
            match status {
                Status::Running => return Ok(Status::Running),
                Status::Failure => {
                    for position in self.state[node].index..self.count(node) {
                        self.reset_child(node, position);
                    }
                    return Ok(Status::Failure);
                }
                Status::Skipped => {
                    self.state[node].index += 1;
                    self.state[node].skipped += 1;
                }
                _ => {
                    self.state[node].index += 1;
                    let work_left = self.state[node].index < self.count(node);
                    if self.version == Version::V4 && self.yields(before, work_left) {
                        return Ok(Status::Running);
                    }
                }
            }
        }
        let all_skipped = self.state[node].skipped == self.count(node);
        self.reset_children(node);
        self.state[node].index = 0;
        self.state[node].skipped = 0;
        Ok(if all_skipped {
            Status::Skipped
        } else {
            Status::Success
        })
    }

    fn tick_reactive(&mut self, node: usize, goes_on: Status) -> Result<Status> {
        self.status[node] = Status::Running;
        let mut all_skipped = true;
        for position in 0..self.count(node) {
            let (status, _) = self.tick_child(node, position)?;
            all_skipped &= status == Status::Skipped;
            if status == Status::Running {
                for other in (0..self.count(node)).filter(|other| *other != position) {
                    self.reset_child(node, other);
                }
                return Ok(Status::Running);
            } else if status == Status::Skipped {
                self.reset_child(node, position);
            } else if status != goes_on {
                self.reset_children(node);
                return Ok(status);
            }
        }
        self.reset_children(node);
        Ok(if all_skipped { Status::Skipped } else { goes_on })
    }

    /// Thresholds count from the end when they are negative.
    fn threshold(&self, node: usize, threshold: i64) -> i64 {
        if threshold < 0 {
            (self.count(node) as i64 + threshold + 1).max(0)
        } else {
            threshold
        }
    }

    fn clear_parallel(&mut self, node: usize) {
        self.state[node].completed.fill(false);
        self.state[node].count = 0;
        self.state[node].failures = 0;
    }

    fn tick_parallel(&mut self, node: usize, success: i64, failure: i64) -> Result<Status> {
        let children = self.count(node) as i64;
        let needed = self.threshold(node, success);
        let allowed = self.threshold(node, failure);
        if children < needed || children < allowed {
            return Err(Raised);
        }
        self.status[node] = Status::Running;
        let mut skipped = 0;
        for position in 0..self.count(node) {
            if !self.state[node].completed[position] {
                match self.tick_child(node, position)?.0 {
                    Status::Skipped => skipped += 1,
                    Status::Success => {
                        self.state[node].completed[position] = true;
                        self.state[node].count += 1;
                    }
                    Status::Failure => {
                        self.state[node].completed[position] = true;
                        self.state[node].failures += 1;
                    }
                    Status::Running | Status::Idle => {}
                }
            }
            let (successes, failures) = (self.state[node].count, self.state[node].failures);
            let result = if successes >= needed || (success < 0 && successes + skipped >= needed) {
                Status::Success
            } else if children - failures < needed || failures == allowed {
                Status::Failure
            } else {
                continue;
            };
            self.clear_parallel(node);
            self.reset_children(node);
            return Ok(result);
        }
        Ok(if skipped == children {
            Status::Skipped
        } else {
            Status::Running
        })
    }

    /// Version 3 counts anew in every tick, over all children.
    fn tick_parallel_v3(&mut self, node: usize, success: i64, failure: i64) -> Result<Status> {
        let children = self.count(node) as i64;
        let needed = self.threshold(node, success);
        let allowed = self.threshold(node, failure);
        if children < needed || children < allowed {
            return Err(Raised);
        }
        let (mut successes, mut failures) = (0, 0);
        for position in 0..self.count(node) {
            let status = if self.state[node].completed[position] {
                self.status[self.child(node, position)]
            } else {
                self.tick_child(node, position)?.0
            };
            let result = match status {
                Status::Success => {
                    self.state[node].completed[position] = true;
                    successes += 1;
                    (successes == needed).then_some(Status::Success)
                }
                Status::Failure => {
                    self.state[node].completed[position] = true;
                    failures += 1;
                    (failures > children - needed || failures == allowed).then_some(Status::Failure)
                }
                _ => None,
            };
            if let Some(result) = result {
                self.clear_parallel(node);
                self.reset_children(node);
                return Ok(result);
            }
        }
        Ok(Status::Running)
    }

    fn tick_parallel_all(&mut self, node: usize, failures: i64) -> Result<Status> {
        let children = self.count(node);
        let threshold = self.threshold(node, failures);
        if (children as i64) < threshold {
            return Err(Raised);
        }
        self.status[node] = Status::Running;
        let mut skipped = 0;
        for position in 0..children {
            if self.state[node].completed[position] {
                continue;
            }
            match self.tick_child(node, position)?.0 {
                Status::Skipped => skipped += 1,
                Status::Success => self.state[node].completed[position] = true,
                Status::Failure => {
                    self.state[node].completed[position] = true;
                    self.state[node].failures += 1;
                }
                Status::Running | Status::Idle => {}
            }
        }
        if skipped == children {
            return Ok(Status::Skipped);
        }
        let completed = self.state[node].completed.iter().filter(|done| **done).count();
        if skipped + completed >= children {
            let failed = self.state[node].failures >= threshold;
            self.reset_children(node);
            self.clear_parallel(node);
            return Ok(if failed { Status::Failure } else { Status::Success });
        }
        Ok(Status::Running)
    }

    fn tick_if_then_else(&mut self, node: usize) -> Result<Status> {
        self.status[node] = Status::Running;
        if self.state[node].index == 0 {
            match self.tick_child(node, 0)?.0 {
                Status::Running => return Ok(Status::Running),
                Status::Success => self.state[node].index = 1,
                Status::Failure if self.count(node) == 3 => self.state[node].index = 2,
                // Without resetting the condition.
                Status::Failure => return Ok(Status::Failure),
                Status::Skipped | Status::Idle => return Err(Raised),
            }
        }
        let (status, _) = self.tick_child(node, self.state[node].index)?;
        if status == Status::Running {
            return Ok(Status::Running);
        }
        self.reset_children(node);
        self.state[node].index = 0;
        Ok(status)
    }

    fn tick_while_do_else(&mut self, node: usize) -> Result<Status> {
        self.status[node] = Status::Running;
        let with_else = self.count(node) == 3;
        let status = match self.tick_child(node, 0)?.0 {
            Status::Running => return Ok(Status::Running),
            Status::Success => {
                if with_else {
                    self.reset_child(node, 2);
                }
                self.tick_child(node, 1)?.0
            }
            Status::Failure if with_else => {
                self.reset_child(node, 1);
                self.tick_child(node, 2)?.0
            }
            Status::Failure => Status::Failure,
            Status::Skipped | Status::Idle => Status::Idle,
        };
        if status == Status::Running {
            return Ok(Status::Running);
        }
        self.reset_children(node);
        Ok(status)
    }

    fn tick_switch(&mut self, node: usize, cases: &[i64]) -> Result<Status> {
        let value = self.keys[TEXT_KEY].0;
        let selected = cases
            .iter()
            .position(|case| *case == value)
            .unwrap_or(cases.len());
        if let Some(running) = self.state[node].running_child
            && running != selected
        {
            self.reset_child(node, running);
        }
        let (status, _) = self.tick_child(node, selected)?;
        match status {
            Status::Skipped => self.state[node].running_child = None,
            Status::Running => self.state[node].running_child = Some(selected),
            _ => {
                self.reset_children(node);
                self.state[node].running_child = None;
            }
        }
        Ok(status)
    }

    fn tick_try_catch(&mut self, node: usize) -> Result<Status> {
        if !self.status[node].is_active() {
            self.state[node].skipped = 0;
            self.state[node].in_catch = false;
        }
        self.status[node] = Status::Running;
        let tried = self.count(node) - 1;
        while !self.state[node].in_catch && self.state[node].index < tried {
            match self.tick_child(node, self.state[node].index)?.0 {
                Status::Running => return Ok(Status::Running),
                Status::Failure => {
                    self.reset_children(node);
                    self.state[node].index = 0;
                    self.state[node].in_catch = true;
                }
                Status::Skipped => {
                    self.state[node].index += 1;
                    self.state[node].skipped += 1;
                }
                _ => self.state[node].index += 1,
            }
        }
        let result = if self.state[node].in_catch {
            if self.tick_child(node, tried)?.0 == Status::Running {
                return Ok(Status::Running);
            }
            // As in a sequence that fails: the count of skipped children stays until the node was idle.
            let skipped = self.state[node].skipped;
            self.reset_children(node);
            self.forget_try_catch(node);
            self.state[node].skipped = skipped;
            return Ok(Status::Failure);
        } else if self.state[node].skipped == tried {
            Status::Skipped
        } else {
            Status::Success
        };
        self.reset_children(node);
        self.forget_try_catch(node);
        Ok(result)
    }

    fn forget_try_catch(&mut self, node: usize) {
        let state = &mut self.state[node];
        state.index = 0;
        state.skipped = 0;
        state.in_catch = false;
    }

    /// With `catch_on_halt`, an active node that is not in its catch yet ticks the catch child once.
    pub(super) fn halt_try_catch(&mut self, node: usize, on_halt: bool) {
        if on_halt && self.status[node].is_active() && !self.state[node].in_catch {
            let tried = self.count(node) - 1;
            for position in 0..tried {
                self.reset_child(node, position);
            }
            // Trees under test keep to catch children that raise nothing.
            let _ = self.tick_child(node, tried);
            self.reset_child(node, tried);
        }
        self.forget_try_catch(node);
    }
}
