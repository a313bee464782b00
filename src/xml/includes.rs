//! Reads a file and all its includes, each once, in the order of precedence of their trees.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::code::{Code, Severity};
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Attribute, Document, Element, NodeId};
use super::files::{AmentIndex, Files};
use super::fix::Fix;
use super::format::Format;
use super::limits;
use super::source::{FileId, SourceFile, Sources, Span};

/// The documents of one load.
#[derive(Debug, Default)]
pub struct Documents {
    /// Included files come before the files that include them, in the order in which BehaviorTree.CPP registers their
    /// trees: if two trees have the same name, the later one counts.
    pub documents: Vec<Document>,
    /// The texts.
    pub sources: Sources,
    /// The requested files, in order. These include the others.
    entries: Vec<FileId>,
    /// The index of the document of each file.
    places: HashMap<FileId, usize>,
    /// The number of documents whose trees all count. Of the other documents, only the trees that are missing count.
    own: Option<usize>,
    /// The first file that includes each file.
    included_by: HashMap<FileId, FileId>,
}

impl Documents {
    /// The requested document; the first one of several.
    pub fn entry(&self) -> Option<&Document> {
        self.document(*self.entries.first()?)
    }

    /// The document of a file.
    pub fn document(&self, file: FileId) -> Option<&Document> {
        self.documents.get(*self.places.get(&file)?)
    }

    /// Lets all documents after those of the first file count only for trees that are missing.
    pub(super) fn only_first_counts(&mut self) {
        let entry = self.entries.first().and_then(|file| self.places.get(file));
        self.own = entry.map(|place| place + 1);
    }

    /// Whether all trees of a file count.
    pub(super) fn is_own(&self, file: FileId) -> bool {
        let place = self.places.get(&file).copied();
        self.own.is_none_or(|own| place.is_some_and(|place| place < own))
    }

    /// Reads the file at `path` and everything it includes.
    pub fn read_file(
        path: &Path,
        files: &dyn Files,
        index: &AmentIndex,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        Self::read_files(&[path], files, index, diagnostics)
    }

    /// Reads several files, as if one more file included them all.
    pub fn read_files(
        paths: &[&Path],
        files: &dyn Files,
        index: &AmentIndex,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut loader = Loader::new(files, index, diagnostics);
        for path in paths {
            let identity = files.identity(path);
            if loader.known.contains_key(&identity) {
                continue;
            }
            if let Some(source) = loader.read(path, None) {
                loader.run(&source, identity);
            }
        }
        loader.loaded
    }

    /// The version of each document. A document that does not determine it has the version of the file that includes
    /// it.
    pub fn formats(&self, diagnostics: &mut Diagnostics) -> HashMap<FileId, Format> {
        let mut formats = HashMap::new();
        // Including files come after the included ones.
        for document in self.documents.iter().rev() {
            let including = self.included_by.get(&document.file());
            let inherited = including.and_then(|file| formats.get(file)).copied();
            formats.insert(document.file(), Format::of(document, inherited, diagnostics));
        }
        formats
    }

    /// Reads `text`, whose relative includes start from `directory`.
    pub fn read_text(
        name: &str,
        text: String,
        directory: &Path,
        files: &dyn Files,
        index: &AmentIndex,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut loader = Loader::new(files, index, diagnostics);
        let source = loader.loaded.sources.add_text(name, directory, text);
        loader.run(&source, PathBuf::from(name));
        loader.loaded
    }
}

struct Loader<'a> {
    files: &'a dyn Files,
    index: &'a AmentIndex,
    diagnostics: &'a mut Diagnostics,
    loaded: Documents,
    bytes: usize,
    /// The files that are read or being read, by [`Files::identity`].
    known: HashMap<PathBuf, ReadState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// Its includes are being read. Another include of it is a cycle.
    Open,
    Done,
}

/// A file whose includes are being read. A list of these is the chain of includes. There is no recursion, because files
/// can make the chain arbitrarily long.
struct Open {
    document: Document,
    identity: PathBuf,
    /// `<include>` elements, last one first.
    includes: Vec<NodeId>,
    /// The current `<include>` of this file.
    following: Option<Span>,
}

impl<'a> Loader<'a> {
    fn new(files: &'a dyn Files, index: &'a AmentIndex, diagnostics: &'a mut Diagnostics) -> Self {
        Self {
            files,
            index,
            diagnostics,
            loaded: Documents::default(),
            bytes: 0,
            known: HashMap::new(),
        }
    }

    fn run(&mut self, entry: &Arc<SourceFile>, identity: PathBuf) {
        self.loaded.entries.push(entry.id());
        let mut chain = vec![self.open(entry, identity)];
        while let Some(current) = chain.last_mut() {
            let next = current.includes.pop();
            let Some(element) = next.and_then(|id| current.document.element(id)) else {
                if let Some(done) = chain.pop() {
                    self.known.insert(done.identity, ReadState::Done);
                    let place = self.loaded.documents.len();
                    self.loaded.places.insert(done.document.file(), place);
                    self.loaded.documents.push(done.document);
                }
                continue;
            };
            let (place, path) = (include_place(element), self.resolve(element));
            current.following = Some(place);
            let Some(path) = path else { continue };
            let identity = self.files.identity(&path);
            match self.known.get(&identity) {
                Some(ReadState::Open) => self.cycle(&chain, &identity, place),
                // One read is sufficient: the same text would define the same trees again.
                Some(ReadState::Done) => {}
                None => {
                    if let Some(source) = self.read(&path, Some(place)) {
                        self.loaded.included_by.insert(source.id(), place.file);
                        chain.push(self.open(&source, identity));
                    } else {
                        self.known.insert(identity, ReadState::Done);
                    }
                }
            }
        }
    }

    fn open(&mut self, source: &Arc<SourceFile>, identity: PathBuf) -> Open {
        self.known.insert(identity.clone(), ReadState::Open);
        let document = Document::parse(source, self.diagnostics);
        let mut includes: Vec<NodeId> = document
            .root()
            .iter()
            .flat_map(|root| root.children())
            .filter(|child| child.name() == "include")
            .map(Element::id)
            .collect();
        includes.reverse();
        Open {
            document,
            identity,
            includes,
            following: None,
        }
    }

    /// The path of an `<include>`.
    fn resolve(&mut self, include: Element<'_>) -> Option<PathBuf> {
        let Some(path) = include.attribute("path").filter(|path| !path.value().is_empty()) else {
            let problem = Diagnostic::new(
                Code::IncludeWithoutPath,
                include.start_tag_span(),
                "`<include>` without `path`",
            )
            .help("write `<include path=\"other.xml\"/>`");
            self.diagnostics.push(problem);
            return None;
        };
        let package = include.attribute("ros_pkg");
        let target = Path::new(path.value());
        match package {
            Some(package) if target.is_absolute() => {
                let message = "`ros_pkg` has no effect with an absolute path";
                let problem = Diagnostic::new(Code::PackageIgnored, package.span(), message)
                    .also(path.value_span(), "absolute")
                    .help("remove `ros_pkg`")
                    .fix(Fix::remove_attribute(package, include.document()));
                self.diagnostics.push(problem);
                Some(target.to_path_buf())
            }
            Some(package) => {
                let share = self.index.share(package.value(), self.files);
                if share.is_none() {
                    let help = if self.index.is_empty() {
                        "AMENT_PREFIX_PATH is empty: source the workspace that holds the package"
                    } else {
                        "no prefix in AMENT_PREFIX_PATH holds this package: source its workspace"
                    };
                    let message = format!("package `{}` is not found", package.value());
                    let problem =
                        Diagnostic::new(Code::UnknownPackage, package.value_span(), message).help(help);
                    self.diagnostics.push(problem);
                }
                Some(share?.join(target))
            }
            None => Some(include.document().source().directory().join(target)),
        }
    }

    /// Reads one file. `include` is the position of the include, if another file includes it.
    fn read(&mut self, path: &Path, include: Option<Span>) -> Option<Arc<SourceFile>> {
        if self.loaded.sources.iter().count() >= limits::FILES {
            if let Some(place) = include {
                let message = format!("more than {} files are included", limits::FILES);
                self.diagnostics
                    .push(Diagnostic::new(Code::TooManyFiles, place, message));
            }
            return None;
        }
        let bytes = match self.files.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let code = match error.kind() {
                    std::io::ErrorKind::FileTooLarge => Code::FileTooLarge,
                    _ => Code::UnreadableFile,
                };
                self.refuse(
                    path,
                    include,
                    code,
                    &format!("cannot read `{}`: {error}", path.display()),
                );
                return None;
            }
        };
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > limits::TOTAL_BYTES {
            let message = format!("all files together exceed {} bytes", limits::TOTAL_BYTES);
            self.refuse(path, include, Code::FileTooLarge, &message);
            return None;
        }
        match decoded(&mut self.loaded.sources, path, bytes) {
            Ok(source) => Some(source),
            Err(problem) => {
                let mut problem = *problem;
                if let Some(place) = include {
                    problem = problem.also(place, "included here");
                }
                self.diagnostics.push(problem);
                None
            }
        }
    }

    /// Reports why a file is not read, at its `<include>` or else at the file itself.
    fn refuse(&mut self, path: &Path, include: Option<Span>, code: Code, message: &str) {
        let place = include.unwrap_or_else(|| {
            let empty = self.loaded.sources.add_file(path, String::new());
            empty.span(0, 0)
        });
        self.diagnostics.push(Diagnostic::new(code, place, message));
    }

    fn cycle(&mut self, chain: &[Open], identity: &Path, place: Span) {
        if self.diagnostics.is_full(Severity::Error) {
            return;
        }
        let first = chain
            .iter()
            .position(|open| open.identity == identity)
            .unwrap_or(0);
        let cycle = &chain[first..];
        let names: Vec<&str> = cycle
            .iter()
            .chain(cycle.first())
            .map(|open| open.document.source().name())
            .collect();
        let chain_text = match names.as_slice() {
            [start @ .., a, b] if start.len() > 6 => {
                format!("{} → … → {a} → {b}", start[..3].join(" → "))
            }
            all => all.join(" → "),
        };
        let mut problem = Diagnostic::new(Code::IncludeCycle, place, format!("include cycle: {chain_text}"))
            .label("leads back")
            .help("trees of one file may use trees of another without including it in turn; remove one `<include>`");
        for open in cycle.iter().rev().skip(1).rev().take(6) {
            if let Some(span) = open.following {
                problem = problem.also(span, "which includes");
            }
        }
        self.diagnostics.push(problem);
    }
}

/// The span of an `<include>` to underline: its path.
fn include_place(include: Element<'_>) -> Span {
    include
        .attribute("path")
        .map_or_else(|| include.start_tag_span(), Attribute::value_span)
}

/// Adds the bytes of a file to the sources, if they are UTF-8 text.
///
/// # Errors
/// The position of the first invalid byte.
pub(crate) fn decoded(
    sources: &mut Sources,
    path: &Path,
    bytes: Vec<u8>,
) -> Result<Arc<SourceFile>, Box<Diagnostic>> {
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(sources.add_file(path, text)),
        Err(error) => error,
    };
    let at = error.utf8_error().valid_up_to();
    let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
    let source = sources.add_file(path, text);
    // The replacement character, three bytes long, is at the position of the first invalid byte.
    let message = "the file is not UTF-8 text";
    Err(Box::new(
        Diagnostic::new(Code::NotUtf8, source.span(at, at + 3), message)
            .label("the first byte that is not")
            .help("save the file as UTF-8"),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::files::Memory;
    use super::super::render::Colour;
    use super::*;

    fn root(content: &str) -> String {
        format!("<root>\n{content}</root>\n")
    }

    fn include(path: &str) -> String {
        format!("  <include path=\"{path}\"/>\n")
    }

    /// The names of the documents in order, and the problems.
    fn load(files: &[(&str, String)]) -> (Vec<String>, Vec<String>) {
        let (documents, diagnostics) = load_all(files);
        let names = documents
            .documents
            .iter()
            .map(|document| document.source().name().to_owned());
        let lines = diagnostics.iter().map(|item| item.one_line(&documents.sources));
        (names.collect(), lines.collect())
    }

    fn load_all(files: &[(&str, String)]) -> (Documents, Diagnostics) {
        let memory = Memory::new(files.iter().map(|(path, text)| (*path, text.as_str())));
        let index = AmentIndex::new(["/overlay", "/opt"]);
        let mut diagnostics = Diagnostics::new();
        let documents = Documents::read_file(Path::new("main.xml"), &memory, &index, &mut diagnostics);
        diagnostics.sort();
        (documents, diagnostics)
    }

    #[test]
    fn included_files_come_first_and_once() {
        let (names, lines) = load(&[
            (
                "main.xml",
                root(&(include("sub/a.xml") + &include("/abs/b.xml") + &include("./sub/../sub/c.xml"))),
            ),
            ("sub/a.xml", root(&include("c.xml"))),
            ("sub/c.xml", root("")),
            (
                "/abs/b.xml",
                root("  <include path='trees/d.xml' ros_pkg='pkg'/>"),
            ),
            ("/opt/share/pkg/trees/d.xml", root("")),
            (
                "/opt/share/ament_index/resource_index/packages/pkg",
                String::new(),
            ),
        ]);
        assert!(lines.is_empty(), "{lines:?}");
        assert_eq!(
            names,
            [
                "sub/c.xml",
                "sub/a.xml",
                "/opt/share/pkg/trees/d.xml",
                "/abs/b.xml",
                "main.xml"
            ]
        );
    }

    #[test]
    fn a_file_that_cannot_be_included_is_reported() {
        let (names, lines) = load(&[
            (
                "main.xml",
                root(
                    "<include/>\n<include path=''/>\n<include path='no.xml'/>\n<include path='x' ros_pkg='no_pkg'/>\n\
                     <include path='/ok.xml' ros_pkg='no_pkg'/>\n<include path='no.xml'/>\n",
                ),
            ),
            ("/ok.xml", root("<a>")),
        ]);
        assert_eq!(
            lines,
            [
                "main.xml:2:1: error[NT0007]: `<include>` without `path`",
                "main.xml:3:1: error[NT0007]: `<include>` without `path`",
                "main.xml:4:16: error[NT0001]: cannot read `no.xml`: no such file",
                "main.xml:5:28: error[NT0009]: package `no_pkg` is not found",
                "main.xml:6:25: warning[NT0010]: `ros_pkg` has no effect with an absolute path",
                "/ok.xml:2:2: error[NT0102]: `<a>` is never closed",
            ]
        );
        assert_eq!(names, ["/ok.xml", "main.xml"]);
        let (names, lines) = load(&[]);
        assert_eq!(
            lines,
            ["main.xml:1:1: error[NT0001]: cannot read `main.xml`: no such file"]
        );
        assert!(names.is_empty());
    }

    #[test]
    fn a_cycle_is_shown_with_its_chain() {
        let (documents, diagnostics) = load_all(&[
            ("main.xml", root(&include("a.xml"))),
            ("a.xml", root(&include("b.xml"))),
            ("b.xml", root(&(include("a.xml") + &include("b.xml")))),
        ]);
        let shown: Vec<_> = diagnostics
            .iter()
            .map(|item| item.render(&documents.sources, Colour::Never))
            .collect();
        assert_eq!(
            shown[0],
            "\
error[NT0008]: include cycle: a.xml → b.xml → a.xml
 --> b.xml:2:18
  |
2 |   <include path=\"a.xml\"/>
  |                  ^^^^^ leads back
 ::: a.xml:2:18
  |
2 |   <include path=\"b.xml\"/>
  |                  ----- which includes
  |
  = help: trees of one file may use trees of another without including it in turn; remove one `<include>`
"
        );
        assert!(
            shown[1].starts_with("error[NT0008]: include cycle: b.xml → b.xml\n"),
            "{}",
            shown[1]
        );
        assert_eq!(shown.len(), 2);
        assert_eq!(documents.documents.len(), 3);
    }

    #[test]
    fn a_long_chain_costs_no_stack_and_ends_at_the_limit() {
        let files: Vec<(String, String)> = (0..limits::FILES + 10)
            .map(|index| {
                (
                    format!("{index}.xml"),
                    root(&include(&format!("{}.xml", index + 1))),
                )
            })
            .collect();
        let mut all: Vec<(&str, String)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.clone()))
            .collect();
        all.push(("main.xml", root(&include("0.xml"))));
        let (names, lines) = load(&all);
        assert_eq!(names.len(), limits::FILES);
        assert_eq!(
            lines,
            ["4094.xml:2:18: error[NT0011]: more than 4096 files are included"]
        );
    }

    #[test]
    fn other_encodings_are_refused_with_the_place() {
        let memory = Memory::new([("main.xml", b"<root>\n<!-- caf\xe9 --></root>".to_vec())]);
        let mut diagnostics = Diagnostics::new();
        let loaded = Documents::read_file(
            Path::new("main.xml"),
            &memory,
            &AmentIndex::default(),
            &mut diagnostics,
        );
        let lines: Vec<_> = diagnostics
            .iter()
            .map(|item| item.one_line(&loaded.sources))
            .collect();
        assert_eq!(lines, ["main.xml:2:9: error[NT0002]: the file is not UTF-8 text"]);
        assert!(loaded.entry().is_none());
    }
}
