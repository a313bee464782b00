//! Nav2's plug-in parameters: checks the listed plug-ins, and selects the served navigators.

use super::NavigatorKind;
use crate::ros::{Declaration, ParameterError, ParameterStore, ParameterValue};

const NODES: &str = "plugin_lib_names";
const NAVIGATORS: &str = "navigators";

/// Nav2's plug-in of a navigator.
fn plugin_of(kind: NavigatorKind) -> &'static str {
    match kind {
        NavigatorKind::ToPose => "nav2_bt_navigator::NavigateToPoseNavigator",
        NavigatorKind::ThroughPoses => "nav2_bt_navigator::NavigateThroughPosesNavigator",
    }
}

fn plugin_parameter(navigator: &str) -> String {
    format!("{navigator}.plugin")
}

/// Declares the lists of plug-ins, and the parameters of each listed navigator.
///
/// # Errors
/// A value of another type.
pub(crate) fn declare(store: &ParameterStore) -> Result<(), ParameterError> {
    store.declare(Declaration::new(
        NODES,
        ParameterValue::StringArray(Vec::new()),
        "Plug-ins of nodes. Nav2's own names are ignored; any other name makes the transition `configure` fail.",
    ))?;
    let own = NavigatorKind::ALL.map(|kind| kind.action().to_owned());
    let list = Declaration::new(
        NAVIGATORS,
        own.to_vec(),
        "Navigators to serve. `NAME.plugin` sets the plug-in of the navigator `NAME`.\nOnly the two plug-ins of Nav2 \
         exist. Any other plug-in makes the transition `configure` fail.",
    );
    store.declare(list.read_only())?;
    for kind in NavigatorKind::ALL {
        let text = format!("Plug-in of the navigator that serves `{}`.", kind.action());
        let plugin = Declaration::new(&plugin_parameter(kind.action()), plugin_of(kind), &text);
        store.declare(plugin.read_only())?;
    }
    for name in strings(store, NAVIGATORS) {
        let plugin = plugin_parameter(&name);
        if !name.is_empty() && store.declaration(&plugin).is_none() {
            store.declare(Declaration::new(&plugin, "", "Plug-in of this navigator.").read_only())?;
        }
    }
    Ok(())
}

fn strings(store: &ParameterStore, name: &str) -> Vec<String> {
    let value = store.get(name);
    let strings = value.as_ref().and_then(ParameterValue::as_strings);
    strings.unwrap_or_default().to_vec()
}

/// The navigators in the parameter file. Navigators and nodes of other authors are C++ libraries.
///
/// # Errors
/// The unavailable navigator, and the alternative.
pub(crate) fn navigators(store: &ParameterStore) -> Result<Vec<NavigatorKind>, String> {
    let [to_pose, through_poses] = NavigatorKind::ALL.map(plugin_of);
    let mut kinds = Vec::new();
    for name in strings(store, NAVIGATORS).iter().filter(|name| !name.is_empty()) {
        let parameter = plugin_parameter(name);
        let given = store.text(&parameter).unwrap_or_default();
        // Before Jazzy, the two parts of the name were separated by a slash.
        let plugin = given.replacen('/', "::", 1);
        match NavigatorKind::ALL
            .into_iter()
            .find(|kind| plugin_of(*kind) == plugin)
        {
            Some(kind) if kinds.contains(&kind) => {
                return Err(format!(
                    "{NAVIGATORS}: `{name}` has the same plug-in as another navigator of the list, {plugin}: remove \
                     one of them from the list"
                ));
            }
            Some(kind) => kinds.push(kind),
            None if given.is_empty() => {
                return Err(format!(
                    "{NAVIGATORS}: `{name}` has no plug-in: set `{parameter}` to {to_pose} or {through_poses}, or \
                     remove `{name}` from the list"
                ));
            }
            None => {
                return Err(format!(
                    "{NAVIGATORS}: the plug-in `{given}` of `{name}` is a C++ library, which navtree cannot load: \
                     set `{parameter}` to {to_pose} or {through_poses}, or remove `{name}` from the list"
                ));
            }
        }
    }
    if kinds.is_empty() {
        let [to_pose, through_poses] = NavigatorKind::ALL.map(NavigatorKind::action);
        return Err(format!(
            "{NAVIGATORS}: the list is empty: add {to_pose}, {through_poses} or both"
        ));
    }
    Ok(kinds)
}

/// Refuses plug-ins of other authors. Many parameter files contain Nav2's own plug-in names, and all their nodes exist
/// here. Other plug-ins are C++ libraries, which cannot be loaded: a node with such a plug-in in its list must not be
/// configured.
fn refuse_foreign_nodes(store: &ParameterStore) -> Result<(), String> {
    let own = |name: &str| {
        (name.starts_with("nav2_") || name.starts_with("opennav_"))
            && (name.ends_with("_bt_node") || name.ends_with("_condition"))
    };
    let names = strings(store, NODES);
    match names.iter().find(|name| !name.is_empty() && !own(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{NODES}: `{name}` is a C++ library, which navtree cannot load: write its nodes in Rust (examples/), or \
             use its servers with RosAction and RosService, and remove it from the list"
        )),
    }
}

/// Checks that all plug-ins of the parameter file are available. Otherwise the node must not be configured.
///
/// # Errors
/// The unavailable plug-in, and the alternative.
pub(crate) fn refuse_foreign(store: &ParameterStore) -> Result<(), String> {
    refuse_foreign_nodes(store)?;
    navigators(store).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> ParameterValue {
        ParameterValue::StringArray(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn plugins_of_nav2_are_ignored_and_others_are_rejected_with_a_hint() {
        let store = ParameterStore::default();
        declare(&store).unwrap();
        assert_eq!(refuse_foreign(&store), Ok(()));
        store.set(NODES, names(&["my_robot_bt_nodes"])).unwrap();
        let fault = refuse_foreign(&store).unwrap_err();
        assert!(
            fault.contains("my_robot_bt_nodes") && fault.contains("examples/"),
            "{fault}"
        );
        let own = names(&[
            "nav2_compute_path_to_pose_action_bt_node",
            "nav2_path_expiring_timer_condition",
            "",
        ]);
        store.set(NODES, own).unwrap();
        assert_eq!(refuse_foreign(&store), Ok(()));
    }

    /// The served navigators for a list of navigators and their plug-ins.
    fn served(list: &[&str], plugins: &[(&str, &str)]) -> Result<Vec<NavigatorKind>, String> {
        let plugins = plugins
            .iter()
            .map(|(name, plugin)| (plugin_parameter(name), ParameterValue::from(*plugin)));
        let store = ParameterStore::new(plugins.chain([(NAVIGATORS.to_owned(), names(list))]));
        declare(&store).unwrap();
        navigators(&store)
    }

    #[test]
    fn navigators_of_nav2_are_served_and_no_other_than_those_on_the_list() {
        use NavigatorKind::{ThroughPoses, ToPose};
        let both = ["navigate_to_pose", "navigate_through_poses"];
        let store = ParameterStore::default();
        declare(&store).unwrap();
        assert_eq!(navigators(&store), Ok(vec![ToPose, ThroughPoses]));
        assert_eq!(served(&both, &[]), Ok(vec![ToPose, ThroughPoses]));
        assert_eq!(served(&both[..1], &[]), Ok(vec![ToPose]));
        let older = [("navigate_to_pose", "nav2_bt_navigator/NavigateToPoseNavigator")];
        assert_eq!(served(&both[..1], &older), Ok(vec![ToPose]));
        let other_name = [("fetch", "nav2_bt_navigator::NavigateThroughPosesNavigator")];
        assert_eq!(served(&["fetch"], &other_name), Ok(vec![ThroughPoses]));
    }

    #[test]
    fn an_unknown_navigator_is_rejected_with_the_known_ones() {
        for (list, plugins, reason) in [
            (
                &["navigate_to_pose", "coverage"][..],
                &[("coverage", "opennav_coverage::CoverageNavigator")][..],
                "navigators: the plug-in `opennav_coverage::CoverageNavigator` of `coverage` is a C++ library, which navtree \
                 cannot load: set `coverage.plugin` to nav2_bt_navigator::NavigateToPoseNavigator or \
                 nav2_bt_navigator::NavigateThroughPosesNavigator, or remove `coverage` from the list",
            ),
            (
                &["coverage"],
                &[],
                "navigators: `coverage` has no plug-in: set `coverage.plugin` to ",
            ),
            (
                &[""],
                &[],
                "navigators: the list is empty: add navigate_to_pose, navigate_through_poses or both",
            ),
            (
                &["navigate_to_pose", "navigate_through_poses"],
                &[(
                    "navigate_through_poses",
                    "nav2_bt_navigator::NavigateToPoseNavigator",
                )],
                "navigators: `navigate_through_poses` has the same plug-in as another navigator of the list",
            ),
        ] {
            let fault = served(list, plugins).unwrap_err();
            assert!(fault.starts_with(reason), "{fault}");
        }
    }
}
