//! `navtree view` of a tree file: shows the tree again whenever one of its files changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::bt::{Registry, TreeDef};
use crate::monitor::web::Feed;
use crate::xml::{Checked, Loader, Refused, Sources};

/// Time between two looks at the files. They are compared by time and size: editors save files in many ways, also by
/// putting another one in the place, and not every file system notifies of changes.
const PERIOD: Duration = Duration::from_millis(200);

/// A tree to show.
pub(super) struct Preview {
    pub(super) file: PathBuf,
    /// The ID of the tree. `None`: the main tree of the file.
    pub(super) tree: Option<String>,
    /// With the nodes of all palettes.
    pub(super) registry: Registry,
}

impl Preview {
    fn read(&self) -> Result<(Arc<TreeDef>, Checked), Refused> {
        let loader = Loader::new(&self.registry).with_models();
        let loaded = loader.load_file(&self.file, self.tree.as_deref())?;
        Ok((loaded.def, loader.check_files(&[&self.file])))
    }

    /// The feed of the tree. From then on, a thread follows the files.
    ///
    /// # Errors
    /// The problems of the files.
    pub(super) fn start(self) -> Result<Feed, String> {
        let (def, checked) = self.read().map_err(|refused| refused.to_string())?;
        let feed = Feed::new(usize::MAX);
        feed.show_tree(&def, &checked);
        let follower = Follower {
            stamps: stamps(&self.names(&checked.sources)),
            preview: self,
            feed: feed.clone(),
            def,
        };
        std::thread::Builder::new()
            .name("preview".to_owned())
            .spawn(move || follower.follow())
            .map_err(|error| error.to_string())?;
        Ok(feed)
    }

    /// The files whose changes count.
    fn names(&self, sources: &Sources) -> Vec<PathBuf> {
        let included = sources.iter().map(|source| PathBuf::from(source.name()));
        let mut names: Vec<PathBuf> = included.chain([self.file.clone()]).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Shows the tree again when its files change.
struct Follower {
    preview: Preview,
    feed: Feed,
    /// The last tree without errors.
    def: Arc<TreeDef>,
    stamps: Vec<Stamp>,
}

/// A file, with its time and size if it exists.
type Stamp = (PathBuf, Option<(SystemTime, u64)>);

impl Follower {
    fn follow(mut self) {
        loop {
            std::thread::sleep(PERIOD);
            self.look();
        }
    }

    /// Shows the tree again if a file has changed. The result is the number of problems that are shown.
    fn look(&mut self) -> Option<usize> {
        let names: Vec<PathBuf> = self.stamps.iter().map(|(name, _)| name.clone()).collect();
        let now = stamps(&names);
        if now == self.stamps {
            return None;
        }
        // Taken before the files are read: a change while they are read is seen next time.
        self.stamps = now;
        let read = self.preview.read();
        let checked: &Checked = match &read {
            Ok((def, checked)) => {
                self.def = Arc::clone(def);
                checked
            }
            // The tree that was shown stays, with the problems of the files.
            Err(refused) => refused,
        };
        self.feed.show_tree(&self.def, checked);
        self.add(&checked.sources);
        Some(checked.diagnostics.iter().count())
    }

    /// Adds the files that were not known.
    fn add(&mut self, sources: &Sources) {
        for name in self.preview.names(sources) {
            if !self.stamps.iter().any(|(known, _)| *known == name) {
                self.stamps.push(stamp(&name));
            }
        }
    }
}

fn stamps(names: &[PathBuf]) -> Vec<Stamp> {
    names.iter().map(|name| stamp(name)).collect()
}

fn stamp(name: &Path) -> Stamp {
    let state = std::fs::metadata(name).and_then(|data| Ok((data.modified()?, data.len())));
    (name.to_owned(), state.ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_shown_again_after_a_change_and_stays_when_it_is_broken() {
        let folder = std::env::temp_dir().join(format!("navtree-preview-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let tree =
            |node: &str| format!("<root BTCPP_format='4'><BehaviorTree ID='T'>{node}</BehaviorTree></root>");
        let file = folder.join("tree.xml");
        let save = |node: &str| std::fs::write(&file, tree(node)).unwrap();
        save("<AlwaysSuccess/>");
        let preview = Preview {
            file: file.clone(),
            tree: None,
            registry: Registry::builtin(),
        };
        let (def, checked) = preview.read().unwrap();
        let feed = Feed::new(usize::MAX);
        feed.show_tree(&def, &checked);
        let mut follower = Follower {
            stamps: stamps(&preview.names(&checked.sources)),
            preview,
            feed,
            def,
        };
        assert_eq!(follower.look(), None);
        // Each text has another size, so the time need not pass.
        let root = |follower: &Follower| follower.def.nodes().next().unwrap().1.id.to_string();
        for (node, problems, shown) in [
            ("<Sleep msec='5'/>", Some(0), "Sleep"),
            ("<Sleep msec='soon'/>", Some(1), "Sleep"),
            ("<Inverter><Sleep msec='7'/></Inverter>", Some(0), "Inverter"),
        ] {
            save(node);
            assert_eq!(follower.look(), problems, "{node}");
            assert_eq!(root(&follower), shown, "{node}");
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!(follower.look(), Some(1));
        assert_eq!(root(&follower), "Inverter");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
