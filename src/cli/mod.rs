//! The command line: one file per command. Exit codes: 0 success, 1 the trees have problems, 2 could not run.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand};

use crate::bt::Registry;

mod check;
mod completions;
mod convert;
mod coverage;
#[cfg(feature = "ros")]
mod drive;
#[cfg(feature = "ros")]
mod drive_display;
mod expectations;
mod explain;
mod fix;
#[cfg(test)]
mod fix_tests;
mod log;
mod lsp;
mod mock_run;
mod mocks;
mod models;
mod palette;
mod preview;
mod project;
mod recorded_scenario;
mod replay;
#[cfg(feature = "ros")]
mod run;
mod scenario;
mod show;
mod test;
mod top;
mod trace;
mod view;
mod yaml;

use palette::{PaletteArguments, RegistryArguments};
use project::Project;

/// The outcome of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Success.
    Success,
    /// The command ran, and the trees have problems.
    Problems,
    /// The command could not run.
    Failed,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Problems => Self::from(1),
            Exit::Failed => Self::from(2),
        }
    }
}

/// Behavior trees for robot navigation. Without a command, navtree runs the ROS 2 node `bt_navigator`.
#[derive(Parser)]
#[command(name = "navtree", version, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Check tree files and report all problems with their positions.
    Check(check::Arguments),
    /// Describe problems that `navtree check` reports.
    Explain(explain::Arguments),
    /// Show a tree.
    Show(show::Arguments),
    /// Run a tree with scripted leaves on a virtual clock.
    Trace(trace::Arguments),
    /// Run scenarios: trees with scripted leaves and their expected results.
    Test(test::Arguments),
    /// Convert a version 3 file to version 4. Comments, order and layout stay.
    Convert(convert::Arguments),
    /// Print the palette for Groot, the XML schema or the node reference page.
    Models(models::Arguments),
    /// Print the completion script for a shell.
    Completions(completions::Arguments),
    /// Tell a recorded navigation: what was tried, what failed and why, what recovered.
    Log(log::Arguments),
    /// Run the inputs of a recorded navigation through its tree again, or through another one.
    Replay(replay::Arguments),
    /// Count which nodes of a tree ran, succeeded, failed and were halted in recordings and scenarios.
    Coverage(coverage::Arguments),
    /// Show a recording or a tree in the browser.
    View(view::Arguments),
    /// Show nodes that run, or recordings, in the terminal.
    Top(top::Arguments),
    /// Serve an editor: problems, completion and renaming while a tree is written.
    Lsp(lsp::Arguments),
    /// Send a navigation goal and show the tree while it runs.
    #[cfg(feature = "ros")]
    Drive(drive::Arguments),
    /// Run the ROS 2 node `bt_navigator` (the default).
    #[cfg(feature = "ros")]
    Run(run::Arguments),
}

/// Runs the program with the nodes of BehaviorTree.CPP, navtree and Nav2.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    main_with(arguments, crate::nav::registry())
}

/// Runs the program with other nodes. This is the whole `main` of a program with its own nodes. All commands use them,
/// including the ROS node.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>, registry: Registry) -> ExitCode {
    let arguments = without_ros_arguments(arguments);
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let exit = match parsed.command {
        Some(Command::Check(arguments)) => check::run(&arguments, registry),
        Some(Command::Explain(arguments)) => explain::run(&arguments),
        Some(Command::Show(arguments)) => show::run(&arguments, registry),
        Some(Command::Trace(arguments)) => trace::run(&arguments, registry),
        Some(Command::Test(arguments)) => test::run(&arguments, &registry),
        Some(Command::Convert(arguments)) => convert::run(&arguments, &registry),
        Some(Command::Models(arguments)) => models::run(&arguments, registry),
        Some(Command::Completions(arguments)) => completions::run(&arguments),
        Some(Command::Log(arguments)) => log::run(&arguments),
        Some(Command::Replay(arguments)) => replay::run(&arguments, registry),
        Some(Command::Coverage(arguments)) => coverage::run(&arguments, &registry),
        Some(Command::View(arguments)) => view::run(&arguments, registry),
        Some(Command::Top(arguments)) => top::run(&arguments, &registry),
        Some(Command::Lsp(arguments)) => lsp::run(&arguments, registry),
        #[cfg(feature = "ros")]
        Some(Command::Drive(arguments)) => drive::run(&arguments, &registry),
        #[cfg(feature = "ros")]
        Some(Command::Run(arguments)) => return run::run(&arguments, registry),
        #[cfg(feature = "ros")]
        None => return run::run(&run::Arguments::default(), registry),
        #[cfg(not(feature = "ros"))]
        None => {
            errln!("navtree: this build has no ROS node: run `navtree --help` for its commands");
            Exit::Failed
        }
    };
    // An incomplete output is not a result.
    if IS_OUTPUT_LOST.load(Ordering::Relaxed) {
        Exit::Failed.into()
    } else {
        exit.into()
    }
}

/// Prints to standard output. A closed reader is not an error.
macro_rules! outln {
    ($($argument:tt)*) => { $crate::cli::out(&format!("{}\n", format_args!($($argument)*))) };
}
pub(crate) use outln;

/// Prints to standard error. A closed reader is not an error.
macro_rules! errln {
    ($($argument:tt)*) => { $crate::cli::err(&format!("{}\n", format_args!($($argument)*))) };
}
pub(crate) use errln;

/// Prints a text to standard error.
pub(crate) fn err(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writing to standard output has failed.
static IS_OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

/// Prints a text as it is.
pub(crate) fn out(text: &str) {
    use std::io::{ErrorKind, Write};
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
        && !IS_OUTPUT_LOST.swap(true, Ordering::Relaxed)
    {
        errln!("navtree: standard output: {error}");
    }
}

/// Removes `--ros-args … [--]`, which rcl reads.
fn without_ros_arguments(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut is_ros_argument = false;
    let mut other_arguments = Vec::new();
    for argument in arguments {
        match argument.to_str() {
            Some("--ros-args") => is_ros_argument = true,
            Some("--") if is_ros_argument => is_ros_argument = false,
            _ if is_ros_argument => {}
            _ => other_arguments.push(argument),
        }
    }
    other_arguments
}

/// Options of every command that reads trees.
#[derive(clap::Args)]
pub(crate) struct TreeArguments {
    /// Show warnings with this code (or `warnings`: all) as warnings.
    #[arg(short = 'W', long = "warn", value_name = "CODE")]
    warn: Vec<String>,
    /// Treat warnings with this code (or `warnings`: all) as errors.
    #[arg(short = 'D', long = "deny", value_name = "CODE")]
    deny: Vec<String>,
    /// Do not show warnings with this code (or `warnings`: all).
    #[arg(short = 'A', long = "allow", value_name = "CODE")]
    allow: Vec<String>,
}

impl TreeArguments {
    /// Returns whether the user requested warnings of this code, for a command that shows no warnings by default.
    pub(crate) fn is_warning_requested(&self, code: crate::xml::Code) -> bool {
        self.warn
            .iter()
            .any(|requested| requested == "warnings" || requested.parse() == Ok(code))
    }

    /// The levels of the project, and those of the command line, which override them. For the same code, deny overrides
    /// warn, and warn overrides allow, in any order.
    pub(crate) fn levels(&self, project: &Project) -> Result<crate::xml::Levels, String> {
        use crate::xml::{Code, Level, Levels, Severity};
        let mut levels = Levels::new();
        for (codes, level) in [
            (&project.allow, Level::Allow),
            (&project.warn, Level::Warn),
            (&project.deny, Level::Deny),
            (&self.allow, Level::Allow),
            (&self.warn, Level::Warn),
            (&self.deny, Level::Deny),
        ] {
            for code in codes {
                if code == "warnings" {
                    levels.set_warnings(level);
                    continue;
                }
                let code: Code = code.parse().map_err(|error| {
                    format!("{error}: codes look like NT0406, and docs/diagnostics.md lists them")
                })?;
                if code.severity() == Severity::Error {
                    return Err(format!(
                        "{code} is an error: {} Errors cannot be silenced",
                        code.explanation()
                    ));
                }
                levels.set(code, level);
            }
        }
        Ok(levels)
    }
}

/// Checks that the paths of the command line exist. A command with a wrong path cannot run; a tree with a wrong include
/// has a problem.
pub(crate) fn check_paths_exist<'p, P: AsRef<Path> + ?Sized + 'p>(
    paths: impl IntoIterator<Item = &'p P>,
) -> Result<(), String> {
    for path in paths {
        let path = path.as_ref();
        std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The tree files of the paths.
pub(crate) struct TreeFiles {
    pub(crate) files: Vec<PathBuf>,
    /// Number of XML files of other kinds in the directories.
    pub(crate) skipped: usize,
}

/// A number with its noun, as "1 file" and "2 files".
pub(crate) fn count_of(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// All tree files of the paths: files unchanged, and directories with all tree files below them, sorted.
pub(crate) fn tree_files(paths: &[PathBuf]) -> Result<TreeFiles, String> {
    use crate::xml::{Disk, Files, may_hold_trees};
    let all = files_below(paths, &["xml"])?;
    let count = all.len();
    // A check reports a file that cannot be read.
    let is_tree = |path: &PathBuf| Disk.read(path).map_or(true, |bytes| may_hold_trees(&bytes));
    let files: Vec<PathBuf> = all
        .into_iter()
        .filter(|path| paths.contains(path) || is_tree(path))
        .collect();
    let skipped = count - files.len();
    if files.is_empty() {
        return Err(format!(
            "no tree file: the root element of {} is not `root`",
            count_of(skipped, "XML file")
        ));
    }
    Ok(TreeFiles { files, skipped })
}

/// All files of the paths with one of the extensions.
pub(crate) fn files_below(paths: &[PathBuf], extensions: &[&str]) -> Result<Vec<PathBuf>, String> {
    let has_extension = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extensions.iter().any(|known| extension == *known))
    };
    let mut files = Vec::new();
    let mut pending: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    // A directory may contain a link to itself, and two such links produce too many paths.
    let mut visited = HashSet::new();
    while let Some(path) = pending.pop() {
        let with_path = |error: std::io::Error| format!("{}: {error}", path.display());
        if path.is_dir() {
            if !visited.insert(path.canonicalize().map_err(with_path)?) {
                continue;
            }
            let entries = std::fs::read_dir(&path).map_err(with_path)?;
            let mut children: Vec<PathBuf> = entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.is_dir() || has_extension(path))
                .collect();
            children.sort_by(|a, b| b.cmp(a));
            pending.append(&mut children);
        } else {
            files.push(path);
        }
    }
    if files.is_empty() {
        let searched: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(format!(
            "no *.{} file in {}",
            extensions.join(" or *."),
            searched.join(", ")
        ));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::without_ros_arguments;

    #[test]
    fn ros_arguments_are_removed() {
        let all = [
            "navtree",
            "--ros-args",
            "-r",
            "a:=b",
            "--",
            "check",
            "x.xml",
            "--ros-args",
            "-p",
            "x:=1",
        ];
        assert_eq!(
            without_ros_arguments(all.map(Into::into)),
            ["navtree", "check", "x.xml"]
        );
    }
}
