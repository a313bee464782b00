//! Limits the memory use of the process.

// From glibc, the C library of every ROS 2 on Linux. A crate for one function would be an additional dependency to
// trust.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    fn mallopt(option: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
}

/// Makes all threads share two heaps. The default is eight per core, and each keeps the memory of its peak. A node's
/// threads allocate too seldom to compete for a lock. Call it before any thread is started.
pub fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const M_ARENA_MAX: std::ffi::c_int = -8;
        // SAFETY: sets a number; glibc allows this at any time.
        unsafe { mallopt(M_ARENA_MAX, 2) };
    }
}
