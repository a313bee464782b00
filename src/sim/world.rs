//! The simulated world without servers: robot, walls, obstacles, costmaps, battery and time.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use crate::bt::Time;
use crate::msg::{
    BatteryState, FrameId, Header, Odometry, PoseStamped, Stamp, Transform, TransformStamped,
    duration::from_seconds,
};

use super::battery::Battery;
use super::costmap::{Costmap, Obstacle, parse_obstacles};
use super::map::{Map, MapError};
use super::plane::{Limits, Noise, PlanarPose, Robot};
use super::route_graph::RouteGraph;
use super::settings::Base;
use super::space::{Disc, Space};

/// An unknown frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no transform from `{0}` to the map")]
pub struct UnknownFrame(pub FrameId);

/// The world. Its clock starts at zero, and only [`World::step`] advances it.
#[derive(Clone, Debug)]
pub struct World {
    /// The parameters.
    pub settings: Base,
    /// The robot.
    pub robot: Robot,
    /// The walls.
    pub map: Option<Arc<Map>>,
    /// The costmap of the planner.
    pub global_costmap: Costmap,
    /// The costmap of the controller and the behaviors.
    pub local_costmap: Costmap,
    /// The graph of the route server.
    pub route_graph: RouteGraph,
    /// The battery.
    pub battery: Battery,
    /// Number of steps in which two servers drove at once. A number above zero means that a client left a goal active:
    /// a tree that halts its actions never causes it.
    pub conflicts: u64,
    obstacles: Vec<Obstacle>,
    ghosts: Vec<Obstacle>,
    present_discs: Vec<Disc>,
    now: Time,
    driver: Option<&'static str>,
    commanded_at: Time,
    frames: Frames,
}

#[derive(Clone, Debug)]
struct Frames {
    map: FrameId,
    odom: FrameId,
    base: FrameId,
}

impl Frames {
    fn new(settings: &Base) -> Self {
        Self {
            map: settings.map_frame.as_str().into(),
            odom: settings.odom_frame.as_str().into(),
            base: settings.base_frame.as_str().into(),
        }
    }
}

impl World {
    /// The world at time zero.
    ///
    /// # Errors
    /// A map that cannot be read.
    pub fn new(settings: Base) -> Result<Self, MapError> {
        let map = load_map(&settings)?;
        Ok(Self::on_map(settings, map))
    }

    /// The world at time zero, on a map that is loaded already: [`load_map`].
    pub fn on_map(settings: Base, map: Option<Arc<Map>>) -> Self {
        let start = PlanarPose::new(settings.start_x, settings.start_y, settings.start_yaw);
        let robot = Robot::new(start, limits(&settings), noise(&settings), settings.seed as u64);
        let mut world = Self {
            robot,
            map,
            global_costmap: Costmap::default(),
            local_costmap: Costmap::default(),
            route_graph: RouteGraph::parse(&settings.route_graph).unwrap_or_default(),
            battery: Battery::new(&settings),
            conflicts: 0,
            obstacles: parse_obstacles(&settings.obstacles).unwrap_or_default(),
            ghosts: parse_obstacles(&settings.ghosts).unwrap_or_default(),
            present_discs: Vec::new(),
            now: Time::ZERO,
            driver: None,
            commanded_at: Time::ZERO,
            frames: Frames::new(&settings),
            settings,
        };
        world.update_costmaps();
        world
    }

    /// Applies changed parameters. The robot stays at its pose; start pose, seed and initial charge only count at the
    /// start.
    ///
    /// # Errors
    /// A map that cannot be read. Nothing has changed then.
    pub fn configure(&mut self, settings: Base) -> Result<(), MapError> {
        let map_parameters = |settings: &Base| {
            let origin = (
                settings.map_origin_x,
                settings.map_origin_y,
                settings.map_resolution,
            );
            (settings.map_file.clone(), settings.map_text.clone(), origin)
        };
        if map_parameters(&settings) != map_parameters(&self.settings) {
            self.map = load_map(&settings)?;
        }
        if settings.ghosts != self.settings.ghosts || settings.obstacles != self.settings.obstacles {
            self.ghosts = parse_obstacles(&settings.ghosts).unwrap_or_default();
            self.obstacles = parse_obstacles(&settings.obstacles).unwrap_or_default();
            self.global_costmap.reset();
            self.local_costmap.reset();
        }
        self.route_graph = RouteGraph::parse(&settings.route_graph).unwrap_or_default();
        self.robot.limits = limits(&settings);
        self.robot.noise = noise(&settings);
        self.battery.configure(&settings);
        self.frames = Frames::new(&settings);
        self.settings = settings;
        Ok(())
    }

    /// Simulated time since the start.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The duration of one step.
    pub fn period(&self) -> Duration {
        from_seconds(1.0 / self.settings.control_rate)
    }

    /// Sends a drive command for `server`: metres per second, radians per second. The last command of a step counts, as
    /// on a velocity topic. If two servers drive in one step, it counts as a conflict.
    pub fn drive(&mut self, server: &'static str, speed: f64, turn: f64) {
        let moving = speed != 0.0 || turn != 0.0;
        if moving && self.driver.is_some_and(|driver| driver != server) {
            self.conflicts += 1;
        }
        if moving {
            self.driver = Some(server);
        }
        self.robot.command(speed, turn);
        self.commanded_at = self.now;
    }

    /// Advances everything by one [`World::period`].
    pub fn step(&mut self) {
        let period = self.period();
        let seconds = period.as_secs_f64();
        if self.now.since(self.commanded_at) > from_seconds(self.settings.command_timeout) {
            self.robot.command(0.0, 0.0);
        }
        self.driver = None;
        self.now = self.now + period;
        self.update_costmaps();
        let driven_before = self.robot.driven;
        let space = Space {
            map: self.map.as_deref(),
            discs: &self.present_discs,
        };
        let radius = self.settings.robot_radius;
        self.robot
            .step(seconds, |pose| space.clearance(pose.x, pose.y) - radius);
        let metres = self.robot.driven - driven_before;
        self.battery
            .step(&self.settings, &self.robot.pose, seconds, metres);
    }

    fn update_costmaps(&mut self) {
        let present_obstacles = self
            .obstacles
            .iter()
            .filter(|obstacle| obstacle.is_present(self.now));
        self.present_discs = present_obstacles.map(|obstacle| obstacle.disc).collect();
        for costmap in [&mut self.global_costmap, &mut self.local_costmap] {
            let range = self.settings.sensor_range;
            costmap.update(&self.obstacles, &self.ghosts, &self.robot.pose, range, self.now);
        }
    }

    /// The free space for the planner.
    pub fn global_space(&self) -> Space<'_> {
        self.global_costmap.space(self.map.as_deref())
    }

    /// The free space for the controller and the behaviors.
    pub fn local_space(&self) -> Space<'_> {
        self.local_costmap.space(self.map.as_deref())
    }

    /// The map frame.
    pub fn map_frame(&self) -> &FrameId {
        &self.frames.map
    }

    /// Transforms `pose` to the map frame. A pose without a frame is in the map frame.
    ///
    /// # Errors
    /// A frame other than those of map, odometry and robot.
    pub fn in_map(&self, pose: &PoseStamped) -> Result<PlanarPose, UnknownFrame> {
        let frame = &pose.header.frame_id;
        let transform = if frame.is_empty() || *frame == self.frames.map {
            return Ok(PlanarPose::from(&pose.pose));
        } else if *frame == self.frames.odom {
            self.map_to_odom()
        } else if *frame == self.frames.base {
            Transform::from_pose(&self.robot.pose.into())
        } else {
            return Err(UnknownFrame(FrameId::clone(frame)));
        };
        Ok(PlanarPose::from(&transform.apply(&pose.pose)))
    }

    /// The pose of the odometry frame in the map, as a localization would publish it. It is exact; the noise of the
    /// odometry appears as its drift.
    pub fn map_to_odom(&self) -> Transform {
        let base = Transform::from_pose(&self.robot.pose.into());
        base.then(&Transform::from_pose(&self.robot.odometry.into()).inverse())
    }

    /// The transforms for `/tf`: map to odometry, odometry to robot.
    pub fn transforms(&self, stamp: Stamp) -> [TransformStamped; 2] {
        let stamped = |parent: &FrameId, child: &FrameId, transform| TransformStamped {
            header: Header::new(stamp, FrameId::clone(parent)),
            child_frame_id: FrameId::clone(child),
            transform,
        };
        [
            stamped(&self.frames.map, &self.frames.odom, self.map_to_odom()),
            stamped(
                &self.frames.odom,
                &self.frames.base,
                Transform::from_pose(&self.robot.odometry.into()),
            ),
        ]
    }

    /// The message for `odom`.
    pub fn odometry(&self, stamp: Stamp) -> Odometry {
        Odometry {
            header: Header::new(stamp, FrameId::clone(&self.frames.odom)),
            child_frame_id: FrameId::clone(&self.frames.base),
            pose: self.robot.odometry.into(),
            twist: self.robot.twist(),
        }
    }

    /// The message for `/battery_status`.
    pub fn battery_state(&self, stamp: Stamp) -> BatteryState {
        self.battery.state(&self.settings, stamp, &self.frames.base)
    }
}

fn limits(settings: &Base) -> Limits {
    Limits {
        speed: settings.max_speed,
        turn: settings.max_turn,
        acceleration: settings.max_acceleration,
        turn_acceleration: settings.max_turn_acceleration,
    }
}

fn noise(settings: &Base) -> Noise {
    Noise {
        drive: settings.drive_noise,
        odometry: settings.odometry_noise,
    }
}

/// Loads the map of the parameters, if any.
///
/// # Errors
/// A map that cannot be read.
pub fn load_map(settings: &Base) -> Result<Option<Arc<Map>>, MapError> {
    let origin = (settings.map_origin_x, settings.map_origin_y);
    let map = if !settings.map_file.is_empty() {
        Map::from_file(FilePath::new(&settings.map_file), settings.map_resolution, origin)?
    } else if !settings.map_text.is_empty() {
        Map::from_text(&settings.map_text, settings.map_resolution, origin)?
    } else {
        return Ok(None);
    };
    Ok(Some(Arc::new(map)))
}

#[cfg(test)]
mod tests {
    use super::World;
    use crate::msg::{Pose, PoseStamped, Stamp, Transform};
    use crate::sim::plane::PlanarPose;
    use crate::sim::settings::Base;

    fn drive(world: &mut World, steps: usize, speed: f64, turn: f64) {
        for _ in 0..steps {
            world.drive("test", speed, turn);
            world.step();
        }
    }

    #[test]
    fn stops_without_commands() {
        let mut world = World::new(Base::default()).unwrap();
        drive(&mut world, 100, 0.5, 0.0);
        assert_eq!(world.robot.speed, 0.5);
        for _ in 0..60 {
            world.step();
        }
        assert_eq!(world.robot.speed, 0.0);
        assert_eq!(world.now().as_nanos(), 3_200_000_000);
    }

    #[test]
    fn transforms_chain_to_the_true_pose() {
        let settings = Base {
            start_x: 2.0,
            start_yaw: 1.0,
            odometry_noise: 0.2,
            ..Base::default()
        };
        let mut world = World::new(settings).unwrap();
        drive(&mut world, 200, 0.4, 0.3);
        let [first, second] = world.transforms(Stamp::ZERO);
        assert_eq!(
            (&*first.child_frame_id, &*second.header.frame_id),
            ("odom", "odom")
        );
        let pose = PlanarPose::from(&first.transform.then(&second.transform).to_pose());
        assert!(pose.distance(&world.robot.pose) < 1e-9 && pose.turn_to(world.robot.pose.yaw).abs() < 1e-9);
        assert_ne!(
            world.map_to_odom(),
            Transform::from_pose(&Pose::planar(2.0, 0.0, 1.0))
        );
        let at_robot = PoseStamped::in_frame("base_link", Pose::default());
        assert!(world.in_map(&at_robot).unwrap().distance(&pose) < 1e-9);
        let odometry = PoseStamped::in_frame("odom", world.odometry(Stamp::ZERO).pose);
        assert!(world.in_map(&odometry).unwrap().distance(&pose) < 1e-9);
        assert!(
            world
                .in_map(&PoseStamped::in_frame("mars", Pose::default()))
                .is_err()
        );
    }

    #[test]
    fn two_drivers_are_a_conflict() {
        let mut world = World::new(Base::default()).unwrap();
        world.drive("spin", 0.0, 1.0);
        world.drive("wait", 0.0, 0.0);
        world.step();
        assert_eq!(world.conflicts, 0);
        world.drive("spin", 0.0, 1.0);
        world.drive("follow_path", 0.1, 1.0);
        assert_eq!(world.conflicts, 1);
    }

    #[test]
    fn walls_and_obstacles_stop_the_robot() {
        let settings = Base {
            obstacles: "1 0 0.3 0 20".into(),
            ..Base::default()
        };
        let mut world = World::new(settings).unwrap();
        drive(&mut world, 500, 0.5, 0.0);
        assert!((world.robot.pose.x - 0.48).abs() < 0.01, "{:?}", world.robot.pose);
        assert_eq!(world.robot.bumps, 1);
        drive(&mut world, 700, 0.5, 0.0);
        assert!(world.robot.pose.x > 1.0);
    }

    #[test]
    fn a_bad_map_changes_nothing() {
        let mut world = World::new(Base::default()).unwrap();
        let bad = Base {
            map_text: "?".into(),
            max_speed: 9.0,
            ..Base::default()
        };
        assert!(world.configure(bad).is_err());
        assert_eq!((world.settings.max_speed, world.map.is_none()), (0.5, true));
        world
            .configure(Base {
                map_text: "...".into(),
                ..Base::default()
            })
            .unwrap();
        assert!(world.map.is_some());
    }
}
