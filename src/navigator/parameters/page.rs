//! Generates `docs/parameters.md` and `config/navtree.yaml` from the declarations.

use super::Parameters;
use crate::golden_file;
use crate::navigator::share_file;
use crate::ros::{Declaration, ParameterStore, ParameterValue, Ros};

/// All parameters, in the order of the page.
const SECTIONS: [(&str, &[&str]); 7] = [
    (
        "Trees and goals",
        &[
            "default_nav_to_pose_bt_xml",
            "default_nav_through_poses_bt_xml",
            "bt_search_directories",
            "always_reload_bt_xml",
            "plugin_lib_names",
            "navigators",
            "navigate_to_pose.plugin",
            "navigate_through_poses.plugin",
            "goal_topic",
            "max_goal_poses",
            "max_tree_nodes",
            "allow_navigator_preemption",
            "allow_tree_preemption",
            "feedback_rate",
            "action_server_result_timeout",
            "random_seed",
        ],
    ),
    (
        "Ticks and halting",
        &[
            "bt_loop_duration",
            "tick_on_event",
            "min_tick_interval",
            "response_timeout",
            "default_server_timeout",
            "wait_for_service_timeout",
            "default_cancel_timeout",
            "give_up_timeout",
            "stop_timeout",
            "stop_goals_of_earlier_run",
            "robot_id",
            "guardian",
            "watchdog_timeout",
            "clock_timeout",
        ],
    ),
    (
        "Robot and environment",
        &[
            "global_frame",
            "robot_base_frame",
            "transform_age_limit",
            "odom_topic",
            "filter_duration",
            "goal_reached_tol",
            "goal_updater_topic",
            "goals_updater_topic",
            "use_sim_time",
        ],
    ),
    (
        "Blackboard keys",
        &[
            "goal_blackboard_id",
            "goals_blackboard_id",
            "path_blackboard_id",
            "error_code_names",
            "error_code_name_prefixes",
        ],
    ),
    (
        "Life cycle and diagnostics",
        &[
            "robots",
            "autostart_node",
            "bond_heartbeat_period",
            "bond_disable_heartbeat_timeout",
            "diagnostics_period",
            "monitor_port",
            "monitor_address",
            "monitor_token",
            "bt_log_idle_transitions",
            "start_type_description_service",
            "qos_overrides./tf.subscription.depth",
            "qos_overrides./tf.subscription.durability",
            "qos_overrides./tf.subscription.history",
            "qos_overrides./tf.subscription.reliability",
            "qos_overrides./tf_static.subscription.depth",
            "qos_overrides./tf_static.subscription.history",
            "qos_overrides./tf_static.subscription.reliability",
            "qos_overrides./clock.subscription.depth",
            "qos_overrides./clock.subscription.durability",
            "qos_overrides./clock.subscription.history",
            "qos_overrides./clock.subscription.reliability",
        ],
    ),
    (
        "Recordings",
        &[
            "record_on",
            "recordings_directory",
            "recordings_kept",
            "recordings_megabytes",
            "recorder_minutes",
            "recorder_megabytes",
        ],
    ),
    (
        "Compatibility with Nav2 and BehaviorTree.CPP",
        &[
            "canceled_is_success",
            "latch_on_activation",
            "halt_before_start",
            "battery_unknown_is_low",
            "transform_tolerance",
            "navigate_to_pose.enable_groot_monitoring",
            "navigate_to_pose.groot_server_port",
            "navigate_through_poses.enable_groot_monitoring",
            "navigate_through_poses.groot_server_port",
        ],
    ),
];

/// The parameters that are changed most often: the content of the file.
const COMMON: [&str; 16] = [
    "default_nav_to_pose_bt_xml",
    "default_nav_through_poses_bt_xml",
    "bt_search_directories",
    "navigators",
    "bt_loop_duration",
    "tick_on_event",
    "response_timeout",
    "wait_for_service_timeout",
    "default_cancel_timeout",
    "stop_timeout",
    "global_frame",
    "robot_base_frame",
    "odom_topic",
    "use_sim_time",
    "error_code_names",
    "autostart_node",
];

/// The declarations, in the order of the sections.
fn declarations() -> Vec<(&'static str, Vec<Declaration>)> {
    let store = ParameterStore::default();
    store.declare(Ros::use_sim_time()).unwrap();
    store.declare(Ros::start_type_description_service()).unwrap();
    Ros::clock_quality(&store, "/clock").unwrap();
    Ros::transform_qualities(&store, ["/tf", "/tf_static"]).unwrap();
    Parameters::declare(&store, crate::nav::registry(), None).unwrap();
    let (mut names, _) = store.list(&[], 0);
    let sections = SECTIONS.map(|(title, members)| {
        let declared = members.iter().map(|name| {
            names.retain(|other| other != name);
            store
                .declaration(name)
                .unwrap_or_else(|| panic!("`{name}` is no parameter"))
        });
        (title, declared.collect())
    });
    assert!(names.is_empty(), "in no section: {names:?}");
    sections.into()
}

/// The prefix of defaults that depend on the install location.
fn share() -> String {
    let trees = share_file("behavior_trees").unwrap();
    trees.parent().unwrap().display().to_string()
}

/// Returns whether the file only shows the parameter in a comment: a path of this machine, a list without a type, which
/// rcl refuses, or a parameter that is usually set for all nodes together and that the file would override.
fn is_left_out(name: &str, value: &ParameterValue) -> bool {
    let empty = *value == ParameterValue::StringArray(Vec::new());
    empty || name == "use_sim_time" || value.to_string().starts_with(&share())
}

fn literal(value: &ParameterValue) -> String {
    match value {
        ParameterValue::Double(number) => format!("{number:?}"),
        ParameterValue::String(text) => format!("{text:?}"),
        ParameterValue::StringArray(items) => format!("{items:?}"),
        other => other.to_string(),
    }
}

fn page() -> String {
    let mut text = String::from(
        "# Parameters

<!-- Generated from the declarations in src/navigator/parameters by a test; do not edit.
     NAVTREE_BLESS=1 cargo test --lib navigator::parameters writes it anew. -->

The parameters of the node `bt_navigator`. Set them with `--ros-args -p name:=value` or in a parameter file
(`config/navtree.yaml` shows the most common ones). The node does not start with an invalid value, and logs the reason. A
*live* parameter can be set while the node runs; an invalid value is rejected.
",
    );
    for (title, declarations) in declarations() {
        text.push_str(&format!(
            "\n## {title}\n\n| parameter | type | default | range | | meaning |\n|---|---|---|---|---|---|\n"
        ));
        for declaration in declarations {
            let default = literal(declaration.default_value()).replace(&share(), "SHARE");
            let default = match default.replace(['"', '[', ']'], "").as_str() {
                "" => String::new(),
                _ => format!("`{default}`"),
            };
            let range = declaration
                .range()
                .map_or_else(String::new, |range| format!("{} to {}", range.from, range.to));
            let live = if declaration.is_read_only() { "" } else { "live" };
            text.push_str(&format!(
                "| `{}` | {} | {default} | {range} | {live} | {} |\n",
                declaration.name(),
                declaration.parameter_type(),
                format!("{} {}", declaration.description(), declaration.details()).trim_end(),
            ));
        }
    }
    text.push_str(
        "\n`SHARE` is where navtree is installed: `install/navtree/share/navtree` of a workspace.\n",
    );
    text
}

fn file() -> String {
    let mut text = String::from(
        "# The parameters of navtree that are changed most often, with their defaults. docs/parameters.md lists all of them.
# The names are those of Nav2's bt_navigator, so a parameter file of that node works here without a change.
# Generated: NAVTREE_BLESS=1 cargo test --lib navigator::parameters writes it anew.
bt_navigator:
  ros__parameters:
",
    );
    for (title, declarations) in declarations() {
        let common = |declaration: &Declaration| COMMON.contains(&declaration.name());
        let declarations: Vec<Declaration> = declarations.into_iter().filter(common).collect();
        if declarations.is_empty() {
            continue;
        }
        text.push_str(&format!("    # ---- {title}\n\n"));
        for declaration in declarations {
            for line in wrapped(declaration.description(), 110) {
                text.push_str(&format!("    # {line}\n"));
            }
            let (name, value) = (declaration.name(), declaration.default_value());
            if is_left_out(name, value) {
                let example = literal(value).replace(&share(), "/path/to");
                text.push_str(&format!("    # {name}: {example}\n\n"));
            } else {
                text.push_str(&format!("    {name}: {}\n\n", literal(value)));
            }
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if lines
            .last()
            .is_some_and(|line| line.len() + 1 + word.len() > width)
        {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[test]
fn the_parameters_page_is_current() {
    golden_file::check("docs/parameters.md", &page());
}

#[test]
fn the_file_shows_the_common_parameters() {
    golden_file::check("config/navtree.yaml", &file());
}
