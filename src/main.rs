//! The `navtree` executable: arguments, then the library.

fn main() {}
