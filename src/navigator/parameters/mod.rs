//! The parameters of the node. Names are Nav2's; so are defaults, except those listed in `docs/differences.md`.

mod groot;
mod monitor;
mod options;
#[cfg(test)]
mod page;
mod reader;
mod recorder;
mod settings;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{NavigatorKind, Options, SharedTrees, TreeLibrary, plugins, share_file};
use crate::bt::{MAX_NODES, Registry};
use crate::goal::GoalOptions;
use crate::nav::{ProvidedKeys, Settings};
use crate::ros::{Declaration, DryRun, ParameterError, ParameterStore};
pub use groot::GrootSettings;
pub use monitor::MonitorSettings;
use monitor::monitor;
use options::options;
use reader::Reader;
pub(crate) use recorder::RecorderSettings;
use recorder::recorder;
use settings::settings;

/// The values of the parameters, for the start of the node.
pub(crate) struct Parameters {
    pub(crate) options: Options,
    pub(crate) settings: Settings,
    /// The navigators whose actions are served.
    pub(crate) navigators: Vec<NavigatorKind>,
    pub(crate) library: Arc<TreeLibrary>,
    /// Configure and activate without a lifecycle manager.
    pub(crate) autostart: bool,
    /// Retention time of results.
    pub(crate) result_retention: Duration,
    /// Time to search for goals of an earlier run; `None`: do not search.
    pub(crate) adopt: Option<Duration>,
    /// The identity of the robot, which shows in goals on servers shared by several robots. Empty: this machine.
    pub(crate) robot_id: String,
    /// Start a guardian: a process that cancels the goals if this one is killed.
    pub(crate) guardian: bool,
    /// For adopted goals, which no leaf of this run started.
    pub(crate) goal_options: GoalOptions,
    /// Period of the heartbeat for the lifecycle manager; zero: none.
    pub(crate) bond_period: Duration,
    /// End the bond if the lifecycle manager sends no heartbeat.
    pub(crate) bond_breaks: bool,
    /// The topic whose poses become goals.
    pub(crate) goal_topic: String,
    /// Period of the messages on `/diagnostics`; zero: none.
    pub(crate) diagnostics_period: Duration,
    /// The web page and Groot2.
    pub(crate) monitor: MonitorSettings,
    /// The flight recorder; `None`: nothing is recorded.
    pub(crate) recorder: Option<RecorderSettings>,
    /// Time that a leaf may block the tick thread before it is reported; zero: no limit.
    pub(crate) watchdog_timeout: Duration,
}

impl Parameters {
    /// Declares all parameters. `trees`: the definitions that several robots share.
    ///
    /// # Errors
    /// The first invalid value. A node with other values than the given ones would be worse than a node that does not
    /// start.
    pub(crate) fn declare(
        store: &ParameterStore,
        mut registry: Registry,
        trees: Option<&SharedTrees>,
    ) -> Result<Self, ParameterError> {
        let read = Reader(store);
        robots(&read)?;
        let settings = settings(&read)?;
        let options = options(&read)?;
        plugins::declare(store)?;
        // A list with an error prevents the configuration of the node, so none of its navigators is served.
        let navigators = plugins::navigators(store).unwrap_or_default();
        provide_keys(&options, &mut registry);
        registry.set_latch_on_activation(settings.latch_on_activation);
        let max_nodes = max_tree_nodes(&read)?;
        registry.set_max_nodes(max_nodes);
        registry.watch_foreign_nodes();
        let mut library = tree_library(&read, registry, options.always_reload)?;
        if let Some(trees) = trees {
            let keys = (&options.goal_key, &options.goals_key, &options.path_key);
            let compiled_with = (
                keys,
                &options.error_code_keys,
                settings.latch_on_activation,
                max_nodes,
            );
            library = library.sharing(trees, &format!("{compiled_with:?}"));
        }
        let library = Arc::new(library);
        for kind in &navigators {
            declare_tree(store, &library, *kind)?;
        }
        set_trees_on_change(store, &library);
        let retention = read.number(
            "action_server_result_timeout",
            900.0,
            (0.0, 1e6),
            "Time for which the result of a finished goal is kept for clients, in s.",
        )?;
        let adopt = stop_goals_of_earlier_run(&read)?;
        let robot_id = read.text(
            "robot_id",
            "",
            "Identity of the robot in the IDs of the goals that the node sends. Empty: machine ID and host \
             name.\nThe node cancels goals of an earlier run only if they have the identity of its own robot.",
        )?;
        let goal_options = settings.goal_options();
        let (bond_period, bond_breaks) = bond(&read)?;
        Ok(Self {
            options,
            settings,
            navigators,
            library,
            autostart: read.flag(
                "autostart_node",
                false,
                "Configure and activate without a lifecycle manager.",
            )?,
            result_retention: Duration::from_secs_f64(retention),
            adopt: adopt.then_some(Duration::from_secs(10)),
            robot_id,
            guardian: read.flag(
                "guardian",
                true,
                "Start a child process that cancels the goals of this node if the node is killed or crashes.",
            )?,
            goal_options,
            bond_period,
            bond_breaks,
            diagnostics_period: Duration::from_secs_f64(read.number(
                "diagnostics_period",
                1.0,
                (0.0, 3600.0),
                "Period of the messages on /diagnostics, in s. 0: no messages.\nMessages are published only while \
                 /diagnostics has a subscriber. A message is published at once if a level gets worse.",
            )?),
            monitor: monitor(&read)?,
            recorder: recorder(&read)?,
            goal_topic: read.text(
                "goal_topic",
                "goal_pose",
                "Topic of poses that the node takes as navigate_to_pose goals.",
            )?,
            watchdog_timeout: Duration::from_secs_f64(read.number(
                "watchdog_timeout",
                1.0,
                (0.0, 3600.0),
                "Time after which a leaf that blocks the tick thread is reported, in s. Its goals are then cancelled \
                 without the tick thread if the navigation is to end. 0: neither.\nA job that \
                 still runs this long after it was cancelled is reported too. With 0, the tick thread and the jobs \
                 are not watched. Threads that stall in the middleware are watched with any value.",
            )?),
        })
    }
}

/// Maximum number of nodes of a tree.
fn max_tree_nodes(read: &Reader<'_>) -> Result<usize, ParameterError> {
    let declaration = Declaration::new(
        "max_tree_nodes",
        i64::try_from(MAX_NODES).unwrap_or(i64::MAX),
        "Maximum number of nodes of a tree, subtrees included.\nA larger tree is refused before it is built. \
         `navtree check --max-nodes` checks the same.",
    )
    .within(1.0, 1e7)
    .read_only();
    let nodes = read.value(declaration)?.as_integer();
    Ok(nodes
        .and_then(|nodes| usize::try_from(nodes).ok())
        .unwrap_or(MAX_NODES))
}

/// Declares the parameter that names the robots. The start of the process has read it.
fn robots(read: &Reader<'_>) -> Result<(), ParameterError> {
    read.texts(
        "robots",
        &[],
        "Robots of this process: a node for each, in the namespace of its name. Empty: one node.\nRead at the start of the \
         process, for the node name and namespace of the command line. `navtree run --robots` comes first. \
         See [several robots](several_robots.md).",
    )
    .map(drop)
}

fn stop_goals_of_earlier_run(read: &Reader<'_>) -> Result<bool, ParameterError> {
    read.flag(
        "stop_goals_of_earlier_run",
        true,
        "Cancel goals of an earlier run of this node that still execute on the servers.\nThe node cancels them while it \
         is active and no other node of its name is on the graph. It looks on the servers that its trees use, and in \
         its first 30 s of activity on all action servers of the graph.",
    )
}

/// Declares the blackboard keys that the node writes.
fn provide_keys(options: &Options, registry: &mut Registry) {
    let error_codes: Vec<&str> = options.error_code_keys.iter().map(|key| &**key).collect();
    ProvidedKeys {
        goal: &options.goal_key,
        goals: &options.goals_key,
        path: &options.path_key,
        error_codes: &error_codes,
    }
    .declare(registry);
}

fn tree_library(
    read: &Reader<'_>,
    registry: Registry,
    always_reload: bool,
) -> Result<TreeLibrary, ParameterError> {
    let default: Vec<String> = share_file("behavior_trees")
        .map(|directory| directory.display().to_string())
        .into_iter()
        .collect();
    let directories = read.texts(
        "bt_search_directories",
        &default,
        "Directories to search for a tree that is named by its ID.",
    )?;
    Ok(TreeLibrary::new(
        registry,
        directories.into_iter().map(PathBuf::from).collect(),
        always_reload,
        || Box::new(DryRun::default()),
    ))
}

/// The period of the bond heartbeats, and whether the bond ends without those of the lifecycle manager.
fn bond(read: &Reader<'_>) -> Result<(Duration, bool), ParameterError> {
    let period = read.number(
        "bond_heartbeat_period",
        0.1,
        (0.0, 60.0),
        "Period of the bond heartbeats for the lifecycle manager, in s. 0: no bond.",
    )?;
    let stays = read.flag(
        "bond_disable_heartbeat_timeout",
        true,
        "Keep the bond if the lifecycle manager sends no heartbeats. False: break the bond after 4 s.",
    )?;
    Ok((Duration::from_secs_f64(period), !stays))
}

/// A change of a tree parameter sets the default tree.
fn set_trees_on_change(store: &ParameterStore, library: &Arc<TreeLibrary>) {
    let library = Arc::clone(library);
    store.on_change(move |name, value| {
        let Some(kind) = NavigatorKind::ALL
            .into_iter()
            .find(|kind| kind.tree_parameter() == name)
        else {
            return;
        };
        // The tree was checked when the change was requested, and is used as it was then.
        if let Err(reason) = library.set_default(kind, value.as_str().unwrap_or_default()) {
            tracing::error!("{name}: {reason}");
        }
    });
}

/// Declares the tree parameter of a navigator. It can be set while the node runs, and an invalid tree is refused then
/// (guarantee G7).
fn declare_tree(
    store: &ParameterStore,
    library: &Arc<TreeLibrary>,
    kind: NavigatorKind,
) -> Result<(), ParameterError> {
    let own = share_file("behavior_trees").map(|folder| folder.join(kind.default_tree()));
    let default = own.map(|path| path.display().to_string()).unwrap_or_default();
    let checker = Arc::clone(library);
    let value = store.declare(
        Declaration::new(
            kind.tree_parameter(),
            default,
            &format!(
                "Default tree of {}, for goals that name no tree: a file or a tree ID.\nA change takes effect with \
                 the next goal. To read an edited file again, set the parameter again. To read its includes again \
                 too, use the transitions `cleanup` and `configure`.",
                kind.action()
            ),
        )
        .validated(
            "a file with a tree without errors, or the ID of such a tree",
            move |value| checker.check(kind, value.as_str().unwrap_or_default()),
        ),
    )?;
    let name = value.as_str().unwrap_or_default();
    if name.is_empty() {
        tracing::warn!(
            "{}: no default tree is set: each goal must name its tree",
            kind.action()
        );
        return Ok(());
    }
    library.set_default(kind, name).map_err(ParameterError::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::ParameterValue;

    /// `name` or `name: value` in backticks, in the last cells of the tables that have the column "the old way".
    fn old_ways(page: &str) -> Vec<(&str, Option<ParameterValue>)> {
        let mut found = Vec::new();
        let mut in_table = false;
        for line in page.lines() {
            let Some(row) = line.strip_prefix('|') else {
                in_table = false;
                continue;
            };
            let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
            in_table |= cell.trim() == "the old way";
            if !in_table {
                continue;
            }
            for text in cell.split('`').skip(1).step_by(2) {
                let (name, value) = match text.split_once(": ") {
                    Some((name, value)) => (name, Some(value_of(value))),
                    None => (text, None),
                };
                if name
                    .chars()
                    .all(|letter| letter.is_ascii_lowercase() || letter == '_')
                {
                    found.push((name, value));
                }
            }
        }
        found
    }

    fn value_of(text: &str) -> ParameterValue {
        if let Ok(flag) = text.parse() {
            ParameterValue::Bool(flag)
        } else if let Ok(number) = text.parse() {
            ParameterValue::Integer(number)
        } else if let Ok(number) = text.parse() {
            ParameterValue::Double(number)
        } else {
            ParameterValue::String(text.to_owned())
        }
    }

    #[test]
    fn every_old_way_that_the_page_of_differences_names_is_taken() {
        let page = include_str!("../../../docs/differences.md");
        let ways = old_ways(page);
        assert!(ways.len() >= 9, "{ways:?}");
        for (name, value) in ways {
            let given = value.clone().map(|value| (name.to_owned(), value));
            let store = ParameterStore::new(given);
            if let Err(error) = Parameters::declare(&store, crate::nav::registry(), None) {
                panic!("`{name}: {value:?}`: {error}");
            }
            let (names, _) = store.list(&[], 0);
            assert!(
                names.iter().any(|known| known == name),
                "`{name}` is no parameter"
            );
            if value.is_some() {
                assert_eq!(store.get(name), value, "{name}");
            }
        }
    }

    fn patience(given: &[(&str, i64)]) -> (u128, u128) {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), ParameterValue::Integer(*value)));
        let settings = settings(&Reader(&ParameterStore::new(given))).unwrap();
        let options = settings.goal_options();
        (
            options.response_timeout.as_millis(),
            options.absent_timeout.as_millis(),
        )
    }

    #[test]
    fn g6_nav2_timeouts_lengthen_server_timeouts_and_never_shorten_them() {
        assert_eq!(patience(&[]), (1000, 1000));
        let stock = [("default_server_timeout", 20), ("wait_for_service_timeout", 1000)];
        assert_eq!(patience(&stock), (1000, 1000));
        assert_eq!(patience(&[("default_server_timeout", 3000)]), (3000, 3000));
        assert_eq!(patience(&[("wait_for_service_timeout", 5000)]), (1000, 5000));
        assert_eq!(
            patience(&[("response_timeout", 200), ("wait_for_service_timeout", 300)]),
            (200, 300)
        );
        assert_eq!(
            patience(&[("response_timeout", 200), ("wait_for_service_timeout", 100)]),
            (200, 200)
        );
    }
}
