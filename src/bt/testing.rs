//! A test notation for trees: scripted leaves, and one line per tick.
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
//! The first line names the columns: `=` is the root, the others are leaves. Every other line is one tick. A column
//! contains the result of the node (`S F R -`; `-` is SKIPPED), `.` if the node was not ticked, or several letters if
//! it was ticked several times. After the columns follow `key=value` for the entries of the main tree's blackboard,
//! then `!leaf` for each halt of a leaf, in order. A `*` after the letter of the root means that a node requested
//! another execution. `E` is a tick that raised an error. A line may begin with `@250`, the time of the tick in
//! milliseconds; by default, the time advances by 10 ms. The word `halt` instead of the root's letter halts the tree.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::builder::{NodeBuilder, forest, node, tree};
use super::{
    Behavior, Context, Dialect, HaltReason, NodeKind, NodeStatus, Observer, PortValue, Ports, Problem,
    Registry, Resource, ScopeId, Text, Tick, Time, Tree, TreeSpec, compile,
};

/// An action that returns its scripted outcomes (`S F R -`), one per tick, repeatedly.
pub fn leaf(name: &'static str, outcomes: &str) -> NodeBuilder {
    node("ScriptedAction").name(name).port("_outcomes", outcomes)
}

/// A condition that returns its scripted outcomes, one per tick, repeatedly.
pub fn condition(name: &'static str, outcomes: &str) -> NodeBuilder {
    node("ScriptedCondition").name(name).port("_outcomes", outcomes)
}

/// The log of the leaves since the last read.
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

/// A leaf with scripted outcomes.
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

/// A tree with scripted leaves, before it runs.
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
    /// Creates a version 4 tree.
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

    /// Compiles the tree as version 3.
    pub fn v3(mut self) -> Self {
        self.dialect = Dialect::V3;
        self
    }

    /// Makes each line one call of [`Tree::tick`], which follows wake-ups, instead of one execution of the root.
    pub fn drain(mut self) -> Self {
        self.drain = true;
        self
    }

    /// Sets the seed of the random numbers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Adds another tree.
    pub fn with(mut self, id: &'static str, root: NodeBuilder) -> Self {
        self.trees.push(tree(id, root));
        self
    }

    /// Adds node types.
    pub fn registry(mut self, add: impl FnOnce(&mut Registry)) -> Self {
        add(&mut self.registry);
        self
    }

    /// Writes an entry of the main tree's blackboard.
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

    /// Writes a text to the main tree's blackboard.
    pub fn text(self, key: &str, value: &str) -> Self {
        self.set(key, Text::from(value))
    }

    /// Compiles the tree.
    ///
    /// # Errors
    /// The problems of the tree.
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

    /// Returns the first problem of a tree that does not compile.
    ///
    /// # Panics
    /// If the tree compiles.
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

    /// Runs the tree and compares it with a table.
    ///
    /// # Panics
    /// If they differ. The message shows both tables.
    pub fn check(self, table: &str) {
        let drain = self.drain;
        Running::new(self.compiled(), drain).check(table);
    }

    /// Ticks the tree and compares each result and the status stored afterwards.
    ///
    /// # Panics
    /// If they differ.
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

/// A running tree under test, for several tables.
pub struct Running {
    /// The run.
    pub tree: Tree,
    log: Arc<Mutex<Entries>>,
    drain: bool,
    now: Time,
    /// The last error message.
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

    /// Continues the run and compares it with a table.
    ///
    /// # Panics
    /// If they differ. The message shows both tables.
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

/// An observer that records each change as a short text.
#[derive(Clone, Default)]
pub struct Seen(pub Arc<Mutex<Vec<String>>>);

impl Seen {
    /// The changes since the last call, in one line.
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
