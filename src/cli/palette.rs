//! `--palette`: node types that a file declares without a behavior, to check and draw trees with them.

use std::path::PathBuf;

use crate::bt::Registry;
use crate::xml::{Diagnostics, Disk, Palette};

/// Declares all nodes of the palettes that are not registered.
pub(crate) fn add_palettes(registry: &mut Registry, files: &[PathBuf]) -> Result<(), String> {
    for file in files {
        let mut diagnostics = Diagnostics::new();
        let (palette, sources) = Palette::read_file(file, &Disk, &mut diagnostics);
        if diagnostics.has_errors() {
            let lines = diagnostics.iter().map(|problem| problem.one_line(&sources));
            return Err(lines.collect::<Vec<_>>().join("\n"));
        }
        palette.register(registry);
    }
    Ok(())
}
