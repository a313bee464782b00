//! Any text is refused for a reason, or becomes a document of version 4 in which converting again changes nothing.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use navtree::bt::Registry;
use navtree::xml::{Diagnostics, Document, Sources, convert};

fuzz_target!(|text: &str| {
    let mut sources = Sources::new();
    let mut read = |text: &str| {
        let file = sources.add_text("fuzz", Path::new(""), text.to_owned());
        let mut diagnostics = Diagnostics::new();
        let document = Document::parse(&file, &mut diagnostics);
        (!diagnostics.has_errors()).then_some(document)
    };
    let Some(document) = read(text) else { return };
    let (registry, mut diagnostics) = (Registry::builtin(), Diagnostics::new());
    let Some(converted) = convert(&document, &registry, &mut diagnostics) else {
        assert!(document.root().is_none() || diagnostics.has_errors());
        return;
    };
    let again = read(&converted).expect("what was well-formed stays so");
    assert_eq!(
        convert(&again, &registry, &mut Diagnostics::new()).as_deref(),
        Some(&*converted)
    );
});
