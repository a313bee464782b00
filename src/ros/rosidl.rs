//! What rosidl's descriptions of types are made of.

use std::sync::{Mutex, MutexGuard, PoisonError};

use r2r_rcl as rcl;

/// To be held while a type is asked for its description: the first call completes it, in C and without a lock of its own.
pub(super) fn describing() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
/// Where `data` is not null, it points to `size` elements that are never written again.
pub(super) unsafe fn slice<T>(data: *const T, size: usize) -> &'static [T] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(data, size) }
}

/// The text up to its first zero byte: the size of a source text counts the one that ends it, and r2r panics on any.
///
/// # Safety
/// As rosidl makes it.
pub(super) unsafe fn text_of(text: &rcl::rosidl_runtime_c__String) -> String {
    // SAFETY: see above.
    let bytes = unsafe { slice(text.data.cast::<u8>(), text.size) };
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
