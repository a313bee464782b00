//! `navtree check`: reports all problems of tree files, each with its position.

use std::collections::{HashMap, HashSet};
use std::io::IsTerminal;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::palette::FolderRegistries;
use super::{Exit, Project, RegistryArguments, TreeArguments, TreeFiles, count_of, outln, tree_files};
use crate::bt::Registry;
use crate::xml::{
    AmentIndex, Checked, Code, Colour, Diagnostic, Disk, Files, Levels, Loader, Overlay, Severity, Sources,
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tree files, or directories to search for tree files (`*.xml` with the root element `root`). A file is checked with the files that it includes, and with those
    /// of the others that define the trees that it uses.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    registry: RegistryArguments,
    /// Main tree. All files are then checked as one set, as if one program registered them.
    #[arg(long, value_name = "ID")]
    main: Option<String>,
    /// Check for a node whose parameter `latch_on_activation` is true: GoalUpdated, DistanceTraveled and TimeExpired then
    /// forget their reference when a reactive parent resets them.
    #[arg(long)]
    latch_on_activation: bool,
    /// Change the files: apply each fix that is the only answer and makes no new problem. Included files that are not
    /// named stay as they are.
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    trees: TreeArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Text with excerpts of the file.
    Text,
    /// One line per problem.
    Short,
    /// JSON array of objects.
    Json,
    /// SARIF 2.1.0 for code hosts and editors.
    Sarif,
}

pub(crate) fn run(arguments: &Arguments, mut registry: Registry) -> Exit {
    registry.set_latch_on_activation(arguments.latch_on_activation);
    let mut registries = FolderRegistries::new(&registry, &arguments.registry);
    let outcome = super::check_paths_exist(&arguments.paths)
        .and_then(|()| Inputs::read(&arguments.paths, &arguments.trees, &mut registries));
    let inputs = match outcome {
        Ok(inputs) => inputs,
        Err(message) => return failed(&message),
    };
    let check = |overlay: &Overlay| check_all(arguments, registries.projects(), &inputs, overlay);
    if !arguments.fix {
        return report(arguments.format, check(&Overlay::default()), &inputs);
    }
    match super::fix::run(&inputs.files, &check) {
        Ok(fixed) => {
            for line in &fixed.repaired.lines {
                match arguments.format {
                    Format::Text | Format::Short => outln!("fixed: {line}"),
                    Format::Json | Format::Sarif => super::errln!("fixed: {line}"),
                }
            }
            let exit = report(arguments.format, fixed.repaired.rest, &inputs);
            fixed.left.iter().fold(exit, |_, message| failed(message))
        }
        Err(message) => failed(&message),
    }
}

fn failed(message: &str) -> Exit {
    super::errln!("navtree check: {message}");
    Exit::Failed
}

/// The files to check.
struct Inputs {
    files: Vec<PathBuf>,
    /// Number of XML files of other kinds.
    skipped: usize,
    /// The number of the project of each file.
    projects: Vec<usize>,
    /// The levels of each project.
    levels: Vec<Levels>,
}

impl Inputs {
    fn read(
        paths: &[PathBuf],
        trees: &TreeArguments,
        registries: &mut FolderRegistries<'_>,
    ) -> Result<Self, String> {
        let TreeFiles { files, skipped } = tree_files(paths)?;
        let folders = files.iter().map(|file| file.parent().unwrap_or(Path::new("")));
        let projects = folders.map(|folder| registries.number_of(folder));
        let projects = projects.collect::<Result<Vec<_>, _>>()?;
        let levels = registries
            .projects()
            .iter()
            .map(|(project, _)| trees.levels(project));
        Ok(Self {
            levels: levels.collect::<Result<_, _>>()?,
            files,
            skipped,
            projects,
        })
    }
}

/// Checks all sets of files, each file with the nodes and levels of its project.
fn check_all(
    arguments: &Arguments,
    projects: &[(Project, Registry)],
    inputs: &Inputs,
    overlay: &Overlay,
) -> Vec<Checked> {
    let files = &inputs.files;
    let Some((_, registry)) = inputs.projects.first().and_then(|first| projects.get(*first)) else {
        return Vec::new();
    };
    let loader = Loader::new(registry)
        .with_models()
        .files(overlay, AmentIndex::from_environment())
        .main(arguments.main.as_deref())
        .beside(files);
    #[cfg(feature = "ros")]
    let loader = loader.trial(&dry_run);
    let nodes = projects.iter().map(|(_, registry)| registry);
    let loaders = nodes.zip(&inputs.levels);
    let loaders: Vec<Loader<'_>> = loaders
        .map(|(registry, levels)| loader.for_project(registry, levels.clone()))
        .collect();
    if arguments.main.is_some() {
        // One program has one set of nodes: those of the project of the first file.
        let all: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        return vec![loaders[inputs.projects[0]].check_files(&all)];
    }
    // Each file alone with the files that it needs: two files of one directory may contain trees with the same ID.
    let files = files.iter().zip(&inputs.projects);
    let files = files.filter(|(file, _)| !loader.is_part(file));
    files
        .map(|(file, project)| loaders[*project].check_files(&[file]))
        .collect()
}

/// Prints the problems.
fn report(format: Format, checked: Vec<Checked>, inputs: &Inputs) -> Exit {
    let colour = if std::io::stdout().is_terminal() {
        Colour::Always
    } else {
        Colour::Never
    };
    let (mut errors, mut warnings) = (0, 0);
    let mut reported = ReportedProblems::default();
    let mut values = Vec::new();
    for Checked {
        mut diagnostics,
        sources,
    } in checked
    {
        diagnostics.regrade(|problem| reported.is_new(problem, &sources).then_some(problem.severity));
        errors += diagnostics.count(Severity::Error);
        warnings += diagnostics.count(Severity::Warning);
        match format {
            Format::Text => {
                for diagnostic in &diagnostics {
                    outln!("{}", diagnostic.render(&sources, colour));
                }
            }
            Format::Short => {
                for diagnostic in &diagnostics {
                    outln!("{}", diagnostic.one_line(&sources));
                }
            }
            Format::Json => values.push(diagnostics.to_json(&sources)),
            Format::Sarif => values.push(diagnostics.to_sarif(&sources)),
        }
    }
    match format {
        Format::Text => {
            outln!(
                "{}: {}, {}",
                count_of(inputs.files.len(), "file"),
                count_of(errors, "error"),
                count_of(warnings, "warning")
            );
            let skipped = inputs.skipped;
            if skipped > 0 {
                outln!(
                    "{} skipped: the root element is not `root`",
                    count_of(skipped, "XML file")
                );
            }
        }
        Format::Short => {}
        Format::Json => outln!("{:#}", concatenate_arrays(values)),
        Format::Sarif => outln!("{:#}", concatenate_sarif_logs(values)),
    }
    if errors == 0 {
        Exit::Success
    } else {
        Exit::Problems
    }
}

/// The problems reported so far: a file that several others include is read again with each of them.
#[derive(Default)]
struct ReportedProblems {
    problems: HashSet<(Code, String, PathBuf, Range<u32>)>,
    /// The unique name of each file.
    files: HashMap<String, PathBuf>,
}

impl ReportedProblems {
    fn is_new(&mut self, diagnostic: &Diagnostic, sources: &Sources) -> bool {
        let span = diagnostic.primary.span;
        let Some(file) = sources.get(span.file) else {
            return true;
        };
        let entry = self.files.entry(file.name().to_owned());
        let identity = entry
            .or_insert_with(|| Disk.identity(Path::new(file.name())))
            .clone();
        let problem = (
            diagnostic.code,
            diagnostic.message.clone(),
            identity,
            span.start..span.end,
        );
        self.problems.insert(problem)
    }
}

/// The errors for which the node refuses the tree. Finds only errors that need no running servers.
#[cfg(feature = "ros")]
pub(super) fn dry_run(def: &std::sync::Arc<crate::bt::TreeDef>) -> Vec<(crate::bt::Span, String)> {
    crate::nav::dry_run_with_spans(def, Box::new(crate::ros::DryRun::default()))
}

/// Concatenates JSON arrays.
fn concatenate_arrays(values: Vec<serde_json::Value>) -> serde_json::Value {
    values
        .into_iter()
        .filter_map(|value| value.as_array().cloned())
        .flatten()
        .collect()
}

/// Concatenates SARIF logs to one log with one run per file.
fn concatenate_sarif_logs(values: Vec<serde_json::Value>) -> serde_json::Value {
    let mut logs = values.into_iter();
    let Some(mut log) = logs.next() else {
        return serde_json::Value::Null;
    };
    for other in logs {
        if let (Some(runs), Some(other_runs)) = (log["runs"].as_array_mut(), other["runs"].as_array()) {
            runs.extend(other_runs.iter().cloned());
        }
    }
    log
}
