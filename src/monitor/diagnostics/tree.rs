//! `navtree: tree`: the loaded tree, its file, and the tree that was refused last (G7).

use std::sync::Arc;
use std::time::Duration;

use super::condition::Condition;
use crate::bt::{NodeIndex, TreeDef};
use crate::msg::DiagnosticLevel as Level;
use crate::navigator::{NavigationResult, NavigatorKind, Refusal};

/// The time for which a refused tree affects the status. Its requester got the reason.
const FRESH: Duration = Duration::from_secs(60);

/// The observed trees.
#[derive(Clone, Debug, Default)]
pub struct TreeSeen {
    /// The current or last tree, with its navigator.
    pub current: Option<(NavigatorKind, Arc<TreeDef>)>,
    /// The parameter of each navigator.
    pub defaults: [Option<String>; 2],
    /// The last refusal and its age, unless a tree was accepted since then.
    pub refused: Option<(Refusal, Duration)>,
    /// The end of the last navigation.
    pub last_end: Option<(NavigatorKind, NavigationResult)>,
}

pub(super) fn status(seen: &TreeSeen) -> Condition {
    let mut condition = Condition::ok(match &seen.current {
        Some((_, def)) => format!("{} is loaded", def.id()),
        None => "no tree is loaded".to_owned(),
    });
    if seen.defaults.iter().all(Option::is_none) && seen.current.is_none() {
        condition.find(
            Level::Warn,
            "no default tree is set: each goal must name its tree",
        );
    }
    if let Some((refusal, age)) = &seen.refused
        && *age < FRESH
    {
        condition.find(
            Level::Warn,
            format!("{} was refused: {}", refusal.name, refusal.reason),
        );
    }
    if let Some((kind, def)) = &seen.current {
        condition.value("loaded", def.id());
        condition.value("file", file(def).as_deref().unwrap_or("none"));
        condition.value("nodes", def.len());
        condition.value("navigator", kind.action());
    }
    for (kind, name) in NavigatorKind::ALL.into_iter().zip(&seen.defaults) {
        condition.value(kind.tree_parameter(), name.as_deref().unwrap_or("none"));
    }
    if let Some((kind, report)) = &seen.last_end {
        condition.value(
            "last navigation",
            format!("{} {:?}", kind.action(), report.status),
        );
        condition.value("last error code", report.error_code);
        condition.value("last error message", &report.error_message);
    }
    match &seen.refused {
        None => condition.value("last refused", "none"),
        Some((refusal, age)) => {
            condition.value("last refused", &refusal.name);
            condition.value("refused because", &refusal.reason);
            condition.value("refused for (s)", age.as_secs());
        }
    }
    condition
}

/// The file of the main tree.
fn file(def: &TreeDef) -> Option<String> {
    let place = def.place(NodeIndex::ROOT)?;
    // The format is `file:line:column`, and a file name may contain colons.
    let file = place.rsplitn(3, ':').nth(2)?;
    Some(file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;
    use crate::bt::Registry;
    use crate::xml::Loader;

    fn seen(age: u64) -> TreeSeen {
        let text =
            r#"<root BTCPP_format="4"><BehaviorTree ID="Patrol"><AlwaysSuccess/></BehaviorTree></root>"#;
        let registry = Registry::builtin();
        let loaded = Loader::new(&registry).load_text("at:home.xml", text, std::path::Path::new("."), None);
        let refusal = Refusal {
            name: "broken.xml".to_owned(),
            reason: "broken.xml:3:5: no node `Wiat`".to_owned(),
        };
        TreeSeen {
            current: Some((NavigatorKind::ThroughPoses, loaded.unwrap().def)),
            defaults: [None, Some("at:home.xml".to_owned())],
            refused: Some((refusal, Duration::from_secs(age))),
            last_end: Some((
                NavigatorKind::ToPose,
                NavigationResult::aborted(206, "plan failed"),
            )),
        }
    }

    #[test]
    fn g7_a_rejected_tree_is_a_warning_for_a_minute_and_stays_named() {
        let fresh = status(&seen(2));
        assert_eq!(fresh.level, Level::Warn);
        assert_eq!(
            fresh.message,
            "broken.xml was refused: broken.xml:3:5: no node `Wiat`"
        );
        let old = status(&seen(60));
        assert_eq!((old.level, old.message.as_str()), (Level::Ok, "Patrol is loaded"));
        assert_eq!(value(&old, "last refused"), "broken.xml");
        assert_eq!(
            (value(&old, "file"), value(&old, "navigator")),
            ("at:home.xml", "navigate_through_poses")
        );
        assert_eq!(
            (value(&old, "last navigation"), value(&old, "last error message")),
            ("navigate_to_pose Aborted", "plan failed")
        );
        assert_eq!(value(&old, "default_nav_to_pose_bt_xml"), "none");
    }

    #[test]
    fn a_node_without_any_tree_says_so() {
        let nothing = status(&TreeSeen::default());
        assert_eq!(nothing.level, Level::Warn);
        assert!(nothing.message.contains("no default tree"));
    }
}
