//! `navtree coverage`: which nodes of a tree ran in recordings and scenarios, and with which results.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::palette::FolderRegistries;
use super::scenario::Scenario;
use super::show::{DrawingArguments, Format};
use super::{Exit, RegistryArguments, errln, mocks, outln};
use crate::bt::{NodeIndex, NodeKind, Registry, TreeDef};
use crate::monitor::drawing::{Mark, Marks, Shade};
use crate::record::Recording;
use crate::record::coverage::{Counts, Coverage};
use crate::xml::Loader;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tree file.
    tree: PathBuf,
    /// Recordings (`*.mcap`) and scenario files (`*.yaml`) of the tree, or directories of them.
    #[arg(required = true, value_name = "RECORDING|SCENARIOS")]
    runs: Vec<PathBuf>,
    /// ID of the tree. Default: the main tree of the file.
    #[arg(long, value_name = "ID")]
    tree_id: Option<String>,
    #[command(flatten)]
    drawing: DrawingArguments,
    /// Minimum share of nodes that must have run, in percent. Exit code 1 if fewer ran.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    require: Option<u8>,
    #[command(flatten)]
    registry: RegistryArguments,
}

pub(crate) fn run(arguments: &Arguments, registry: &Registry) -> Exit {
    cover(arguments, registry).unwrap_or_else(|message| {
        errln!("navtree coverage: {message}");
        Exit::Failed
    })
}

fn cover(arguments: &Arguments, registry: &Registry) -> Result<Exit, String> {
    super::check_paths_exist(std::iter::once(&arguments.tree).chain(&arguments.runs))?;
    let mut known = registry.clone();
    arguments.registry.apply(&arguments.tree, &mut known)?;
    let def = Loader::new(&known)
        .with_models()
        .load_file(&arguments.tree, arguments.tree_id.as_deref())
        .map(|loaded| loaded.def)
        .map_err(|refused| refused.to_string())?;
    let coverage = Coverage::new(&def);
    let mut registries = FolderRegistries::new(registry, &arguments.registry);
    let mut runs = 0;
    for file in super::files_below(&arguments.runs, &["mcap", "part", "yaml", "yml"])? {
        let is_scenario = file
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml");
        runs += if is_scenario {
            add_scenarios(&coverage, &file, &mut registries)?
        } else {
            add_recording(&coverage, &file)
        };
    }
    if runs == 0 {
        return Err("none of the files is a run of the tree".to_owned());
    }
    let report = Report::new(&def, coverage.counts());
    super::out(&arguments.drawing.draw(&def, &report.marks())?);
    if arguments.drawing.format == Format::Text {
        super::out(&report.lists());
        outln!("{} in {}", report.summary(), super::count_of(runs, "run"));
    }
    let is_enough = arguments
        .require
        .is_none_or(|percent| report.ran() * 100 >= usize::from(percent) * def.len());
    if is_enough {
        return Ok(Exit::Success);
    }
    errln!("fewer nodes ran than required: {}", report.summary());
    Ok(Exit::Problems)
}

/// Adds a recording. Returns the number of runs.
fn add_recording(coverage: &Coverage, file: &Path) -> usize {
    let read = Recording::read(file).map_err(|error| error.to_string());
    let added = read.and_then(|recording| {
        if let Some(damage) = &recording.damage {
            errln!(
                "{}: the rest of the file cannot be read: {damage}",
                file.display()
            );
        }
        coverage.add(&recording)
    });
    match added {
        Ok(0) => 1,
        Ok(unknown) => {
            errln!(
                "{}: {unknown} nodes of the recording are not in the tree",
                file.display()
            );
            1
        }
        Err(error) => {
            errln!("{}: {error}", file.display());
            0
        }
    }
}

/// Runs the scenarios of a file. Returns the number of those of the tree.
fn add_scenarios(
    coverage: &Coverage,
    file: &Path,
    registries: &mut FolderRegistries<'_>,
) -> Result<usize, String> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let registry = registries.of(directory)?;
    let mut runs = 0;
    for scenario in Scenario::read(file)? {
        let before = coverage.counts();
        if scenario
            .run_observed(directory, registry, Some(coverage))
            .is_err()
        {
            errln!(
                "{}: {}: the scenario fails; `navtree test` shows why",
                file.display(),
                scenario.name
            );
        }
        if coverage.counts() == before {
            errln!("{}: {}: not a run of the tree", file.display(), scenario.name);
        } else {
            runs += 1;
        }
    }
    Ok(runs)
}

/// The counts of a tree, in words and in colours.
struct Report {
    def: Arc<TreeDef>,
    counts: Vec<Counts>,
}

impl Report {
    fn new(def: &Arc<TreeDef>, counts: Vec<Counts>) -> Self {
        Self {
            def: Arc::clone(def),
            counts,
        }
    }

    fn counts(&self, node: NodeIndex) -> Counts {
        self.counts.get(node.index()).copied().unwrap_or_default()
    }

    fn has_run(&self, node: NodeIndex) -> bool {
        self.counts(node).ran > 0
    }

    /// Number of nodes that ran.
    fn ran(&self) -> usize {
        self.counts.iter().filter(|counts| counts.ran > 0).count()
    }

    fn marks(&self) -> Marks {
        let mark = |(node, _)| {
            let counts = self.counts(node);
            let shade = match (counts.ran, self.missing(node)) {
                (0, _) => Shade::Red,
                (_, None) => Shade::Green,
                (_, Some(_)) => Shade::Yellow,
            };
            let note = words(counts);
            (node, Mark { note, shade })
        };
        self.def.nodes().map(mark).collect()
    }

    /// The result that a leaf never had, although it ended.
    fn missing(&self, node: NodeIndex) -> Option<&'static str> {
        let counts = self.counts(node);
        match (counts.succeeded, counts.failed) {
            _ if counts.ran == 0 || !mocks::is_leaf(self.def.node(node)) => None,
            (0, 0) => Some("ended"),
            (0, _) => Some("succeeded"),
            (_, 0) => Some("failed"),
            _ => None,
        }
    }

    /// The second children of `RecoveryNode`.
    fn recoveries(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let recovery = |(node, info): (NodeIndex, &crate::bt::NodeInfo)| {
            (&*info.id == "RecoveryNode").then(|| self.def.children(node).nth(1))?
        };
        self.def.nodes().filter_map(recovery)
    }

    /// The children of nodes that choose between several.
    fn branches(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let parents = self
            .def
            .nodes()
            .filter(|(node, info)| info.kind == NodeKind::Control && self.def.children(*node).len() > 1);
        parents.flat_map(|(node, _)| self.def.children(node))
    }

    fn summary(&self) -> String {
        let share = |nodes: &mut dyn Iterator<Item = NodeIndex>| {
            let (mut ran, mut all) = (0_usize, 0_usize);
            for node in nodes {
                all += 1;
                ran += usize::from(self.has_run(node));
            }
            (ran, all)
        };
        let (ran, all) = share(&mut self.def.nodes().map(|(node, _)| node));
        let percent = ran * 100 / all.max(1);
        let branches = share(&mut self.branches());
        let recoveries = share(&mut self.recoveries());
        format!(
            "{ran} of {all} nodes ({percent} %), {} of {} branches and {} of {} recoveries ran",
            branches.0, branches.1, recoveries.0, recoveries.1
        )
    }

    /// What is missing.
    fn lists(&self) -> String {
        let mut out = String::new();
        let place = |node: NodeIndex| {
            let place = self.def.place(node);
            place.map_or_else(String::new, |place| format!(" ({place})"))
        };
        // Of a subtree that never ran, only the root.
        let is_topmost = |node: &NodeIndex| {
            let parent = self.def.node(*node).parent;
            !self.has_run(*node) && parent.is_none_or(|parent| self.has_run(parent))
        };
        let never: Vec<NodeIndex> = self
            .def
            .nodes()
            .map(|(node, _)| node)
            .filter(is_topmost)
            .collect();
        if !never.is_empty() {
            out.push_str("\nnever ran:\n");
        }
        for node in never {
            // A write to a string cannot fail.
            let _ = writeln!(out, "  {}{}", self.def.node(node).path, place(node));
        }
        let mut has_title = false;
        for (node, info) in self.def.nodes() {
            let Some(missing) = self.missing(node) else {
                continue;
            };
            if !std::mem::replace(&mut has_title, true) {
                out.push_str("\nleaves without one of their results:\n");
            }
            let _ = writeln!(out, "  {} never {missing}{}", info.path, place(node));
        }
        out.push('\n');
        out
    }
}

/// `ran 3 times: 1 succeeded, 2 failed`.
fn words(counts: Counts) -> String {
    let results = [
        (counts.succeeded, "succeeded"),
        (counts.failed, "failed"),
        (counts.halted, "halted"),
        (counts.skipped, "skipped"),
    ];
    let parts: Vec<String> = results
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let ran = match counts.ran {
        0 => "never ran".to_owned(),
        1 => "ran once".to_owned(),
        count => format!("ran {count} times"),
    };
    if parts.is_empty() {
        ran
    } else {
        format!("{ran}: {}", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::drawing::{Drawing, Layout};
    use crate::navigator::recording_tests::recordings_with_faults;

    fn default_tree() -> Arc<TreeDef> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("behavior_trees/navigate_to_pose.xml");
        Loader::new(&crate::nav::registry())
            .load_file(&file, None)
            .unwrap_or_else(|refused| panic!("{refused}"))
            .def
    }

    #[test]
    fn recordings_add_up_and_what_never_ran_is_named() {
        let def = default_tree();
        let coverage = Coverage::new(&def);
        let nothing = Report::new(&def, coverage.counts());
        assert_eq!(nothing.ran(), 0);
        assert!(
            nothing.lists().starts_with("\nnever ran:\n  Navigate"),
            "{}",
            nothing.lists()
        );
        for seed in 0..5 {
            for file in recordings_with_faults(seed) {
                let recording = Recording::from_bytes(&file).unwrap();
                assert_eq!(coverage.add(&recording), Ok(0));
            }
        }
        let report = Report::new(&def, coverage.counts());
        assert_eq!(report.counts(NodeIndex::ROOT).ran, 10);
        let (ran, all) = (report.ran(), def.len());
        assert!(ran > all / 2, "{}", report.summary());
        let marks = report.marks();
        let drawing = Drawing::new(&def, &marks, Layout::default());
        let text = drawing.text();
        assert!(text.contains("  # ran 10 times: "), "{text}");
        let svg = drawing.svg();
        assert!(svg.contains("ran 10 times: "), "{svg}");
    }

    #[test]
    fn counts_become_words() {
        let counts = Counts {
            ran: 3,
            succeeded: 1,
            failed: 2,
            ..Counts::default()
        };
        assert_eq!(words(counts), "ran 3 times: 1 succeeded, 2 failed");
        assert_eq!(words(Counts::default()), "never ran");
        let skipped = Counts {
            skipped: 2,
            ..Counts::default()
        };
        assert_eq!(words(skipped), "never ran: 2 skipped");
    }
}
