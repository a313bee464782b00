//! The ROS node `nav_sim`: the simulation on the network. This layer is thin: [`super::simulation`] makes all
//! decisions.
//!
//! One thread owns the simulation and steps it at its pace. The node's thread passes goals, cancels and requests to it
//! through channels and wakes it; goals are answered between two steps.

mod actions;
mod parameters;
mod services;
mod topics;

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::bt::Time;
use crate::msg::Stamp;
use crate::ros::middleware::Profile;
use crate::ros::{Clock, Ros, RosError, Wake};

use super::pace::{Pace, Rate};
use super::settings::Settings;
use super::simulation::{ConfigureError, Events, Simulation};
use actions::ActionPorts;
use parameters::SharedSettings;
use services::Services;
use topics::Topics;

/// The reason why `nav_sim` did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// An error of ROS.
    #[error(transparent)]
    Ros(#[from] RosError),
    /// Invalid parameters, one per line.
    #[error("{0}")]
    Parameters(String),
    /// The map cannot be read.
    #[error(transparent)]
    Configure(#[from] ConfigureError),
    /// The signal handlers cannot be installed.
    #[error("signal handler not installed: {0}")]
    Signals(std::io::Error),
    /// The thread of the node has ended.
    #[error("the ROS node ended: {0}")]
    ThreadEnded(String),
}

/// Time limit for calls to the node's thread at start.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Rate of warnings about the same problem, in Hz.
const WARNING_RATE: f64 = 0.2;

/// Runs `nav_sim` until a signal ends it. `profile` is the profile of the middleware, if one was written.
///
/// # Errors
/// [`NodeError`].
pub fn run(profile: Option<Profile>) -> Result<(), NodeError> {
    let ros = Ros::start("nav_sim", "")?;
    // The middleware has read the profile for the first node.
    drop(profile);
    let wake = Wake::new();
    let (changes_sender, changes) = channel();
    let settings = parameters::declare(ros.parameters(), changes_sender, &wake)?;
    let simulation = Simulation::new(&settings.get())?;
    let end_signal = watch_signals(&wake)?;
    let node = Node::open(&ros, simulation, &settings, changes, &wake)?;
    ros.serve_parameters()?;
    let on_exit = wake.clone();
    ros.handle().on_thread_exit(move || on_exit.notify());
    tracing::info!("nav_sim is ready");
    node.run(&ros, &end_signal, &wake)
}

/// The simulation with its connections to the network.
struct Node {
    simulation: Simulation,
    ports: ActionPorts,
    services: Services,
    topics: Topics,
    changes: Receiver<Settings>,
    state_rate: Rate,
    battery_rate: Rate,
    warning_rate: Rate,
    reported_conflicts: u64,
}

impl Node {
    fn open(
        ros: &Ros,
        simulation: Simulation,
        settings: &SharedSettings,
        changes: Receiver<Settings>,
        wake: &Wake,
    ) -> Result<Self, NodeError> {
        let ports = ActionPorts::open(ros, settings, wake)?;
        let mut services = Services::open(ros, wake)?;
        services.configure(&settings.get())?;
        let topics = ros.handle().with_node_blocking(TIMEOUT, Topics::open)??;
        Ok(Self {
            simulation,
            ports,
            services,
            topics,
            changes,
            state_rate: Rate::default(),
            battery_rate: Rate::default(),
            warning_rate: Rate::default(),
            reported_conflicts: 0,
        })
    }

    fn run(mut self, ros: &Ros, end_signal: &Receiver<()>, wake: &Wake) -> Result<(), NodeError> {
        // A separate clock: the pace is real time, also if `use_sim_time` is set for the stamps.
        let real_time = Clock::new(false);
        let mut events = Events::default();
        let mut pace = self.pace(real_time.now());
        loop {
            if let Some(end) = ros.handle().thread_exit() {
                return end.map_err(NodeError::ThreadEnded);
            }
            if end_signal.try_recv().is_ok() {
                return Ok(());
            }
            while let Ok(settings) = self.changes.try_recv() {
                self.configure(&settings);
                pace = self.pace(real_time.now());
            }
            self.ports.receive_messages(&mut self.simulation);
            self.services.receive_requests(self.simulation.now());
            self.simulation.admit(&mut events);
            self.ports.apply_events(&mut events, self.simulation.now());
            for _ in 0..pace.due(real_time.now()) {
                self.simulation.step(&mut events);
                self.ports.apply_events(&mut events, self.simulation.now());
                self.publish(ros.clock());
            }
            self.services.answer(&mut self.simulation);
            real_time.sleep_until(pace.next(), wake);
        }
    }

    fn pace(&self, now: Time) -> Pace {
        let world = &self.simulation.world;
        Pace::new(now, world.period(), world.settings.speed_factor)
    }

    fn configure(&mut self, settings: &Settings) {
        let result = self.simulation.configure(settings);
        let result = result.and_then(|()| self.services.configure(settings));
        if let Err(error) = result {
            // The validators have checked the settings. This happens only if a map file has changed since.
            tracing::error!("parameters not applied: {error}");
        }
    }

    fn publish(&mut self, clock: &Clock) {
        let world = &self.simulation.world;
        let (now, settings) = (world.now(), &world.settings);
        let stamp = if settings.publish_clock {
            let stamp = Stamp::from_nanos(i64::try_from(now.as_nanos()).unwrap_or(i64::MAX));
            self.topics.clock(stamp);
            stamp
        } else {
            clock.stamp()
        };
        if self.state_rate.is_due(now, settings.state_rate) {
            self.topics.state(world, stamp);
        }
        if self.battery_rate.is_due(now, settings.battery_rate) {
            self.topics.battery(world, stamp);
        }
        if world.conflicts > self.reported_conflicts && self.warning_rate.is_due(now, WARNING_RATE) {
            tracing::warn!(
                "two servers drive the robot at once ({} steps so far): a goal was not cancelled",
                world.conflicts
            );
            self.reported_conflicts = world.conflicts;
        }
    }
}

/// Sends a message when a signal ends the process (SIGINT, SIGTERM).
fn watch_signals(wake: &Wake) -> Result<Receiver<()>, NodeError> {
    let (sender, end_signal) = channel();
    let wake = wake.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(NodeError::Signals)?;
    let signals = {
        // Streams are created inside the runtime and before this function returns, so no later signal is missed.
        let _inside = runtime.enter();
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::interrupt()).and_then(|first| Ok((first, signal(SignalKind::terminate())?)))
    };
    let (mut interrupt, mut terminate) = signals.map_err(NodeError::Signals)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            });
            let _ = sender.send(());
            wake.notify();
        })
        .map_err(NodeError::Signals)?;
    Ok(end_signal)
}
