//! The `navtree` executable: arguments, then the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    navtree::cli::main(std::env::args_os())
}
