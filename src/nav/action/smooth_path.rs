//! `SmoothPath`: smooths a path.

use std::sync::Arc;

use crate::bt::{Context, Input, Output, PortRange, Ports, Text, Thrown};
use crate::msg::Path;
use crate::msg::action as actions;
use crate::msg::duration::from_seconds;
use crate::nav::action_node::{ActionNode, GoalOutcome, Refusal, ResultOf};

/// Requests a smoothed path from the smoother server.
#[derive(Debug)]
pub struct SmoothPath {
    unsmoothed_path: Input<Arc<Path>>,
    max_duration: Input<f64>,
    check_for_collisions: Input<bool>,
    smoother_id: Input<Text>,
    smoothed_path: Output<Arc<Path>>,
    duration: Output<f64>,
    was_completed: Output<bool>,
}

impl ActionNode for SmoothPath {
    type Action = actions::SmoothPath;
    const ID: &'static str = "SmoothPath";
    const DOC: &'static str = "Smooths a path. The outputs are written only on success.";
    const SERVER: &'static str = "smooth_path";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            unsmoothed_path: ports
                .input("unsmoothed_path")
                .doc("Path to smooth.")
                .needed()
                .bind(),
            max_duration: ports
                .input("max_smoothing_duration")
                .range(PortRange::above(0.0))
                .unit("s")
                .default("3.0")
                .doc("Maximum smoothing time.")
                .bind(),
            check_for_collisions: ports
                .input("check_for_collisions")
                .default("false")
                .doc("Whether to refuse a smoothed path that collides.")
                .bind(),
            smoother_id: ports
                .input("smoother_id")
                .doc("Smoother plugin. May be empty if there is only one.")
                .bind(),
            smoothed_path: ports.output("smoothed_path").doc("Smoothed path.").bind(),
            duration: ports
                .output("smoothing_duration")
                .unit("s")
                .doc("Smoothing time.")
                .bind(),
            was_completed: ports
                .output("was_completed")
                .doc("Whether the smoothing completed in time.")
                .bind(),
        }
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<actions::SmoothPathGoal, Refusal> {
        Ok(actions::SmoothPathGoal {
            path: self.unsmoothed_path.require(cx)?,
            smoother_id: super::string(&self.smoother_id, cx)?,
            max_smoothing_duration: from_seconds(self.max_duration.require(cx)?),
            check_for_collisions: self.check_for_collisions.require(cx)?,
        })
    }

    fn finished(&self, cx: &mut Context<'_>, ending: &GoalOutcome<'_, ResultOf<Self>>) -> Result<(), Thrown> {
        if let GoalOutcome::Succeeded(result) = ending {
            self.smoothed_path.set(cx, Arc::clone(&result.path))?;
            self.duration.set(cx, result.smoothing_duration.as_secs_f64())?;
            self.was_completed.set(cx, result.was_completed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::actions::{SmoothPath, SmoothPathResult};
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::{Header, Pose};
    use crate::nav::testing::{Bench, Plan};
    use std::time::Duration;

    #[test]
    fn test_smooth_path_action_tick() {
        let mut bench = Bench::new(
            "<SmoothPath unsmoothed_path=\"{path}\" smoothed_path=\"{smooth}\" smoothing_duration=\"{took}\" \
             was_completed=\"{done}\"/>",
        );
        bench.action::<SmoothPath>("smooth_path", |goal| {
            Plan::result(SmoothPathResult {
                path: Arc::clone(&goal.path),
                smoothing_duration: Duration::from_millis(500),
                was_completed: true,
                ..Default::default()
            })
        });
        for x in [1.0, -2.5] {
            let path = Path::through(Header::in_frame("map"), [Pose::planar(x, 0.0, 0.0)]);
            bench.set("path", Arc::new(path.clone()));
            assert_eq!(bench.run(10), Success);
            let goal = bench.goals::<SmoothPath>("smooth_path").pop().unwrap();
            assert_eq!(goal.max_smoothing_duration.as_secs(), 3);
            assert_eq!((&*goal.path, goal.check_for_collisions), (&path, false));
            assert_eq!(*bench.object::<Path>("smooth").unwrap(), path);
            assert_eq!((bench.get("took"), bench.get("done")), (Some(0.5), Some(true)));
            bench.halt();
        }
        bench.action::<SmoothPath>("smooth_path", |_| Plan::abort(502));
        assert_eq!(bench.run(10), Failure);
        assert_eq!(
            bench.get("took"),
            Some(0.5),
            "outputs are written on success only"
        );
    }
}
