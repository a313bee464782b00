//! `navtree convert`: converts a version 3 file to version 4.

use std::io::IsTerminal;
use std::path::PathBuf;

use super::{Exit, PaletteArguments};
use crate::bt::Registry;
use crate::xml::{Colour, Diagnostics, Disk, Document, Files, Sources, convert, decoded};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tree file of version 3.
    file: PathBuf,
    /// File to write the result to; it may be the tree file itself. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    palette: PaletteArguments,
}

pub(crate) fn run(arguments: &Arguments, registry: &Registry) -> Exit {
    match outcome(arguments, registry) {
        Ok(exit) => exit,
        Err(message) => {
            super::errln!("navtree convert: {message}");
            Exit::Failed
        }
    }
}

fn outcome(arguments: &Arguments, registry: &Registry) -> Result<Exit, String> {
    let path = &arguments.file;
    let mut registry = registry.clone();
    arguments.palette.apply(path, &mut registry)?;
    let text = Disk
        .read(path)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let mut sources = Sources::new();
    let mut diagnostics = Diagnostics::new();
    let converted = match decoded(&mut sources, path, text) {
        Ok(file) => {
            let document = Document::parse(&file, &mut diagnostics);
            if diagnostics.has_errors() {
                None
            } else {
                convert(&document, &registry, &mut diagnostics)
            }
        }
        Err(problem) => {
            diagnostics.push(*problem);
            None
        }
    };
    let colour = if std::io::stderr().is_terminal() {
        Colour::Always
    } else {
        Colour::Never
    };
    for diagnostic in &diagnostics {
        super::errln!("{}", diagnostic.render(&sources, colour));
    }
    let Some(converted) = converted else {
        return Ok(Exit::Problems);
    };
    match &arguments.output {
        Some(output) => {
            std::fs::write(output, converted).map_err(|error| format!("{}: {error}", output.display()))?;
        }
        None => super::out(&converted),
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::path::Path;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::mock_run::MockRun;
    use super::super::mocks::Mocks;
    use super::*;
    use crate::xml::Loader;

    /// A node of a version 3 tree. Nodes with a different meaning in version 4 are left out: SequenceStar, Repeat and
    /// Retry under a reactive node, which start again when halted or yield between rounds.
    #[derive(Clone, Debug)]
    enum V3 {
        Leaf(u8),
        Set(u8, i32),
        Control(&'static str, Vec<V3>),
        Decorator(&'static str, Box<V3>),
        Parallel(i32, Vec<V3>),
        Check(u8, i32, bool, Box<V3>),
        Sub(Sharing, Box<V3>),
    }

    /// The access of a subtree to the keys of its caller.
    #[derive(Clone, Copy, Debug)]
    enum Sharing {
        Keys,
        Pointers,
        Auto,
        Whole,
    }

    fn node() -> impl Strategy<Value = V3> {
        let leaf = prop_oneof![
            3 => (0..6_u8).prop_map(V3::Leaf),
            1 => (0..2_u8, 0..3).prop_map(|(key, value)| V3::Set(key, value)),
        ];
        leaf.prop_recursive(5, 24, 3, |inner| {
            let children = prop::collection::vec(inner.clone(), 1..4);
            prop_oneof![
                (
                    prop::sample::select(vec![
                        "Sequence",
                        "Fallback",
                        "ReactiveSequence",
                        "ReactiveFallback"
                    ]),
                    children.clone()
                )
                    .prop_map(|(id, children)| V3::Control(id, children)),
                (
                    prop::sample::select(vec!["Inverter", "ForceSuccess", "ForceFailure"]),
                    inner.clone()
                )
                    .prop_map(|(id, child)| V3::Decorator(id, Box::new(child))),
                children.prop_map(|children| V3::Parallel(children.len() as i32, children)),
                (0..2_u8, 0..3, any::<bool>(), inner.clone()).prop_map(|(key, value, succeeds, child)| {
                    V3::Check(key, value, succeeds, Box::new(child))
                }),
                (
                    prop::sample::select(vec![
                        Sharing::Keys,
                        Sharing::Pointers,
                        Sharing::Auto,
                        Sharing::Whole
                    ]),
                    inner
                )
                    .prop_map(|(sharing, child)| V3::Sub(sharing, Box::new(child))),
            ]
        })
    }

    /// Writes a node and adds the trees that it calls to `trees`.
    fn write(node: &V3, out: &mut String, trees: &mut Vec<String>) {
        let _ = match node {
            V3::Leaf(number) => write!(out, "<Leaf name='leaf{number}'/>"),
            V3::Set(key, value) => write!(out, "<SetBlackboard output_key='key{key}' value='{value}'/>"),
            V3::Control(id, children) => {
                let _ = write!(out, "<{id}>");
                children.iter().for_each(|child| write(child, out, trees));
                write!(out, "</{id}>")
            }
            V3::Decorator(id, child) => {
                let _ = write!(out, "<{id}>");
                write(child, out, trees);
                write!(out, "</{id}>")
            }
            V3::Parallel(count, children) => {
                let _ = write!(
                    out,
                    "<Parallel success_threshold='{count}' failure_threshold='1'>"
                );
                children.iter().for_each(|child| write(child, out, trees));
                write!(out, "</Parallel>")
            }
            V3::Check(key, value, succeeds, child) => {
                let mismatch = if *succeeds { "SUCCESS" } else { "FAILURE" };
                let _ = write!(
                    out,
                    "<BlackboardCheckInt value_A='${{key{key}}}' value_B='{value}' return_on_mismatch='{mismatch}'>"
                );
                write(child, out, trees);
                write!(out, "</BlackboardCheckInt>")
            }
            V3::Sub(sharing, child) => {
                let mut inner = String::new();
                write(child, &mut inner, trees);
                let id = trees.len();
                trees.push(format!("<BehaviorTree ID='Tree{id}'>{inner}</BehaviorTree>\n"));
                match sharing {
                    Sharing::Keys => write!(out, "<SubTree ID='Tree{id}' key0='key0' key1='key1'/>"),
                    Sharing::Pointers => write!(
                        out,
                        "<SubTreePlus ID='Tree{id}' key0='{{key1}}' key1='${{key0}}'/>"
                    ),
                    Sharing::Auto => write!(out, "<SubTreePlus ID='Tree{id}' __autoremap='true'/>"),
                    Sharing::Whole => write!(out, "<SubTree ID='Tree{id}' __shared_blackboard='true'/>"),
                }
            }
        };
    }

    fn file(root: &V3) -> String {
        let (mut main, mut trees) = (String::new(), Vec::new());
        write(root, &mut main, &mut trees);
        format!(
            "<root BTCPP_format='3' main_tree_to_execute='Main'>\n<BehaviorTree ID='Main'>{main}</BehaviorTree>\n{}</root>",
            trees.concat()
        )
    }

    fn converted(text: &str) -> Option<String> {
        let mut diagnostics = Diagnostics::new();
        let file = Sources::new().add_text("f", Path::new(""), text.to_owned());
        let document = Document::parse(&file, &mut diagnostics);
        convert(&document, &Registry::builtin(), &mut diagnostics)
    }

    /// The root status, the halted leaves and the blackboard of each tick.
    fn trace(text: &str, mocks: &Mocks) -> Vec<String> {
        let mut registry = Registry::builtin();
        mocks.clone().apply(&mut registry);
        let loaded = Loader::new(&registry)
            .load_text("f", text, Path::new(""), None)
            .unwrap_or_else(|refused| panic!("{text}\n{refused}"));
        let mut run = MockRun::new(loaded.def, Duration::from_millis(10), true);
        for key in ["key0", "key1"] {
            run.set(key, &1.into()).unwrap();
        }
        let ticks = (0..12).map(|_| {
            let snapshot = run.tick();
            let def = run.definition();
            let halted: Vec<&str> = snapshot
                .halted
                .iter()
                .map(|node| &*def.node(*node).name)
                .filter(|name| name.starts_with("leaf"))
                .collect();
            format!("{:?} {halted:?} {:?}", snapshot.result, run.blackboard())
        });
        ticks.collect()
    }

    fn mocks() -> Mocks {
        let outcomes = "{Leaf: [SUCCESS], leaf0: [SUCCESS], leaf1: [FAILURE], leaf2: [RUNNING, SUCCESS], \
             leaf3: [RUNNING, RUNNING, FAILURE], leaf4: [SUCCESS, FAILURE], leaf5: [RUNNING]}";
        serde_yaml::from_str(outcomes).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

        /// A converted tree behaves like the original.
        #[test]
        fn traces_agree(root in node()) {
            let before = file(&root);
            let after = converted(&before).unwrap();
            prop_assert_eq!(trace(&before, &mocks()), trace(&after, &mocks()), "{}\n{}", before, after);
            // A version 4 text stays the same.
            prop_assert_eq!(converted(&after), Some(after));
        }
    }
}
