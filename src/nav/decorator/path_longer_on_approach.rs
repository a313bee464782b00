//! `PathLongerOnApproach`: detects a detour near the goal.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, PortRange, Ports, Tick};
use crate::msg::Path;

/// Compares a path with the previous one. Ticks its child if the path is much longer although the goal is near.
#[derive(Debug)]
pub struct PathLongerOnApproach {
    path: Input<Arc<Path>>,
    proximity: Input<f64>,
    factor: Input<f64>,
}

#[derive(Default)]
struct PathState {
    old: Arc<Path>,
    /// Whether the old path leads to the same goal.
    comparable: bool,
}

impl Node for PathLongerOnApproach {
    const ID: &'static str = "PathLongerOnApproach";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child if the path to the same goal has become much longer although the \
        goal is near: an obstacle blocks the way, and waiting may be better than a detour. Otherwise SUCCESS.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            path: ports.input("path").doc("Current path.").bind(),
            proximity: ports
                .input("prox_len")
                .range(PortRange::at_least(0.0))
                .unit("m")
                .default("3.0")
                .doc("Maximum length of the old path for a near goal.")
                .bind(),
            factor: ports
                .input("length_factor")
                .range(PortRange::above(0.0))
                .default("2.0")
                .doc("Minimum ratio of the lengths of the new and the old path.")
                .bind(),
        }
    }
}

/// Whether a path is a new answer to the same request: a different number of poses and the same end.
fn is_updated(new: &Path, old: &Path) -> bool {
    match (new.poses.last(), old.poses.last()) {
        (Some(end), Some(old_end)) => {
            new.poses.len() != old.poses.len() && end.pose.position == old_end.pose.position
        }
        _ => false,
    }
}

impl Behavior for PathLongerOnApproach {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let new = self.path.optional(cx)?.unwrap_or_default();
        let proximity = self.proximity.require(cx)?;
        let factor = self.factor.require(cx)?;
        cx.set_status(NodeStatus::Running);
        let state = cx.state::<PathState>();
        let same_end = match (new.poses.last(), state.old.poses.last()) {
            (Some(end), Some(old_end)) => end.pose == old_end.pose,
            _ => false,
        };
        let is_detour = state.comparable && same_end && is_updated(&new, &state.old) && {
            let old_length = state.old.length();
            old_length < proximity && new.length() > factor * old_length
        };
        if is_detour {
            let status = cx.tick_child(0)?;
            if status.is_completed() {
                cx.state::<PathState>().old = new;
            }
            return Ok(status);
        }
        // Halt a child that is still running for an earlier detour.
        cx.halt_child(0, crate::bt::HaltReason::Preempted);
        let state = cx.state::<PathState>();
        state.old = new;
        state.comparable = true;
        Ok(NodeStatus::Success)
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        // The last path of an earlier navigation is no reason for a detour of this one.
        *cx.state::<PathState>() = PathState::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::{Header, Pose};
    use crate::nav::testing::Bench;

    /// A path straight to (0, 1), or with a detour of this many metres.
    fn path(detour: f64) -> Arc<Path> {
        let mut poses = vec![Pose::planar(0.0, 0.0, 0.0)];
        if detour > 0.0 {
            poses.push(Pose::planar(detour / 2.0, 0.0, 0.0));
            poses.push(Pose::planar(detour / 2.0, 1.0, 0.0));
        }
        poses.push(Pose::planar(0.0, 1.0, 0.0));
        Arc::new(Path::through(Header::in_frame("map"), poses))
    }

    #[test]
    fn test_path_longer_on_approach() {
        let mut bench =
            Bench::new("<PathLongerOnApproach path=\"{path}\"><AlwaysFailure/></PathLongerOnApproach>");
        let mut tick = |detour: f64| {
            bench.set("path", path(detour));
            bench.tick()
        };
        assert_eq!(tick(0.0), Success, "there is nothing to compare with");
        assert_eq!(tick(0.0), Success);
        assert_eq!(tick(0.5), Success, "longer, and not much");
        assert_eq!(tick(0.0), Success, "shorter");
        assert_eq!(tick(6.0), Failure, "much longer");
        assert_eq!(tick(6.0), Success, "as long as the one before");
    }

    #[test]
    fn the_last_path_of_an_earlier_navigation_is_not_compared() {
        let mut bench =
            Bench::new("<PathLongerOnApproach path=\"{path}\"><AlwaysFailure/></PathLongerOnApproach>");
        bench.set("path", path(0.0));
        assert_eq!(bench.tick(), Success);
        bench.halt();
        bench.set("path", path(6.0));
        assert_eq!(bench.tick(), Success, "the first path of this navigation");
        bench.set("path", path(0.0));
        assert_eq!(bench.tick(), Success);
        bench.set("path", path(6.0));
        assert_eq!(bench.tick(), Failure);
    }
}
