//! The engine's side: trees of the model as the engine compiles and runs them.

use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use navtree::bt::{
    AttributeSpec, Behavior, Context, Dialect, ForestSpec, HaltReason, NodeIndex, NodeKind, NodeSpec,
    NodeStatus, Observer, PortValue, Registry, Resource, ScopeId, Span, SubTreeForm, Text, Tick, Time, Tree,
    TreeDef, TreeSpec, Value, compile,
};

use crate::reference::Event;
use crate::reference::model::{KEYS, Node, Status, TEXT_KEY, Version};

/// What the leaves saw.
#[derive(Default)]
struct Log(Vec<Event>);

impl Resource for Log {
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

fn log(cx: &mut Context<'_>, event: Event) {
    if let Some(log) = cx.resource::<Log>() {
        log.0.push(event);
    }
}

struct Outcome {
    status: NodeStatus,
    write: Option<(&'static str, i64)>,
}

/// A leaf that plays its outcomes, one a tick, and starts over at their end.
struct Leaf(Vec<Outcome>);

impl Leaf {
    fn parse(text: &str) -> Self {
        let outcome = |word: &str| {
            let mut characters = word.chars();
            let status = match characters.next() {
                Some('R') => NodeStatus::Running,
                Some('S') => NodeStatus::Success,
                Some('F') => NodeStatus::Failure,
                _ => NodeStatus::Skipped,
            };
            let key = characters
                .next()
                .and_then(|letter| KEYS.into_iter().find(|key| key.starts_with(letter)));
            Outcome {
                status,
                write: key.map(|key| (key, characters.as_str().parse().unwrap())),
            }
        };
        Self(text.split(' ').map(outcome).collect())
    }
}

impl Behavior for Leaf {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if self.0.is_empty() {
            return Ok(NodeStatus::Success);
        }
        let turn = cx.memory().count as usize;
        cx.memory().count += 1;
        let outcome = &self.0[turn % self.0.len()];
        if let Some((key, value)) = outcome.write {
            let slot = cx.resolve(key);
            if key == KEYS[TEXT_KEY] {
                cx.write(slot, Value::text(value.to_string()), Text::TYPE)
                    .unwrap();
            } else {
                cx.write(slot, Value::Int(value), i64::TYPE).unwrap();
            }
        }
        let node = cx.node().index();
        log(cx, Event::Ticked(node, from_engine(outcome.status)));
        Ok(outcome.status)
    }

    fn halt(&self, cx: &mut Context<'_>, _reason: HaltReason) {
        let node = cx.node().index();
        log(cx, Event::Halted(node));
    }
}

/// The built-in types and the scripted leaf.
pub fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry
        .register_with("Leaf", NodeKind::Action, (0, 0), "", |ports| {
            Box::new(Leaf::parse(&ports.raw("_outcomes").unwrap_or_default()))
        })
        .unwrap();
    registry
}

pub fn from_engine(status: NodeStatus) -> Status {
    match status {
        NodeStatus::Idle => Status::Idle,
        NodeStatus::Running => Status::Running,
        NodeStatus::Success => Status::Success,
        NodeStatus::Failure => Status::Failure,
        NodeStatus::Skipped => Status::Skipped,
    }
}

/// Records every halted node, inner ones first.
struct Watch(Arc<Mutex<Vec<usize>>>);

impl Observer for Watch {
    fn changed(&mut self, _: &TreeDef, _: NodeIndex, _: NodeStatus, _: NodeStatus, _: Time) {}

    fn halted(&mut self, _: &TreeDef, node: NodeIndex, _: HaltReason, _: Time) {
        self.0.lock().unwrap().push(node.index());
    }
}

fn attribute(name: &str, value: String) -> AttributeSpec<'static> {
    AttributeSpec::new(name.to_owned(), value)
}

/// A node, its subtrees put into the forest as trees of their own.
fn spec(node: &Node, version: Version, forest: &mut ForestSpec<'static>) -> NodeSpec<'static> {
    let ports = node.kind.attributes(version);
    let guards = node.guards.iter().map(|guard| guard.attribute());
    let attributes = ports
        .into_iter()
        .chain(guards)
        .map(|(name, value)| attribute(name, value))
        .collect();
    let children: Vec<NodeSpec<'static>> = node
        .children
        .iter()
        .map(|child| spec(child, version, forest))
        .collect();
    let id = node.kind.id(version);
    if id == "SubTree" {
        let name = format!("Tree{}", forest.trees.len());
        for root in children {
            plant(forest, name.clone(), root, version);
        }
        return NodeSpec {
            id: Cow::Owned(name),
            subtree: Some(SubTreeForm::Plain),
            name: None,
            attributes,
            children: Vec::new(),
            span: Span::default(),
        };
    }
    NodeSpec {
        id: Cow::Borrowed(id),
        subtree: None,
        name: None,
        attributes,
        children,
        span: Span::default(),
    }
}

fn plant(forest: &mut ForestSpec<'static>, id: String, root: NodeSpec<'static>, version: Version) {
    let tree = TreeSpec {
        id: Cow::Owned(id.clone()),
        root,
        dialect: match version {
            Version::V3 => Dialect::V3,
            Version::V4 => Dialect::V4,
        },
        span: Span::default(),
    };
    forest.trees.insert(Cow::Owned(id), tree);
}

/// A run of the engine.
pub struct Engine {
    pub tree: Tree,
    halted: Arc<Mutex<Vec<usize>>>,
}

impl Engine {
    pub fn new(
        root: &Node,
        version: Version,
        registry: &Registry,
        keys: [i64; KEYS.len()],
    ) -> Result<Self, String> {
        let mut forest = ForestSpec::default();
        let root = spec(root, version, &mut forest);
        plant(&mut forest, "Main".to_owned(), root, version);
        let compiled = compile(&forest, "Main", registry).map_err(|problems| format!("{problems:#?}"))?;
        let mut tree = Tree::new(compiled.def);
        for (index, (key, value)) in KEYS.into_iter().zip(keys).enumerate() {
            let written = if index == TEXT_KEY {
                tree.set(key, Text::from(value.to_string()))
            } else {
                tree.set(key, value)
            };
            written.map_err(|clash| clash.to_string())?;
        }
        let halted = Arc::new(Mutex::new(Vec::new()));
        tree.insert_resource(Log::default());
        tree.set_observer(Some(Box::new(Watch(Arc::clone(&halted)))));
        tree.attach(Time::ZERO).unwrap();
        Ok(Self { tree, halted })
    }

    /// What the leaves saw since this was last asked.
    pub fn take_events(&mut self) -> Vec<Event> {
        let log = self.tree.resource::<Log>();
        log.map(|log| std::mem::take(&mut log.0)).unwrap_or_default()
    }

    /// The nodes that were halted since this was last asked.
    pub fn take_halted(&self) -> Vec<usize> {
        std::mem::take(&mut self.halted.lock().unwrap())
    }

    pub fn statuses(&self) -> Vec<Status> {
        let nodes = self.tree.definition().nodes();
        nodes
            .map(|(node, _)| from_engine(self.tree.status(node)))
            .collect()
    }

    /// Value and number of writes of each key.
    pub fn keys(&self) -> [(i64, u64); KEYS.len()] {
        KEYS.map(|key| {
            let slot = self.tree.find(ScopeId::ROOT, key).unwrap();
            let entry = self.tree.blackboard().entry(slot);
            let value = match entry.value().unwrap() {
                Value::Int(value) => *value,
                Value::Text(text) => text.parse().unwrap(),
                other => panic!("{key} holds {other:?}"),
            };
            (value, entry.sequence())
        })
    }
}
