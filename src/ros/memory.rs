//! What the process holds of the machine's memory.

// Of glibc, which every ROS 2 that runs on Linux is built for. A crate for one function would be one more to trust.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    fn mallopt(option: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
}

/// Has all threads share two heaps. The default is eight a core, each of which keeps what its busiest moment needed;
/// a node's threads allocate too seldom to meet at a lock. To be called before any thread is started.
pub fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const M_ARENA_MAX: std::ffi::c_int = -8;
        // SAFETY: sets a number; glibc allows it at any time.
        unsafe { mallopt(M_ARENA_MAX, 2) };
    }
}
