//! Any text is refused with an error, or is a tree that can be made, ticked and halted. All nodes are known, Nav2's
//! too, and act on nothing.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use navtree::bt::{HaltReason, Registry, Time, Tree};
use navtree::xml::{AmentIndex, Loader, Memory};

static REGISTRY: LazyLock<Registry> = LazyLock::new(navtree::nav::registry);

fuzz_target!(|text: &str| {
    let files = Memory::default();
    let loader = Loader::new(&REGISTRY).files(&files, AmentIndex::default());
    match loader.load_text("fuzz", text, Path::new(""), None) {
        Ok(loaded) => {
            let mut tree = Tree::new(loaded.def);
            for tick in 0..10 {
                if tree.tick(Time::from_millis(100 * tick)).is_err() {
                    break;
                }
            }
            tree.halt(HaltReason::ShuttingDown, Time::from_millis(1000));
        }
        Err(refused) => assert!(refused.diagnostics.has_errors() && !refused.one_line().is_empty()),
    }
});
