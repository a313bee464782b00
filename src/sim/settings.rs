//! The parameters of `nav_sim`: one table, the source of the settings, the ROS parameters and the table in
//! `docs/nav_sim.md`.

use std::fmt::Write as _;

use super::faults::{ActionFaults, FaultError, ServiceFaults};
use super::fleet::Fleet;
use super::setting::{Parameter, SettingError, Value, settings};

settings! {
    /// The properties of the robot, its world and its servers, without faults.
    Base {
        /// Simulated seconds per real second.
        speed_factor: f64 = 1.0;
        /// Publish `/clock`, for nodes that run with `use_sim_time`.
        publish_clock: bool = false;
        /// Simulation steps per simulated second (Hz).
        control_rate: f64 = 50.0;
        /// Messages per simulated second on `/tf` and `odom` (Hz).
        state_rate: f64 = 20.0;
        /// Feedback messages per simulated second of each action (Hz).
        feedback_rate: f64 = 10.0;
        /// Seed of the random noise.
        seed: i64 = 1;
        /// Map frame: the frame of goals and paths.
        map_frame: String = "map";
        /// Odometry frame.
        odom_frame: String = "odom";
        /// Base frame of the robot.
        base_frame: String = "base_link";
        /// Start x of the robot, in m.
        start_x: f64 = 0.0;
        /// Start y of the robot, in m.
        start_y: f64 = 0.0;
        /// Start yaw of the robot, in rad.
        start_yaw: f64 = 0.0;
        /// Map file: a map_server YAML with a PGM image, or a text file of `#` and `.`. Empty: no map file.
        map_file: String = "";
        /// Map as text: rows of `#` and `.` from the largest y, separated by `/` or line breaks. Empty: no text map.
        map_text: String = "";
        /// Cell size of a text map, in m.
        map_resolution: f64 = 0.25;
        /// X of the lower left corner of a text map, in m.
        map_origin_x: f64 = 0.0;
        /// Y of the lower left corner of a text map, in m.
        map_origin_y: f64 = 0.0;
        /// Obstacles: `x y radius [from [until]]` in m and s, separated by `;`.
        obstacles: String = "";
        /// False obstacles in the costmaps: `x y radius [from]` in m and s, separated by `;`. Only a clear service removes them.
        ghosts: String = "";
        /// Route graph of `compute_route`: nodes `id x y` and two-way edges `id id`, separated by `;`. Empty: no graph.
        route_graph: String = "";
        /// Range at which the costmaps detect obstacles, in m.
        sensor_range: f64 = 2.5;
        /// Radius of the robot, in m.
        robot_radius: f64 = 0.22;
        /// Maximum speed, in m/s.
        max_speed: f64 = 0.5;
        /// Maximum angular speed, in rad/s.
        max_turn: f64 = 1.5;
        /// Maximum acceleration and deceleration, in m/s².
        max_acceleration: f64 = 1.0;
        /// Maximum angular acceleration and deceleration, in rad/s².
        max_turn_acceleration: f64 = 3.2;
        /// Time without a velocity command after which the robot stops, in s.
        command_timeout: f64 = 0.2;
        /// Drive noise: standard deviation as a fraction of the motion.
        drive_noise: f64 = 0.0;
        /// Odometry noise: standard deviation as a fraction of the motion.
        odometry_noise: f64 = 0.0;
        /// Duration of planning, in s.
        planning_time: f64 = 0.02;
        /// Distance that planned paths keep from obstacles in addition to the robot's radius, in m.
        planning_margin: f64 = 0.1;
        /// Distance between the poses of a planned path, in m.
        path_spacing: f64 = 0.05;
        /// Duration of smoothing, in s.
        smoothing_time: f64 = 0.02;
        /// Lookahead distance of the controller at rest, in m.
        lookahead: f64 = 0.4;
        /// Time whose driven distance is added to `lookahead`, in s.
        lookahead_time: f64 = 0.4;
        /// Distance from the end of a path at which it is reached, in m.
        xy_goal_tolerance: f64 = 0.1;
        /// Yaw error at the end of a path at which it is reached, in rad.
        yaw_goal_tolerance: f64 = 0.1;
        /// Distance that the robot must move within `movement_time_allowance`, in m. Otherwise `follow_path` aborts with 105.
        required_movement_radius: f64 = 0.5;
        /// Time for `required_movement_radius`, in s.
        movement_time_allowance: f64 = 10.0;
        /// Time without a valid command before `follow_path` aborts with 104, in s. 0: abort at once with 106.
        failure_tolerance: f64 = 0.3;
        /// Minimum angular speed of `spin`, in rad/s.
        min_spin: f64 = 0.4;
        /// Maximum angular speed of `spin`, in rad/s.
        max_spin: f64 = 1.0;
        /// Time that `backup` and `drive_on_heading` look ahead for collisions, in s.
        simulate_ahead_time: f64 = 2.0;
        /// Known planner IDs, separated by commas. Empty: all IDs are known.
        planner_ids: String = "";
        /// Known controller IDs, separated by commas. Empty: all IDs are known.
        controller_ids: String = "";
        /// Known smoother IDs, separated by commas. Empty: all IDs are known.
        smoother_ids: String = "";
        /// Messages per simulated second on `/battery_status` (Hz). 0: no messages.
        battery_rate: f64 = 1.0;
        /// Battery charge at the start, from 0 to 1.
        battery_charge: f64 = 1.0;
        /// Charge lost per second, as a fraction of the full battery.
        battery_drain: f64 = 0.0;
        /// Charge lost per metre driven, as a fraction of the full battery.
        battery_drain_driving: f64 = 0.0;
        /// Voltage of the full battery, in V.
        battery_voltage: f64 = 24.0;
        /// Place of the charger: `x y radius` in m. Empty: no charger.
        charger: String = "";
        /// Charge gained per second at the charger, as a fraction of the full battery.
        charging_rate: f64 = 0.01;
    }
}

/// The names of the action servers, in faults and topics.
pub const ACTION_SERVERS: [&str; 9] = [
    "compute_path_to_pose",
    "compute_path_through_poses",
    "compute_route",
    "follow_path",
    "spin",
    "backup",
    "drive_on_heading",
    "wait",
    "smooth_path",
];

/// The names of the service servers. `clear_global` and `clear_local` include all variants of clearing.
pub const SERVICE_SERVERS: [&str; 3] = ["clear_global", "clear_local", "is_path_valid"];

/// All parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The robots of the process and their servers.
    pub fleet: Fleet,
    /// All other parameters except the faults.
    pub base: Base,
    /// The faults of each of [`ACTION_SERVERS`].
    pub actions: [ActionFaults; ACTION_SERVERS.len()],
    /// The faults of each of [`SERVICE_SERVERS`].
    pub services: [ServiceFaults; SERVICE_SERVERS.len()],
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            fleet: Fleet::default(),
            base: Base::default(),
            actions: std::array::from_fn(|_| ActionFaults::default()),
            services: std::array::from_fn(|_| ServiceFaults::default()),
        }
    }
}

impl Settings {
    /// All parameters, as declared.
    pub fn parameters() -> Vec<Parameter> {
        let mut all = Fleet::table();
        all.extend(Base::table());
        let with_prefix = |server: &str, row: Parameter| Parameter {
            name: format!("faults.{server}.{}", row.name),
            ..row
        };
        for server in ACTION_SERVERS {
            all.extend(
                ActionFaults::table()
                    .into_iter()
                    .map(|row| with_prefix(server, row)),
            );
        }
        for server in SERVICE_SERVERS {
            all.extend(
                ServiceFaults::table()
                    .into_iter()
                    .map(|row| with_prefix(server, row)),
            );
        }
        all
    }

    /// Sets one parameter. After an error, nothing has changed.
    ///
    /// # Errors
    /// An unknown name, a value of another type or outside its range, or a text that cannot be read.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), SettingError> {
        let mut changed = self.clone();
        if let Some((server, key)) = name.strip_prefix("faults.").and_then(|rest| rest.split_once('.')) {
            let to_setting_error = |error: FaultError| SettingError::Text {
                name: name.to_owned(),
                reason: error.to_string(),
            };
            if let Some(index) = ACTION_SERVERS.iter().position(|known| *known == server) {
                changed.actions[index].assign(key, name, value)?;
                changed.actions[index].check().map_err(to_setting_error)?;
            } else if let Some(index) = SERVICE_SERVERS.iter().position(|known| *known == server) {
                changed.services[index].assign(key, name, value)?;
                changed.services[index].check().map_err(to_setting_error)?;
            } else {
                return Err(SettingError::Unknown(name.to_owned()));
            }
        } else if Fleet::table().iter().any(|row| row.name == name) {
            changed.fleet.assign(name, name, value)?;
            changed.fleet.check()?;
        } else {
            changed.base.assign(name, name, value)?;
            changed.base.check()?;
        }
        *self = changed;
        Ok(())
    }

    /// The faults of an action server.
    pub fn action_faults(&self, server: &str) -> ActionFaults {
        let index = ACTION_SERVERS.iter().position(|known| *known == server);
        index.map(|index| self.actions[index].clone()).unwrap_or_default()
    }

    /// The faults of a service server.
    pub fn service_faults(&self, server: &str) -> ServiceFaults {
        let index = SERVICE_SERVERS.iter().position(|known| *known == server);
        index
            .map(|index| self.services[index].clone())
            .unwrap_or_default()
    }

    /// The tables of the documentation, as Markdown.
    pub fn markdown() -> String {
        let mut text = String::new();
        let mut table = |title: &str, prefix: &str, rows: Vec<Parameter>| {
            let _ = write!(
                text,
                "### {title}\n\n| parameter | type | default | meaning |\n|---|---|---|---|\n"
            );
            for row in rows {
                let kind = row.default.type_name();
                let _ = writeln!(
                    text,
                    "| `{prefix}{}` | {kind} | `{}` | {} |",
                    row.name, row.default, row.description
                );
            }
            text.push('\n');
        };
        table("Robots of the process", "", Fleet::table());
        table("Robot, world and servers", "", Base::table());
        table(
            "Faults of an action server",
            "faults.<action>.",
            ActionFaults::table(),
        );
        table("Faults of a service", "faults.<service>.", ServiceFaults::table());
        text
    }
}

impl Base {
    fn check(&self) -> Result<(), SettingError> {
        let positive = [
            ("speed_factor", self.speed_factor),
            ("control_rate", self.control_rate),
            ("state_rate", self.state_rate),
            ("feedback_rate", self.feedback_rate),
            ("map_resolution", self.map_resolution),
            ("robot_radius", self.robot_radius),
            ("max_speed", self.max_speed),
            ("max_turn", self.max_turn),
            ("max_acceleration", self.max_acceleration),
            ("max_turn_acceleration", self.max_turn_acceleration),
            ("path_spacing", self.path_spacing),
            ("lookahead", self.lookahead),
            ("xy_goal_tolerance", self.xy_goal_tolerance),
            ("yaw_goal_tolerance", self.yaw_goal_tolerance),
            ("max_spin", self.max_spin),
        ];
        let not_negative = [
            ("sensor_range", self.sensor_range),
            ("command_timeout", self.command_timeout),
            ("drive_noise", self.drive_noise),
            ("odometry_noise", self.odometry_noise),
            ("planning_time", self.planning_time),
            ("planning_margin", self.planning_margin),
            ("smoothing_time", self.smoothing_time),
            ("lookahead_time", self.lookahead_time),
            ("required_movement_radius", self.required_movement_radius),
            ("movement_time_allowance", self.movement_time_allowance),
            ("failure_tolerance", self.failure_tolerance),
            ("min_spin", self.min_spin),
            ("simulate_ahead_time", self.simulate_ahead_time),
            ("battery_rate", self.battery_rate),
            ("battery_charge", self.battery_charge),
            ("battery_drain", self.battery_drain),
            ("battery_drain_driving", self.battery_drain_driving),
            ("charging_rate", self.charging_rate),
        ];
        let range = |name: &str, value, expected| SettingError::Range {
            name: name.to_owned(),
            value,
            expected,
        };
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(range(name, value, "above 0"));
            }
        }
        for (name, value) in not_negative {
            if !(value.is_finite() && value >= 0.0) {
                return Err(range(name, value, "0 or above"));
            }
        }
        let finite = [
            ("start_x", self.start_x),
            ("start_y", self.start_y),
            ("start_yaw", self.start_yaw),
            ("map_origin_x", self.map_origin_x),
            ("map_origin_y", self.map_origin_y),
            ("battery_voltage", self.battery_voltage),
        ];
        for (name, value) in finite {
            if !value.is_finite() {
                return Err(range(name, value, "finite"));
            }
        }
        if self.control_rate > 1000.0 {
            return Err(range("control_rate", self.control_rate, "at most 1000"));
        }
        self.check_texts()
    }

    /// Checks the settings that describe the world in a notation of their own.
    fn check_texts(&self) -> Result<(), SettingError> {
        super::costmap::parse_obstacles(&self.obstacles).map_err(|reason| SettingError::Text {
            name: "obstacles".into(),
            reason,
        })?;
        super::costmap::parse_obstacles(&self.ghosts).map_err(|reason| SettingError::Text {
            name: "ghosts".into(),
            reason,
        })?;
        super::route_graph::RouteGraph::parse(&self.route_graph).map_err(|reason| SettingError::Text {
            name: "route_graph".into(),
            reason,
        })?;
        super::battery::parse_charger(&self.charger).map_err(|reason| SettingError::Text {
            name: "charger".into(),
            reason,
        })?;
        Ok(())
    }

    /// Returns whether a list of ids (such as `planner_ids`) contains `id`.
    pub fn contains_id(list: &str, id: &str) -> bool {
        let mut known = list
            .split(',')
            .map(str::trim)
            .filter(|known| !known.is_empty())
            .peekable();
        // An empty id requests the only plug-in, as in Nav2: valid if there is one, or if all ids are known.
        match (known.peek(), id) {
            (None, _) => true,
            (Some(_), "") => known.count() == 1,
            (Some(_), id) => known.any(|known| known == id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Base, SettingError, Settings, Value};

    #[test]
    fn every_parameter_can_be_set_to_its_default() {
        let mut settings = Settings::default();
        let parameters = Settings::parameters();
        assert!(parameters.len() > 100, "{}", parameters.len());
        for parameter in parameters {
            settings.set(&parameter.name, &parameter.default).unwrap();
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn wrong_values_are_refused_and_change_nothing() {
        let mut settings = Settings::default();
        let mut error = |name: &str, value| settings.set(name, &value).unwrap_err().to_string();
        assert_eq!(error("speed", Value::Int(1)), "nav_sim has no parameter `speed`");
        assert_eq!(
            error("max_speed", Value::Text("1".into())),
            "`max_speed` is a double, not a string"
        );
        assert_eq!(
            error("max_speed", Value::Double(0.0)),
            "`max_speed` is 0, but must be above 0"
        );
        assert!(error("max_speed", Value::Double(f64::NAN)).contains("above 0"));
        assert!(error("obstacles", Value::Text("1 2".into())).contains("obstacles"));
        assert!(
            error("faults.spin.abort_goals", Value::Text("x".into())).contains("faults.spin.abort_goals")
        );
        assert!(error("faults.dance.abort_goals", Value::Text("1".into())).contains("no parameter"));
        assert!(error("servers", Value::Texts(vec!["dance".into()])).contains("no server `dance`"));
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn whole_numbers_are_numbers() {
        let mut settings = Settings::default();
        settings.set("speed_factor", &Value::Int(4)).unwrap();
        assert_eq!(settings.base.speed_factor, 4.0);
        assert!(matches!(
            settings.set("seed", &Value::Double(1.5)),
            Err(SettingError::Type { .. })
        ));
    }

    #[test]
    fn ids_are_known_as_in_nav2() {
        assert!(Base::contains_id("", "anything") && Base::contains_id("GridBased", ""));
        assert!(
            !Base::contains_id("A, B", "")
                && Base::contains_id("A, B", "B")
                && !Base::contains_id("A, B", "C")
        );
    }

    #[test]
    fn documentation_has_the_tables() {
        let page = include_str!("../../docs/nav_sim.md");
        assert!(
            page.contains(&Settings::markdown()),
            "docs/nav_sim.md differs from the parameters; its tables should be:\n\n{}",
            Settings::markdown()
        );
    }
}
