//! A second interpreter of behavior trees: slow, and plain enough to be checked by eye. It was written from
//! tables of what BehaviorTree.CPP 3 and 4 do, and from nothing else.
//!
//! Where BehaviorTree.CPP uses a timer thread, this one looks at the clock when the node is ticked: a run-out timer
//! acts at the node's next tick.

mod control;
mod decorator;
mod leaf;
pub mod model;

use model::{Effect, Guard, KEYS, Kind, Node, Status, Test, Version};

/// Something was raised, as BehaviorTree.CPP's exceptions are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raised;

pub type Result<T> = std::result::Result<T, Raised>;

/// More than any tree under test needs that ends.
const MAX_WAKE_UPS: usize = 300;

/// What a scripted leaf saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Ticked(usize, Status),
    Halted(usize),
}

/// A node, flat.
struct Flat {
    kind: Kind,
    guards: Vec<Guard>,
    children: Vec<usize>,
}

/// What a node keeps between ticks. One record for all kinds; each uses its own fields.
#[derive(Clone)]
struct State {
    index: usize,
    skipped: usize,
    count: i64,
    failures: i64,
    completed: Vec<bool>,
    running_child: Option<usize>,
    in_catch: bool,
    started: bool,
    deadline: Option<u64>,
    latched: Option<Status>,
    child_running: bool,
    /// Items left; `None`: to be obtained.
    queue: Option<usize>,
    seen: u64,
    ticks: usize,
}

pub struct Interpreter {
    version: Version,
    nodes: Vec<Flat>,
    state: Vec<State>,
    pub status: Vec<Status>,
    /// Value and number of writes.
    pub keys: [(i64, u64); KEYS.len()],
    /// What the leaves saw, in order.
    pub events: Vec<Event>,
    /// Every running node that was halted, inner ones first.
    pub halted: Vec<usize>,
    /// A node asked for another tick at once.
    pub woken: bool,
    now: u64,
}

impl Interpreter {
    pub fn new(root: &Node, version: Version, keys: [i64; KEYS.len()]) -> Self {
        let mut nodes = Vec::new();
        flatten(root, &mut nodes);
        let state = State {
            index: 0,
            skipped: 0,
            count: 0,
            failures: 0,
            completed: Vec::new(),
            running_child: None,
            in_catch: false,
            started: false,
            deadline: None,
            latched: None,
            child_running: false,
            queue: None,
            seen: 0,
            ticks: 0,
        };
        let mut state = vec![state; nodes.len()];
        for (state, node) in state.iter_mut().zip(&nodes) {
            state.completed = vec![false; node.children.len()];
        }
        Self {
            version,
            status: vec![Status::Idle; nodes.len()],
            nodes,
            state,
            keys: keys.map(|value| (value, 1)),
            events: Vec::new(),
            halted: Vec::new(),
            woken: false,
            now: 0,
        }
    }

    // --- drivers (5.1) ---------------------------------------------------------------------------------------

    /// `tickExactlyOnce`.
    pub fn tick_exactly_once(&mut self, now: u64) -> Result<Status> {
        self.now = now;
        self.woken = false;
        let status = self.execute(0)?;
        self.reset_completed_root(status);
        Ok(status)
    }

    /// `tickOnce`: again at once while it is running and something asked for it. `None` where that has no end: two
    /// yielding children of one reactive parent wake each other for ever.
    pub fn tick_once(&mut self, now: u64) -> Option<Result<Status>> {
        self.now = now;
        for _ in 0..MAX_WAKE_UPS {
            self.woken = false;
            let status = match self.execute(0) {
                Ok(status) => status,
                Err(raised) => return Some(Err(raised)),
            };
            if status != Status::Running || !self.woken {
                self.reset_completed_root(status);
                return Some(Ok(status));
            }
        }
        None
    }

    fn reset_completed_root(&mut self, status: Status) {
        if status.is_completed() {
            self.status[0] = Status::Idle;
        }
    }

    /// `haltTree` (5.3): the root, then every node in pre-order, whatever its status. Unlike there, a run starts the same
    /// however the last one ended: no sequence with memory keeps its place, no precondition what it was told.
    pub fn halt_tree(&mut self, now: u64) {
        self.now = now;
        self.woken = false;
        self.halt_node(0);
        for node in 0..self.nodes.len() {
            self.halt_node(node);
        }
        self.status[0] = Status::Idle;
        for (node, state) in self.nodes.iter().zip(&mut self.state) {
            match node.kind {
                Kind::SequenceWithMemory => {
                    state.index = 0;
                    state.skipped = 0;
                }
                Kind::Precondition { .. } => state.child_running = false,
                _ => {}
            }
        }
    }

    // --- one node (5.2) --------------------------------------------------------------------------------------

    fn execute(&mut self, node: usize) -> Result<Status> {
        let result = match self.forced(node) {
            Some(status) => status,
            None => self.tick(node)?,
        };
        if result.is_completed() {
            self.run_after(node, result);
        }
        if result == Status::Idle {
            return Err(Raised);
        }
        if result != Status::Skipped {
            self.status[node] = result;
        }
        // 2.0, DecoratorNode::executeTick.
        if self.is_decorator(node) {
            let child = self.child(node, 0);
            if self.status[child].is_completed() {
                self.status[child] = Status::Idle;
            }
        }
        Ok(result)
    }

    /// The result that preconditions force.
    fn forced(&mut self, node: usize) -> Option<Status> {
        let guards = self.nodes[node].guards.clone();
        let any = |this: &Self, pick: fn(Guard) -> Option<Test>| -> Option<bool> {
            guards
                .iter()
                .find_map(|guard| pick(*guard))
                .map(|test| this.holds(test))
        };
        let while_holds = any(self, |guard| match guard {
            Guard::While(test) => Some(test),
            _ => None,
        });
        match self.status[node] {
            Status::Idle | Status::Skipped => {
                let failure = any(self, |guard| match guard {
                    Guard::FailureIf(test) => Some(test),
                    _ => None,
                });
                let success = any(self, |guard| match guard {
                    Guard::SuccessIf(test) => Some(test),
                    _ => None,
                });
                let skip = any(self, |guard| match guard {
                    Guard::SkipIf(test) => Some(test),
                    _ => None,
                });
                if failure == Some(true) {
                    Some(Status::Failure)
                } else if success == Some(true) {
                    Some(Status::Success)
                } else if skip == Some(true) || while_holds == Some(false) {
                    Some(Status::Skipped)
                } else {
                    None
                }
            }
            Status::Running if while_holds == Some(false) => {
                self.halt_node(node);
                Some(Status::Skipped)
            }
            Status::Running | Status::Success | Status::Failure => None,
        }
    }

    fn run_after(&mut self, node: usize, result: Status) {
        for guard in self.nodes[node].guards.clone() {
            match guard {
                Guard::OnSuccess(effect) if result == Status::Success => self.run(effect),
                Guard::OnFailure(effect) if result == Status::Failure => self.run(effect),
                _ => {}
            }
        }
        for guard in self.nodes[node].guards.clone() {
            if let Guard::Post(effect) = guard {
                self.run(effect);
            }
        }
    }

    fn tick(&mut self, node: usize) -> Result<Status> {
        match &self.nodes[node].kind {
            Kind::Leaf(_)
            | Kind::AlwaysSuccess
            | Kind::AlwaysFailure
            | Kind::Script(_)
            | Kind::ScriptCondition(_)
            | Kind::WasEntryUpdated(_)
            | Kind::Sleep(_) => Ok(self.tick_leaf(node)),
            Kind::Sequence
            | Kind::AsyncSequence
            | Kind::SequenceWithMemory
            | Kind::Fallback
            | Kind::AsyncFallback
            | Kind::ReactiveSequence
            | Kind::ReactiveFallback
            | Kind::Parallel { .. }
            | Kind::ParallelAll { .. }
            | Kind::IfThenElse
            | Kind::WhileDoElse
            | Kind::Switch { .. }
            | Kind::TryCatch { .. } => self.tick_control(node),
            _ => self.tick_decorator(node),
        }
    }

    // --- halting (2.0, 5.3) ----------------------------------------------------------------------------------

    /// `haltNode`. Its `_onHalted` runs for nodes that were running only: see "haltTree running `_onHalted` on idle
    /// nodes" in the tables' own list of decisions.
    fn halt_node(&mut self, node: usize) {
        let running = self.status[node] == Status::Running;
        self.halt(node, running);
        self.status[node] = Status::Idle;
        if running {
            for guard in self.nodes[node].guards.clone() {
                if let Guard::OnHalted(effect) = guard {
                    self.run(effect);
                }
            }
            self.halted.push(node);
        }
    }

    /// What each kind clears when it is halted; then all but leaves reset their children.
    fn halt(&mut self, node: usize, running: bool) {
        let version = self.version;
        let kind = self.nodes[node].kind.clone();
        match kind {
            Kind::Leaf(_) => {
                if running {
                    self.events.push(Event::Halted(node));
                }
            }
            Kind::TryCatch { on_halt } => self.halt_try_catch(node, on_halt),
            Kind::SequenceWithMemory if version == Version::V4 => {}
            _ => {
                let state = &mut self.state[node];
                match kind {
                    Kind::Sequence
                    | Kind::AsyncSequence
                    | Kind::SequenceWithMemory
                    | Kind::Fallback
                    | Kind::AsyncFallback
                    | Kind::IfThenElse => {
                        state.index = 0;
                        state.skipped = 0;
                    }
                    Kind::Parallel { .. } | Kind::ParallelAll { .. } => {
                        state.completed.fill(false);
                        state.count = 0;
                        state.failures = 0;
                    }
                    Kind::Switch { .. } => state.running_child = None,
                    Kind::Repeat(_) | Kind::Retry(_) => state.count = 0,
                    Kind::Timeout(_) | Kind::Delay(_) | Kind::Sleep(_) => {
                        state.started = false;
                        state.deadline = None;
                    }
                    Kind::SkipUnlessUpdated(_) | Kind::WaitValueUpdate(_) => state.child_running = false,
                    _ => {}
                }
            }
        }
        self.reset_children(node);
    }

    /// `haltChild`: halted if it is running, reset in any case.
    fn reset_child(&mut self, node: usize, position: usize) {
        let child = self.child(node, position);
        if self.status[child] == Status::Running {
            self.halt_node(child);
        }
        self.status[child] = Status::Idle;
    }

    fn reset_children(&mut self, node: usize) {
        for position in 0..self.count(node) {
            self.reset_child(node, position);
        }
    }

    // --- small things ----------------------------------------------------------------------------------------

    fn count(&self, node: usize) -> usize {
        self.nodes[node].children.len()
    }

    fn child(&self, node: usize, position: usize) -> usize {
        self.nodes[node].children[position]
    }

    /// Ticks a child; also its stored status before that, for the yield rule.
    fn tick_child(&mut self, node: usize, position: usize) -> Result<(Status, Status)> {
        let child = self.child(node, position);
        let before = self.status[child];
        Ok((self.execute(child)?, before))
    }

    /// The wake-up yield of 2.0: the child was idle, so it finished inside this tick, and there is work left.
    fn yields(&mut self, before: Status, work_left: bool) -> bool {
        let yields = before == Status::Idle && work_left;
        self.woken |= yields;
        yields
    }

    fn holds(&self, test: Test) -> bool {
        (self.keys[test.key].0 == test.value) == test.equal
    }

    fn run(&mut self, effect: Effect) {
        let value = self.keys[effect.key].0;
        self.write(effect.key, if effect.toggles { 1 - value } else { value + 1 });
    }

    fn write(&mut self, key: usize, value: i64) {
        self.keys[key] = (value, self.keys[key].1 + 1);
    }

    fn is_decorator(&self, node: usize) -> bool {
        matches!(
            self.nodes[node].kind,
            Kind::Inverter
                | Kind::ForceSuccess
                | Kind::ForceFailure
                | Kind::Repeat(_)
                | Kind::Retry(_)
                | Kind::KeepRunningUntilFailure
                | Kind::Timeout(_)
                | Kind::Delay(_)
                | Kind::RunOnce { .. }
                | Kind::Precondition { .. }
                | Kind::LoopInt { .. }
                | Kind::SkipUnlessUpdated(_)
                | Kind::WaitValueUpdate(_)
                | Kind::BlackboardCheckInt { .. }
                | Kind::SubTree
        )
    }
}

fn flatten(node: &Node, nodes: &mut Vec<Flat>) -> usize {
    let own = nodes.len();
    nodes.push(Flat {
        kind: node.kind.clone(),
        guards: node.guards.clone(),
        children: Vec::new(),
    });
    for child in &node.children {
        let index = flatten(child, nodes);
        nodes[own].children.push(index);
    }
    own
}
