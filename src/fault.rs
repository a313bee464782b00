//! Faults that tests inject into a thread. Without the feature `fault-injection`, this module does nothing.

/// Panics if the environment variable `NAVTREE_FAULT` is `THREAD:FILE`, the calling thread has that name, and the file
/// exists. If the file contains `hang`, the thread hangs instead. The file is removed first, so there is only one
/// fault.
#[cfg(feature = "fault-injection")]
pub(crate) fn point() {
    point_of(std::thread::current().name().unwrap_or_default());
}

/// Like [`point`], for work that has no thread of its own.
#[cfg(feature = "fault-injection")]
#[expect(clippy::panic, reason = "what it is for")]
pub(crate) fn point_of(name: &str) {
    static WANTED: std::sync::OnceLock<Option<(String, String)>> = std::sync::OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        let wanted = std::env::var("NAVTREE_FAULT").ok()?;
        let (thread, file) = wanted.split_once(':')?;
        Some((thread.to_owned(), file.to_owned()))
    });
    if let Some((thread, file)) = wanted
        && name == thread
        && let Ok(text) = std::fs::read_to_string(file)
        && std::fs::remove_file(file).is_ok()
    {
        while text == "hang" {
            std::thread::park();
        }
        panic!("a fault was injected into `{thread}`");
    }
}

/// Does nothing.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
pub(crate) fn point() {}

/// Does nothing.
#[cfg(all(feature = "ros", not(feature = "fault-injection")))]
#[inline(always)]
pub(crate) fn point_of(_: &str) {}
