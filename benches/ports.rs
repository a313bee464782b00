//! Measures the read of a port by a leaf.
//!
//! `cargo bench --no-default-features --bench ports` prints nanoseconds per read: the minimum of 20 samples. No value is
//! copied: texts and paths are borrowed, or shared by a reference count. With a case's name and a number of ticks of a
//! thousand reads as arguments, only this case runs, for callgrind.

use std::hint::black_box;
use std::sync::Arc;

use navtree::bt::builder::{forest, leaf, node, tree};
use navtree::bt::{
    Behavior, Compiled, Context, Input, NodeKind, NodeStatus, PortValue, Registry, RegistryError, Text, Tick,
    Time, Tree, compile,
};
use navtree::msg::{Header, Path, Pose};

#[path = "shared/measure.rs"]
mod measure;

/// The number of reads in one tick.
const READS: u32 = 1000;

/// Reads its port repeatedly.
struct Reads<T, F> {
    port: Input<T>,
    read: F,
}

impl<T: PortValue, F: Fn(&Input<T>, &Context<'_>) + Send + Sync> Behavior for Reads<T, F> {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        for _ in 0..READS {
            (self.read)(black_box(&self.port), black_box(&*cx));
        }
        Ok(NodeStatus::Success)
    }
}

fn register<T: PortValue>(
    registry: &mut Registry,
    id: &str,
    read: impl Fn(&Input<T>, &Context<'_>) + Copy + Send + Sync + 'static,
) -> Result<(), RegistryError> {
    registry.register_with(id, NodeKind::Action, (0, 0), "", move |ports| {
        let port = ports.input::<T>("from").bind();
        Box::new(Reads { port, read })
    })
}

fn registry() -> Result<Registry, RegistryError> {
    let mut registry = Registry::builtin();
    register::<i32>(&mut registry, "port_int", |port, cx| {
        let _ = black_box(port.get(cx));
    })?;
    register::<Text>(&mut registry, "port_text_64", |port, cx| {
        black_box(port.as_str(cx));
    })?;
    register::<Text>(&mut registry, "port_text_64_shared", |port, cx| {
        let _ = black_box(port.get(cx));
    })?;
    register::<Arc<Path>>(&mut registry, "port_path_10000", |port, cx| {
        black_box(port.as_object(cx));
    })?;
    register::<Arc<Path>>(&mut registry, "port_path_10000_shared", |port, cx| {
        let _ = black_box(port.get(cx));
    })?;
    Ok(registry)
}

#[allow(clippy::panic)] // without a valid tree there is nothing to measure
fn main() {
    let arguments = measure::arguments();
    let registry = match registry() {
        Ok(registry) => registry,
        Err(error) => panic!("{error}"),
    };
    let poses = (0..10_000).map(|x| Pose::planar(f64::from(x) * 0.05, 0.0, 0.0));
    let path = Arc::new(Path::through(Header::in_frame("map"), poses));
    for (id, key) in [
        ("port_int", "{int}"),
        ("port_text_64", "{text}"),
        ("port_text_64_shared", "{text}"),
        ("port_path_10000", "{path}"),
        ("port_path_10000_shared", "{path}"),
    ] {
        // Two leaves: a single one would be the root, and no real blackboard has a single entry.
        let root = node("Sequence").children([
            leaf("Script").port("code", "other := 1"),
            leaf(id).port("from", key),
        ]);
        let mut tree = match compile(&forest([tree("Main", root)]), "Main", &registry) {
            Ok(Compiled { def, .. }) => Tree::new(def),
            Err(problems) => panic!("{problems:?}"),
        };
        let set = match key {
            "{int}" => tree.set("int", 7_i32),
            "{text}" => tree.set("text", Text::from("x".repeat(64))),
            _ => tree.set("path", Arc::clone(&path)),
        };
        assert!(set.is_ok(), "the key is of the type");
        let mut run = |ticks: u32| {
            for _ in 0..ticks {
                let status = tree.tick_exactly_once(Time::ZERO);
                assert!(matches!(status, Ok(NodeStatus::Success)), "all is read");
            }
        };
        match arguments.as_slice() {
            [case, ticks] if case == id => run(ticks.parse().unwrap_or(1000)),
            [_, _] => {}
            _ => measure::tell(id, measure::least_time(run) / f64::from(READS), "ns/read"),
        }
    }
}
