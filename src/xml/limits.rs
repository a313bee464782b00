//! Bounds on what a file may ask of this process. Nothing that a file contains can crash, hang or exhaust
//! memory: every loop and every allocation of the loader is bounded by one of these.

/// Bytes of one file.
pub const FILE_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of a file and all that it includes.
pub const TOTAL_BYTES: usize = 256 * 1024 * 1024;

/// Files that one load may read.
pub const FILES: usize = 4096;

/// How deep nodes of one tree may be nested; BehaviorTree.CPP 4.9 has the same limit.
pub const TREE_DEPTH: usize = 256;

/// How deep elements of a file may be nested: `<root>`, `<BehaviorTree>` and then [`TREE_DEPTH`] nodes.
pub const ELEMENT_DEPTH: usize = TREE_DEPTH + 2;

/// Elements, comments and texts of one file.
pub const NODES: usize = 2_000_000;

/// Attributes of one file.
pub const ATTRIBUTES: usize = 6_000_000;

/// Attributes of one element: ports are looked up among them one by one.
pub const ELEMENT_ATTRIBUTES: usize = 500;

/// Problems that are kept; the rest is counted only.
pub const DIAGNOSTICS: usize = 1000;
