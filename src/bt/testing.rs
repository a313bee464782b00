//! A notation for what a tree does: scripted leaves, and one line a tick.
//!
//! ```
//! use navtree::bt::builder::sequence;
//! use navtree::bt::testing::{Scene, leaf};
//!
//! Scene::new(sequence([leaf("a", "S"), leaf("b", "RF")])).check(
//!     "= a b
//!      R S R
//!      F . F",
//! );
//! ```
//!
//! The first line names the columns: `=` is the root, the others are leaves. Every further line is one tick: what the
//! root and each leaf returned (`S F R -`, the last for SKIPPED), `.` for a leaf that was not ticked, several letters
//! for one that was ticked several times. Behind the columns stand `key=value` for what the main tree's blackboard holds,
//! then `!leaf` for each halt of a leaf, in order. A `*` behind the root's letter says that a node asked
//! for another tick at once. `E` is a tick that raised an error. A line may begin with `@250`, the time of the tick in
//! milliseconds; otherwise 10 ms pass. The word `halt` in place of the root's letter halts the tree instead.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::builder::{NodeBuilder, forest, node, tree};
use super::{
    Behavior, Context, Dialect, HaltReason, NodeKind, NodeStatus, Observer, PortValue, Ports, Problem,
    Registry, Resource, ScopeId, Text, Tick, Time, Tree, TreeSpec, compile,
};

/// An action named `name` that returns one outcome a tick (`S F R -`), over and over.
pub fn leaf(name: &'static str, outcomes: &str) -> NodeBuilder {
    node("ScriptedAction").name(name).port("_outcomes", outcomes)
}

/// A condition named `name` that returns one outcome a tick.
pub fn condition(name: &'static str, outcomes: &str) -> NodeBuilder {
    node("ScriptedCondition").name(name).port("_outcomes", outcomes)
}

/// What the leaves did since the last look.
#[derive(Default)]
struct Log(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    ticked: Vec<(String, char)>,
    halted: Vec<String>,
}

impl Resource for Log {
    fn as_any_mut(&mut self) -> &mut dyn std::any::Any {
        self
    }
}

/// A leaf that follows a script.
struct Scripted {
    outcomes: Vec<NodeStatus>,
}

impl Scripted {
    fn bind(ports: &mut Ports<'_>) -> Box<dyn Behavior> {
        let text = ports.raw("_outcomes").unwrap_or_default();
        let outcomes = text
            .chars()
            .filter_map(|letter| {
                [
                    NodeStatus::Success,
                    NodeStatus::Failure,
                    NodeStatus::Running,
                    NodeStatus::Skipped,
                    NodeStatus::Idle,
                ]
                .into_iter()
                .find(|status| status.letter() == letter)
            })
            .collect();
        Box::new(Self { outcomes })
    }
}

impl Behavior for Scripted {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let turn = cx.memory().index as usize;
        cx.memory().index += 1;
        let Some(status) = self.outcomes.get(turn % self.outcomes.len().max(1)).copied() else {
            return Err(cx.throw("this leaf has no outcomes"));
        };
        let name = cx.definition().node(cx.node()).name.to_string();
        if let Some(log) = cx.resource::<Log>() {
            log.0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .ticked
                .push((name, status.letter()));
        }
        Ok(status)
    }

    fn halt(&self, cx: &mut Context<'_>, _reason: HaltReason) {
        let name = cx.definition().node(cx.node()).name.to_string();
        if let Some(log) = cx.resource::<Log>() {
            log.0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .halted
                .push(name);
        }
    }
}

/// A tree with scripted leaves, about to be run.
#[must_use = "check() runs it"]
pub struct Scene {
    trees: Vec<TreeSpec<'static>>,
    registry: Registry,
    dialect: Dialect,
    drain: bool,
    seed: Option<u64>,
    set: Vec<(String, Set)>,
}

type Set = Box<dyn Fn(&mut Tree, &str)>;

impl Scene {
    /// A version 4 tree.
    pub fn new(root: NodeBuilder) -> Self {
        let mut registry = Registry::builtin();
        for (id, kind) in [
            ("ScriptedAction", NodeKind::Action),
            ("ScriptedCondition", NodeKind::Condition),
        ] {
            let registered = registry.register_with(id, kind, (0, 0), "", Scripted::bind);
            debug_assert_eq!(registered, Ok(()));
        }
        Self {
            trees: vec![tree("Main", root)],
            registry,
            dialect: Dialect::V4,
            drain: false,
            seed: None,
            set: Vec::new(),
        }
    }

    /// As a version 3 file.
    pub fn v3(mut self) -> Self {
        self.dialect = Dialect::V3;
        self
    }

    /// A line is one call of [`Tree::tick`], which follows wake-ups, instead of one execution of the root.
    pub fn drain(mut self) -> Self {
        self.drain = true;
        self
    }

    /// Where the run's random numbers begin.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// With another tree beside the main one.
    pub fn with(mut self, id: &'static str, root: NodeBuilder) -> Self {
        self.trees.push(tree(id, root));
        self
    }

    /// With more node types.
    pub fn registry(mut self, add: impl FnOnce(&mut Registry)) -> Self {
        add(&mut self.registry);
        self
    }

    /// With an entry on the main tree's blackboard.
    pub fn set<T: PortValue>(mut self, key: &str, value: T) -> Self {
        self.set.push((
            key.to_owned(),
            Box::new(move |tree, key| {
                let written = tree.set(key, value.clone());
                debug_assert_eq!(written, Ok(()));
            }),
        ));
        self
    }

    /// With a text on the main tree's blackboard.
    pub fn text(self, key: &str, value: &str) -> Self {
        self.set(key, Text::from(value))
    }

    /// Compiles it.
    ///
    /// # Errors
    /// What is wrong with the tree.
    pub fn compile(mut self) -> Result<Tree, Vec<Problem>> {
        for tree in &mut self.trees {
            tree.dialect = self.dialect;
        }
        let compiled = compile(&forest(self.trees), "Main", &self.registry)?;
        let mut tree = Tree::new(compiled.def);
        if let Some(seed) = self.seed {
            tree.set_seed(seed);
        }
        for (key, set) in &self.set {
            set(&mut tree, key);
        }
        Ok(tree)
    }

    /// The first problem of a tree that does not compile.
    ///
    /// # Panics
    /// Where it does compile.
    #[expect(clippy::panic, reason = "a test's assertion")]
    pub fn refused(self) -> String {
        match self.compile() {
            Ok(_) => panic!("the tree compiled"),
            Err(problems) => problems
                .first()
                .map(|problem| problem.message.clone())
                .unwrap_or_default(),
        }
    }

    /// Runs it beside a table.
    ///
    /// # Panics
    /// Where it does something else, with both tables in full.
    pub fn check(self, table: &str) {
        let drain = self.drain;
        Running::new(self.compiled(), drain).check(table);
    }

    /// Ticks it beside what the root returns each time, and the status that is stored of it afterwards.
    ///
    /// # Panics
    /// Where it does something else.
    pub fn check_stored(self, ticks: &[(NodeStatus, NodeStatus)]) {
        let mut tree = self.compiled();
        for (number, (returned, stored)) in ticks.iter().enumerate() {
            assert_eq!(tree.tick_exactly_once(Time::ZERO), Ok(*returned), "tick {number}");
            assert_eq!(tree.root_status(), *stored, "tick {number}");
        }
    }

    #[expect(clippy::panic, reason = "a test's assertion")]
    fn compiled(self) -> Tree {
        match self.compile() {
            Ok(tree) => tree,
            Err(problems) => panic!("the tree does not compile: {problems:#?}"),
        }
    }
}

/// A tree under test that keeps running from table to table.
pub struct Running {
    /// The run.
    pub tree: Tree,
    log: Arc<Mutex<Entries>>,
    drain: bool,
    now: Time,
    /// The last error, for tests that look at its words.
    pub error: String,
}

impl Running {
    /// A run at time zero.
    pub fn new(mut tree: Tree, drain: bool) -> Self {
        let log = Arc::new(Mutex::new(Entries::default()));
        tree.insert_resource(Log(Arc::clone(&log)));
        Self {
            tree,
            log,
            drain,
            now: Time::ZERO,
            error: String::new(),
        }
    }

    /// Goes on beside a table.
    ///
    /// # Panics
    /// Where the tree does something else, with both tables in full.
    #[expect(clippy::panic, reason = "a test's assertion")]
    pub fn check(&mut self, table: &str) {
        let mut lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
        let header: Vec<&str> = lines.next().unwrap_or("=").split_whitespace().collect();
        let mut expected = Vec::new();
        let mut got = Vec::new();
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            got.push(self.line(&header, &words));
            expected.push(words.join(" "));
        }
        if expected != got {
            let error = if self.error.is_empty() {
                String::new()
            } else {
                format!("\n  error: {}", self.error)
            };
            let head = header.join(" ");
            panic!(
                "the tree did something else\n  expected        got\n  {head:<15} {head}\n{}{error}",
                expected
                    .iter()
                    .zip(&got)
                    .map(|(expected, got)| {
                        let mark = if expected == got { ' ' } else { '>' };
                        format!("{mark} {expected:<15} {got}\n")
                    })
                    .collect::<String>()
            );
        }
    }

    fn line(&mut self, header: &[&str], words: &[&str]) -> String {
        let mut line = String::new();
        let time = words.first().and_then(|word| word.strip_prefix('@'));
        let halts = words.iter().take(2).any(|word| *word == "halt");
        match time.and_then(|time| time.parse().ok()) {
            Some(time) => {
                self.now = Time::from_millis(time);
                let _ = write!(line, "@{time} ");
            }
            None if self.tree.ticks() > 0 => self.now = self.now + Duration::from_millis(10),
            None => {}
        }
        let root = if halts {
            self.tree.halt(HaltReason::GoalCanceled, self.now);
            "halt".to_owned()
        } else {
            let result = if self.drain {
                self.tree.tick(self.now)
            } else {
                self.tree.tick_exactly_once(self.now)
            };
            match result {
                Ok(status) => {
                    let woken = if self.tree.is_woken() { "*" } else { "" };
                    format!("{}{woken}", status.letter())
                }
                Err(error) => {
                    self.error = error.to_string();
                    "E".to_owned()
                }
            }
        };
        line.push_str(&root);
        let mut log = self.log.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !halts || !log.ticked.is_empty() {
            for name in &header[1..] {
                let letters: String = log
                    .ticked
                    .iter()
                    .filter(|(of, _)| of == name)
                    .map(|(_, letter)| letter)
                    .collect();
                let _ = write!(line, " {}", if letters.is_empty() { "." } else { &letters });
            }
        }
        for word in words {
            if word.starts_with('!') {
                continue;
            }
            if let Some((key, _)) = word.split_once('=') {
                let value = self
                    .tree
                    .get_in(ScopeId::ROOT, key)
                    .map_or_else(|| "none".to_owned(), |value| value.to_json().to_string());
                let _ = write!(line, " {key}={}", value.trim_matches('"'));
            }
        }
        for name in &log.halted {
            let _ = write!(line, " !{name}");
        }
        *log = Entries::default();
        line
    }
}

/// Collects what an observer is told, one short text a change.
#[derive(Clone, Default)]
pub struct Seen(pub Arc<Mutex<Vec<String>>>);

impl Seen {
    /// What was told since the last look, in one line.
    pub fn take(&self) -> String {
        let mut seen = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::take(&mut *seen).join(" ")
    }

    fn push(&self, text: String) {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(text);
    }
}

impl Observer for Seen {
    fn changed(
        &mut self,
        def: &super::TreeDef,
        node: super::NodeIndex,
        from: NodeStatus,
        to: NodeStatus,
        _: Time,
    ) {
        self.push(format!(
            "{}:{}{}",
            def.node(node).name,
            from.letter(),
            to.letter()
        ));
    }

    fn halted(&mut self, def: &super::TreeDef, node: super::NodeIndex, _reason: HaltReason, _now: Time) {
        self.push(format!("{}!", def.node(node).name));
    }
}
