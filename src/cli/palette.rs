//! `--palette`: node types that a file declares without a behavior, to check and draw trees with them.

use std::path::PathBuf;

use crate::bt::Registry;
use crate::xml::{Diagnostics, Disk, Palette};

/// Declares the nodes of the palettes. Says which of navtree's nodes they replace.
pub(crate) fn add_palettes(registry: &mut Registry, files: &[PathBuf]) -> Result<(), String> {
    for file in files {
        let mut diagnostics = Diagnostics::new();
        let (palette, sources) = Palette::read_file(file, &Disk, &mut diagnostics);
        if diagnostics.has_errors() {
            let lines = diagnostics.iter().map(|problem| problem.one_line(&sources));
            return Err(lines.collect::<Vec<_>>().join("\n"));
        }
        for note in palette.register(registry) {
            super::errln!("{}", note.one_line(&sources));
        }
    }
    Ok(())
}
