//! Nav2's own trees, for tests. They are not part of this repository, but expected in a folder `shared` beside it or above.

use std::path::{Path, PathBuf};

/// A folder of `shared`; `None` if it is not there.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let places = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(1);
    let found = places
        .map(|place| place.join("shared").join(name))
        .find(|folder| folder.is_dir());
    if found.is_none() {
        eprintln!("not tested: there is no folder shared/{name} beside this repository");
    }
    found
}
