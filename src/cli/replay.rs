//! `navtree replay`: runs the inputs of a recording through a tree again.

use std::path::{Path, PathBuf};

use super::{Exit, errln, outln, recorded_scenario};
use crate::bt::Registry;
use crate::record::Recording;
use crate::record::replay::{Difference, Replay, Replayed, Step};
use crate::record::stored::{StoredRecord, TimedRecord};
use crate::record::story::tell;
use crate::xml::Loader;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Recording.
    file: PathBuf,
    /// Tree to run instead of the recorded one. The result is told up to where the tree asks something that was not
    /// recorded.
    #[arg(long, value_name = "OTHER.xml")]
    tree: Option<PathBuf>,
    /// ID of the tree in that file. Default: its main tree.
    #[arg(long, value_name = "ID", requires = "tree")]
    tree_id: Option<String>,
    /// File for a scenario of the run, which `navtree test` checks.
    #[arg(long, value_name = "FILE", conflicts_with = "tree")]
    to_scenario: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, registry: Registry) -> Exit {
    let result = match (&arguments.tree, &arguments.to_scenario) {
        (Some(tree), _) => replay_other(arguments, tree, registry),
        (None, Some(file)) => write_scenario(arguments, file, &registry),
        (None, None) => replay(arguments, registry),
    };
    result.unwrap_or_else(|message| {
        errln!("navtree replay: {}: {message}", arguments.file.display());
        Exit::Failed
    })
}

fn read(arguments: &Arguments) -> Result<Recording, String> {
    let recording = Recording::read(&arguments.file).map_err(|error| error.to_string())?;
    if let Some(damage) = &recording.damage {
        errln!(
            "{}: the rest of the file cannot be read: {damage}",
            arguments.file.display()
        );
    }
    Ok(recording)
}

/// Replays the recorded tree, whose trace must be the same.
fn replay(arguments: &Arguments, registry: Registry) -> Result<Exit, String> {
    let recording = read(arguments)?;
    if !recording.has_places_of_messages() {
        let by = recording
            .metadata
            .get("navtree")
            .map_or("an older version", |version| version);
        errln!(
            "{}: format {} of navtree {by}: the place of a message within its tick is not compared",
            arguments.file.display(),
            recording.navigation.version
        );
    }
    let mut replay = Replay::new(&recording, registry).map_err(|error| error.to_string())?;
    let (mut steps, mut records) = (0, 0);
    while let Some((step, replayed)) = replay.step() {
        steps += 1;
        records += replayed.trace.len();
        if let Some(difference) = &replayed.difference {
            report_problems(&replay);
            report_difference(&recording, &step, difference);
            return Ok(Exit::Problems);
        }
    }
    report_problems(&replay);
    outln!("{steps} ticks and halts replayed: the trace of {records} records is the same");
    Ok(Exit::Success)
}

fn report_problems(replay: &Replay) {
    let mut problems = replay.problems();
    problems.sort_unstable();
    problems.dedup();
    for problem in problems {
        errln!("not replayed: {problem}");
    }
}

fn report_difference(recording: &Recording, step: &Step, difference: &Difference) {
    let began = recording.records.first().map_or(step.time, |(time, _)| *time);
    outln!(
        "the trace differs in step {} ({:?}), {:.3} s after the beginning:",
        step.number,
        step.kind,
        step.time.since(began).as_secs_f64()
    );
    let words = |records: &[StoredRecord]| {
        records
            .get(difference.index)
            .map_or_else(|| "nothing more".to_owned(), |record| describe(recording, record))
    };
    outln!("  recorded: {}", words(&difference.recorded));
    outln!("  replayed: {}", words(&difference.replayed));
}

/// A record in words, with the path of its node.
fn describe(recording: &Recording, record: &StoredRecord) -> String {
    let nodes = &recording.navigation.nodes;
    let path = |node: crate::bt::NodeIndex| nodes.get(node.index()).map_or("?", |path| path.as_str());
    match record {
        StoredRecord::Changed { node, from, to } => format!("{} changes from {from} to {to}", path(*node)),
        StoredRecord::Halted { node, reason } => format!("{} is halted: {reason}", path(*node)),
        StoredRecord::Skipped(node) => format!("{} is skipped", path(*node)),
        StoredRecord::Wrote { slot, by, value, .. } => {
            let slots = &recording.navigation.slots;
            let key = slots.get(slot.index() as usize).map_or("?", |(_, key)| key);
            let by = by.map_or("the navigator", path);
            let value = value.as_ref().map(|value| value.to_json().to_string());
            format!("{by} writes `{key}`: {}", value.as_deref().unwrap_or("removed"))
        }
        other => format!("{other:?}"),
    }
}

/// Writes a scenario of the run.
fn write_scenario(arguments: &Arguments, file: &Path, registry: &Registry) -> Result<Exit, String> {
    let recording = read(arguments)?;
    let stem = arguments.file.file_stem().unwrap_or_default().to_string_lossy();
    let scenario = recorded_scenario::make(&recording, registry, &stem)?;
    std::fs::write(file, &scenario.text).map_err(|error| format!("{}: {error}", file.display()))?;
    let [ticks, all] = scenario.ticks;
    outln!(
        "{}: {ticks} of {all} ticks and halts, the others repeat the one before; run it with `navtree test {}`",
        file.display(),
        file.display()
    );
    let Some(differences) = scenario.differences else {
        return Ok(Exit::Success);
    };
    errln!("the scenario does not pass, because a node needs more than its mocks give it:\n{differences}");
    Ok(Exit::Problems)
}

/// Runs another tree, and tells what it does.
fn replay_other(arguments: &Arguments, tree: &Path, registry: Registry) -> Result<Exit, String> {
    super::check_paths_exist([&tree.to_path_buf()])?;
    let recording = read(arguments)?;
    let load = |registry: &Registry| {
        Loader::new(registry)
            .load_file(tree, arguments.tree_id.as_deref())
            .map(|loaded| loaded.def)
            .map_err(|refused| refused.to_string())
    };
    let mut replay = Replay::with_tree(&recording, registry, load).map_err(|error| error.to_string())?;
    let mut told: Vec<TimedRecord> = beginning(&recording);
    let mut stop = None;
    let mut changed = None;
    while let Some((step, replayed)) = replay.step() {
        let Replayed {
            trace,
            difference,
            unrecorded,
        } = replayed;
        if difference.is_some() {
            changed.get_or_insert(step.time);
        }
        told.extend(step.arrived.iter().map(|record| (step.time, record.clone())));
        told.extend(trace.into_iter().map(|record| (step.time, record)));
        if let Some(question) = unrecorded {
            stop = Some((step, question));
            break;
        }
    }
    report_problems(&replay);
    let mut navigation = recording.navigation.clone();
    let def = replay.definition();
    navigation.tree = def.id().to_owned();
    navigation.files = vec![tree.display().to_string()];
    super::out(&tell(&navigation, &told).to_string());
    let began = told.first().map_or(crate::bt::Time::ZERO, |(time, _)| *time);
    match stop {
        Some((step, question)) => outln!(
            "{:.2} s after the beginning, in step {}, the tree asks for {question}, which was not recorded",
            step.time.since(began).as_secs_f64(),
            step.number
        ),
        None => outln!("the recording answered all questions of the tree"),
    }
    if replay.stand_ins() > 0 {
        outln!("{} poses were taken from up to 0.25 s before", replay.stand_ins());
    }
    Ok(Exit::Success)
}

/// The names and the beginning of a recording.
fn beginning(recording: &Recording) -> Vec<TimedRecord> {
    let end = recording
        .records
        .iter()
        .position(|(_, record)| matches!(record, StoredRecord::Began(_)));
    let head = recording.records.get(..=end.unwrap_or(0)).unwrap_or_default();
    head.to_vec()
}
