//! Limits on the resources that a file may use. No content of a file can crash the process, hang it or exhaust its
//! memory: one of these limits applies to each loop and each allocation of the loader.

/// Maximum size of one file, in bytes.
pub const FILE_BYTES: usize = 64 * 1024 * 1024;

/// Maximum total size of a file and all its includes, in bytes.
pub const TOTAL_BYTES: usize = 256 * 1024 * 1024;

/// Maximum number of files of one load.
pub const FILES: usize = 4096;

/// Maximum depth of the nodes of one tree. BehaviorTree.CPP 4.9 has the same limit.
pub const TREE_DEPTH: usize = 256;

/// Maximum depth of the elements of a file: `<root>`, `<BehaviorTree>` and then [`TREE_DEPTH`] nodes.
pub const ELEMENT_DEPTH: usize = TREE_DEPTH + 2;

/// Maximum number of elements, comments and texts of one file.
pub const NODES: usize = 2_000_000;

/// Maximum number of attributes of one file.
pub const ATTRIBUTES: usize = 6_000_000;

/// Maximum number of attributes of one element: a port is found by a linear search.
pub const ELEMENT_ATTRIBUTES: usize = 500;

/// Maximum number of stored problems; the others are only counted.
pub const DIAGNOSTICS: usize = 1000;
