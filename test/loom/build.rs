//! The files of the library leave out their own tests where they are compiled for loom.

fn main() {
    println!("cargo::rustc-cfg=loom");
    println!("cargo::rustc-check-cfg=cfg(loom)");
}
