//! Random trees, and smaller ones out of them.

use crate::reference::model::{Effect, Guard, KEYS, Kind, Node, Outcome, Status, TEXT_KEY, Test, Version};

/// SplitMix64: small, seedable, and the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// What is done to the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A tick, this many milliseconds after the step before.
    Tick(u64),
    /// A halt of the whole tree.
    Halt,
}

/// One case: a tree and what happens to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub version: Version,
    /// Whether ticks follow wake-ups (`tickOnce`) or not (`tickExactlyOnce`).
    pub drains: bool,
    pub root: Node,
    pub steps: Vec<Step>,
}

struct Growth<'r> {
    random: &'r mut Random,
    version: Version,
    drains: bool,
    /// Nodes that may still be made.
    budget: usize,
}

/// The case of a seed.
pub fn plan(seed: u64) -> Plan {
    let mut random = Random::new(seed);
    let version = if random.chance(30) {
        Version::V3
    } else {
        Version::V4
    };
    let drains = random.chance(25);
    let budget = 2 + random.below(16);
    let mut growth = Growth {
        random: &mut random,
        version,
        drains,
        budget,
    };
    let root = growth.node(0);
    let steps = (0..3 + random.below(10))
        .map(|_| {
            if random.chance(8) {
                Step::Halt
            } else {
                Step::Tick(random.pick(&[0, 1, 1, 2, 3, 5, 8]))
            }
        })
        .collect();
    Plan {
        version,
        drains,
        root,
        steps,
    }
}

impl Growth<'_> {
    fn node(&mut self, depth: usize) -> Node {
        self.budget = self.budget.saturating_sub(1);
        let leaf_chance = if depth == 0 { 3 } else { 20 + 10 * depth as u64 };
        if self.budget == 0 || depth > 6 || self.random.chance(leaf_chance) {
            let kind = self.leaf();
            let guards = self.guards();
            return Node {
                kind,
                guards,
                children: Vec::new(),
            };
        }
        let (kind, count) = if self.random.chance(65) {
            self.control()
        } else {
            (self.decorator(), 1)
        };
        let guards = self.guards();
        let mut children: Vec<Node> = (0..count).map(|_| self.node(depth + 1)).collect();
        if kind == (Kind::TryCatch { on_halt: true })
            && let Some(catch) = children.last_mut()
        {
            *catch = Node {
                kind: self.scripted_leaf(),
                guards: Vec::new(),
                children: Vec::new(),
            };
        }
        Node {
            kind,
            guards,
            children,
        }
    }

    fn scripted_leaf(&mut self) -> Kind {
        let length = 1 + self.random.below(5);
        Kind::Leaf(
            (0..length)
                .map(|_| Outcome {
                    status: match self.random.below(10) {
                        0..=2 => Status::Success,
                        3..=5 => Status::Failure,
                        6..=8 => Status::Running,
                        _ if self.version == Version::V4 => Status::Skipped,
                        _ => Status::Running,
                    },
                    write: self
                        .random
                        .chance(15)
                        .then(|| (self.random.below(KEYS.len()), self.random.below(3) as i64)),
                })
                .collect(),
        )
    }

    fn leaf(&mut self) -> Kind {
        match self.random.below(20) {
            0 => Kind::AlwaysSuccess,
            1 => Kind::AlwaysFailure,
            2 if self.version == Version::V4 => Kind::Script(self.effect()),
            3 if self.version == Version::V4 => Kind::ScriptCondition(self.test()),
            4 if self.version == Version::V4 => Kind::WasEntryUpdated(self.random.below(KEYS.len())),
            5 if self.version == Version::V4 => Kind::Sleep(self.random.below(6) as u64),
            _ => self.scripted_leaf(),
        }
    }

    fn control(&mut self) -> (Kind, usize) {
        loop {
            let count = 1 + self.random.below(4);
            let threshold = |random: &mut Random, least: i64| {
                least + random.below((count as i64 - least + 1) as usize) as i64
            };
            return match (self.random.below(16), self.version) {
                (0 | 1, _) => (Kind::Sequence, count),
                (2 | 3, _) => (Kind::Fallback, count),
                (4 | 5, _) => (Kind::ReactiveSequence, count),
                (6 | 7, _) => (Kind::ReactiveFallback, count),
                (8, _) => (Kind::SequenceWithMemory, count),
                (9, Version::V4) => {
                    let success = threshold(self.random, -2);
                    let failure = threshold(self.random, -2);
                    (Kind::Parallel { success, failure }, count)
                }
                (9, Version::V3) => {
                    let success = threshold(self.random, 1);
                    let failure = threshold(self.random, 1);
                    (Kind::Parallel { success, failure }, count)
                }
                (10, _) => (Kind::IfThenElse, 2 + self.random.below(2)),
                (11, Version::V4) => (Kind::WhileDoElse, 2 + self.random.below(2)),
                (11, Version::V3) => (Kind::WhileDoElse, 3),
                (12, _) => {
                    let cases = self.random.pick(&[2, 2, 2, 3, 3, 4, 5, 6]);
                    let values = (0..cases as i64).collect();
                    (Kind::Switch { cases: values }, cases + 1)
                }
                (13, Version::V4) => {
                    let failures = threshold(self.random, -2);
                    (Kind::ParallelAll { failures }, count)
                }
                (14, Version::V4) => {
                    let on_halt = self.random.chance(50);
                    (Kind::TryCatch { on_halt }, 2 + self.random.below(2))
                }
                (15, Version::V4) => {
                    let kind = if self.random.chance(50) {
                        Kind::AsyncSequence
                    } else {
                        Kind::AsyncFallback
                    };
                    (kind, count)
                }
                _ => continue,
            };
        }
    }

    fn decorator(&mut self) -> Kind {
        loop {
            // A loop without end would never leave a tick that follows wake-ups, nor any tick of version 3.
            let endless = !self.drains && self.version == Version::V4 && self.random.chance(15);
            let cycles = if endless { -1 } else { self.random.below(4) as i64 };
            return match (self.random.below(16), self.version) {
                (0 | 1, _) => Kind::Inverter,
                (2, _) => Kind::ForceSuccess,
                (3, _) => Kind::ForceFailure,
                (4, _) => Kind::Repeat(cycles),
                (5, _) => Kind::Retry(cycles),
                (6, _) => Kind::KeepRunningUntilFailure,
                (7, _) => Kind::Timeout(self.random.below(8) as u64),
                (8, _) => Kind::Delay(1 + self.random.below(6) as u64),
                (9, _) => Kind::SubTree,
                (10, Version::V4) => Kind::RunOnce {
                    then_skip: self.random.chance(50),
                },
                (11, Version::V4) => Kind::Precondition {
                    test: self.test(),
                    otherwise: self.random.pick(&[
                        Status::Failure,
                        Status::Success,
                        Status::Running,
                        Status::Skipped,
                    ]),
                },
                (12, Version::V4) => Kind::LoopInt {
                    items: self.random.below(4),
                    if_empty: self
                        .random
                        .pick(&[Status::Success, Status::Failure, Status::Skipped]),
                },
                (13, Version::V4) => Kind::SkipUnlessUpdated(self.random.below(KEYS.len())),
                (14, Version::V4) => Kind::WaitValueUpdate(self.random.below(KEYS.len())),
                (15, Version::V3) => Kind::BlackboardCheckInt {
                    key: self.random.below(TEXT_KEY),
                    value: self.random.below(2) as i64,
                    mismatch: self
                        .random
                        .pick(&[Status::Failure, Status::Success, Status::Running]),
                },
                _ => continue,
            };
        }
    }

    fn test(&mut self) -> Test {
        Test {
            key: self.random.below(KEYS.len()),
            equal: self.random.chance(60),
            value: self.random.below(2) as i64,
        }
    }

    fn effect(&mut self) -> Effect {
        Effect {
            key: self.random.below(TEXT_KEY),
            toggles: self.random.chance(60),
        }
    }

    fn guards(&mut self) -> Vec<Guard> {
        let mut guards = Vec::new();
        if self.version == Version::V3 {
            return guards;
        }
        for attribute in 0..8 {
            if !self.random.chance(4) {
                continue;
            }
            guards.push(match attribute {
                0 => Guard::FailureIf(self.test()),
                1 => Guard::SuccessIf(self.test()),
                2 => Guard::SkipIf(self.test()),
                3 => Guard::While(self.test()),
                4 => Guard::OnHalted(self.effect()),
                5 => Guard::OnFailure(self.effect()),
                6 => Guard::OnSuccess(self.effect()),
                _ => Guard::Post(self.effect()),
            });
        }
        guards
    }
}

/// The smallest case that still fails, as far as taking single things away leads.
pub fn shrink(plan: Plan, fails: &dyn Fn(&Plan) -> bool) -> Plan {
    let mut smallest = plan;
    'again: loop {
        for candidate in smaller(&smallest) {
            if fails(&candidate) {
                smallest = candidate;
                continue 'again;
            }
        }
        return smallest;
    }
}

fn smaller(plan: &Plan) -> Vec<Plan> {
    let mut plans = Vec::new();
    for root in smaller_trees(&plan.root) {
        plans.push(Plan { root, ..plan.clone() });
    }
    for index in (0..plan.steps.len()).rev() {
        let mut steps = plan.steps.clone();
        steps.remove(index);
        plans.push(Plan {
            steps,
            ..plan.clone()
        });
    }
    for (index, step) in plan.steps.iter().enumerate() {
        if let Step::Tick(milliseconds @ 1..) = step {
            let mut steps = plan.steps.clone();
            steps[index] = Step::Tick(milliseconds - 1);
            plans.push(Plan {
                steps,
                ..plan.clone()
            });
        }
    }
    if plan.drains {
        plans.push(Plan {
            drains: false,
            ..plan.clone()
        });
    }
    plans
}

fn smaller_trees(node: &Node) -> Vec<Node> {
    let mut trees = node.children.clone();
    for index in 0..node.guards.len() {
        let mut without = node.clone();
        without.guards.remove(index);
        trees.push(without);
    }
    let plain = Node {
        kind: Kind::Leaf(vec![Outcome {
            status: Status::Success,
            write: None,
        }]),
        guards: Vec::new(),
        children: Vec::new(),
    };
    if *node != plain {
        trees.push(plain);
    }
    if let Kind::Leaf(outcomes) = &node.kind {
        for index in 0..outcomes.len() {
            let mut fewer = outcomes.clone();
            if fewer.len() > 1 {
                fewer.remove(index);
                trees.push(Node {
                    kind: Kind::Leaf(fewer),
                    ..node.clone()
                });
            }
            if outcomes[index].write.is_some() {
                let mut silent = outcomes.clone();
                silent[index].write = None;
                trees.push(Node {
                    kind: Kind::Leaf(silent),
                    ..node.clone()
                });
            }
        }
    }
    let least = match &node.kind {
        Kind::Sequence
        | Kind::AsyncSequence
        | Kind::SequenceWithMemory
        | Kind::Fallback
        | Kind::AsyncFallback
        | Kind::ReactiveSequence
        | Kind::ReactiveFallback => 1,
        Kind::TryCatch { .. } => 2,
        // Their counts or thresholds go with the number of children.
        _ => usize::MAX,
    };
    let last = node.children.len().saturating_sub(1);
    for index in 0..node.children.len() {
        let keeps = matches!(node.kind, Kind::TryCatch { .. }) && index == last;
        if node.children.len() > least && !keeps {
            let mut fewer = node.clone();
            fewer.children.remove(index);
            trees.push(fewer);
        }
        for child in smaller_trees(&node.children[index]) {
            // What a halted TryCatch ticks must stay a leaf.
            if keeps && !child.children.is_empty() {
                continue;
            }
            let mut other = node.clone();
            other.children[index] = child;
            trees.push(other);
        }
    }
    trees
}
