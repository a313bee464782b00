//! The parameters of the node. Names are Nav2's; so are defaults, except those listed in `docs/differences.md`.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{NavigatorKind, Options, TreeLibrary, plugins, share_file};
use crate::bt::{HaltOrder, Registry, Time};
use crate::goal::GoalOptions;
use crate::nav::{ProvidedKeys, Settings};
use crate::ros::{Declaration, DryRun, ParameterError, ParameterStore, ParameterValue};

/// On the steady clock, which begins with the node. A process that starts may miss the answers to its announcement:
/// Fast DDS listens only after it has announced itself. It then discovers the others by their next announcements, which
/// are sent every 3 s.
const DISCOVERED: Time = Time::from_millis(5_000);

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
    /// Time that a leaf may block the tick thread before it is reported; zero: no limit.
    pub(crate) watchdog_timeout: Duration,
}

struct Reader<'s>(&'s ParameterStore);

impl Reader<'_> {
    fn value(&self, declaration: Declaration) -> Result<ParameterValue, ParameterError> {
        self.0.declare(declaration)
    }

    fn text(&self, name: &str, default: &str, doc: &str) -> Result<String, ParameterError> {
        let value = self.value(Declaration::new(name, default.to_owned(), doc).read_only())?;
        Ok(value.as_str().unwrap_or(default).to_owned())
    }

    fn flag(&self, name: &str, default: bool, doc: &str) -> Result<bool, ParameterError> {
        let value = self.value(Declaration::new(name, default, doc).read_only())?;
        Ok(value.as_bool().unwrap_or(default))
    }

    fn number(&self, name: &str, default: f64, range: (f64, f64), doc: &str) -> Result<f64, ParameterError> {
        let declaration = Declaration::new(name, default, doc)
            .within(range.0, range.1)
            .read_only();
        Ok(self.value(declaration)?.as_double().unwrap_or(default))
    }

    fn milliseconds(&self, name: &str, default: i64, doc: &str) -> Result<Duration, ParameterError> {
        self.milliseconds_from(1, name, default, doc)
    }

    fn milliseconds_from(
        &self,
        least: u32,
        name: &str,
        default: i64,
        doc: &str,
    ) -> Result<Duration, ParameterError> {
        let declaration = Declaration::new(name, default, doc)
            .within(f64::from(least), 3_600_000.0)
            .read_only();
        let value = self.value(declaration)?.as_integer().unwrap_or(default);
        Ok(Duration::from_millis(
            u64::try_from(value).unwrap_or(least.into()),
        ))
    }

    fn texts(&self, name: &str, default: &[String], doc: &str) -> Result<Vec<String>, ParameterError> {
        let declaration =
            Declaration::new(name, ParameterValue::StringArray(default.to_vec()), doc).read_only();
        Ok(self
            .value(declaration)?
            .as_strings()
            .map_or_else(Vec::new, <[String]>::to_vec))
    }
}

impl Parameters {
    /// Declares all parameters.
    ///
    /// # Errors
    /// The first invalid value. A node with other values than the given ones would be worse than a node that does not
    /// start.
    pub(crate) fn declare(store: &ParameterStore, mut registry: Registry) -> Result<Self, ParameterError> {
        let read = Reader(store);
        let settings = settings(&read)?;
        let mut options = options(&read)?;
        plugins::declare(store)?;
        declare_groot(&read)?;
        // A list with an error prevents the configuration of the node, so none of its navigators is served.
        let navigators = plugins::navigators(store).unwrap_or_default();
        let default_directories: Vec<String> = share_file("behavior_trees")
            .map(|directory| directory.display().to_string())
            .into_iter()
            .collect();
        let directories = read.texts(
            "bt_search_directories",
            &default_directories,
            "Directories to search for a tree that is named by its ID.",
        )?;
        let always_reload = read.flag(
            "always_reload_bt_xml",
            false,
            "Read the tree file and its includes again for each goal.\nThe tree is created again, so its nodes and \
             its blackboard start without their earlier state. A goal that arrives while its tree runs continues \
             that tree if the files are unchanged.",
        )?;
        options.always_reload = always_reload;
        let error_codes: Vec<&str> = options.error_code_keys.iter().map(|key| &**key).collect();
        ProvidedKeys {
            goal: &options.goal_key,
            goals: &options.goals_key,
            path: &options.path_key,
            error_codes: &error_codes,
        }
        .declare(&mut registry);
        registry.set_latch_on_activation(settings.latch_on_activation);
        registry.watch_foreign_nodes();
        let library = Arc::new(TreeLibrary::new(
            registry,
            directories.into_iter().map(PathBuf::from).collect(),
            always_reload,
            || Box::new(DryRun::default()),
        ));
        for kind in &navigators {
            declare_tree(store, &library, *kind)?;
        }
        let keeper = Arc::clone(&library);
        store.on_change(move |name, value| {
            let Some(kind) = NavigatorKind::ALL
                .into_iter()
                .find(|kind| kind.tree_parameter() == name)
            else {
                return;
            };
            // The tree was checked when the change was requested, and is used as it was then.
            if let Err(reason) = keeper.set_default(kind, value.as_str().unwrap_or_default()) {
                tracing::error!("{name}: {reason}");
            }
        });
        let retention = read.number(
            "action_server_result_timeout",
            900.0,
            (0.0, 1e6),
            "Time for which the result of a finished goal is kept for clients, in s.",
        )?;
        let adopt = read.flag(
            "stop_goals_of_earlier_run",
            true,
            "Cancel goals of an earlier run of this node that still execute on the servers.\nThe node cancels them \
             while it is active and no other node of its name is on the graph. It looks on the servers that its trees \
             use, and in its first 30 s of activity on all action servers of the graph.",
        )?;
        let robot_id = read.text(
            "robot_id",
            "",
            "Identity of the robot in the IDs of the goals that the node sends. Empty: machine ID and host \
             name.\nThe node cancels goals of an earlier run only if they have the identity of its own robot.",
        )?;
        let goal_options = settings.goal_options();
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
            bond_period: Duration::from_secs_f64(read.number(
                "bond_heartbeat_period",
                0.1,
                (0.0, 60.0),
                "Period of the bond heartbeats for the lifecycle manager, in s. 0: no bond.",
            )?),
            bond_breaks: !read.flag(
                "bond_disable_heartbeat_timeout",
                true,
                "Keep the bond if the lifecycle manager sends no heartbeats. False: break the bond after 4 s.",
            )?,
            diagnostics_period: Duration::from_secs_f64(read.number(
                "diagnostics_period",
                1.0,
                (0.0, 3600.0),
                "Period of the messages on /diagnostics, in s. 0: no messages.\nMessages are published only while \
                 /diagnostics has a subscriber. A message is published at once if a level gets worse.",
            )?),
            goal_topic: read.text(
                "goal_topic",
                "goal_pose",
                "Topic of poses that the node takes as navigate_to_pose goals.",
            )?,
            watchdog_timeout: Duration::from_secs_f64(read.number(
                "watchdog_timeout",
                1.0,
                (0.0, 3600.0),
                "Time that a leaf may block the tick thread before it is reported, in s. 0: no report.\nA job that \
                 still runs this long after it was cancelled is reported too. With 0, the tick thread and the jobs \
                 are not watched. Threads that stall in the middleware are watched with any value.",
            )?),
        })
    }
}

/// The Groot parameters of each navigator, as in Nav2.
fn declare_groot(read: &Reader<'_>) -> Result<(), ParameterError> {
    for (kind, port) in NavigatorKind::ALL.into_iter().zip([1667_i64, 1669]) {
        let name = kind.action();
        let enable = format!("{name}.enable_groot_monitoring");
        let doc = "No effect; declared for compatibility with Nav2, because navtree does not support the protocol of \
                   Groot.";
        if read.flag(&enable, false, doc)? {
            tracing::warn!(
                "{enable} is set but has no effect: navtree does not support the protocol of Groot"
            );
        }
        let declaration = Declaration::new(
            &format!("{name}.groot_server_port"),
            port,
            "No effect; declared for compatibility with Nav2, see `enable_groot_monitoring`.",
        );
        read.value(declaration.read_only())?;
    }
    Ok(())
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
    let judge = Arc::clone(library);
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
            move |value| judge.check(kind, value.as_str().unwrap_or_default()),
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

fn settings(read: &Reader<'_>) -> Result<Settings, ParameterError> {
    let default = Settings::default();
    let milliseconds = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    let response_timeout = response_timeout(read, milliseconds(default.response_timeout))?;
    let wait_for_service = read.milliseconds(
        "wait_for_service_timeout",
        milliseconds(default.absent_timeout),
        "Maximum time to wait for an absent server, in ms.\nThe time is at least `response_timeout`.",
    )?;
    // Nav2 reads it, and it has no meaning here. It is accepted, which makes a parameter file for Nav2 usable
    // unchanged.
    let tolerance = read.number(
        "transform_tolerance",
        default.transform_tolerance.as_secs_f64(),
        (0.0, 3600.0),
        "No effect; declared for compatibility with Nav2, in s.\nNav2 waits this long for a transform. navtree does \
         not wait for transforms while it ticks.",
    )?;
    let age_limit = read.number(
        "transform_age_limit",
        default
            .transform_age_limit
            .map_or(0.0, |limit| limit.as_secs_f64()),
        (0.0, 3600.0),
        "Maximum age of a transform, in s. 0: no limit, as in Nav2.\nThe age is counted from its stamp and from its \
         arrival. An older transform counts as missing. The limit also applies to the odometry of CheckStopStatus.",
    )?;
    let filter = read.number(
        "filter_duration",
        default.filter_duration.as_secs_f64(),
        (0.0, 60.0),
        "Time over which the speed from odometry is averaged, in s.",
    )?;
    Ok(Settings {
        global_frame: read.text(
            "global_frame",
            &default.global_frame,
            "Global frame. Goals are transformed into this frame.",
        )?,
        robot_base_frame: read.text(
            "robot_base_frame",
            &default.robot_base_frame,
            "Base frame of the robot.",
        )?,
        transform_tolerance: Duration::from_secs_f64(tolerance),
        transform_age_limit: (age_limit > 0.0).then(|| Duration::from_secs_f64(age_limit)),
        response_timeout,
        absent_timeout: wait_for_service.max(response_timeout),
        cancel_timeout: read.milliseconds(
            "default_cancel_timeout",
            milliseconds(default.cancel_timeout),
            "Maximum time that a stopping goal delays the next goal on its server, in ms.\nA stopping job delays the \
             next job of its leaf for at most this time too.",
        )?,
        give_up_timeout: read.milliseconds(
            "give_up_timeout",
            milliseconds(default.give_up_timeout),
            "Maximum time to try to stop a goal before an error is reported, in ms.",
        )?,
        odom_topic: read.text("odom_topic", &default.odom_topic, "Topic of the odometry.")?,
        filter_duration: Duration::from_secs_f64(filter),
        goal_reached_tolerance: read.number(
            "goal_reached_tol",
            default.goal_reached_tolerance,
            (0.0, 1e3),
            "Distance from the goal at which GoalReached succeeds, in m.",
        )?,
        goal_updater_topic: read.text("goal_updater_topic", &default.goal_updater_topic, "Topic of new goals for GoalUpdater.")?,
        goals_updater_topic: read.text(
            "goals_updater_topic",
            &default.goals_updater_topic,
            "Topic of new lists of goals for GoalUpdater.",
        )?,
        max_goal_poses: max_goal_poses(read, default.max_goal_poses)?,
        canceled_is_success: read.flag(
            "canceled_is_success",
            default.canceled_is_success,
            "A leaf succeeds if its goal is cancelled, as in Nav2. False: a cancel of another client ends the navigation.\nWith false, a cancel of a Cancel node of the tree fails the leaf.",
        )?,
        latch_on_activation: read.flag(
            "latch_on_activation",
            default.latch_on_activation,
            "GoalUpdated, DistanceTraveled and TimeExpired forget their reference when they are reset, as in Nav2.",
        )?,
        halt_order: if read.flag(
            "halt_before_start",
            true,
            "Send cancels of halted leaves before new goals. False: in the order of the tick, as in \
             BehaviorTree.CPP.\nTrue: a reactive node that changes its branch first halts the leaves of the old \
             branch, then starts those of the new one.",
        )? {
            HaltOrder::BeforeStarts
        } else {
            HaltOrder::AsTicked
        },
        battery_unknown_is_low: read.flag(
            "battery_unknown_is_low",
            default.battery_unknown_is_low,
            "IsBatteryLow succeeds until the first battery message arrives. False: it fails.",
        )?,
    })
}

/// Maximum number of poses of a goal.
fn max_goal_poses(read: &Reader<'_>, default: usize) -> Result<usize, ParameterError> {
    let declaration = Declaration::new(
        "max_goal_poses",
        i64::try_from(default).unwrap_or(i64::MAX),
        "Maximum number of poses of a goal, and of a list on `goals_updater_topic`.\nA goal with more poses is \
         aborted before it starts, with the reason in `error_msg`. The tick thread copies a list when its goal \
         starts, and when one of these nodes runs: AppendGoalPoseToGoals, ComputePathThroughPoses, \
         RemoveInCollisionGoals, RemovePassedGoals.",
    )
    .within(1.0, 1e6)
    .read_only();
    let value = read.value(declaration)?;
    Ok(value
        .as_integer()
        .and_then(|number| usize::try_from(number).ok())
        .unwrap_or(default))
}

/// The time for a server to answer if a node of a tree has no `server_timeout` port.
///
/// Nav2's `default_server_timeout` limits the time that one tick may block, hence its 20 ms. Here no tick blocks, so it
/// can only lengthen the time.
fn response_timeout(read: &Reader<'_>, default: i64) -> Result<Duration, ParameterError> {
    const NAV2: &str = "default_server_timeout";
    let response = read.milliseconds(
        "response_timeout",
        default,
        "Maximum time for a server to accept a goal or to answer a request, in ms.\nThe port `server_timeout` of a \
         node overrides it.",
    )?;
    let of_nav2 = read.milliseconds(
        NAV2,
        20,
        "Nav2's name for `response_timeout`, in ms. The longer of the two is used.\nIn Nav2, a tick blocks for this \
         time, hence its default of 20 ms. In navtree, no tick blocks.",
    )?;
    if read.0.is_overridden(NAV2) && of_nav2 < response {
        tracing::info!(
            "{NAV2} ({} ms) is shorter than response_timeout ({} ms) and is not used; set response_timeout to change how long \
             a server may take to answer",
            of_nav2.as_millis(),
            response.as_millis()
        );
    }
    Ok(response.max(of_nav2))
}

fn options(read: &Reader<'_>) -> Result<Options, ParameterError> {
    let default = Options::default();
    let period = read.milliseconds("bt_loop_duration", 10, "Period of the ticks, in ms.")?;
    let rate = read.number(
        "feedback_rate",
        10.0,
        (0.1, 1000.0),
        "Feedback messages per second (Hz).\nNav2 sends one in each tick.",
    )?;
    let names = read.texts(
        "error_code_names",
        &default.error_code_keys,
        "Blackboard keys of error codes. A failed goal returns the lowest error code other than 0.",
    )?;
    let prefixes = read.texts(
        "error_code_name_prefixes",
        &[],
        "Prefixes of blackboard keys of error codes: `PREFIX_error_code` and `PREFIX_error_msg`.",
    )?;
    let keys = names
        .into_iter()
        .chain(prefixes.iter().map(|prefix| format!("{prefix}_error_code")));
    Ok(Options {
        period,
        feedback_period: Duration::from_secs_f64(1.0 / rate),
        stop_timeout: read.milliseconds_from(
            0,
            "stop_timeout",
            3000,
            "Maximum time to wait for goals and jobs to stop before the result is returned, in ms. 0: do not wait, \
             as in Nav2.\nAfter this time the result names what has not stopped. The wait is at most 4.8 s when the \
             node is deactivated, and 1.3 s when it ends.",
        )?,
        clock_timeout: Duration::from_secs_f64(read.number(
            "clock_timeout",
            default.clock_timeout.as_secs_f64(),
            (0.0, 3600.0),
            "Maximum time that a goal waits for the first message on /clock if `use_sim_time` is set, in s. 0: no \
             limit.\nThe goal is aborted after this time.",
        )?),
        allow_navigator_preemption: read.flag(
            "allow_navigator_preemption",
            default.allow_navigator_preemption,
            "A goal of one navigator preempts the goal of the other navigator. False: it is aborted.",
        )?,
        allow_tree_preemption: read.flag(
            "allow_tree_preemption",
            default.allow_tree_preemption,
            "A goal with another tree preempts the goal that runs. False: it is aborted, as in Nav2.",
        )?,
        goal_key: read.text(
            "goal_blackboard_id",
            &default.goal_key,
            "Blackboard key of the goal.",
        )?,
        goals_key: read.text(
            "goals_blackboard_id",
            &default.goals_key,
            "Blackboard key of the list of goals.",
        )?,
        path_key: read.text(
            "path_blackboard_id",
            &default.path_key,
            "Blackboard key of the path.",
        )?,
        error_code_keys: keys.collect(),
        log_idle_transitions: read.flag(
            "bt_log_idle_transitions",
            default.log_idle_transitions,
            "Publish changes to the status IDLE on behavior_tree_log.",
        )?,
        random_seed: random_seed(read)?,
        discovered: DISCOVERED,
        ..default
    })
}

/// The seed of random choices. It is different in each run unless the parameter is set. The log contains it in both
/// cases, to repeat a run (guarantee G9).
fn random_seed(read: &Reader<'_>) -> Result<u64, ParameterError> {
    let declaration = Declaration::new(
        "random_seed",
        -1_i64,
        "Seed of Random and RandomSelector. -1: a new seed in each run.\nThe same seed gives the same choices in \
         each tree. The log contains the seed.",
    )
    .within(-1.0, 9.0e15)
    .read_only();
    let given = read.value(declaration)?.as_integer().unwrap_or(-1);
    let seed = u64::try_from(given).unwrap_or_else(|_| {
        // From the hasher, which the standard library seeds from the system. The shift limits it to the range of the
        // parameter.
        RandomState::new().build_hasher().finish() >> 12
    });
    tracing::info!("random_seed: {seed}");
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let page = include_str!("../../docs/differences.md");
        let ways = old_ways(page);
        assert!(ways.len() >= 9, "{ways:?}");
        for (name, value) in ways {
            let given = value.clone().map(|value| (name.to_owned(), value));
            let store = ParameterStore::new(given);
            if let Err(error) = Parameters::declare(&store, crate::nav::registry()) {
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
            options.accept_timeout.as_millis(),
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
