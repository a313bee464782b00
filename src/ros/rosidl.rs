//! Access to rosidl's type descriptions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use r2r_rcl as rcl;

/// Lock to hold while a type description is requested: the first call completes the description, in C and without a
/// lock.
pub(super) fn describing() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
/// `data` is null, or points to `size` elements that are never written again.
pub(super) unsafe fn slice<T>(data: *const T, size: usize) -> &'static [T] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(data, size) }
}

/// The text up to its first zero byte: the size of a source text includes the final zero byte, and r2r panics on a zero
/// byte.
///
/// # Safety
/// The text was made by rosidl.
pub(super) unsafe fn text_of(text: &rcl::rosidl_runtime_c__String) -> String {
    // SAFETY: see above.
    let bytes = unsafe { slice(text.data.cast::<u8>(), text.size) };
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
