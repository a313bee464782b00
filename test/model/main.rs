//! The model check of room `goal`: `src/goal/model.rs`, compiled with the library's own files and optimized.

#![allow(
    dead_code,
    unused_imports,
    reason = "the rest of the library uses what these tests do not"
)]

#[path = "../../src/goal/mod.rs"]
mod goal;
#[path = "../../src/bt/halt.rs"]
mod halt;
#[path = "../../src/bt/time.rs"]
mod time;

mod bt {
    pub(crate) use crate::halt::HaltReason;
    pub(crate) use crate::time::Time;
}
