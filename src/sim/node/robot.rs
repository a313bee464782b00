//! One robot of the process: its simulation with its connections to the network.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::msg::Stamp;
use crate::msg::duration::from_seconds;
use crate::ros::{Ros, Wake};
use crate::sim::pace::Rate;
use crate::sim::settings::Settings;
use crate::sim::simulation::{ConfigureError, Events, Simulation};

use super::actions::ActionPorts;
use super::parameters::SharedSettings;
use super::services::Services;
use super::topics::Topics;
use super::{NodeError, TIMEOUT};

/// Rate of warnings about the same problem, in Hz.
const WARNING_RATE: f64 = 0.2;

/// The place of a robot's names.
#[derive(Clone, Debug)]
pub(super) enum Namespace {
    /// The only robot: its names are those of the node.
    OfNode,
    /// One of several robots: its names begin with this full name.
    OfRobot(String),
}

impl Namespace {
    /// The namespaces of the robots, in the order of the parameter `robots`.
    pub(super) fn all(ros: &Ros, robots: &[String]) -> Vec<Self> {
        if robots.is_empty() {
            return vec![Self::OfNode];
        }
        let of_node = ros.handle().namespace().trim_end_matches('/');
        let names = robots.iter().map(|robot| format!("{of_node}/{robot}"));
        names.map(Self::OfRobot).collect()
    }

    /// The robot's name of a topic or server that a single robot calls `name`. Also `/tf`, which all robots of a graph
    /// would share, is a name of the robot: `/r1/tf`, as with the remapping `/tf:=tf` of Nav2's launch files.
    pub(super) fn name(&self, name: &str) -> String {
        match self {
            Self::OfNode => name.to_owned(),
            Self::OfRobot(robot) => format!("{robot}/{}", name.trim_start_matches('/')),
        }
    }

    /// The namespace as a full name.
    pub(super) fn full<'n>(&'n self, ros: &'n Ros) -> &'n str {
        match self {
            Self::OfNode => ros.handle().namespace(),
            Self::OfRobot(robot) => robot,
        }
    }
}

/// Tells the thread of the simulations that a client has sent something, and to which robot.
#[derive(Clone)]
pub(super) struct Arrivals {
    has_any: Arc<AtomicBool>,
    wake: Wake,
}

impl Arrivals {
    pub(super) fn new(wake: &Wake) -> Self {
        Self {
            has_any: Arc::default(),
            wake: wake.clone(),
        }
    }

    /// Call it after the message is in its channel.
    pub(super) fn notify(&self) {
        self.has_any.store(true, Ordering::Release);
        self.wake.notify();
    }

    fn take(&self) -> bool {
        self.has_any.swap(false, Ordering::AcqRel)
    }
}

/// The robot. All robots are stepped by one thread.
pub(super) struct Robot {
    namespace: Namespace,
    simulation: Simulation,
    ports: ActionPorts,
    services: Services,
    topics: Topics,
    arrivals: Arrivals,
    state_rate: Rate,
    battery_rate: Rate,
    warning_rate: Rate,
    reported_conflicts: u64,
}

impl Robot {
    /// Opens the servers and topics. `phase`, from 0 to 1, is the robot's place among all: their messages would
    /// otherwise arrive all at once, unlike those of separate robots.
    pub(super) fn open(
        ros: &Ros,
        namespace: Namespace,
        simulation: Simulation,
        settings: &SharedSettings,
        phase: f64,
        wake: &Wake,
    ) -> Result<Self, NodeError> {
        let arrivals = Arrivals::new(wake);
        let (state_rate, battery_rate) = {
            let base = &simulation.world.settings;
            (delayed(base.state_rate, phase), delayed(base.battery_rate, phase))
        };
        let ports = ActionPorts::open(ros, &namespace, settings, &arrivals)?;
        let now = settings.get();
        let mut services = Services::open(ros, &namespace, &now.fleet, &arrivals)?;
        services.configure(&now)?;
        let (names, has_map) = (namespace.clone(), simulation.world.map.is_some());
        let topics = ros
            .handle()
            .with_node_blocking(TIMEOUT, move |node| Topics::open(node, &names, has_map))??;
        topics.map(&simulation.world);
        Ok(Self {
            namespace,
            simulation,
            ports,
            services,
            topics,
            arrivals,
            state_rate,
            battery_rate,
            warning_rate: Rate::default(),
            reported_conflicts: 0,
        })
    }

    /// The simulation.
    pub(super) fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    pub(super) fn configure(&mut self, settings: &Settings) -> Result<(), ConfigureError> {
        let map = self.simulation.world.map.clone();
        self.simulation.configure(settings)?;
        // A map that was read again is another one.
        if map.as_ref().map(Arc::as_ptr) != self.simulation.world.map.as_ref().map(Arc::as_ptr) {
            self.topics.map(&self.simulation.world);
        }
        self.services.configure(settings)
    }

    /// Handles what clients have sent, if there is anything, and answers what is due: after a step, something may be.
    pub(super) fn serve(&mut self, has_stepped: bool, events: &mut Events) {
        let has_arrivals = self.arrivals.take();
        if has_arrivals || has_stepped {
            self.ports.receive_messages(&mut self.simulation);
            self.services.receive_requests(self.simulation.now());
            self.simulation.admit(events);
            self.ports.apply_events(events, self.simulation.now());
            self.services.answer(&mut self.simulation);
        }
    }

    /// Advances by one step.
    pub(super) fn step(&mut self, events: &mut Events) {
        self.simulation.step(events);
        self.ports.apply_events(events, self.simulation.now());
    }

    /// Publishes the topics that are due.
    pub(super) fn publish(&mut self, stamp: Stamp) {
        let world = &self.simulation.world;
        let (now, settings) = (world.now(), &world.settings);
        if self.state_rate.is_due(now, settings.state_rate) {
            self.topics.state(world, stamp);
        }
        if self.battery_rate.is_due(now, settings.battery_rate) {
            self.topics.battery(world, stamp);
        }
        if world.conflicts > self.reported_conflicts && self.warning_rate.is_due(now, WARNING_RATE) {
            tracing::warn!(
                "two servers drive the robot{} at once ({} steps so far): a goal was not cancelled",
                match &self.namespace {
                    Namespace::OfNode => String::new(),
                    Namespace::OfRobot(robot) => format!(" {robot}"),
                },
                world.conflicts
            );
            self.reported_conflicts = world.conflicts;
        }
    }
}

/// A rate whose first event is due after this part of its period.
fn delayed(hertz: f64, phase: f64) -> Rate {
    if hertz > 0.0 {
        Rate::after(from_seconds(phase / hertz))
    } else {
        Rate::default()
    }
}
