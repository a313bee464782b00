//! The declarations of node types in three formats: one file per format.

mod palette;
mod reference;
mod xsd;

pub use palette::palette;
pub(super) use palette::write_models;
pub use reference::reference;
pub use xsd::xsd;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::bt::Registry;
    use crate::golden_file;
    use crate::xml::{Diagnostics, Memory, Palette};

    #[test]
    fn the_reference_the_palette_and_the_schema_are_current() {
        let registry = crate::nav::registry();
        golden_file::check("docs/nodes.md", &reference(&registry));
        golden_file::check("docs/nodes.xml", &palette(&registry));
        golden_file::check("docs/tree.xsd", &xsd(&registry));
    }

    /// The checker reads the same nodes and ports back from the palette.
    #[test]
    fn the_palette_names_every_node_and_port() {
        let registry = crate::nav::registry();
        let files = Memory::new([("nodes.xml", palette(&registry))]);
        let mut diagnostics = Diagnostics::new();
        let (palette, _) = Palette::read_file(Path::new("nodes.xml"), &files, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let mut read = Registry::new();
        palette.register(&mut read);
        let names = |registry: &Registry| -> BTreeSet<String> {
            let manifests = registry.manifests();
            manifests
                .flat_map(|it| {
                    it.ports
                        .iter()
                        .map(|port| format!("{} {} {:?}", it.id, port.name, it.kind))
                })
                .collect()
        };
        assert_eq!(names(&registry), names(&read));
    }

    /// Validates trees with xmllint. If it is not installed, this test and `scripts/test` report that no tree was
    /// validated. `NAVTREE_TREES` adds directories.
    #[test]
    fn trees_are_valid_by_the_schema() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        let more = std::env::var_os("NAVTREE_TREES").unwrap_or_default();
        let directories = std::env::split_paths(&more).filter(|path| !path.as_os_str().is_empty());
        for directory in directories.chain([root.join("behavior_trees")]) {
            let entries = std::fs::read_dir(&directory).unwrap();
            files.extend(entries.map(|entry| entry.unwrap().path()));
        }
        let mut xmllint = Command::new("xmllint");
        xmllint.args(["--noout", "--nonet", "--schema"]);
        let Ok(output) = xmllint.arg(root.join("docs/tree.xsd")).args(&files).output() else {
            println!("skipped: xmllint is not installed, so no tree was compared with docs/tree.xsd");
            return;
        };
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Every tree in this repository has no error and no warning.
    #[test]
    fn the_trees_of_this_repository_are_good() {
        let registry = crate::nav::registry();
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("behavior_trees");
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let checked = crate::xml::Loader::new(&registry).check_files(&[&path]);
            let lines: Vec<String> = checked
                .diagnostics
                .iter()
                .map(|problem| problem.one_line(&checked.sources))
                .collect();
            assert_eq!(lines, [""; 0]);
        }
    }
}
