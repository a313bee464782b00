//! The servers `compute_path_to_pose` and `compute_path_through_poses`.

use std::sync::Arc;
use std::time::Duration;

use crate::bt::Time;
use crate::msg::action::ComputePathThroughPosesFeedback;
use crate::msg::action::{
    ComputePathThroughPoses, ComputePathThroughPosesGoal, ComputePathThroughPosesResult, ComputePathToPose,
    ComputePathToPoseFeedback, ComputePathToPoseGoal, ComputePathToPoseResult,
};
use crate::msg::{Action, FrameId, Header, Path, Pose, PoseStamped, Stamp, duration::from_seconds};

use super::plane::PlanarPose;
use super::planner::{PlanError, Planning, plan};
use super::server::{Execution, Progress};
use super::settings::Base;
use super::world::{UnknownFrame, World};

/// The common request of both actions: a path through `goals`, from `start` or from the robot.
struct Question<'a> {
    goals: &'a [PoseStamped],
    start: Option<&'a PoseStamped>,
    planner_id: &'a str,
}

/// The reason why there is no path. Each action has its own error codes.
enum PlanningError {
    InvalidPlanner(String),
    Frame(UnknownFrame),
    NoGoals,
    Plan(PlanError),
}

impl PlanningError {
    fn text(&self) -> String {
        match self {
            Self::InvalidPlanner(id) => format!("there is no planner `{id}`"),
            Self::Frame(error) => error.to_string(),
            Self::NoGoals => "no goals were given".into(),
            Self::Plan(error) => error.to_string(),
        }
    }
}

fn answer(question: &Question<'_>, world: &World) -> Result<Vec<PlanarPose>, PlanningError> {
    if !Base::contains_id(&world.settings.planner_ids, question.planner_id) {
        return Err(PlanningError::InvalidPlanner(question.planner_id.to_owned()));
    }
    if question.goals.is_empty() {
        return Err(PlanningError::NoGoals);
    }
    let mut from = match question.start {
        Some(start) => world.in_map(start).map_err(PlanningError::Frame)?,
        None => world.robot.pose,
    };
    let planning = Planning {
        radius: world.settings.robot_radius + world.settings.planning_margin,
        spacing: world.settings.path_spacing,
    };
    let mut poses: Vec<PlanarPose> = Vec::new();
    for goal in question.goals {
        let goal = world.in_map(goal).map_err(PlanningError::Frame)?;
        let leg = plan(&world.global_space(), planning, from, goal).map_err(PlanningError::Plan)?;
        // The end of a leg is the start of the next one.
        poses.pop();
        poses.extend(leg);
        from = goal;
    }
    Ok(poses)
}

/// A computed plan, returned after the planning time.
struct Planned {
    poses: Vec<PlanarPose>,
    since: Time,
}

impl Planned {
    fn is_done(&self, world: &World) -> bool {
        world.now().since(self.since) >= from_seconds(world.settings.planning_time)
    }

    fn path(&mut self, world: &World) -> (Arc<Path>, Duration) {
        let header = Header::new(Stamp::ZERO, FrameId::clone(world.map_frame()));
        let poses = std::mem::take(&mut self.poses).into_iter().map(Pose::from);
        (
            Arc::new(Path::through(header, poses)),
            world.now().since(self.since),
        )
    }
}

/// Both servers have the same code; only names and numbers differ.
macro_rules! planning_server {
    ($(#[$doc:meta])* $server:ident, $name:literal, $action:ident, $goal:ident, $result:ident, $feedback:ident,
     |$asked:ident| $goals:expr, no_goals: $no_goals:expr) => {
        $(#[$doc])*
        pub struct $server(Planned);

        impl Execution for $server {
            type Action = $action;
            const SERVER: &'static str = $name;

            fn start($asked: &$goal, _previous: Option<&Self>, world: &mut World) -> Result<Self, $result> {
                let question = Question {
                    goals: $goals,
                    start: $asked.use_start.then_some(&$asked.start),
                    planner_id: &$asked.planner_id,
                };
                let since = world.now();
                match answer(&question, world) {
                    Ok(poses) => Ok(Self(Planned { poses, since })),
                    Err(trouble) => {
                        let code = match &trouble {
                            PlanningError::InvalidPlanner(_) => $action::INVALID_PLANNER,
                            PlanningError::Frame(_) => $action::TF_ERROR,
                            PlanningError::NoGoals => $no_goals,
                            PlanningError::Plan(PlanError::StartOutsideMap) => $action::START_OUTSIDE_MAP,
                            PlanningError::Plan(PlanError::GoalOutsideMap) => $action::GOAL_OUTSIDE_MAP,
                            PlanningError::Plan(PlanError::StartOccupied) => $action::START_OCCUPIED,
                            PlanningError::Plan(PlanError::GoalOccupied) => $action::GOAL_OCCUPIED,
                            PlanningError::Plan(PlanError::NoValidPath) => $action::NO_VALID_PATH,
                        };
                        Err($action::failure(code, &trouble.text()))
                    }
                }
            }

            fn step(&mut self, world: &mut World) -> Progress<$action> {
                if !self.0.is_done(world) {
                    return Progress::Running($feedback {});
                }
                let (path, planning_time) = self.0.path(world);
                Progress::Succeeded($result {
                    path,
                    planning_time,
                    ..$result::default()
                })
            }

            fn cancel(&mut self, _world: &mut World) -> $result {
                $result::default()
            }
        }
    };
}

planning_server!(
    /// Plans to one pose.
    PlanToPose,
    "compute_path_to_pose",
    ComputePathToPose,
    ComputePathToPoseGoal,
    ComputePathToPoseResult,
    ComputePathToPoseFeedback,
    |goal| std::slice::from_ref(&goal.goal),
    no_goals: ComputePathToPose::UNKNOWN
);

planning_server!(
    /// Plans through poses.
    PlanThroughPoses,
    "compute_path_through_poses",
    ComputePathThroughPoses,
    ComputePathThroughPosesGoal,
    ComputePathThroughPosesResult,
    ComputePathThroughPosesFeedback,
    |goal| &goal.goals,
    no_goals: ComputePathThroughPoses::NO_VIAPOINTS_GIVEN
);
