//! `navtree: servers`: whether all servers that the tree calls are present.

use std::sync::Arc;

use super::condition::Condition;
use crate::msg::DiagnosticLevel as Level;

/// The observed servers of the current or last tree.
#[derive(Clone, Debug, Default)]
pub struct ServersSeen {
    /// The present servers.
    pub present: Vec<Arc<str>>,
    /// The absent servers.
    pub absent: Vec<Arc<str>>,
}

pub(super) fn status(seen: &ServersSeen) -> Condition {
    let total = seen.present.len() + seen.absent.len();
    let mut condition = Condition::ok(format!("all {total} servers are available"));
    if !seen.absent.is_empty() {
        // A leaf without its server fails with an error code (G6), and the tree may handle this.
        condition.find(Level::Warn, format!("absent: {}", seen.absent.join(", ")));
    }
    condition.value("absent", seen.absent.len());
    condition.value("present", seen.present.len());
    for (name, state) in seen
        .absent
        .iter()
        .map(|name| (name, "absent"))
        .chain(seen.present.iter().map(|name| (name, "present")))
    {
        condition.value(&**name, state);
    }
    condition
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn g6_absent_servers_are_named() {
        let names = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect::<Vec<_>>();
        let mut seen = ServersSeen {
            present: names(&["compute_path_to_pose"]),
            absent: names(&["spin", "wait"]),
        };
        let condition = status(&seen);
        assert_eq!(
            (condition.level, condition.message.as_str()),
            (Level::Warn, "absent: spin, wait")
        );
        assert_eq!(
            (value(&condition, "spin"), value(&condition, "present")),
            ("absent", "1")
        );
        seen.present.append(&mut seen.absent);
        let condition = status(&seen);
        assert_eq!(
            (condition.level, condition.message.as_str()),
            (Level::Ok, "all 3 servers are available")
        );
    }
}
