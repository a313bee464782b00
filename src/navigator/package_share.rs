//! The location of this package's files.

use std::path::{Path, PathBuf};

/// Finds a file of the package's share folder: below the prefixes of the environment, beside the executable, or in the
/// source folder of the build.
pub fn share_file(path: &str) -> Option<PathBuf> {
    let prefixes = std::env::var_os("AMENT_PREFIX_PATH")
        .map(|all| std::env::split_paths(&all).collect::<Vec<_>>())
        .unwrap_or_default();
    let installed = prefixes.into_iter().map(|prefix| prefix.join("share/navtree"));
    // install/navtree/lib/navtree/navtree
    let beside = std::env::current_exe()
        .ok()
        .and_then(|executable| Some(executable.ancestors().nth(3)?.join("share/navtree")));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
    installed
        .chain(beside)
        .chain([sources])
        .map(|folder| folder.join(path))
        .find(|file| file.exists())
}
