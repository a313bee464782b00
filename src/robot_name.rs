//! The robot that a thread works for, in a process with several robots. Log lines of the thread name it.

use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static CURRENT: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// The robot of the calling thread: the full name of its node. `None`: the thread works for the whole process, which
/// perhaps has only one robot.
pub(crate) fn current() -> Option<Arc<str>> {
    // Not there any more at the end of the thread.
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}

/// Sets the robot of the calling thread.
pub(crate) fn set(robot: Option<Arc<str>>) {
    let _ = CURRENT.try_with(|current| *current.borrow_mut() = robot);
}

/// The body of a thread that works for the robot of the calling thread.
pub(crate) fn inherit<T>(body: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let robot = current();
    move || {
        set(robot);
        body()
    }
}

/// Calls `act` for this robot, on the calling thread.
#[cfg_attr(
    not(any(feature = "ros", test)),
    expect(dead_code, reason = "only a node has robots")
)]
pub(crate) fn with<T>(robot: Option<&Arc<str>>, act: impl FnOnce() -> T) -> T {
    let _restore = Restore(current());
    set(robot.cloned());
    act()
}

/// Sets the earlier robot again when it is dropped.
struct Restore(Option<Arc<str>>);

impl Drop for Restore {
    fn drop(&mut self) {
        set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_works_for_the_robot_of_the_thread_that_started_it() {
        let robot: Arc<str> = Arc::from("/r1/bt_navigator");
        let seen = with(Some(&robot), || {
            let thread = std::thread::spawn(inherit(current));
            (current(), thread.join().unwrap())
        });
        assert_eq!(seen, (Some(Arc::clone(&robot)), Some(robot)));
        assert_eq!(current(), None);
    }
}
