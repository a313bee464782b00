//! Runs the commands of `docs/testing-trees.md` as a reader would, and compares what they print with the page.
//! `NAVTREE_BLESS=1` writes the output into the page.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = "docs/testing-trees.md";

/// The shell of a reader: a folder of its own, in which `navtree` is the build of this test.
struct Shell {
    folder: PathBuf,
    path: String,
    /// Exit code of the last command, for `$?`.
    code: i32,
}

impl Shell {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("navtree-page-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_navtree"));
        let programs = program.parent().unwrap().display();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        let code = 0;
        Self { folder, path, code }
    }

    /// What a command prints to both outputs.
    fn run(&mut self, command: &str) -> String {
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1\n(exit {})\n{command}", self.code)])
            .env("PATH", &self.path)
            .current_dir(&self.folder)
            .output()
            .unwrap();
        self.code = output.status.code().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The file name in the words before a block: "Save this as `NAME`:" or "save this one as `NAME`:".
fn file_name(words: &str) -> Option<&str> {
    let (_, rest) = words.trim_end().strip_suffix("`:")?.rsplit_once(" as `")?;
    Some(rest)
}

/// Runs the page: saves its files, runs its commands, and puts what they print in the place of what it shows.
fn run(page: &str, shell: &mut Shell) -> (String, Vec<(String, i32)>) {
    let mut written = String::new();
    let mut commands = Vec::new();
    let mut rest = page;
    while let Some((words, block)) = rest.split_once("\n```") {
        let (kind, block) = block.split_once('\n').unwrap();
        let (content, after) = block.split_once("```\n").unwrap();
        rest = after;
        written.push_str(&format!("{words}\n```{kind}\n"));
        if kind == "console" {
            for command in content.lines().filter_map(|line| line.strip_prefix("$ ")) {
                written.push_str(&format!("$ {command}\n{}", shell.run(command)));
                commands.push((command.to_owned(), shell.code));
            }
        } else {
            if kind != "sh" {
                // No file of the page is without a name.
                let name = file_name(words).unwrap();
                let file = shell.folder.join(name);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, content).unwrap();
            }
            written.push_str(content);
        }
        written.push_str("```\n");
    }
    written.push_str(rest);
    (written, commands)
}

#[test]
fn the_page_about_tests_shows_what_its_commands_print() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&file).unwrap();
    let (written, commands) = run(&page, &mut Shell::new());
    assert!(commands.len() > 8, "{commands:?}");
    let problems: Vec<_> = commands.iter().filter(|(_, code)| *code != 0).collect();
    assert_eq!(
        problems,
        [
            &("navtree check my_tree.xml".to_owned(), 1),
            &("navtree test scenarios/recovery.yaml".to_owned(), 1)
        ]
    );
    if std::env::var_os("NAVTREE_BLESS").is_some() {
        std::fs::write(&file, written).unwrap();
    } else {
        assert_eq!(
            written, page,
            "NAVTREE_BLESS=1 writes what the commands print now"
        );
    }
}
