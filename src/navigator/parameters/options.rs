//! The parameters of navigations: the ticks of a tree, and the goals of the clients.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use super::reader::Reader;
use crate::bt::Time;
use crate::navigator::Options;
use crate::ros::{Declaration, ParameterError};

/// On the steady clock, which begins with the node. A process that starts may miss the answers to its announcement:
/// Fast DDS listens only after it has announced itself. It then discovers the others by their next announcements, which
/// are sent every 3 s.
const DISCOVERED: Time = Time::from_millis(5_000);

/// Declares these parameters.
pub(super) fn options(read: &Reader<'_>) -> Result<Options, ParameterError> {
    let default = Options::default();
    let period = read.milliseconds("bt_loop_duration", 10, "Period of the ticks, in ms.")?;
    let rate = read.number(
        "feedback_rate",
        10.0,
        (0.1, 1000.0),
        "Feedback messages per second (Hz).\nNav2 sends one in each tick.",
    )?;
    let error_code_keys = error_code_keys(read, &default)?;
    let mut options = Options {
        period,
        tick_on_event: read.flag(
            "tick_on_event",
            default.tick_on_event,
            "An event that a running tree waits for brings an additional tick at once.\nEvents are: a goal of the tree \
             is accepted or ends, a service answers, a job of a leaf ends, a topic that the tree reads has a message \
             (except odometry, which arrives all the time), a client sends a new goal. Feedback is not an event. The \
             ticks of `bt_loop_duration` stay as they are.",
        )?,
        min_tick_interval: read.milliseconds_from(
            0,
            "min_tick_interval",
            1,
            "Minimum time between a tick and the next tick that an event brings, in ms.",
        )?,
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
            "Maximum time that a goal waits for the first message on /clock with a time after 0, if `use_sim_time` is \
             set, in s. 0: no limit.\nThe goal is aborted after this time.",
        )?),
        error_code_keys,
        ..default
    };
    preemption(read, &mut options)?;
    blackboard_keys(read, &mut options)?;
    options.log_idle_transitions = read.flag(
        "bt_log_idle_transitions",
        options.log_idle_transitions,
        "Publish changes to the status IDLE on behavior_tree_log.",
    )?;
    options.random_seed = random_seed(read)?;
    options.discovered = DISCOVERED;
    options.always_reload = read.flag(
            "always_reload_bt_xml",
            false,
            "Read the tree file and its includes again for each goal.\nThe tree is created again, so its nodes and \
             its blackboard start without their earlier state. A goal that arrives while its tree runs continues \
             that tree if the files are unchanged. A goal whose file is missing or has errors is aborted, also if it is \
             the file of the default tree. With false, the default tree stays in memory, and its file is not looked \
             at.",
    )?;
    Ok(options)
}

/// Which goals preempt the goal that runs.
fn preemption(read: &Reader<'_>, options: &mut Options) -> Result<(), ParameterError> {
    options.allow_navigator_preemption = read.flag(
        "allow_navigator_preemption",
        options.allow_navigator_preemption,
        "A goal of one navigator preempts the goal of the other navigator. False: it is aborted.",
    )?;
    options.allow_tree_preemption = read.flag(
        "allow_tree_preemption",
        options.allow_tree_preemption,
        "A goal with another tree preempts the goal that runs. False: it is aborted, as in Nav2.",
    )?;
    Ok(())
}

fn blackboard_keys(read: &Reader<'_>, options: &mut Options) -> Result<(), ParameterError> {
    options.goal_key = read.text(
        "goal_blackboard_id",
        &options.goal_key,
        "Blackboard key of the goal.",
    )?;
    options.goals_key = read.text(
        "goals_blackboard_id",
        &options.goals_key,
        "Blackboard key of the list of goals.",
    )?;
    options.path_key = read.text(
        "path_blackboard_id",
        &options.path_key,
        "Blackboard key of the path.",
    )?;
    Ok(())
}

fn error_code_keys(read: &Reader<'_>, default: &Options) -> Result<Vec<String>, ParameterError> {
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
    let of_prefixes = prefixes.iter().map(|prefix| format!("{prefix}_error_code"));
    Ok(names.into_iter().chain(of_prefixes).collect())
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
