//! `navtree trace`: runs a tree with mocked leaves on a virtual clock, and shows each tick.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::mock_run::{MockRun, Snapshot};
use super::mocks::{self, Mocks};
use super::{Exit, RegistryArguments, TreeArguments, outln, yaml};
use crate::bt::{Registry, TreeDef, nearest};
use crate::xml::{Code, Colour, Diagnostic, Levels, Loaded, Loader, Severity};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tree file.
    file: PathBuf,
    /// Tree to use, by its ID. Default: the main tree of the file.
    #[arg(long, value_name = "ID")]
    tree: Option<String>,
    /// Outcomes of the leaves: a mapping from the path, name, ID or pattern of a leaf to a list of outcomes. If several
    /// keys match a leaf, the most exact one counts.
    #[arg(long, value_name = "MOCKS.yaml")]
    mock: Option<PathBuf>,
    /// Number of ticks.
    #[arg(long, default_value_t = 10)]
    ticks: u64,
    /// Period of the ticks on the virtual clock, in ms.
    #[arg(long, default_value_t = 10, value_name = "MS")]
    period: u64,
    /// Set a blackboard key before the first tick. The value is a number, true, false or text.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of Random and RandomSelector. The same seed gives the same choices.
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    /// Tick again at once while a node requests it, as tickOnce of BehaviorTree.CPP does.
    #[arg(long)]
    drain: bool,
    /// Stop when the root completes.
    #[arg(long)]
    until_done: bool,
    /// Print one JSON object per tick.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    registry: RegistryArguments,
    #[command(flatten)]
    trees: TreeArguments,
}

pub(crate) fn run(arguments: &Arguments, registry: Registry) -> Exit {
    match prepare(arguments, registry) {
        Ok(run) => trace(arguments, run),
        Err((message, exit)) => {
            super::errln!("{message}");
            exit
        }
    }
}

fn prepare(arguments: &Arguments, mut registry: Registry) -> Result<MockRun, (String, Exit)> {
    let failed = |message: String| (format!("navtree trace: {message}"), Exit::Failed);
    super::check_paths_exist([&arguments.file]).map_err(failed)?;
    let applied = arguments.registry.apply(&arguments.file, &mut registry);
    let project = applied.map_err(failed)?;
    let mut mock_file = None;
    if let Some(path) = &arguments.mock {
        let text = yaml::read(path).map_err(failed)?;
        let mocks: Mocks =
            serde_yaml::from_str(&text).map_err(|error| failed(yaml::parser_error(path, &error)))?;
        mocks.clone().apply(&mut registry);
        mock_file = Some((mocks, path, text));
    }
    let levels = arguments.trees.levels(&project).map_err(failed)?;
    let mut loaded = Loader::new(&registry)
        .levels(levels.clone())
        .with_models()
        .load_file(&arguments.file, arguments.tree.as_deref())
        .map_err(|refused| {
            let problems = refused
                .diagnostics
                .iter()
                .map(|problem| problem.render(&refused.sources, Colour::Never));
            (problems.collect::<Vec<_>>().join("\n"), Exit::Problems)
        })?;
    for warning in loaded
        .warnings
        .iter()
        .filter(|warning| arguments.trees.is_warning_requested(warning.code))
    {
        super::errln!("{}", warning.render(&loaded.sources, Colour::Never));
    }
    if let Some((mocks, path, text)) = mock_file {
        report_unused(&mocks, path, text, &mut loaded, &levels)?;
    }
    let mut run = MockRun::new(
        loaded.def,
        Duration::from_millis(arguments.period),
        arguments.drain,
    );
    run.seed(arguments.seed);
    for setting in &arguments.set {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| failed(format!("--set {setting}: write KEY=VALUE")))?;
        run.set(key, &parse_scalar(value)).map_err(failed)?;
    }
    Ok(run)
}

/// Reports the mocks that match no leaf, each with its position.
fn report_unused(
    mocks: &Mocks,
    path: &Path,
    text: String,
    loaded: &mut Loaded,
    levels: &Levels,
) -> Result<(), (String, Exit)> {
    let unused = mocks.unused(&loaded.def);
    if unused.is_empty() {
        return Ok(());
    }
    let name = path.display().to_string();
    let file = loaded.sources.add_text(&name, Path::new("."), text);
    let mut errors = Vec::new();
    for key in unused {
        let start = yaml::key_offset(file.text(), key).unwrap_or(0);
        let message = format!("`{key}` matches no leaf of the tree by path, name or ID");
        let mut diagnostic = Diagnostic::new(Code::UnusedMock, file.span(start, start + key.len()), message);
        let (leaves, inner_nodes): (Vec<_>, Vec<_>) =
            (loaded.def.nodes().map(|(_, node)| node)).partition(|node| mocks::is_leaf(node));
        if inner_nodes.iter().any(|node| mocks::names(node).contains(&key)) {
            diagnostic = diagnostic.help("it is a node with children, and only leaves are mocked");
        } else if let Some(nearest_name) = nearest(key, leaves.iter().flat_map(|node| mocks::names(node))) {
            diagnostic = diagnostic.help(format!("did you mean `{nearest_name}`?"));
        }
        let Some(severity) = levels.severity(&diagnostic) else {
            continue;
        };
        diagnostic.severity = severity;
        let text = diagnostic.render(&loaded.sources, Colour::Never);
        if severity == Severity::Error {
            errors.push(text);
        } else {
            super::errln!("{text}");
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err((errors.join("\n"), Exit::Problems))
    }
}

/// Parses a value: a number, a boolean, or else a text.
fn parse_scalar(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text
            .parse::<i64>()
            .ok()
            .map(Value::from)
            // `inf` and `nan` stay text, because JSON has no such numbers.
            .or_else(|| {
                text.parse::<f64>()
                    .ok()
                    .filter(|real| real.is_finite())
                    .map(Value::from)
            })
            .unwrap_or_else(|| Value::from(text)),
    }
}

fn trace(arguments: &Arguments, mut run: MockRun) -> Exit {
    let paths = unique_paths(run.definition());
    for _ in 0..arguments.ticks {
        let snapshot = run.tick();
        if arguments.json {
            outln!("{}", tick_object(&run, &paths, &snapshot));
        } else {
            print_text(run.definition(), &snapshot);
        }
        match snapshot.result {
            Err(error) => {
                super::errln!("error: {error}");
                return Exit::Problems;
            }
            Ok(status) if arguments.until_done && status.is_completed() => break,
            Ok(_) => {}
        }
    }
    Exit::Success
}

/// The JSON object of a tick, for other tools.
fn tick_object(run: &MockRun, paths: &[String], snapshot: &Snapshot) -> Value {
    let nodes: Map<String, Value> = paths
        .iter()
        .zip(&snapshot.statuses)
        .map(|(path, status)| (path.clone(), status.name().into()))
        .collect();
    let halted: Vec<&str> = snapshot.halted.iter().map(|node| &*paths[node.index()]).collect();
    let mut object = json!({
        "tick": snapshot.tick,
        "status": snapshot.result.as_ref().map_or("ERROR", |status| status.name()),
        "nodes": nodes,
        "halted": halted,
        "blackboard": run.blackboard(),
    });
    if let Err(error) = &snapshot.result {
        object["error"] = error.to_string().into();
    }
    object
}

/// The paths of all nodes. If an earlier node has the same path, the number of the node is appended, as for a node
/// without a name.
fn unique_paths(def: &TreeDef) -> Vec<String> {
    let mut seen = HashSet::new();
    let paths = def.nodes().map(|(node, info)| {
        if seen.insert(&*info.path) {
            info.path.to_string()
        } else {
            format!("{}::{}", info.path, node.number())
        }
    });
    paths.collect()
}

/// Prints one line per node, indented, with its status; then the halts.
fn print_text(def: &TreeDef, snapshot: &Snapshot) {
    let status = snapshot.result.as_ref().map_or("ERROR", |status| status.name());
    outln!("tick {}: {status}", snapshot.tick);
    for ((node, info), status) in def.nodes().zip(&snapshot.statuses) {
        let mut depth = 1;
        let mut ancestor = info.parent;
        while let Some(node) = ancestor {
            depth += 1;
            ancestor = def.node(node).parent;
        }
        let halted = if snapshot.halted.contains(&node) {
            "  (halted)"
        } else {
            ""
        };
        outln!(
            "{:indent$}{} {}{halted}",
            "",
            status.letter(),
            info.name,
            indent = depth * 2
        );
    }
}
