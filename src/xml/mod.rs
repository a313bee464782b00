//! Source text to document with spans to tree definition, and back; diagnostics.
//!
//! Loading a tree file has these steps, each in its own file:
//!
//! 1. [`Files`] and [`AmentIndex`] provide the texts; [`Sources`] holds them and converts a [`Span`] to file, line and
//!    column.
//! 2. [`Document`] is one file as elements and attributes, each with its span; [`Documents`] is a file with all its
//!    includes.
//! 3. [`Format`] determines the language version of a file.
//! 4. The documents become the engine's [`ForestSpec`](crate::bt::ForestSpec), which
//!    [`bt::compile`](crate::bt::compile) checks and compiles. [`Loader`] performs all steps.
//!
//! All steps report to one list of [`Diagnostics`], so one run shows all problems. [`Levels`] silences warnings or
//! makes them errors. No content of a file can crash the process, hang it or exhaust its memory; [`limits`] defines the
//! limits.

mod code;
mod compilation;
mod convert;
mod diagnostic;
mod document;
mod element_checks;
mod entity;
mod examples;
mod files;
mod fix;
mod forest;
mod format;
mod includes;
mod levels;
pub mod limits;
mod load;
mod main_tree;
mod models;
mod overlay;
mod palette;
mod problems;
mod read;
mod read_attributes;
mod read_start;
mod render;
mod repair;
mod report;
mod root_name;
mod source;
mod suppliers;

pub use code::{Code, Severity, UnknownCode};
pub use convert::convert;
pub use diagnostic::{Diagnostic, Diagnostics, Label};
pub(crate) use document::names_kind;
pub use document::{Attribute, Document, Element, Node, NodeId, NodeKind, Text};
pub(crate) use entity::{escape, unescape};
pub use examples::Advice;
pub use files::{AmentIndex, Disk, Files, Memory};
pub(crate) use fix::escaped;
pub use fix::{Edit, Fix};
pub use format::Format;
pub(crate) use format::V4_ATTRIBUTES;
pub use includes::Documents;
pub(crate) use includes::decoded;
pub use levels::{Level, Levels};
pub use load::{Checked, Definition, Loaded, Loader, Refused, Trial};
pub use overlay::Overlay;
pub use palette::Palette;
pub use render::Colour;
pub use repair::{Repair, Repaired, RepairedFile};
pub(crate) use root_name::may_hold_trees;
pub use source::{FileId, Position, SourceFile, Sources, Span};
