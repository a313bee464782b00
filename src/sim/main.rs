//! The `nav_sim` executable: arguments, then the library.

fn main() {}
