//! `navtree check --fix`: writes the fixed files.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::xml::{Checked, Disk, Files, Overlay, Repair, Repaired};

/// Fixes files. `check` checks them all.
///
/// Each file is replaced as a whole. If the text of a file has changed since it was checked, no file is written.
pub(super) fn run(files: &[PathBuf], check: &dyn Fn(&Overlay) -> Vec<Checked>) -> Result<Repaired, String> {
    for file in files {
        refuse_unwritable(file)?;
    }
    let repaired = Repair::new(files, check).run();
    for (path, file) in &repaired.files {
        let now = Disk.read(path).map_err(|error| with_path(path, &error))?;
        if now != file.before.as_bytes() {
            return Err(format!(
                "{}: another program has changed the file meanwhile; nothing was written",
                path.display()
            ));
        }
    }
    for (path, file) in &repaired.files {
        replace(path, &file.after).map_err(|error| with_path(path, &error))?;
    }
    Ok(repaired)
}

fn with_path(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Refuses a file that cannot be replaced, before anything is done.
fn refuse_unwritable(path: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(path).map_err(|error| with_path(path, &error))?;
    if !metadata.is_file() {
        let path = path.display();
        return Err(format!(
            "{path}: --fix changes files, and this is not a regular file"
        ));
    }
    if metadata.permissions().readonly() {
        return Err(format!(
            "{}: the file is read-only, and --fix would change it",
            path.display()
        ));
    }
    Ok(())
}

/// Replaces a file as a whole: a reader finds the old text or the new one. The permissions stay.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let new = path.with_file_name(name);
    let written = write_new(&new, path, text).and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

fn write_new(new: &Path, old: &Path, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::create_new(new)?;
    file.set_permissions(std::fs::metadata(old)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_if_a_file_has_changed_meanwhile() {
        let path = std::env::temp_dir().join(format!("navtree-fix-{}.xml", std::process::id()));
        std::fs::write(&path, "<root>&</root>").unwrap();
        let check = |overlay: &Overlay| {
            let registry = crate::nav::registry();
            let loader = crate::xml::Loader::new(&registry).files(overlay, Default::default());
            let checked = loader.check_files(&[&path]);
            // Another program writes the file while it is checked.
            std::fs::write(&path, "<root/>").unwrap();
            vec![checked]
        };
        let error = run(std::slice::from_ref(&path), &check).unwrap_err();
        assert!(error.contains("changed the file meanwhile"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "<root/>");
        std::fs::remove_file(&path).unwrap();
    }
}
