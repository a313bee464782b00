//! Any text becomes a document and diagnostics that can be shown, in bounded time.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use navtree::xml::{Colour, Diagnostics, Document, Levels, Sources};

fuzz_target!(|text: &str| {
    let mut sources = Sources::new();
    let file = sources.add_text("fuzz", Path::new(""), text.to_owned());
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(&file, &mut diagnostics);
    let mut levels = Levels::new();
    levels.read_comments(&document, &mut diagnostics);
    levels.apply(&mut diagnostics);
    diagnostics.sort();
    for diagnostic in &diagnostics {
        diagnostic.render(&sources, Colour::Always);
    }
    diagnostics.to_sarif(&sources);
    for element in document.root().iter().flat_map(|root| root.subtree()) {
        for attribute in element.attributes() {
            assert!(attribute.span().contains(attribute.value_span()));
        }
    }
});
