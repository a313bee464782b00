//! Source text to spanned document to tree definition, and back; diagnostics.
