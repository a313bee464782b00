//! The mark of this node's goals on this robot.

use std::path::Path;

use crate::goal::GoalIds;

/// The mark by which a run recognizes goals of an earlier run. Another robot that uses the same server through a bridge
/// has another mark, even with the same node name. `robot`: the parameter `robot_id`; empty: this machine.
pub(super) fn mark(node: &str, robot: &str) -> u32 {
    let domain = std::env::var("ROS_DOMAIN_ID").unwrap_or_default();
    let machine;
    let robot = if robot.is_empty() {
        machine = machine_in(Path::new("/"));
        &machine
    } else {
        robot
    };
    mark_of(node, domain.trim(), robot)
}

fn mark_of(node: &str, domain: &str, robot: &str) -> u32 {
    let domain = if domain.is_empty() { "0" } else { domain };
    GoalIds::mark_of(&format!("{node}\n{domain}\n{robot}"))
}

/// Copied machines share one id, and so do containers of one image; the host name distinguishes them. A missing file
/// counts as empty.
fn machine_in(root: &Path) -> String {
    let read = |file| {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        text.trim().to_owned()
    };
    format!("{} {}", read("etc/machine-id"), read("proc/sys/kernel/hostname"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g3_the_mark_of_goals_differs_between_names_domains_and_robots() {
        let ours = mark_of("/bt_navigator", "0", "robot 1");
        assert_eq!(ours, mark_of("/bt_navigator", "", "robot 1"));
        assert_ne!(ours, mark_of("/robot/bt_navigator", "0", "robot 1"));
        assert_ne!(ours, mark_of("/bt_navigator", "1", "robot 1"));
        assert_ne!(ours, mark_of("/bt_navigator", "0", "robot 2"));
    }

    #[test]
    fn g3_a_machine_is_the_same_with_each_start_and_another_under_another_host_name() {
        let root = std::env::temp_dir().join(format!("navtree_machine_{}", std::process::id()));
        std::fs::create_dir_all(root.join("etc")).unwrap();
        std::fs::create_dir_all(root.join("proc/sys/kernel")).unwrap();
        assert_eq!(machine_in(&root), " ");
        std::fs::write(root.join("etc/machine-id"), "0a1b\n").unwrap();
        std::fs::write(root.join("proc/sys/kernel/hostname"), "amr7\n").unwrap();
        assert_eq!(machine_in(&root), "0a1b amr7");
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(mark("/bt_navigator", ""), mark("/bt_navigator", ""));
    }
}
