//! The parameters of trees and of the goals that leaves send.

use std::time::Duration;

use super::reader::Reader;
use crate::bt::HaltOrder;
use crate::nav::Settings;
use crate::ros::{Declaration, ParameterError};

/// Declares these parameters.
pub(super) fn settings(read: &Reader<'_>) -> Result<Settings, ParameterError> {
    let mut settings = Settings::default();
    frames(read, &mut settings)?;
    timeouts(read, &mut settings)?;
    topics(read, &mut settings)?;
    policies(read, &mut settings)?;
    Ok(settings)
}

fn frames(read: &Reader<'_>, settings: &mut Settings) -> Result<(), ParameterError> {
    settings.global_frame = read.text(
        "global_frame",
        &settings.global_frame,
        "Global frame. Goals are transformed into this frame.",
    )?;
    settings.robot_base_frame = read.text(
        "robot_base_frame",
        &settings.robot_base_frame,
        "Base frame of the robot.",
    )?;
    // Nav2 reads it, and it has no meaning here. It is accepted, which makes a parameter file for Nav2 usable
    // unchanged.
    settings.transform_tolerance = Duration::from_secs_f64(read.number(
        "transform_tolerance",
        settings.transform_tolerance.as_secs_f64(),
        (0.0, 3600.0),
        "No effect; declared for compatibility with Nav2, in s.\nNav2 waits this long for a transform. navtree does \
         not wait for transforms while it ticks.",
    )?);
    let age_limit = settings.transform_age_limit.unwrap_or(Duration::ZERO);
    let age_limit = read.number(
        "transform_age_limit",
        age_limit.as_secs_f64(),
        (0.0, 3600.0),
        "Maximum age of a transform, in s. 0: no limit, as in Nav2.\nThe age is counted from its stamp and from its \
         arrival. An older transform counts as missing. The limit also applies to the odometry of CheckStopStatus.",
    )?;
    settings.transform_age_limit = (age_limit > 0.0).then(|| Duration::from_secs_f64(age_limit));
    Ok(())
}

fn timeouts(read: &Reader<'_>, settings: &mut Settings) -> Result<(), ParameterError> {
    let milliseconds = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    settings.response_timeout = response_timeout(read, milliseconds(settings.response_timeout))?;
    let wait_for_service = read.milliseconds(
        "wait_for_service_timeout",
        milliseconds(settings.absent_timeout),
        "Maximum time to wait for an absent server, in ms.\nIf `response_timeout` is longer, it is used. The port `server_timeout` of a node overrides both.",
    )?;
    settings.absent_timeout = wait_for_service.max(settings.response_timeout);
    settings.cancel_timeout = read.milliseconds(
        "default_cancel_timeout",
        milliseconds(settings.cancel_timeout),
        "Maximum time that a stopping goal delays the next goal on its server, in ms.\nA stopping job delays the \
         next job of its leaf for at most this time too.",
    )?;
    settings.give_up_timeout = read.milliseconds(
        "give_up_timeout",
        milliseconds(settings.give_up_timeout),
        "Maximum time to try to stop a goal before an error is reported, in ms.",
    )?;
    Ok(())
}

fn topics(read: &Reader<'_>, settings: &mut Settings) -> Result<(), ParameterError> {
    settings.odom_topic = read.text("odom_topic", &settings.odom_topic, "Topic of the odometry.")?;
    settings.filter_duration = Duration::from_secs_f64(read.number(
        "filter_duration",
        settings.filter_duration.as_secs_f64(),
        (0.0, 60.0),
        "Time over which the speed from odometry is averaged, in s.",
    )?);
    settings.goal_updater_topic = read.text(
        "goal_updater_topic",
        &settings.goal_updater_topic,
        "Topic of new goals for GoalUpdater.",
    )?;
    settings.goals_updater_topic = read.text(
        "goals_updater_topic",
        &settings.goals_updater_topic,
        "Topic of new lists of goals for GoalUpdater.",
    )?;
    settings.max_goal_poses = max_goal_poses(read, settings.max_goal_poses)?;
    Ok(())
}

fn policies(read: &Reader<'_>, settings: &mut Settings) -> Result<(), ParameterError> {
    settings.goal_reached_tolerance = read.number(
        "goal_reached_tol",
        settings.goal_reached_tolerance,
        (0.0, 1e3),
        "Distance from the goal at which GoalReached succeeds, in m.",
    )?;
    settings.canceled_is_success = read.flag(
        "canceled_is_success",
        settings.canceled_is_success,
        "A leaf succeeds if its goal is cancelled, as in Nav2. False: a cancel of another client ends the navigation.\n\
         With false, a cancel of a Cancel node of the tree fails the leaf.",
    )?;
    settings.latch_on_activation = read.flag(
        "latch_on_activation",
        settings.latch_on_activation,
        "GoalUpdated, DistanceTraveled and TimeExpired forget their reference when they are reset, as in Nav2.",
    )?;
    let halts_first = read.flag(
        "halt_before_start",
        true,
        "Send cancels before new goals at the end of a tick (guarantee G2). False: in the order of the tick, as in \
         BehaviorTree.CPP.\nFalse: when a reactive node changes its branch, the new goal is sent before the old one is \
         cancelled, so both may move the robot for a short time.",
    )?;
    settings.halt_order = if halts_first {
        HaltOrder::BeforeStarts
    } else {
        HaltOrder::AsTicked
    };
    settings.battery_unknown_is_low = read.flag(
        "battery_unknown_is_low",
        settings.battery_unknown_is_low,
        "IsBatteryLow succeeds until the first battery message arrives. False: it fails.",
    )?;
    Ok(())
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
