//! Generates `docs/guarantees.md`: the guarantees of navtree, the code that implements each, and the tests that prove
//! it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

struct Guarantee {
    number: u32,
    title: &'static str,
    text: &'static str,
    /// The files and rooms that implement it.
    kept_in: &'static [&'static str],
}

const GUARANTEES: [Guarantee; 11] = [
    Guarantee {
        number: 1,
        title: "A tick never waits",
        text: "A tick takes no lock that another thread holds for long, does no input or output and does not sleep. A leaf \
               whose answer has not come yet returns RUNNING.",
        kept_in: &["src/bt", "src/nav/world", "src/navigator/thread", "clippy.toml"],
    },
    Guarantee {
        number: 2,
        title: "Stop before start",
        text: "A running leaf that loses its turn is halted exactly once, in the same tick. The requests of a tick are sent \
               at its end, cancels first: a server sees the stop before another one sees the start. `halt_before_start: false` gives up \
               this order.",
        kept_in: &[
            "src/bt/halt.rs",
            "src/bt/run.rs",
            "src/nav/world",
            "src/goal/tracker",
        ],
    },
    Guarantee {
        number: 3,
        title: "A halted goal is followed to its end",
        text: "`halt` returns at once. The goal behind it is tracked until its server reports its end, the server is gone, or \
               a deadline has passed and was reported. A goal that is accepted after its leaf was halted is cancelled. \
               A goal that another client cancels ends the navigation, and no other goal of the tree is sent.",
        kept_in: &[
            "src/goal/action",
            "src/goal/tracker",
            "src/nav/world",
            "src/ros/goal_tracker",
        ],
    },
    Guarantee {
        number: 4,
        title: "A halted leaf hears nothing more",
        text: "After `halt` nothing that arrives for that activation changes the blackboard, a status or a later activation \
               of the leaf.",
        kept_in: &["src/goal/tracker", "src/nav/action_leaf.rs", "src/job/handle.rs"],
    },
    Guarantee {
        number: 5,
        title: "One goal at a time",
        text: "A leaf whose server still has a goal of this node that is stopping waits (RUNNING) before it sends the next, \
               until the old goal has ended or its cancel deadline has passed.",
        kept_in: &["src/goal/tracker/queue.rs"],
    },
    Guarantee {
        number: 6,
        title: "A dead server is a failure",
        text: "A server that is absent, or that does not answer a request, fails its leaf with an error code after a time that \
               a parameter sets. A server that dies fails it when the middleware reports the death: up to 20 s after \
               `kill -9` with Fast DDS. Only a goal that its server has accepted has no time limit, as in Nav2: its leaf is \
               RUNNING until the server reports the end. `RosAction` has a limit if its port `result_timeout` is set.",
        kept_in: &["src/goal/action", "src/goal/service.rs", "src/nav/action_leaf.rs"],
    },
    Guarantee {
        number: 7,
        title: "A broken tree replaces nothing",
        text: "A tree is swapped only after the new one was read, checked and built as a whole. When anything is wrong the old \
               one stays, and the caller gets file, line, column and reason.",
        kept_in: &[
            "src/navigator/library.rs",
            "src/navigator/id_search.rs",
            "src/xml/load.rs",
            "src/nav/dry_run.rs",
        ],
    },
    Guarantee {
        number: 8,
        title: "Every end is the same end",
        text: "SIGINT, SIGTERM, SIGHUP, SIGQUIT, deactivation, a panic in a leaf and a panic in any thread end alike: the tree \
               is halted, its goals are cancelled, the end is waited for within a bound, the result is delivered, and the \
               exit code tells a fault.",
        kept_in: &[
            "src/navigator/node",
            "src/navigator/signals.rs",
            "src/ros/thread_exit.rs",
            "src/ros/exit.rs",
        ],
    },
    Guarantee {
        number: 9,
        title: "A run can be repeated",
        text: "The same tree, inputs and clock give the same trace, tick by tick.",
        kept_in: &["src/bt", "src/goal"],
    },
    Guarantee {
        number: 10,
        title: "Ticks keep time",
        text: "Tick n is due at start + n × period, by a monotonic clock or by simulated time. There is no drift and no burst \
               to catch up. Ticks that were missed are counted. With `tick_on_event`, an event brings an additional tick; \
               the others stay. The time in which the process does not run, because it is stopped or gets no processor \
               for more than 0.7 s, does not count.",
        kept_in: &[
            "src/navigator/schedule.rs",
            "src/navigator/missed_ticks.rs",
            "src/ros/clock.rs",
        ],
    },
    Guarantee {
        number: 11,
        title: "A killed navigator leaves no goal",
        text: "The goals of a navigator that is killed or crashes are cancelled by another process within 1.5 s \
               ([guardian.md](guardian.md)).",
        kept_in: &["src/ros/guardian"],
    },
];

const HEAD: &str = "# Guarantees

<!-- Generated from src/guarantees.rs and the names of the tests; do not edit.
     NAVTREE_BLESS=1 cargo test --no-default-features --lib guarantees writes it anew. -->

navtree makes eleven promises. A test that proves one has its number in its name (`g3_…`). `scripts/test` runs all of them.
";

/// Whether a line of Rust or Python defines a test whose name contains the guarantee.
fn is_test_of(line: &str, number: u32) -> bool {
    let line = line.trim_start();
    let name = line
        .strip_prefix("fn ")
        .or_else(|| line.strip_prefix("def test_"));
    let wanted = format!("g{number}");
    name.and_then(|rest| rest.split('(').next())
        .is_some_and(|name| name.split('_').any(|word| word == wanted))
}

/// The files below a folder with such a test, sorted.
fn tests_below(root: &Path, folder: &Path, number: u32, found: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            tests_below(root, &path, number, found);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "py") {
            let text = fs::read_to_string(&path).unwrap();
            if text.lines().any(|line| is_test_of(line, number)) {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
}

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = |files: &[String]| {
        let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
        files.join(", ")
    };
    let mut page = HEAD.to_owned();
    for guarantee in &GUARANTEES {
        let mut tests = Vec::new();
        for folder in ["src", "test"] {
            tests_below(root, &root.join(folder), guarantee.number, &mut tests);
        }
        assert!(!tests.is_empty(), "no test names G{}", guarantee.number);
        for file in guarantee.kept_in {
            assert!(
                root.join(file).exists(),
                "G{}: {file} does not exist",
                guarantee.number
            );
        }
        let kept_in: Vec<String> = guarantee.kept_in.iter().map(|file| (*file).to_owned()).collect();
        let Guarantee {
            number, title, text, ..
        } = guarantee;
        let (kept_in, tests) = (list(&kept_in), list(&tests));
        writeln!(
            page,
            "\n## G{number}: {title}\n\n{text}\n\n- Kept in: {kept_in}\n- Tests: {tests}"
        )
        .unwrap();
    }
    page
}

#[test]
fn the_page_of_guarantees_is_up_to_date() {
    crate::golden_file::check("docs/guarantees.md", &page());
}
