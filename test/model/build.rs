//! The files of the library leave out their other tests where they are compiled for the model check.

fn main() {
    println!("cargo::rustc-cfg=model");
    println!("cargo::rustc-check-cfg=cfg(model)");
}
