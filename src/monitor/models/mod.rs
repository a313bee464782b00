//! What node types declare of themselves, in three forms: one file a form.

mod palette;
mod reference;
mod xsd;

pub use palette::palette;
pub use reference::reference;
pub use xsd::xsd;

/// Escapes text for an attribute or an element.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
