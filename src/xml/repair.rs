//! Applies fixes until none is left, in memory: the work of `navtree check --fix`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::bt::Confidence;

use super::code::{Code, Severity};
use super::diagnostic::Diagnostic;
use super::files::{Disk, Files};
use super::fix::apply;
use super::load::Checked;
use super::overlay::Overlay;
use super::source::Sources;

/// Maximum number of checks with all fixes of the one before. A fix can bring another problem to light.
const ROUNDS: usize = 50;

/// Maximum number of fixes that are tried one by one, if all of a round together make new problems.
const SINGLE_TRIALS: usize = 200;

/// A fix, with the files by [`Files::identity`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Patch {
    /// The kind of the problem, its message and its file. This stays the same when the text before it changes.
    cause: (Code, String, PathBuf),
    /// The problem and its fix, for people.
    line: String,
    edits: BTreeMap<PathBuf, Vec<(usize, usize, String)>>,
}

impl Patch {
    /// Whether the problem is one of the XML text. Its fix never changes a meaning, and can bring problems to light.
    fn is_of_text(&self) -> bool {
        self.cause.0 < Code::WrongRoot
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.edits.iter().any(|(file, edits)| {
            let others = other.edits.get(file).map_or(&[][..], Vec::as_slice);
            let meet = |(a, a_end, _): &(usize, usize, String), (b, b_end, _): &(usize, usize, String)| {
                a == b || (a < b_end && b < a_end)
            };
            edits
                .iter()
                .any(|edit| others.iter().any(|other| meet(edit, other)))
        })
    }
}

/// A file with fixes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepairedFile {
    /// Its text before.
    pub before: String,
    /// Its text with all fixes.
    pub after: String,
}

/// The outcome of [`Repair::run`].
#[derive(Debug, Default)]
pub struct Repaired {
    /// The files with fixes, by [`Files::identity`].
    pub files: BTreeMap<PathBuf, RepairedFile>,
    /// One line for each fix, in order.
    pub lines: Vec<String>,
    /// The problems that are left.
    pub rest: Vec<Checked>,
}

/// Applies the fixes of problems that have only one answer.
pub struct Repair<'r> {
    /// Checks the files.
    check: &'r dyn Fn(&Overlay) -> Vec<Checked>,
    /// The files that may change, by [`Files::identity`].
    files: BTreeSet<PathBuf>,
    overlay: Overlay,
    repaired: Repaired,
    /// The causes of fixes that would make new problems.
    refused: HashSet<(Code, String, PathBuf)>,
}

impl<'r> Repair<'r> {
    /// Prepares the repair of `files`, and of no other file that they include. `check` checks them.
    pub fn new(files: &[PathBuf], check: &'r dyn Fn(&Overlay) -> Vec<Checked>) -> Self {
        Self {
            check,
            files: files.iter().map(|path| Disk.identity(path)).collect(),
            overlay: Overlay::default(),
            repaired: Repaired::default(),
            refused: HashSet::new(),
        }
    }

    /// Applies fixes until none is left. No fix is applied that would make a new problem.
    pub fn run(mut self) -> Repaired {
        let mut checked = (self.check)(&self.overlay);
        for _ in 0..ROUNDS {
            let patches = self.patches(&checked);
            if patches.is_empty() {
                break;
            }
            match self.attempt(&patches, &checked) {
                Some(next) => checked = next,
                None => checked = self.one_by_one(&patches, checked),
            }
        }
        self.repaired.rest = checked;
        self.repaired
    }

    /// The fixes to apply now: sure, of files that may change, and without overlaps.
    fn patches(&self, checked: &[Checked]) -> Vec<Patch> {
        let all: BTreeSet<Patch> = checked
            .iter()
            .flat_map(|checked| {
                let of = |problem| patch(problem, &checked.sources);
                checked.diagnostics.iter().filter_map(of)
            })
            .filter(|patch| patch.edits.keys().all(|file| self.files.contains(file)))
            .filter(|patch| !self.refused.contains(&patch.cause))
            .collect();
        // Until the text is well-formed, the other problems can be wrong.
        let of_text = all.iter().any(Patch::is_of_text);
        let mut chosen: Vec<Patch> = Vec::new();
        for patch in all.into_iter().filter(|patch| patch.is_of_text() || !of_text) {
            if !chosen.iter().any(|other| patch.overlaps(other)) {
                chosen.push(patch);
            }
        }
        chosen
    }

    /// Applies fixes if this makes no new problems. Returns the new problems.
    fn attempt(&mut self, patches: &[Patch], before: &[Checked]) -> Option<Vec<Checked>> {
        let mut edits: BTreeMap<&Path, Vec<(Range<usize>, &str)>> = BTreeMap::new();
        for (file, changes) in patches.iter().flat_map(|patch| &patch.edits) {
            let changes = changes
                .iter()
                .map(|(start, end, text)| (*start..*end, text.as_str()));
            edits.entry(file).or_default().extend(changes);
        }
        let mut overlay = self.overlay.clone();
        let mut files = self.repaired.files.clone();
        for (path, edits) in edits {
            let text = text_of(path, before)?;
            let after = apply(text, edits)?;
            let file = files.entry(path.to_path_buf()).or_insert_with(|| RepairedFile {
                before: text.to_owned(),
                after: String::new(),
            });
            file.after.clone_from(&after);
            overlay.set(path, after);
        }
        let checked = (self.check)(&overlay);
        let (was, is) = (tally(before), tally(&checked));
        // What stood behind an error can have a lesser problem.
        let makes_problems = is.0 > was.0 || (is.0 == was.0 && is.1 > was.1);
        if makes_problems && !patches.iter().all(Patch::is_of_text) {
            return None;
        }
        self.overlay = overlay;
        self.repaired.files = files;
        self.repaired
            .lines
            .extend(patches.iter().map(|patch| patch.line.clone()));
        Some(checked)
    }

    /// Applies each fix that makes no new problems, and refuses the others.
    fn one_by_one(&mut self, patches: &[Patch], mut checked: Vec<Checked>) -> Vec<Checked> {
        let causes: Vec<_> = patches.iter().map(|patch| patch.cause.clone()).collect();
        for cause in causes.iter().take(SINGLE_TRIALS) {
            // The text before may have changed.
            let Some(patch) = self
                .patches(&checked)
                .into_iter()
                .find(|patch| patch.cause == *cause)
            else {
                continue;
            };
            match self.attempt(&[patch], &checked) {
                Some(next) => checked = next,
                None => {
                    self.refused.insert(cause.clone());
                }
            }
        }
        self.refused.extend(causes.into_iter().skip(SINGLE_TRIALS));
        checked
    }
}

/// The fix of a problem, if it is the only answer.
fn patch(problem: &Diagnostic, sources: &Sources) -> Option<Patch> {
    let fix = problem.fix.as_ref()?;
    if fix.confidence != Confidence::Sure {
        return None;
    }
    let path = |file| Some(Disk.identity(Path::new(sources.get(file)?.name())));
    let mut edits: BTreeMap<PathBuf, Vec<(usize, usize, String)>> = BTreeMap::new();
    for edit in &fix.edits {
        let range = (
            edit.span.start as usize,
            edit.span.end as usize,
            edit.text.clone(),
        );
        edits.entry(path(edit.span.file)?).or_default().push(range);
    }
    let file = path(problem.primary.span.file)?;
    Some(Patch {
        cause: (problem.code, problem.message.clone(), file),
        line: format!("{}: {}", problem.one_line(sources), fix.title),
        edits,
    })
}

/// The text of a file in the last check.
fn text_of<'c>(path: &Path, checked: &'c [Checked]) -> Option<&'c str> {
    let files = checked.iter().flat_map(|checked| checked.sources.iter());
    let mut here = files.filter(|file| Disk.identity(Path::new(file.name())) == path);
    here.next().map(|file| file.text())
}

/// The number of errors, and of all problems. A problem of a file that several others include counts once.
fn tally(checked: &[Checked]) -> (usize, usize) {
    let mut seen = HashSet::new();
    let (mut errors, mut all) = (0, 0);
    for Checked { diagnostics, sources } in checked {
        for problem in diagnostics {
            let span = problem.primary.span;
            let file = sources.get(span.file).map_or("", |file| file.name());
            if seen.insert((file, span.start, span.end, problem.code, &problem.message)) {
                errors += usize::from(problem.severity == Severity::Error);
                // One problem of a name can have many places.
                all += 1 + problem
                    .secondary
                    .iter()
                    .filter(|it| it.text == "here too")
                    .count();
            }
        }
    }
    (errors, all)
}
