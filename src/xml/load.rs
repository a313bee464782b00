//! Loads files to a [`TreeDef`], or reports all their problems.
//!
//! A load reads and computes, and changes no running tree. A caller keeps its current tree until it has a [`Loaded`]
//! (guarantee G7).

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bt::{self, Registry, TreeDef};

use super::code::{Code, Severity};
use super::compilation::Compilation;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Document, Node};
use super::files::{AmentIndex, Disk, Files};
use super::forest::Forest;
use super::includes::Documents;
use super::levels::Levels;
use super::main_tree::{main_tree, misstated_main, no_such_tree, outermost_tree, several_trees, stated_main};
use super::palette::Palette;
use super::render::Colour;
use super::source::{Sources, Span};
use super::suppliers::Suppliers;

/// A tree that can run, with the warnings about its files.
#[derive(Debug)]
pub struct Loaded {
    /// The definition.
    pub def: Arc<TreeDef>,
    /// Warnings and notes.
    pub warnings: Diagnostics,
    /// The files, to show positions in them.
    pub sources: Sources,
}

/// The problems of a refused load: at least one error, and all other problems.
#[derive(Debug)]
pub struct Refused(Box<Checked>);

impl std::ops::Deref for Refused {
    type Target = Checked;

    fn deref(&self) -> &Checked {
        &self.0
    }
}

impl fmt::Display for Refused {
    /// Shows all problems with excerpts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.diagnostics {
            writeln!(f, "{}", diagnostic.render(&self.sources, Colour::Never))?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// The errors with their solutions, one line each, for action results and logs.
    pub fn one_line(&self) -> String {
        let errors = self
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Error);
        let lines = errors.map(|error| {
            let line = error.one_line(&self.sources);
            match &error.help {
                Some(help) => format!("{line} ({help})"),
                None => line,
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Where a file defines a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    /// In this file: the file itself or one that it includes, by [`Files::identity`]. The tree may have errors.
    In(PathBuf),
    /// Nowhere.
    Absent,
    /// Nowhere in the part that can be read. The file has these errors.
    Unknown(String),
}

/// The problems found in files.
#[derive(Debug)]
pub struct Checked {
    /// All problems. Valid files have no errors.
    pub diagnostics: Diagnostics,
    /// The files, to show positions in them.
    pub sources: Sources,
}

/// Loads trees with a set of node types, a source of files and levels of warnings.
#[derive(Clone)]
pub struct Loader<'l> {
    registry: &'l Registry,
    files: &'l dyn Files,
    index: AmentIndex,
    levels: Levels,
    trial: Option<&'l Trial<'l>>,
    /// Whether the models of the files make node types known.
    with_models: bool,
    /// The main tree of checked files.
    main: Option<&'l str>,
    used: BTreeSet<(PathBuf, String)>,
    parts: BTreeSet<PathBuf>,
    /// For each file, the other files that define the trees that it needs and does not include.
    suppliers: HashMap<PathBuf, Vec<PathBuf>>,
}

/// A trial of a compiled tree. Returns the spans and texts of its faults.
pub type Trial<'t> = dyn Fn(&Arc<TreeDef>) -> Vec<(bt::Span, String)> + 't;

impl<'l> Loader<'l> {
    /// Creates a loader for files on disk, with the packages of the environment.
    pub fn new(registry: &'l Registry) -> Self {
        Self {
            registry,
            files: &Disk,
            index: AmentIndex::from_environment(),
            levels: Levels::new(),
            trial: None,
            with_models: false,
            main: None,
            used: BTreeSet::new(),
            parts: BTreeSet::new(),
            suppliers: HashMap::new(),
        }
    }

    /// Sets a trial for each tree that [`Loader::check_files`] compiles.
    #[must_use]
    pub fn trial(mut self, trial: &'l Trial<'l>) -> Self {
        self.trial = Some(trial);
        self
    }

    /// Makes the node types known that the files declare in a `<TreeNodesModel>`, as the editor's palette does. For
    /// commands only: such a node cannot run.
    #[must_use]
    pub fn with_models(mut self) -> Self {
        self.with_models = true;
        self
    }

    /// Sets the main tree of the files of [`Loader::check_files`].
    #[must_use]
    pub fn main(mut self, main: Option<&'l str>) -> Self {
        self.main = main;
        self
    }

    /// The registry with the node types that the files declare.
    fn registry(&self, documents: &Documents) -> Cow<'l, Registry> {
        let mut palette = Palette::default();
        if self.with_models {
            for document in &documents.documents {
                // The problems of a model are reported when the trees are read.
                palette.add(document, &mut Diagnostics::new());
            }
        }
        let mut registry = Cow::Borrowed(self.registry);
        if !palette.is_empty() {
            palette.register_unknown(registry.to_mut());
        }
        registry
    }

    /// Sets the other files of the calls of [`Loader::check_files`]. A tree that another file uses as a subtree gets
    /// its keys there, so only that file is checked for keys that are never written. A file that another file includes
    /// is checked as a part of it. A tree that a file uses and does not include is taken from another file, as in a
    /// program of BehaviorTree.CPP that registers a folder. Call this method last.
    #[must_use]
    pub fn beside(mut self, paths: &[PathBuf]) -> Self {
        if paths.len() < 2 {
            return self;
        }
        let identities: Vec<PathBuf> = paths.iter().map(|path| self.files.identity(path)).collect();
        let numbers: HashMap<&Path, usize> = identities.iter().map(PathBuf::as_path).zip(0..).collect();
        // For each file, the numbers of the files it includes: all, and those whose trees all count in it.
        let mut includes = vec![(BTreeSet::new(), BTreeSet::new()); paths.len()];
        let mut suppliers = Suppliers::default();
        for (number, (path, (all, whole))) in paths.iter().zip(&mut includes).enumerate() {
            // The problems of these files are reported when they are checked.
            let mut unsaid = Diagnostics::new();
            let documents = Documents::read_file(path, self.files, &self.index, &mut unsaid);
            let entry = documents.entry().map(Document::file);
            let forest = Forest::build(&documents, self.registry, &mut unsaid);
            suppliers.add(number, &forest, entry);
            let replaced = unsaid.iter().filter(|found| found.code == Code::DuplicateTree);
            let replaced: BTreeSet<_> = replaced.map(|found| found.primary.span.file).collect();
            for document in &documents.documents {
                let identity = self.files.identity(Path::new(document.source().name()));
                let Some(number) = numbers.get(identity.as_path()) else {
                    continue;
                };
                all.insert(*number);
                if !replaced.contains(&document.file()) {
                    whole.insert(*number);
                }
            }
            let callees = forest.calls.values().flat_map(|calls| &calls.trees);
            for id in callees.copied().collect::<BTreeSet<_>>() {
                let Some(tree) = forest.spec.trees.get(id) else {
                    continue;
                };
                let file = Span::from(tree.span).file;
                if Some(file) != entry
                    && let Some(source) = documents.sources.get(file)
                {
                    let identity = self.files.identity(Path::new(source.name()));
                    self.used.insert((identity, id.to_owned()));
                }
            }
        }
        for (number, path) in paths.iter().enumerate() {
            let mut found = Vec::new();
            for (supplier, id) in suppliers.of(number, paths) {
                found.push(paths[supplier].clone());
                self.used.insert((identities[supplier].clone(), id));
            }
            self.suppliers.insert(self.files.identity(path), found);
        }
        for (identity, (_, whole)) in identities.iter().zip(&includes) {
            let number = numbers.get(identity.as_path());
            let parts = whole.iter().filter(|part| {
                // Files that include each other are not parts of one another.
                let includes_in_turn =
                    |(all, _): &(BTreeSet<usize>, _)| number.is_none_or(|it| all.contains(it));
                !includes.get(**part).is_some_and(includes_in_turn)
            });
            let parts = parts.filter_map(|part| identities.get(*part).cloned());
            self.parts.extend(parts);
        }
        self
    }

    /// The same loader with other node types and levels, for the files of another project.
    #[must_use]
    pub fn for_project(&self, registry: &'l Registry, levels: Levels) -> Self {
        Self {
            registry,
            levels,
            ..self.clone()
        }
    }

    /// Returns whether another file of the [`Loader::check_files`] calls includes this one, with a check of all its
    /// trees. Alone, the file may be incomplete: its trees may use trees of other files, and the including file may
    /// determine its version.
    pub fn is_part(&self, path: &Path) -> bool {
        self.parts.contains(&self.files.identity(path))
    }

    /// The tree to check for keys that are never written: the tree of the file, unless another file uses it.
    fn alone<'d>(&self, documents: &'d Documents, forest: &Forest<'d>) -> Option<Cow<'d, str>> {
        let main = stated_main(documents, forest).or_else(|| outermost_tree(documents, forest))?;
        let source = documents.sources.get(documents.entry()?.file())?;
        let identity = self.files.identity(Path::new(source.name()));
        let is_used = self.used.contains(&(identity, main.to_string()));
        (!is_used).then_some(main)
    }

    /// Sets another source of files.
    #[must_use]
    pub fn files(mut self, files: &'l dyn Files, index: AmentIndex) -> Self {
        self.files = files;
        self.index = index;
        self
    }

    /// Sets the levels of warnings.
    #[must_use]
    pub fn levels(mut self, levels: Levels) -> Self {
        self.levels = levels;
        self
    }

    /// Loads a tree of a file: `main`, or the tree that the file names, or its only one.
    ///
    /// # Errors
    /// All problems of the file, its includes and the tree.
    pub fn load_file(&self, path: &Path, main: Option<&str>) -> Result<Loaded, Refused> {
        self.load_files(&[path], main)
    }

    /// Loads the tree `main` from several files; without `main`, the tree that the first file names.
    ///
    /// # Errors
    /// As [`Loader::load_file`].
    pub fn load_files(&self, paths: &[&Path], main: Option<&str>) -> Result<Loaded, Refused> {
        let mut diagnostics = Diagnostics::new();
        let documents = Documents::read_files(paths, self.files, &self.index, &mut diagnostics);
        self.load(&documents, main, diagnostics)
    }

    /// Loads the tree of a text. Its relative includes start from `directory`, and messages show `name` as its file
    /// name.
    ///
    /// # Errors
    /// As [`Loader::load_file`].
    pub fn load_text(
        &self,
        name: &str,
        text: &str,
        directory: &Path,
        main: Option<&str>,
    ) -> Result<Loaded, Refused> {
        let mut diagnostics = Diagnostics::new();
        let text = text.to_owned();
        let documents =
            Documents::read_text(name, text, directory, self.files, &self.index, &mut diagnostics);
        self.load(&documents, main, diagnostics)
    }

    /// Finds out whether a file defines the tree `id`. Does not compile the tree.
    pub fn definition(&self, path: &Path, id: &str) -> Definition {
        let mut diagnostics = Diagnostics::new();
        let documents = Documents::read_file(path, self.files, &self.index, &mut diagnostics);
        let is_wanted = |node: Node<'_>| {
            node.as_element()
                .is_some_and(|it| it.name() == "BehaviorTree" && it.value("ID") == Some(id))
        };
        let in_document = documents
            .documents
            .iter()
            .find(|document| document.nodes().any(is_wanted));
        // A tree without an ID has a name too.
        let forest = Forest::build(&documents, self.registry, &mut diagnostics);
        let by_name = || {
            let tree = forest.spec.trees.get(id)?;
            documents.document(Span::from(tree.span).file)
        };
        if let Some(document) = in_document.or_else(by_name) {
            let name = Path::new(document.source().name());
            return Definition::In(self.files.identity(name));
        }
        if !diagnostics.has_errors() {
            return Definition::Absent;
        }
        diagnostics.sort();
        let sources = documents.sources.clone();
        Definition::Unknown(Refused(Box::new(Checked { diagnostics, sources })).one_line())
    }

    /// Checks files and all their trees, as if each tree that no other tree calls were to run.
    pub fn check_files(&self, paths: &[&Path]) -> Checked {
        let mut diagnostics = Diagnostics::new();
        let suppliers = match paths {
            [path] => self.suppliers.get(&self.files.identity(path)),
            _ => None,
        };
        let suppliers = suppliers.map_or(&[][..], Vec::as_slice);
        let all: Vec<&Path> = paths
            .iter()
            .copied()
            .chain(suppliers.iter().map(PathBuf::as_path))
            .collect();
        let mut documents = Documents::read_files(&all, self.files, &self.index, &mut diagnostics);
        if !suppliers.is_empty() {
            documents.only_first_counts();
        }
        let registry = self.registry(&documents);
        let forest = Forest::build(&documents, &registry, &mut diagnostics);
        diagnostics.extend(self.problem_of_main(&documents, &forest));
        let mut compilation = Compilation::new(&registry, &documents, &forest, &mut diagnostics);
        if let Some(trial) = self.trial {
            compilation.try_on(trial);
        }
        let main = match self.main {
            Some(main) => Some(Cow::Borrowed(main)),
            None => self.alone(&documents, &forest),
        };
        compilation.rest(main.as_deref(), false);
        self.grade(&documents, &mut diagnostics);
        Checked {
            diagnostics,
            sources: documents.sources,
        }
    }

    /// The problem of checked files with their main tree, if any.
    fn problem_of_main(&self, documents: &Documents, forest: &Forest<'_>) -> Option<Diagnostic> {
        let Some(main) = self.main else {
            let source = documents.sources.get(documents.entry()?.file())?;
            let identity = self.files.identity(Path::new(source.name()));
            let is_used = |id: &str| self.used.contains(&(identity.clone(), id.to_owned()));
            let mut misstated = misstated_main(documents, forest);
            // Where another file runs a tree of this one, the attribute has no effect.
            if let Some(problem) = &mut misstated
                && self.used.iter().any(|(file, _)| *file == identity)
            {
                problem.severity = problem.severity.min(Severity::Warning);
            }
            return misstated.or_else(|| several_trees(documents, forest, is_used));
        };
        let span = documents.entry()?.root()?.name_span();
        (!forest.spec.trees.contains_key(main)).then(|| no_such_tree(main, span, forest))
    }

    fn load(
        &self,
        documents: &Documents,
        main: Option<&str>,
        mut diagnostics: Diagnostics,
    ) -> Result<Loaded, Refused> {
        let registry = self.registry(documents);
        let forest = Forest::build(documents, &registry, &mut diagnostics);
        let main = match main {
            Some(main) => Some(Cow::Borrowed(main)),
            None => main_tree(documents, &forest, &mut diagnostics),
        };
        let mut compilation = Compilation::new(&registry, documents, &forest, &mut diagnostics);
        let def = main.and_then(|main| compilation.main(&main));
        compilation.rest(None, true);
        self.grade(documents, &mut diagnostics);
        let sources = documents.sources.clone();
        match def {
            Some(def) if !diagnostics.has_errors() => Ok(Loaded {
                def,
                warnings: diagnostics,
                sources,
            }),
            _ => Err(Refused(Box::new(Checked { diagnostics, sources }))),
        }
    }

    /// Applies the levels of the user and of the files, and sorts the remaining problems.
    fn grade(&self, documents: &Documents, diagnostics: &mut Diagnostics) {
        let mut levels = self.levels.clone();
        for document in &documents.documents {
            levels.read_comments(document, diagnostics);
        }
        levels.apply(diagnostics);
        diagnostics.sort();
        diagnostics.join_repetitions();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;

    use crate::bt::{Behavior, Context, Dialect, NodeKind, NodeStatus, Ports, Text, Tick, nodes};

    use super::super::files::Memory;
    use super::super::limits;
    use super::*;

    struct Done;

    impl Behavior for Done {
        fn tick(&self, _cx: &mut Context<'_>) -> Tick {
            Ok(NodeStatus::Success)
        }
    }

    fn registry() -> Registry {
        let mut registry = Registry::new();
        registry.register::<nodes::Sequence>().unwrap();
        let mut leaf = |id, kind: NodeKind, make: fn(&mut Ports<'_>)| {
            registry
                .register_with(id, kind, kind.arity(), "", move |ports| {
                    make(ports);
                    Box::new(Done)
                })
                .unwrap();
        };
        leaf("Wait", NodeKind::Action, |ports| {
            ports.input::<f64>("duration").default("1.0").bind();
        });
        leaf("Say", NodeKind::Action, |ports| {
            ports
                .input::<Text>("message")
                .required()
                .doc("what to say")
                .bind();
        });
        leaf("Ask", NodeKind::Action, |ports| {
            ports.output::<Text>("answer").bind();
        });
        leaf("IsDay", NodeKind::Condition, |_| {});
        leaf("Inverter", NodeKind::Decorator, |_| {});
        registry.provide_key("d");
        registry.provide_key("x");
        registry
    }

    fn memory(files: &[(&str, &str)]) -> Memory {
        Memory::new(files.iter().map(|(path, text)| (*path, *text)))
    }

    /// The problems of a load of `main.xml`.
    fn problems(files: &[(&str, &str)], main: Option<&str>) -> Vec<String> {
        let (registry, memory) = (registry(), memory(files));
        let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
        match loader.load_file(Path::new("main.xml"), main) {
            Ok(loaded) => lines(&loaded.warnings, &loaded.sources),
            Err(refused) => {
                assert!(refused.diagnostics.has_errors());
                lines(&refused.diagnostics, &refused.sources)
            }
        }
    }

    fn lines(diagnostics: &Diagnostics, sources: &Sources) -> Vec<String> {
        diagnostics.iter().map(|item| item.one_line(sources)).collect()
    }

    fn of_text(content: &str) -> Vec<String> {
        problems(
            &[(
                "main.xml",
                &format!("<root BTCPP_format='4'>\n{content}\n</root>"),
            )],
            None,
        )
    }

    /// The problems of one tree, whose root is on line 3.
    fn of_tree(content: &str) -> Vec<String> {
        of_text(&format!("<BehaviorTree ID='T'>\n{content}\n</BehaviorTree>"))
    }

    #[test]
    fn the_only_uncalled_tree_is_checked_as_the_main_tree() {
        let registry = registry();
        let warnings_of = |more: &str| {
            let text = format!(
                "<root BTCPP_format='4'><BehaviorTree ID='A'><SubTree ID='B'/></BehaviorTree>\
                 <BehaviorTree ID='B'><Say message='{{text}}'/></BehaviorTree>{more}</root>"
            );
            let files = memory(&[("main.xml", &text)]);
            let loader = Loader::new(&registry).files(&files, AmentIndex::default());
            let checked = loader.check_files(&[Path::new("main.xml")]);
            lines(&checked.diagnostics, &checked.sources)
        };
        assert_eq!(
            warnings_of(""),
            ["main.xml:1:112: warning[NT0406]: the key `text` is never written"]
        );
        // Each of two trees may exist for other files.
        assert_eq!(
            warnings_of("<BehaviorTree ID='C'><IsDay/></BehaviorTree>"),
            ["main.xml:1:2: note[NT0217]: several trees can be the one to run, and the file names none"]
        );
    }

    /// More nodes than the identifiers of BehaviorTree.CPP can distinguish.
    #[test]
    fn the_paths_of_a_large_tree_differ() {
        let text = format!(
            "<root BTCPP_format='4' main_tree_to_execute='A'><BehaviorTree ID='A'><Sequence>{}</Sequence></BehaviorTree>\
             <BehaviorTree ID='B'><IsDay/></BehaviorTree></root>",
            "<SubTree ID='B'/>".repeat(40_000)
        );
        let (registry, memory) = (registry(), memory(&[("main.xml", &text)]));
        let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
        let def = loader.load_file(Path::new("main.xml"), None).unwrap().def;
        let last = def.nodes().last().map(|(node, info)| (&*info.path, node.uid()));
        assert_eq!(last, Some(("B::80000/IsDay::80001", 80_001_u32 as u16)));
    }

    #[test]
    fn a_position_in_a_script_is_exact_also_after_entities() {
        assert_eq!(
            of_tree("<Wait _skipIf='d &lt; 1 &amp;&amp;\r\n b == 2'/>"),
            ["main.xml:4:2: warning[NT0406]: the key `b` is never written"]
        );
        assert_eq!(
            of_tree("<Wait _skipIf='d &lt; )'/>"),
            [
                "main.xml:3:23: error[NT0601]: script in `_skipIf`: a value was expected here: a number, a text, a name \
                 or `(`"
            ]
        );
        // As BehaviorTree.CPP reads it.
        assert_eq!(
            of_tree("<Wait _skipIf='d < 1 && x && b'/>"),
            [
                "main.xml:3:18: warning[NT0110]: `<` in the value of an attribute",
                "main.xml:3:22: warning[NT0111]: a bare `&&`",
                "main.xml:3:27: warning[NT0111]: a bare `&&`",
                "main.xml:3:30: warning[NT0406]: the key `b` is never written",
            ]
        );
    }

    #[test]
    fn a_good_tree_loads() {
        let (registry, memory) = (
            registry(),
            memory(&[
                (
                    "main.xml",
                    "<root BTCPP_format='4'><include path='b.xml'/><BehaviorTree ID='A'><Sequence name='s'>\
                     <IsDay/><SubTree ID='B' text='{x}' name='b'/><Action ID='Wait' duration='{d}' _note='n'/>\
                     </Sequence></BehaviorTree></root>",
                ),
                (
                    "b.xml",
                    "<root><BehaviorTree ID='B'><Say message='{text}'/></BehaviorTree></root>",
                ),
            ]),
        );
        let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
        let loaded = loader.load_file(Path::new("main.xml"), None).unwrap();
        assert_eq!(lines(&loaded.warnings, &loaded.sources), [""; 0]);
        let paths: Vec<&str> = loaded.def.nodes().map(|(_, node)| &*node.path).collect();
        assert_eq!(paths, ["s", "IsDay::2", "b", "b/Say::4", "Wait::5"]);
        assert_eq!(loaded.def.dialect(), Dialect::V4);
        let (say, _) = loaded.def.nodes().nth(3).unwrap();
        assert_eq!(loaded.def.place(say).as_deref(), Some("b.xml:1:29"));
        let by_name = loader.load_file(Path::new("main.xml"), Some("B")).unwrap();
        assert_eq!(by_name.def.id(), "B");
    }

    #[test]
    fn a_tree_gets_its_keys_from_the_file_that_uses_it() {
        let includes = |attributes: &str| {
            format!(
                "<root BTCPP_format='4'><include path='lib.xml'/><BehaviorTree ID='A'>\
                 <SubTree ID='B'{attributes}/></BehaviorTree></root>"
            )
        };
        let (gives, forgets) = (includes(" text='five'"), includes(""));
        let registry = registry();
        let warnings_of = |main: &str, paths: &[PathBuf]| {
            let files = memory(&[
                (
                    "lib.xml",
                    "<root BTCPP_format='4'><BehaviorTree ID='B'><Say message='{text}'/></BehaviorTree></root>",
                ),
                ("main.xml", main),
            ]);
            let loader = Loader::new(&registry)
                .files(&files, AmentIndex::default())
                .beside(paths);
            let checked = paths.iter().map(|path| loader.check_files(&[path]));
            checked
                .flat_map(|checked| lines(&checked.diagnostics, &checked.sources))
                .collect::<Vec<_>>()
        };
        let [lib, main] = ["lib.xml", "main.xml"].map(PathBuf::from);
        let never = "lib.xml:1:59: warning[NT0406]: the key `text` is never written";
        assert_eq!(warnings_of(&gives, &[lib.clone(), main.clone()]), [""; 0]);
        assert_eq!(warnings_of(&forgets, &[lib.clone(), main]), [never]);
        assert_eq!(warnings_of(&gives, &[lib]), [never]);
    }

    #[test]
    fn files_that_need_each_other_are_one_set() {
        let registry = registry();
        let tree = |id: &str, node: &str| {
            format!("<root BTCPP_format='4'><BehaviorTree ID='{id}'>{node}</BehaviorTree></root>")
        };
        let [main, other, third] = [
            tree("Main", "<SubTree ID='Other' text='five'/>"),
            tree(
                "Other",
                "<Sequence><Say message='{text}'/><SubTree ID='Third'/></Sequence>",
            ),
            tree("Third", "<IsDay/>")
                .replace("</root>", "<BehaviorTree ID='Main'><Wait/></BehaviorTree></root>"),
        ];
        let files = memory(&[("main.xml", &main), ("other.xml", &other), ("third.xml", &third)]);
        let lines_of = |names: &[&str], main: Option<&str>| {
            let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
            let loader = Loader::new(&registry)
                .files(&files, AmentIndex::default())
                .main(main)
                .beside(&paths);
            let all: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
            let sets = if main.is_some() {
                vec![&all[..]]
            } else {
                all.chunks(1).collect()
            };
            let checked = sets.into_iter().map(|set| loader.check_files(set));
            checked
                .flat_map(|checked| lines(&checked.diagnostics, &checked.sources))
                .collect::<Vec<_>>()
        };
        // The tree `Main` of the third file does not count for the first one.
        assert_eq!(lines_of(&["main.xml", "other.xml", "third.xml"], None), [""; 0]);
        let unknown = "main.xml:1:61: error[NT0501]: there is no tree `Other`";
        assert_eq!(lines_of(&["main.xml"], None), [unknown]);
        assert_eq!(
            lines_of(&["third.xml"], None),
            ["third.xml:1:2: note[NT0217]: several trees can be the one to run, and the file names none"]
        );
        assert_eq!(lines_of(&["third.xml"], Some("Third")), [""; 0]);
        assert_eq!(
            lines_of(&["third.xml"], Some("Thrid")),
            ["third.xml:1:2: error[NT0215]: there is no tree `Thrid`"]
        );
    }

    /// BehaviorTree.CPP looks at the attribute of the first file only, and only if the program names no tree.
    #[test]
    fn a_wrong_main_tree_of_a_file_that_others_use_is_a_warning() {
        let registry = registry();
        let root = |main: &str, id: &str, node: &str| {
            format!(
                "<root BTCPP_format='4' main_tree_to_execute='{main}'><BehaviorTree ID='{id}'>{node}</BehaviorTree></root>"
            )
        };
        let [main, part] = [
            root("Main", "Main", "<SubTree ID='Part'/>"),
            root(" Part", "Part", "<IsDay/>"),
        ];
        let files = memory(&[("main.xml", &main), ("part.xml", &part)]);
        let check = |beside: &[PathBuf]| {
            let loader = Loader::new(&registry)
                .files(&files, AmentIndex::default())
                .beside(beside);
            let checked = loader.check_files(&[Path::new("part.xml")]);
            lines(&checked.diagnostics, &checked.sources)
        };
        let place = |severity: &str| format!("part.xml:1:46: {severity}[NT0215]: there is no tree ` Part`");
        assert_eq!(check(&[]), [place("error")]);
        assert_eq!(check(&["main.xml".into(), "part.xml".into()]), [place("warning")]);
    }

    #[test]
    fn a_tree_that_doubles_is_refused_before_it_is_built() {
        let tree = |number: usize| {
            let next = format!("<SubTree ID='T{}'/>", number + 1).repeat(2);
            format!("<BehaviorTree ID='T{number}'><Sequence>{next}</Sequence></BehaviorTree>")
        };
        let trees: String = (0..30).map(tree).collect();
        let content = format!("{trees}<BehaviorTree ID='T30'><IsDay/></BehaviorTree>");
        let begin = Instant::now();
        let text = format!("<root BTCPP_format='4' main_tree_to_execute='T0'>{content}</root>");
        assert_eq!(
            problems(&[("main.xml", &text)], None),
            [
                "main.xml:1:68: error[NT0505]: the tree `T0` has 4294967293 nodes once its subtrees are in place; the \
                 limit is 250000"
            ]
        );
        assert!(begin.elapsed().as_millis() < 500, "{:?}", begin.elapsed());
    }

    #[test]
    fn structure_is_checked() {
        for (content, expected) in [
            ("<BehaviorTree><IsDay/></BehaviorTree>", &[][..]),
            (
                "<BehaviorTree ID='T'><IsDay/></BehaviorTree> text",
                &["main.xml:2:46: warning[NT0115]: this text has no meaning here and is ignored"],
            ),
            (
                "<BehaviourTree ID='T'/><Sequence/>",
                &[
                    "main.xml:1:2: error[NT0215]: the file defines no tree",
                    "main.xml:2:2: warning[NT0205]: `<BehaviourTree>` directly under `<root>` is ignored",
                    "main.xml:2:25: warning[NT0205]: `<Sequence>` directly under `<root>` is ignored",
                ],
            ),
            (
                "<BehaviorTree><IsDay/></BehaviorTree><TreeNodesModel/>",
                &["main.xml:2:2: error[NT0210]: a `<BehaviorTree>` without `ID`"],
            ),
            (
                "<BehaviorTree ID='T'><IsDay/></BehaviorTree><TreeNodesModel/><TreeNodesModel/><Action/>",
                &[
                    "main.xml:2:63: error[NT0206]: a second `<TreeNodesModel>`",
                    "main.xml:2:79: error[NT0207]: `<Action>` without `ID`",
                ],
            ),
            (
                "<BehaviorTree ID='a b'><IsDay/></BehaviorTree>",
                &[
                    "main.xml:2:19: warning[NT0211]: the name `a b` of a tree has a space; BehaviorTree.CPP 4.10 refuses it",
                ],
            ),
            (
                "<BehaviorTree ID='Wait'><IsDay/></BehaviorTree>",
                &["main.xml:2:19: error[NT0212]: `Wait` is a node type; a tree needs another name"],
            ),
            (
                "<BehaviorTree ID='T'/>",
                &["main.xml:2:2: error[NT0214]: this `<BehaviorTree>` is empty"],
            ),
            (
                "<BehaviorTree ID='T'><IsDay/><Wait/></BehaviorTree>",
                &["main.xml:2:2: error[NT0214]: this `<BehaviorTree>` has 2 children"],
            ),
            (
                "<BehaviorTree ID='T'><IsDay/></BehaviorTree><BehaviorTree ID='T'><Wait/></BehaviorTree>",
                &["main.xml:2:19: warning[NT0213]: the tree `T` is defined again"],
            ),
            (
                "<BehaviorTree ID='T'><IsDay/></BehaviorTree><TreeNodesModel><SubTree/><Action ID='X'/>\
              <SubTree ID='S'><input_port/><input_port name='_a'/><output_port name='1a'/><port name='x'/>\
              </SubTree></TreeNodesModel>",
                &[
                    "main.xml:2:61: error[NT0207]: `<SubTree>` in a model without `ID`",
                    "main.xml:2:103: error[NT0208]: `<input_port>` without `name`",
                    "main.xml:2:158: error[NT0208]: `1a` cannot be the name of a port",
                    "main.xml:2:164: warning[NT0205]: `<port>` declares no port",
                ],
            ),
        ] {
            assert_eq!(of_text(content), expected, "{content}");
        }
        let other = problems(
            &[("main.xml", "<BehaviorTree ID='T'><IsDay/></BehaviorTree>")],
            None,
        );
        assert_eq!(
            other,
            ["main.xml:1:2: error[NT0201]: the outermost element is `<BehaviorTree>`, not `<root>`"]
        );
    }

    #[test]
    fn nodes_are_checked() {
        for (content, expected) in [
            (
                "<Sequnce><IsDay/></Sequnce>",
                &["main.xml:3:2: error[NT0301]: unknown node `Sequnce`"][..],
            ),
            (
                "<Action ID='Wiat'/>",
                &["main.xml:3:13: error[NT0301]: unknown node `Wiat`"],
            ),
            (
                "<Sequence><Control><Wait/></Control><Action ID=''/></Sequence>",
                &[
                    "main.xml:3:12: error[NT0209]: `<Control>` without `ID`",
                    "main.xml:3:38: error[NT0209]: `<Action>` without `ID`",
                ],
            ),
            (
                "<SubTree/>",
                &["main.xml:3:2: error[NT0209]: `<SubTree>` without `ID`"],
            ),
            (
                "<Wait ID='x'/>",
                &["main.xml:3:7: error[NT0303]: `<Wait>` has an `ID`"],
            ),
            (
                "<Wait name='&#127;'/>",
                &["main.xml:3:13: error[NT0304]: the name of this node has a control character"],
            ),
            (
                "<Condition ID='Wait'/>",
                &["main.xml:3:2: warning[NT0305]: `Wait` is registered as Action, not as Condition"],
            ),
            (
                "<Wait _skipif='true' _description='x' __autoremap='1'/>",
                &[
                    "main.xml:3:7: warning[NT0306]: `_skipif` is only metadata and has no effect",
                    "main.xml:3:39: warning[NT0307]: `__autoremap` has no effect in version 4",
                ],
            ),
            (
                "<SubTree ID='U' _k='{d}' _description='{x}' _note='k'/>",
                &[
                    "main.xml:3:14: error[NT0501]: there is no tree `U`",
                    "main.xml:3:17: warning[NT0306]: `_k` is only metadata and hands no key to the subtree",
                ],
            ),
            ("<a.b/>", &["main.xml:3:2: error[NT0301]: unknown node `a.b`"]),
            (
                "<Sequence/>",
                &["main.xml:3:2: error[NT0302]: `Sequence` takes at least one child and has 0"],
            ),
            (
                "<Inverter><IsDay/><IsDay/></Inverter>",
                &["main.xml:3:2: error[NT0302]: `Inverter` takes exactly one child and has 2"],
            ),
            (
                "<Wait>x<IsDay/></Wait>",
                &[
                    "main.xml:3:2: error[NT0302]: `Wait` takes no children and has 1",
                    "main.xml:3:7: warning[NT0115]: this text has no meaning here and is ignored",
                ],
            ),
            (
                "<Sequence><Wait duratoin='1'/><Say/><Wait duration='long'/><Wait duration='{@a@b}'/></Sequence>",
                &[
                    "main.xml:3:17: error[NT0401]: `Wait` has no port `duratoin`",
                    "main.xml:3:32: error[NT0402]: `Say` needs the port `message`",
                    "main.xml:3:53: error[NT0403]: port `duration` is of type double: `long` is not a number",
                    "main.xml:3:76: error[NT0405]: `@a@b` is not a key: write a name with at most one `@` \
                     before it",
                ],
            ),
            (
                "<Sequence><Ask answer='yes'/><Ask answer=''/><Ask answer='1 2'/><Ask answer=' {x} '/></Sequence>",
                &[
                    "main.xml:3:24: error[NT0410]: port `answer` is an output, and `yes` is not a blackboard key",
                    "main.xml:3:59: error[NT0410]: port `answer` is an output, and `1 2` is not a blackboard key",
                ],
            ),
            (
                "<Wait duration='2s'/>",
                &["main.xml:3:17: warning[NT0409]: port `duration`: `s` is ignored"],
            ),
            (
                "<SubTree ID='T'/>",
                &["main.xml:3:14: error[NT0502]: the tree `T` contains itself: T > T"],
            ),
            (
                "<SubTree ID='Tt'/>",
                &["main.xml:3:14: error[NT0501]: there is no tree `Tt`"],
            ),
            (
                "<SubTree ID='T'><remap internal='a' external='b'/></SubTree>",
                &[
                    "main.xml:3:14: error[NT0502]: the tree `T` contains itself: T > T",
                    "main.xml:3:18: error[NT0309]: a `<SubTree>` has no children",
                ],
            ),
            (
                "<SubTreePlus ID='T2'/>",
                &[
                    "main.xml:3:2: error[NT0301]: version 4 has no `<SubTreePlus>`",
                    "main.xml:3:18: error[NT0501]: there is no tree `T2`",
                ],
            ),
        ] {
            assert_eq!(of_tree(content), expected, "{content}");
        }
    }

    #[test]
    fn a_declaration_of_a_model_does_not_register_it() {
        let text = "<root BTCPP_format='4'><BehaviorTree ID='T'><Fly/></BehaviorTree>\
            <TreeNodesModel><Action ID='Fly'/></TreeNodesModel></root>";
        let (registry, memory) = (registry(), memory(&[]));
        let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
        let refused = loader.load_text("<text>", text, Path::new(""), None).unwrap_err();
        let shown = refused.to_string();
        assert!(
            shown.contains("= help: a `<TreeNodesModel>` declares it, but that is for editors"),
            "{shown}"
        );
        assert_eq!(
            refused.one_line(),
            "<text>:1:46: error[NT0301]: unknown node `Fly` (a `<TreeNodesModel>` declares it, but that is for \
             editors; no such node is registered)"
        );
    }

    #[test]
    fn the_tree_to_run_is_found() {
        let tree = |id: &str| format!("<BehaviorTree ID='{id}'><IsDay/></BehaviorTree>");
        let include = "<include path='b.xml'/>".to_owned();
        for (root, content, main, expected) in [
            ("", tree("A"), None, Ok("A")),
            (
                "",
                "<BehaviorTree><IsDay/></BehaviorTree>".to_owned(),
                None,
                Ok("BehaviorTree_0"),
            ),
            ("main_tree_to_execute='B'", tree("A") + &tree("B"), None, Ok("B")),
            (
                "main_tree_to_execute='B'",
                tree("A") + &tree("B"),
                Some("A"),
                Ok("A"),
            ),
            (
                "main_tree_to_execute='C'",
                tree("A") + &tree("B"),
                None,
                Err("there is no tree `C`"),
            ),
            (
                "",
                tree("A") + &tree("B"),
                None,
                Err("the file defines several trees and does not say which to run"),
            ),
            ("main_tree_to_execute=''", tree("A"), None, Ok("A")),
            (
                "main_tree_to_execute=''",
                tree("A") + &tree("B"),
                None,
                Err("there is no tree ``"),
            ),
            (
                "main_tree_to_execute=''",
                include.clone() + &tree("A"),
                None,
                Err("there is no tree ``"),
            ),
            ("", tree("A"), Some("AA"), Err("there is no tree `AA`")),
            ("", include.clone() + &tree("A"), None, Ok("A")),
            ("", include.clone(), None, Ok("Z")),
            ("", include + &tree("A"), Some("Z"), Ok("Z")),
        ] {
            let text = format!("<root BTCPP_format='4' {root}>{content}</root>");
            let z = "<root><BehaviorTree ID='Z'><Wait/></BehaviorTree></root>";
            let (registry, memory) = (registry(), memory(&[("main.xml", &text), ("b.xml", z)]));
            let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
            let result = loader.load_file(Path::new("main.xml"), main);
            match (&result, expected) {
                (Ok(loaded), Ok(id)) => assert_eq!(loaded.def.id(), id),
                (Err(refused), Err(message)) => assert!(refused.one_line().contains(message), "{refused}"),
                _ => panic!("{text}: {result:?}"),
            }
        }
    }

    #[test]
    fn files_that_behaviortree_cpp_accepts_run_with_a_warning() {
        let tree = "<BehaviorTree ID='T'>\n<Script code=''/></BehaviorTree>";
        let warnings = [
            "main.xml:1:1: warning[NT0115]: text before the outermost element is ignored",
            "main.xml:2:46: warning[NT0216]: `main_tree_to_execute` is empty; `T`, the only tree, is run",
            "main.xml:3:15: warning[NT0602]: `Script` does nothing: its script is empty",
        ];
        let text = format!("// on\n<root BTCPP_format='4' main_tree_to_execute=''>{tree}</root>");
        let (mut registry, memory) = (registry(), memory(&[("main.xml", &text)]));
        registry.register::<nodes::ScriptAction>().unwrap();
        let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
        let loaded = loader.load_file(Path::new("main.xml"), None).unwrap();
        assert_eq!(lines(&loaded.warnings, &loaded.sources), warnings);
        let checked = loader.check_files(&[Path::new("main.xml")]);
        assert_eq!(lines(&checked.diagnostics, &checked.sources), warnings);
    }

    #[test]
    fn unused_trees_may_have_errors_but_no_unknown_nodes() {
        let text = "<root BTCPP_format='4' main_tree_to_execute='A'>\n<BehaviorTree ID='A'><IsDay/></BehaviorTree>\n\
            <BehaviorTree ID='B'><Wait duration='x'/></BehaviorTree>\n\
            <BehaviorTree ID='C'><SubTree ID='D'/></BehaviorTree>\n\
            <BehaviorTree ID='D'><SubTree ID='C'/></BehaviorTree>\n</root>";
        let expected = [
            "main.xml:3:38: warning[NT0403]: port `duration` is of type double: `x` is not a number",
            "main.xml:5:35: warning[NT0502]: the tree `C` contains itself: C > D > C",
        ];
        assert_eq!(problems(&[("main.xml", text)], None), expected);
        let unknown = text.replace("<Wait duration='x'/>", "<Wiat/>");
        let found = problems(&[("main.xml", &unknown)], None);
        assert_eq!(found[0], "main.xml:3:23: error[NT0301]: unknown node `Wiat`");

        let (registry, memory) = (registry(), memory(&[("main.xml", text)]));
        let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
        let checked = loader.check_files(&[Path::new("main.xml")]);
        let found = lines(&checked.diagnostics, &checked.sources);
        assert_eq!(found, expected.map(|line| line.replace("warning", "error")));
    }

    #[test]
    fn no_follow_up_errors_for_an_incomplete_file() {
        assert_eq!(
            problems(
                &[(
                    "main.xml",
                    "<root BTCPP_format='4'><include path='no.xml'/><BehaviorTree ID='T'><SubTree ID='X'/></BehaviorTree></root>"
                )],
                None
            ),
            ["main.xml:1:39: error[NT0001]: cannot read `no.xml`: no such file"]
        );
        assert_eq!(
            problems(
                &[(
                    "main.xml",
                    "<root BTCPP_format='4'><BehaviorTree ID='T'><Sequence><!--"
                )],
                None
            ),
            ["main.xml:1:55: error[NT0101]: the comment is not closed by `-->`"]
        );
    }

    #[test]
    fn a_subtree_port_needs_a_key_in_braces() {
        for (format, tag, advice) in [
            (4, "SubTree", "k=\"{k}\""),
            (3, "SubTree", "k=\"k\""),
            (3, "SubTreePlus", "k=\"{k}\""),
        ] {
            let text = format!(
                "<root BTCPP_format='{format}' main_tree_to_execute='A'><BehaviorTree ID='A'><{tag} ID='B'/>\
                 </BehaviorTree><BehaviorTree ID='B'><Wait duration='{{k}}'/></BehaviorTree></root>"
            );
            let (registry, memory) = (registry(), memory(&[("main.xml", &text)]));
            let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
            let loaded = loader.load_file(Path::new("main.xml"), None).unwrap();
            let reported: Vec<_> = loaded
                .warnings
                .iter()
                .filter_map(|found| found.help.clone())
                .collect();
            assert_eq!(
                reported,
                [format!(
                    "a subtree has its own keys: pass the key with {advice} where `B` is used"
                )]
            );
        }
    }

    #[test]
    fn version_3_has_its_own_rules() {
        let text = "<root BTCPP_format='3' main_tree_to_execute='A'>\n\
            <BehaviorTree ID='A'><Sequence><SubTree ID='B' k='{x}'/><SubTreePlus ID='B' k='{x}' __autoremap='1'/>\
            <Wait ID='x' _while='1'/></Sequence></BehaviorTree>\n\
            <BehaviorTree ID='B'><Wait duration='${d}'/></BehaviorTree>\n\
            <BehaviorTree ID='B'><Say/></BehaviorTree>\n</root>";
        assert_eq!(
            problems(&[("main.xml", text)], None),
            [
                "main.xml:2:48: warning[NT0307]: in version 3 a `<SubTree>` takes keys without braces; these become part of the key",
                "main.xml:2:115: warning[NT0307]: `_while` has no effect in version 3",
                "main.xml:3:38: warning[NT0406]: the key `d` is never written",
                "main.xml:4:19: warning[NT0213]: the tree `B` is defined again",
            ]
        );
    }

    /// Guarantee G7 for loading: either all errors and no tree, or a tree. A tree in use stays unchanged, because the
    /// loader cannot access it.
    #[test]
    fn g7_a_load_is_whole_or_nothing() {
        let memory = memory(&[
            (
                "good.xml",
                "<root BTCPP_format='4'><BehaviorTree ID='T'><IsDay/></BehaviorTree></root>",
            ),
            (
                "main.xml",
                "<root BTCPP_format='4'><BehaviorTree ID='T'><Sequence><IsDay/><Nope/><Say/></Sequence></BehaviorTree></root>",
            ),
        ]);
        let registry = registry();
        let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
        let running = loader.load_file(Path::new("good.xml"), None).unwrap().def;
        let refused = loader.load_file(Path::new("main.xml"), None).unwrap_err();
        assert_eq!(refused.diagnostics.count(Severity::Error), 2);
        assert_eq!((running.id(), running.len()), ("T", 1));
    }

    /// Small files that define very large trees, and names that are slow to compare.
    #[test]
    fn hostile_files_end_in_bounded_time() {
        let mut bomb = String::from("<root BTCPP_format='4' main_tree_to_execute='t0'>");
        for level in 0..40 {
            let call = format!("<SubTree ID='t{}'/>", level + 1);
            bomb += &format!("<BehaviorTree ID='t{level}'><Sequence>{call}{call}</Sequence></BehaviorTree>");
        }
        bomb += "<BehaviorTree ID='t40'><IsDay/></BehaviorTree>";
        for caller in 0..1000 {
            bomb += &format!("<BehaviorTree ID='c{caller}'><SubTree ID='t0'/></BehaviorTree>");
        }
        bomb += "</root>";
        let chain: String = (0..2000)
            .map(|level| {
                format!(
                    "<BehaviorTree ID='t{level}'><SubTree ID='t{}'/></BehaviorTree>",
                    level + 1
                )
            })
            .collect();
        let deep = format!(
            "<root BTCPP_format='4' main_tree_to_execute='t0'>{chain}\
             <BehaviorTree ID='t2000'>{}<IsDay/>{}</BehaviorTree></root>",
            "<Inverter>".repeat(limits::TREE_DEPTH - 1),
            "</Inverter>".repeat(limits::TREE_DEPTH - 1)
        );
        let long = "x".repeat(1_000_000);
        let names = format!(
            "<root BTCPP_format='4'><BehaviorTree ID='{long}'><Sequence><{long}y/><SubTree ID='{long}z'/></Sequence></BehaviorTree></root>"
        );
        let small_bomb = bomb.replace("t0'>", "t22'>").replace("<IsDay/>", "<Nope/>");
        let unknown: String = (0..5000)
            .map(|index| format!("<BehaviorTree ID='t{index}'><SubTree ID='u{index}'/></BehaviorTree>"))
            .collect();
        let unknown = format!("<root BTCPP_format='4' main_tree_to_execute='t0'>{unknown}</root>");
        let started = Instant::now();
        for (text, expected) in [
            (&small_bomb, "NT0301"),
            (&unknown, "NT0501"),
            (&bomb, "NT0505"),
            (&deep, "NT0505"),
            (&names, "NT0301"),
        ] {
            let (mut registry, memory) = (registry(), memory(&[("main.xml", text)]));
            // Far above the default: the other limits count.
            registry.set_max_nodes(1_500_000);
            let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
            let refused = loader.load_file(Path::new("main.xml"), None).unwrap_err();
            let shown = refused.one_line();
            assert!(shown.contains(expected), "{}", &shown[..shown.len().min(500)]);
        }
        assert!(started.elapsed().as_secs() < 120);
    }

    /// A few nodes that produce a lot of text, and a very large number of attributes.
    #[test]
    fn hostile_files_end_in_bounded_memory() {
        let long = "x".repeat(1_000_000);
        let doubled = |first: &str, last: &str, more: &str| {
            let levels: String = (0..16)
                .map(|level| {
                    let call = format!("<SubTree ID='t{}'/>", level + 1);
                    format!("<BehaviorTree ID='t{level}'><Sequence>{call}{call}</Sequence></BehaviorTree>")
                })
                .collect();
            format!(
                "<root BTCPP_format='4' main_tree_to_execute='T'><BehaviorTree ID='T'>{first}</BehaviorTree>{levels}\
                 <BehaviorTree ID='t16'>{last}</BehaviorTree>{more}</root>"
            )
        };
        let text = doubled("<SubTree ID='t0'/>", &format!("<Say message='{long}'/>"), "");
        let path = doubled(&format!("<SubTree ID='t0' name='{long}'/>"), "<IsDay/>", "");
        let ports: String = (0..10_000)
            .map(|port| format!("<input_port name='p{port}' default='1'/>"))
            .collect();
        let model = format!("<TreeNodesModel><SubTree ID='t16'>{ports}</SubTree></TreeNodesModel>");
        let model = doubled("<SubTree ID='t0'/>", "<IsDay/>", &model);
        let attributes =
            |count: usize| -> String { (0..count).map(|name| format!(" a{name}='1'")).collect() };
        let unknown = doubled("<SubTree ID='t0'/>", &format!("<IsDay{}/>", attributes(100)), "");
        let attributes = format!(
            "<root BTCPP_format='4'><BehaviorTree ID='T'><IsDay{}/></BehaviorTree></root>",
            attributes(1000)
        );
        for (text, expected) in [
            (&text, "NT0505"),
            (&path, "NT0505"),
            (&model, "NT0505"),
            (&unknown, "NT0401"),
            (&attributes, "NT0004"),
        ] {
            let (mut registry, memory) = (registry(), memory(&[("main.xml", text)]));
            // Far above the default: the other limits count.
            registry.set_max_nodes(1_500_000);
            let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
            let refused = loader.load_file(Path::new("main.xml"), None).unwrap_err();
            let shown = refused.one_line();
            assert!(shown.contains(expected), "{}", &shown[..shown.len().min(500)]);
        }
    }

    proptest! {
        #[test]
        fn no_file_crashes_the_loader(
            text in "(<(Sequence|Wait|Say|IsDay|Inverter|SubTree|Action|Nope)( (ID|name|message|duration|_skipIf|k)='(T|U|Wait|1|[{]k[}]|[{]@k[}]|=|x == 1|)')?/?>|</(Sequence|Inverter)>|</BehaviorTree><BehaviorTree ID='[TUV]'>){0,30}",
            format in "[345]",
        ) {
            let text = format!("<root BTCPP_format='{format}'><BehaviorTree ID='T'>{text}</BehaviorTree></root>");
            let (registry, memory) = (registry(), memory(&[]));
            let loader = Loader::new(&registry).files(&memory, AmentIndex::default());
            match loader.load_text("f", &text, Path::new(""), Some("T")) {
                Ok(loaded) => assert!(!loaded.warnings.has_errors()),
                Err(refused) => assert!(refused.diagnostics.has_errors() && !refused.one_line().is_empty()),
            }
        }
    }
}
