//! Action clients; one file per node, common code in [`ActionLeaf`].

mod assisted_teleop;
mod back_up;
mod compute_and_track_route;
mod compute_path_through_poses;
mod compute_path_to_pose;
mod compute_route;
mod dock_robot;
mod drive_on_heading;
mod follow_object;
mod follow_path;
mod navigate_through_poses;
mod navigate_to_pose;
mod smooth_path;
mod spin;
mod undock_robot;
mod wait;

use super::action_leaf::ActionLeaf;
use super::action_node::Refusal;
use super::strict_json::ZERO_BYTE;
use super::table::nodes;
use crate::bt::{Context, Input, Ports, Text};

nodes! {
    assisted_teleop: AssistedTeleop in ActionLeaf,
    back_up: BackUp in ActionLeaf,
    compute_and_track_route: ComputeAndTrackRoute in ActionLeaf,
    compute_path_through_poses: ComputePathThroughPoses in ActionLeaf,
    compute_path_to_pose: ComputePathToPose in ActionLeaf,
    compute_route: ComputeRoute in ActionLeaf,
    dock_robot: DockRobot in ActionLeaf,
    drive_on_heading: DriveOnHeading in ActionLeaf,
    follow_object: FollowObject in ActionLeaf,
    follow_path: FollowPath in ActionLeaf,
    navigate_through_poses: NavigateThroughPoses in ActionLeaf,
    navigate_to_pose: NavigateToPose in ActionLeaf,
    smooth_path: SmoothPath in ActionLeaf,
    spin: Spin in ActionLeaf,
    undock_robot: UndockRobot in ActionLeaf,
    wait: Wait in ActionLeaf,
}

/// A text port as the `String` of a message; empty if it is absent or has not been written.
///
/// # Errors
/// [`Refusal::Failure`] if a message cannot hold the text.
fn string(port: &Input<Text>, cx: &Context<'_>) -> Result<String, Refusal> {
    text(port, cx).map(|text| text.as_ref().to_owned())
}

/// Like [`string`], but shared: a goal that is sent repeatedly does not allocate.
fn text(port: &Input<Text>, cx: &Context<'_>) -> Result<Text, Refusal> {
    let text: Text = port.get(cx).unwrap_or_default();
    if text.contains('\0') {
        return Err(Refusal::Failure(format!("port `{}`: {ZERO_BYTE}", port.name())));
    }
    Ok(text)
}

/// Whether a text port still equals the text of the sent goal, without sharing the text.
fn equals_sent(port: &Input<Text>, cx: &Context<'_>, sent: &str) -> bool {
    match port.as_str(cx) {
        Some(text) => same_text(text, sent),
        None if !port.is_set() => sent.is_empty(),
        None => port.get(cx).is_ok_and(|text| same_text(&text, sent)),
    }
}

/// Compares texts. Empty texts are compared by length only: glibc's AVX-512 memcmp reads under a mask, and a masked
/// read at the dangling address of an empty text was measured at 100 ns (a microcode assist).
fn same_text(a: &str, b: &str) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// The port `disable_collision_checks` of Nav2's main branch.
fn warn_of_collision_checks(ports: &mut Ports<'_>) {
    let port = ports
        .input::<bool>("disable_collision_checks")
        .default("false")
        .doc("Nav2 main: whether to move without collision checks. Jazzy's servers do not support it.")
        .bind();
    if !matches!(port.literal(), Some(false) | None) || port.slot().is_some() {
        ports.warn_of(
            "disable_collision_checks",
            "disable_collision_checks has no effect: the actions of Jazzy have no such field",
        );
    }
}
