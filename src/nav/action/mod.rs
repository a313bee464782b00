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

pub use assisted_teleop::AssistedTeleop;
pub use back_up::BackUp;
pub use compute_and_track_route::ComputeAndTrackRoute;
pub use compute_path_through_poses::ComputePathThroughPoses;
pub use compute_path_to_pose::ComputePathToPose;
pub use compute_route::ComputeRoute;
pub use dock_robot::DockRobot;
pub use drive_on_heading::DriveOnHeading;
pub use follow_object::FollowObject;
pub use follow_path::FollowPath;
pub use navigate_through_poses::NavigateThroughPoses;
pub use navigate_to_pose::NavigateToPose;
pub use smooth_path::SmoothPath;
pub use spin::Spin;
pub use undock_robot::UndockRobot;
pub use wait::Wait;

use super::action_leaf::{ActionLeaf, Refusal};
use super::strict_json::ZERO_BYTE;
use crate::bt::{Context, Input, Ports, Registry, RegistryError, Text};

/// Registers every node of this folder.
pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<ActionLeaf<AssistedTeleop>>()?;
    registry.register::<ActionLeaf<BackUp>>()?;
    registry.register::<ActionLeaf<ComputeAndTrackRoute>>()?;
    registry.register::<ActionLeaf<ComputePathThroughPoses>>()?;
    registry.register::<ActionLeaf<ComputePathToPose>>()?;
    registry.register::<ActionLeaf<ComputeRoute>>()?;
    registry.register::<ActionLeaf<DockRobot>>()?;
    registry.register::<ActionLeaf<DriveOnHeading>>()?;
    registry.register::<ActionLeaf<FollowObject>>()?;
    registry.register::<ActionLeaf<FollowPath>>()?;
    registry.register::<ActionLeaf<NavigateThroughPoses>>()?;
    registry.register::<ActionLeaf<NavigateToPose>>()?;
    registry.register::<ActionLeaf<SmoothPath>>()?;
    registry.register::<ActionLeaf<Spin>>()?;
    registry.register::<ActionLeaf<UndockRobot>>()?;
    registry.register::<ActionLeaf<Wait>>()
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
fn says(port: &Input<Text>, cx: &Context<'_>, sent: &str) -> bool {
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
