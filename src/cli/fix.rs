//! `navtree check --fix`: writes the fixed files.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::xml::{Checked, Disk, Files, Overlay, Repair, Repaired};

/// The outcome of [`run`].
#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) repaired: Repaired,
    /// A message for each file that has fixes and cannot be written.
    pub(super) left: Vec<String>,
}

/// Fixes files. `check` checks them all. A read-only file stays as it is.
///
/// Each file is replaced as a whole. If the text of a file has changed since it was checked, no file is written.
pub(super) fn run(files: &[PathBuf], check: &dyn Fn(&Overlay) -> Vec<Checked>) -> Result<Fixed, String> {
    for file in files {
        refuse_irregular(file)?;
    }
    let mut changeable = files.to_vec();
    let mut left = Vec::new();
    let repaired = loop {
        let repaired = Repair::new(&changeable, check).run();
        let is_left =
            |path: &PathBuf| repaired.files.contains_key(&Disk.identity(path)) && is_read_only(path);
        let (read_only, others): (Vec<_>, Vec<_>) = changeable.iter().cloned().partition(is_left);
        if read_only.is_empty() {
            break repaired;
        }
        let message = |path: &PathBuf| format!("{}: the file is read-only; it was not fixed", path.display());
        left.extend(read_only.iter().map(message));
        changeable = others;
    };
    write(&repaired)?;
    Ok(Fixed { repaired, left })
}

/// Writes the fixed files.
fn write(repaired: &Repaired) -> Result<(), String> {
    for (path, file) in &repaired.files {
        let now = Disk.read(path).map_err(|error| with_path(path, &error))?;
        if now != file.before.as_bytes() {
            return Err(format!(
                "{}: another program has changed the file meanwhile; nothing was written",
                path.display()
            ));
        }
    }
    for (written, (path, file)) in repaired.files.iter().enumerate() {
        replace(path, &file.after).map_err(|error| {
            let names = repaired.files.keys().map(|path| path.display().to_string());
            let names: Vec<String> = names.collect();
            let (before, after) = names.split_at(written);
            let before = if before.is_empty() {
                "none".to_owned()
            } else {
                before.join(", ")
            };
            format!(
                "{}; written: {before}; not written: {}",
                with_path(path, &error),
                after.join(", ")
            )
        })?;
    }
    Ok(())
}

fn with_path(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Refuses what cannot be replaced, before anything is done.
fn refuse_irregular(path: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(path).map_err(|error| with_path(path, &error))?;
    if !metadata.is_file() {
        let path = path.display();
        return Err(format!(
            "{path}: --fix changes files, and this is not a regular file"
        ));
    }
    Ok(())
}

fn is_read_only(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly())
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
    use crate::xml::RepairedFile;

    #[test]
    fn a_partial_write_is_reported() {
        let directory = std::env::temp_dir().join(format!("navtree-fix-partial-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let file = RepairedFile {
            before: "<a/>".to_owned(),
            after: "<b/>".to_owned(),
        };
        let paths = ["a.xml", "b.xml", "c.xml"].map(|name| directory.join(name));
        for path in &paths {
            std::fs::write(path, &file.before).unwrap();
        }
        // The new text of the second file cannot be made beside it.
        let taken = directory.join(format!("b.xml.{}.tmp", std::process::id()));
        std::fs::create_dir_all(&taken).unwrap();
        let repaired = Repaired {
            files: paths.iter().map(|path| (path.clone(), file.clone())).collect(),
            ..Repaired::default()
        };
        let error = write(&repaired).unwrap_err();
        let [a, b, c] = paths.each_ref().map(|path| path.display());
        assert!(error.starts_with(&format!("{b}: ")), "{error}");
        assert!(
            error.ends_with(&format!("; written: {a}; not written: {b}, {c}")),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&paths[0]).unwrap(), "<b/>");
        std::fs::remove_dir_all(&directory).unwrap();
    }

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
