//! Source text to spanned document to tree definition, and back; diagnostics.
//!
//! Reading a tree file goes through these steps, each a file here:
//!
//! 1. [`Files`] and [`AmentIndex`] say where texts come from; [`Sources`] holds them and turns a [`Span`]
//!    into file, line and column.
//! 2. [`Document`] is one file as elements and attributes, each with its span; [`Documents`] is a file with
//!    all that it includes.
//! 3. [`Format`] decides which version of the language a file is in.
//! 4. The documents become the engine's [`ForestSpec`](crate::bt::ForestSpec), which
//!    [`bt::compile`](crate::bt::compile) checks and compiles. [`Loader`] does all of it.
//!
//! Every step reports to one list of [`Diagnostics`], so that a user sees all that is wrong in one run.
//! [`Levels`] silences or sharpens warnings. Nothing a file contains can crash, hang or exhaust memory;
//! [`limits`] says what is allowed.

mod code;
mod compilation;
mod convert;
mod diagnostic;
mod document;
mod entity;
mod files;
mod forest;
mod format;
mod includes;
mod levels;
pub mod limits;
mod load;
mod main_tree;
mod models;
mod palette;
mod problems;
mod read;
mod read_attributes;
mod render;
mod report;
mod source;

pub use code::{Code, Severity, UnknownCode};
pub use convert::convert;
pub use diagnostic::{Diagnostic, Diagnostics, Label};
pub use document::{Attribute, Document, Element, Node, NodeId, NodeKind, Text};
pub(crate) use entity::escape;
pub use files::{AmentIndex, Disk, Files, Memory};
pub use format::Format;
pub use includes::Documents;
pub(crate) use includes::decoded;
pub use levels::{Level, Levels};
pub use load::{Checked, Loaded, Loader, Refused, Trial};
pub use palette::Palette;
pub use render::Colour;
pub use source::{FileId, Position, SourceFile, Sources, Span};
