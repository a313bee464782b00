//! The rule of the rooms: a room uses only rooms that come earlier in the list of `lib.rs`.

use std::path::Path;

/// The rooms in the order of the table in the documentation of `lib.rs`.
fn rooms() -> Vec<&'static str> {
    include_str!("lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | ")?.split(" | ").next())
        .filter(|cell| cell.ends_with('`') || cell.ends_with("`]"))
        .map(|cell| cell.trim_matches(['[', ']', '`']))
        .collect()
}

/// All source files below a folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn a_room_uses_only_earlier_rooms() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let rooms = rooms();
    let mut folders: Vec<_> = std::fs::read_dir(&source)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    folders.sort_unstable();
    let mut sorted = rooms.clone();
    sorted.sort_unstable();
    assert_eq!(folders, sorted, "each folder of src is a room of lib.rs");

    let mut wrong = Vec::new();
    for (index, room) in rooms.iter().enumerate() {
        let mut of_room = Vec::new();
        files(&source.join(room), &mut of_room);
        for file in of_room {
            let text = std::fs::read_to_string(&file).unwrap();
            for used in &rooms[index + 1..] {
                let line = text
                    .lines()
                    .position(|line| line.contains(&format!("crate::{used}::")));
                if let Some(line) = line {
                    wrong.push(format!("{}:{} uses {used}", file.display(), line + 1));
                }
            }
        }
    }
    assert_eq!(wrong, [""; 0], "see docs/architecture.md, Rooms");
}
