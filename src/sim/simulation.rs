//! The complete simulation: the world and all servers, stepped together.

use crate::bt::Time;
use crate::msg::action::{
    BackUp, ComputePathThroughPoses, ComputePathToPose, ComputeRoute, DriveOnHeading, FollowPath, SmoothPath,
    Spin, Wait,
};
use crate::msg::service::{
    ClearCostmapAroundPoseRequest, ClearCostmapAroundRobotRequest, ClearCostmapExceptRegionRequest,
    IsPathValidRequest, IsPathValidResponse,
};

use super::behaviors::{BackingUp, DrivingOnHeading, Spinning, Waiting};
use super::controller::Follower;
use super::costmap::{Costmap, Region};
use super::map::MapError;
use super::path_check;
use super::plan_path::{PlanThroughPoses, PlanToPose};
use super::plan_route::Routing;
use super::server::{Event, Execution, Server};
use super::settings::{Base, Settings};
use super::smoother::Smoothing;
use super::world::{UnknownFrame, World, load_map};

/// The reason why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// The map cannot be read.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A fault cannot be read. [`Settings::set`] refuses such a fault; only manually created settings can contain one.
    #[error(transparent)]
    Fault(#[from] super::faults::FaultError),
}

/// The events of one step, per server. The servers are stepped in this order: first the planners, then the servers that
/// drive. The follower then has the plan of the same step.
#[derive(Default)]
pub struct Events {
    /// Events of `compute_path_to_pose`.
    pub compute_path_to_pose: Vec<Event<ComputePathToPose>>,
    /// Events of `compute_path_through_poses`.
    pub compute_path_through_poses: Vec<Event<ComputePathThroughPoses>>,
    /// Events of `compute_route`.
    pub compute_route: Vec<Event<ComputeRoute>>,
    /// Events of `smooth_path`.
    pub smooth_path: Vec<Event<SmoothPath>>,
    /// Events of `follow_path`.
    pub follow_path: Vec<Event<FollowPath>>,
    /// Events of `spin`.
    pub spin: Vec<Event<Spin>>,
    /// Events of `backup`.
    pub backup: Vec<Event<BackUp>>,
    /// Events of `drive_on_heading`.
    pub drive_on_heading: Vec<Event<DriveOnHeading>>,
    /// Events of `wait`.
    pub wait: Vec<Event<Wait>>,
}

/// One of the two costmaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The costmap of the planner.
    Global,
    /// The costmap of the controller and the behaviors.
    Local,
}

/// The part of a costmap that a request clears.
#[derive(Clone, Debug, PartialEq)]
pub enum Clearing {
    /// The whole costmap.
    Entirely,
    /// All except a square around the robot.
    ExceptRegion(ClearCostmapExceptRegionRequest),
    /// A square around the robot.
    AroundRobot(ClearCostmapAroundRobotRequest),
    /// A square around a pose.
    AroundPose(ClearCostmapAroundPoseRequest),
}

/// The simulated robot with its servers.
pub struct Simulation {
    /// The world.
    pub world: World,
    /// The server `compute_path_to_pose`.
    pub compute_path_to_pose: Server<PlanToPose>,
    /// The server `compute_path_through_poses`.
    pub compute_path_through_poses: Server<PlanThroughPoses>,
    /// The server `compute_route`.
    pub compute_route: Server<Routing>,
    /// The server `smooth_path`.
    pub smooth_path: Server<Smoothing>,
    /// The server `follow_path`.
    pub follow_path: Server<Follower>,
    /// The server `spin`.
    pub spin: Server<Spinning>,
    /// The server `backup`.
    pub backup: Server<BackingUp>,
    /// The server `drive_on_heading`.
    pub drive_on_heading: Server<DrivingOnHeading>,
    /// The server `wait`.
    pub wait: Server<Waiting>,
}

impl Simulation {
    /// The simulation at time zero.
    ///
    /// # Errors
    /// A map or a fault that cannot be read.
    pub fn new(settings: &Settings) -> Result<Self, ConfigureError> {
        Self::of_world(World::new(settings.base.clone())?, settings)
    }

    /// The simulations of all robots of the process, which share one map and do not see each other. The seed of the
    /// noise is `seed` for the first robot and one more for each further robot.
    ///
    /// # Errors
    /// A map or a fault that cannot be read.
    pub fn fleet(settings: &Settings) -> Result<Vec<Self>, ConfigureError> {
        let map = load_map(&settings.base)?;
        let robot = |seed: i64| {
            let base = Base {
                seed,
                ..settings.base.clone()
            };
            Self::of_world(World::on_map(base, map.clone()), settings)
        };
        let seeds = std::iter::successors(Some(settings.base.seed), |seed| Some(seed.wrapping_add(1)));
        seeds.take(settings.fleet.robot_count()).map(robot).collect()
    }

    fn of_world(world: World, settings: &Settings) -> Result<Self, ConfigureError> {
        let mut simulation = Self {
            world,
            compute_path_to_pose: Server::default(),
            compute_path_through_poses: Server::default(),
            compute_route: Server::default(),
            smooth_path: Server::default(),
            follow_path: Server::default(),
            spin: Server::default(),
            backup: Server::default(),
            drive_on_heading: Server::default(),
            wait: Server::default(),
        };
        simulation.configure(settings)?;
        Ok(simulation)
    }

    /// Applies changed settings at run time.
    ///
    /// # Errors
    /// A map or a fault that cannot be read. Settings of earlier servers have changed then.
    pub fn configure(&mut self, settings: &Settings) -> Result<(), ConfigureError> {
        fn plan<E: Execution>(server: &mut Server<E>, settings: &Settings) -> Result<(), ConfigureError> {
            server.configure(settings.action_faults(E::SERVER).plan()?);
            Ok(())
        }
        if self.world.settings != settings.base {
            self.world.configure(settings.base.clone())?;
        }
        plan(&mut self.compute_path_to_pose, settings)?;
        plan(&mut self.compute_path_through_poses, settings)?;
        plan(&mut self.compute_route, settings)?;
        plan(&mut self.smooth_path, settings)?;
        plan(&mut self.follow_path, settings)?;
        plan(&mut self.spin, settings)?;
        plan(&mut self.backup, settings)?;
        plan(&mut self.drive_on_heading, settings)?;
        plan(&mut self.wait, settings)
    }

    /// Simulated time since the start.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Steps the servers, then the world by one period. The events are appended to `events`.
    pub fn step(&mut self, events: &mut Events) {
        let world = &mut self.world;
        self.compute_path_to_pose
            .step(world, &mut events.compute_path_to_pose);
        self.compute_path_through_poses
            .step(world, &mut events.compute_path_through_poses);
        self.compute_route.step(world, &mut events.compute_route);
        self.smooth_path.step(world, &mut events.smooth_path);
        self.follow_path.step(world, &mut events.follow_path);
        self.spin.step(world, &mut events.spin);
        self.backup.step(world, &mut events.backup);
        self.drive_on_heading.step(world, &mut events.drive_on_heading);
        self.wait.step(world, &mut events.wait);
        world.step();
    }

    /// Answers received goals, between two steps.
    pub fn admit(&mut self, events: &mut Events) {
        let world = &mut self.world;
        self.compute_path_to_pose
            .admit(world, &mut events.compute_path_to_pose);
        self.compute_path_through_poses
            .admit(world, &mut events.compute_path_through_poses);
        self.compute_route.admit(world, &mut events.compute_route);
        self.smooth_path.admit(world, &mut events.smooth_path);
        self.follow_path.admit(world, &mut events.follow_path);
        self.spin.admit(world, &mut events.spin);
        self.backup.admit(world, &mut events.backup);
        self.drive_on_heading.admit(world, &mut events.drive_on_heading);
        self.wait.admit(world, &mut events.wait);
    }

    /// Clears part of a costmap.
    ///
    /// # Errors
    /// A pose in an unknown frame. Nothing is cleared then.
    pub fn clear(&mut self, which: Which, clearing: &Clearing) -> Result<(), UnknownFrame> {
        let robot = (self.world.robot.pose.x, self.world.robot.pose.y);
        let region = match clearing {
            Clearing::Entirely => Region::Everything,
            Clearing::ExceptRegion(request) => Region::Outside {
                center: robot,
                side: f64::from(request.reset_distance),
            },
            Clearing::AroundRobot(request) => Region::Inside {
                center: robot,
                side: f64::from(request.reset_distance),
            },
            Clearing::AroundPose(request) => {
                let pose = self.world.in_map(&request.pose)?;
                Region::Inside {
                    center: (pose.x, pose.y),
                    side: request.reset_distance,
                }
            }
        };
        let costmap: &mut Costmap = match which {
            Which::Global => &mut self.world.global_costmap,
            Which::Local => &mut self.world.local_costmap,
        };
        costmap.clear(&region);
        Ok(())
    }

    /// Answers `is_path_valid`.
    pub fn is_path_valid(&self, request: &IsPathValidRequest) -> IsPathValidResponse {
        path_check::is_path_valid(request, &self.world)
    }
}

#[cfg(test)]
mod tests {
    use super::{Clearing, Events, Simulation, Which};
    use crate::msg::action::{
        ComputePathThroughPosesGoal, ComputePathToPose, ComputePathToPoseGoal, FollowPath, FollowPathGoal,
        SpinGoal,
    };
    use crate::msg::{Action, Path, Pose, PoseStamped};
    use crate::sim::server::{Event, TerminalStatus};
    use crate::sim::setting::Value;
    use crate::sim::settings::Settings;
    use std::sync::Arc;

    const HOUSE: &str = "\
############################
#............#.............#
#............#.............#
#............#.............#
#..........................#
#..........................#
#..........................#
#............#.............#
#............#.............#
#######...#######...########
#..........................#
#..........................#
#..........................#
############################";

    fn settings(parameters: &[(&str, Value)]) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in parameters {
            settings.set(name, value).unwrap();
        }
        settings
    }

    fn simulation(parameters: &[(&str, Value)]) -> Simulation {
        Simulation::new(&settings(parameters)).unwrap()
    }

    fn house() -> Vec<(&'static str, Value)> {
        vec![
            ("map_text", Value::Text(HOUSE.into())),
            ("start_x", Value::Double(1.0)),
            ("start_y", Value::Double(2.5)),
        ]
    }

    fn pose(x: f64, y: f64, yaw: f64) -> PoseStamped {
        PoseStamped::in_frame("map", Pose::planar(x, y, yaw))
    }

    fn plan(simulation: &mut Simulation, goal: PoseStamped) -> Result<Arc<Path>, u16> {
        let now = simulation.now();
        simulation.compute_path_to_pose.receive(
            ComputePathToPoseGoal {
                goal,
                ..Default::default()
            },
            now,
        );
        let mut events = Events::default();
        for _ in 0..50 {
            simulation.step(&mut events);
            for event in events.compute_path_to_pose.drain(..) {
                match event {
                    Event::Ended(_, TerminalStatus::Succeeded, result) => return Ok(result.path),
                    Event::Ended(_, TerminalStatus::Aborted, result) => return Err(result.error_code),
                    _ => {}
                }
            }
        }
        panic!("no answer");
    }

    /// Follows a path, with a new plan to `goal` every simulated second, as Nav2's default tree does.
    fn follow(simulation: &mut Simulation, goal: &PoseStamped, seconds: usize) -> Result<(), u16> {
        for _ in 0..seconds {
            let path = plan(simulation, goal.clone())?;
            let now = simulation.now();
            let number = simulation.follow_path.receive(
                FollowPathGoal {
                    path,
                    ..Default::default()
                },
                now,
            );
            let mut events = Events::default();
            for _ in 0..50 {
                simulation.step(&mut events);
                for event in events.follow_path.drain(..) {
                    match event {
                        Event::Ended(ended, TerminalStatus::Succeeded, _) if ended == number => return Ok(()),
                        Event::Ended(ended, TerminalStatus::Aborted, result) if ended == number => {
                            return Err(FollowPath::error_code(&result));
                        }
                        _ => {}
                    }
                }
            }
        }
        panic!("not there within {seconds} s: {:?}", simulation.world.robot);
    }

    #[test]
    fn drives_through_doors_with_replanning() {
        let mut simulation = simulation(&house());
        for goal in [
            pose(6.0, 2.9, 1.0),
            pose(6.0, 0.6, -2.0),
            pose(0.6, 0.6, 0.0),
            pose(1.0, 2.5, 3.0),
        ] {
            assert_eq!(
                follow(&mut simulation, &goal, 60),
                Ok(()),
                "{goal:?} {:?}",
                simulation.world.robot
            );
            let robot = simulation.world.robot.pose;
            assert!(
                (robot.x - goal.pose.position.x).hypot(robot.y - goal.pose.position.y) < 0.15,
                "{robot:?}"
            );
        }
        assert_eq!((simulation.world.robot.bumps, simulation.world.conflicts), (0, 0));
    }

    #[test]
    fn the_demonstration_can_be_driven() {
        let file: serde_yaml::Value = serde_yaml::from_str(include_str!("../../config/demo.yaml")).unwrap();
        let mut settings = Settings::default();
        for (name, value) in file["nav_sim"]["ros__parameters"].as_mapping().unwrap() {
            let value = match value {
                serde_yaml::Value::Bool(value) => Value::Bool(*value),
                serde_yaml::Value::Number(value) if value.is_i64() => Value::Int(value.as_i64().unwrap()),
                serde_yaml::Value::Number(value) => Value::Double(value.as_f64().unwrap()),
                value => Value::Text(value.as_str().unwrap().into()),
            };
            settings.set(name.as_str().unwrap(), &value).unwrap();
        }
        let mut simulation = Simulation::new(&settings).unwrap();
        for goal in [pose(6.0, 4.0, 1.0), pose(1.0, 1.0, 0.0)] {
            assert_eq!(follow(&mut simulation, &goal, 60), Ok(()));
        }
        assert_eq!(simulation.world.robot.bumps, 0);
    }

    #[test]
    fn the_same_seed_gives_the_same_track() {
        let run = |seed| {
            let mut parameters = house();
            parameters.push(("drive_noise", Value::Double(0.1)));
            parameters.push(("odometry_noise", Value::Double(0.1)));
            parameters.push(("seed", Value::Int(seed)));
            let mut simulation = simulation(&parameters);
            follow(&mut simulation, &pose(6.0, 0.6, 0.0), 60).unwrap();
            (
                simulation.world.robot.pose,
                simulation.world.robot.odometry,
                simulation.now(),
            )
        };
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
    }

    #[test]
    fn the_robots_of_a_fleet_share_a_map_and_nothing_else() {
        let mut parameters = house();
        parameters.push(("drive_noise", Value::Double(0.1)));
        parameters.push((
            "robots",
            Value::Texts(vec!["r1".into(), "r2".into(), "r3".into()]),
        ));
        let mut robots = Simulation::fleet(&settings(&parameters)).unwrap();
        let [first, second, third] = &mut robots[..] else {
            panic!("{} robots", robots.len());
        };
        let map = |robot: &Simulation| robot.world.map.clone().unwrap();
        assert!(Arc::ptr_eq(&map(first), &map(third)));
        follow(first, &pose(6.0, 0.6, 0.0), 60).unwrap();
        follow(second, &pose(6.0, 0.6, 0.0), 60).unwrap();
        let [first, second, third] = [first, second, third].map(|robot| robot.world.robot.pose);
        assert!(
            first.distance(&second) < 0.3 && first != second,
            "another seed: {first:?} {second:?}"
        );
        assert_eq!((third.x, third.y), (1.0, 2.5));
    }

    #[test]
    fn ghosts_in_the_doors_are_cleared() {
        let mut parameters = house();
        parameters.push(("ghosts", Value::Text("2.1 1.1 0.4; 4.6 1.1 0.4".into())));
        let mut simulation = simulation(&parameters);
        let goal = pose(6.0, 0.6, 0.0);
        assert_eq!(
            plan(&mut simulation, goal.clone()),
            Err(ComputePathToPose::NO_VALID_PATH)
        );
        simulation.clear(Which::Local, &Clearing::Entirely).unwrap();
        assert_eq!(
            plan(&mut simulation, goal.clone()),
            Err(ComputePathToPose::NO_VALID_PATH)
        );
        simulation.clear(Which::Global, &Clearing::Entirely).unwrap();
        assert!(plan(&mut simulation, goal).is_ok());
    }

    #[test]
    fn an_obstacle_that_appears_is_driven_around() {
        let mut parameters = house();
        parameters.push(("obstacles", Value::Text("4.0 2.2 0.2 2".into())));
        let mut simulation = simulation(&parameters);
        assert_eq!(follow(&mut simulation, &pose(6.0, 2.2, 0.0), 60), Ok(()));
        assert_eq!(simulation.world.robot.bumps, 0);
    }

    #[test]
    fn plans_through_poses() {
        let mut simulation = simulation(&house());
        let goals = vec![pose(1.0, 1.7, 0.0), pose(6.0, 1.7, 0.0), pose(6.0, 2.5, 0.5)];
        let asked = ComputePathThroughPosesGoal {
            goals: goals.clone(),
            ..Default::default()
        };
        let now = simulation.now();
        simulation.compute_path_through_poses.receive(asked, now);
        simulation
            .compute_path_through_poses
            .receive(ComputePathThroughPosesGoal::default(), now);
        let mut events = Events::default();
        for _ in 0..5 {
            simulation.step(&mut events);
        }
        // The second goal replaced the first one, and had no poses.
        let ended: Vec<_> = events
            .compute_path_through_poses
            .iter()
            .filter_map(|event| match event {
                Event::Ended(number, status, result) => Some((number.0, *status, result.error_code)),
                _ => None,
            })
            .collect();
        assert_eq!(
            ended,
            [(1, TerminalStatus::Aborted, 0), (2, TerminalStatus::Aborted, 309)]
        );
        let asked = ComputePathThroughPosesGoal {
            goals: goals.clone(),
            ..Default::default()
        };
        let now = simulation.now();
        simulation.compute_path_through_poses.receive(asked, now);
        for _ in 0..5 {
            simulation.step(&mut events);
        }
        let Some(Event::Ended(_, TerminalStatus::Succeeded, result)) =
            events.compute_path_through_poses.last()
        else {
            panic!("no path");
        };
        for goal in &goals {
            let index = result.path.closest_index(&goal.pose.position).unwrap();
            let distance =
                crate::msg::distance_xy(&result.path.poses[index].pose.position, &goal.pose.position);
            assert!(distance < 1e-9, "{distance}");
        }
        assert!(!result.planning_time.is_zero());
    }

    #[test]
    fn two_active_drive_goals_are_a_conflict() {
        let mut simulation = simulation(&[]);
        let now = simulation.now();
        simulation.spin.receive(
            SpinGoal {
                target_yaw: 3.0,
                ..Default::default()
            },
            now,
        );
        let path = plan(&mut simulation, pose(3.0, 0.0, 0.0)).unwrap();
        let now = simulation.now();
        simulation.follow_path.receive(
            FollowPathGoal {
                path,
                ..Default::default()
            },
            now,
        );
        for _ in 0..10 {
            simulation.step(&mut Events::default());
        }
        assert!(simulation.world.conflicts > 0);
    }

    #[test]
    fn planning_failures_have_codes() {
        let mut simulation = simulation(&house());
        assert_eq!(
            plan(&mut simulation, pose(99.0, 0.0, 0.0)),
            Err(ComputePathToPose::GOAL_OUTSIDE_MAP)
        );
        assert_eq!(
            plan(&mut simulation, pose(0.1, 0.1, 0.0)),
            Err(ComputePathToPose::GOAL_OCCUPIED)
        );
        let unknown = PoseStamped::in_frame("mars", Pose::default());
        assert_eq!(plan(&mut simulation, unknown), Err(ComputePathToPose::TF_ERROR));
    }
}
