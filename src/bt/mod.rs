//! The behavior tree engine: statuses, nodes, ports, blackboard, scripts, tick and halt. No ROS, no async, no I/O.
//!
//! [`compile()`] compiles parsed trees ([`ForestSpec`]) to a [`TreeDef`]. Any number of [`Tree`]s run one definition. A
//! node type is a [`Node`]: its ports, its documentation and its [`Behavior`]. A [`Registry`] holds the node types.
#![forbid(unsafe_code)]

mod attributes;
mod behavior;
mod binder;
mod blackboard;
pub mod builder;
mod compile;
mod context;
mod current_node;
mod definition;
mod enums;
mod error;
mod event;
mod globals;
mod guard;
mod halt;
mod hooks;
mod keys;
mod lint;
mod literal_checks;
mod node_effects;
pub mod nodes;
mod numeral;
mod observer;
mod port;
mod priority;
mod problem;
mod provenance;
mod queue;
mod random;
mod registry;
mod resource;
mod run;
mod scope;
pub mod script;
mod spec;
mod stateful;
mod status;
mod substitute;
mod substitution;
mod suggest;
#[doc(hidden)]
pub mod testing;
mod time;
mod tree;
mod types;
mod value;

pub use behavior::{Behavior, Dialect, Manifest, Node, NodeKind, Thrown, Tick};
pub use blackboard::{Blackboard, Entry, ScopeId, SlotId, TypeClash, is_key};
pub use builder::NodeBuilder;
pub(crate) use compile::compile_to_check;
pub use compile::{Compiled, MOST_DEPTH, MOST_NODES, compile};
pub use context::Context;
pub use current_node::CurrentNode;
pub use definition::{NodeIndex, NodeInfo, Places, ScopeDef, Span, TreeDef};
pub use enums::Enums;
pub use error::TickError;
pub(crate) use error::panic_text;
pub use event::{Event, matches};
pub use globals::Globals;
pub use halt::{HaltOrder, HaltReason};
pub use hooks::{Ended, Hooks};
pub use node_effects::{NodeEffects, Outcomes};
pub use observer::Observer;
pub use port::{Binding, Direction, InOut, Input, Output, PortBuilder, PortDecl, PortError, Ports};
pub use problem::{Problem, ProblemKind};
pub use queue::Queue;
pub use random::instance_seed;
pub use registry::{NodeType, Registry, RegistryError, is_model_name, is_port_name};
pub use resource::{Resource, Resources};
pub use run::Memory;
pub(crate) use scope::{PortText, port_text};
pub use spec::{AttributeSpec, ForestSpec, ModelPort, NodeSpec, SubTreeForm, TreeSpec};
pub use stateful::{Stateful, StatefulAction};
pub use status::NodeStatus;
pub use substitute::Substitute;
pub use substitution::{SubstitutionError, Substitutions};
pub use suggest::nearest;
pub use time::Time;
pub use tree::{MOST_WAKE_UPS, Tree};
pub use types::{Family, ObjectType, PortValue, Text, TypeInfo};
pub use value::{List, Object, Value};
