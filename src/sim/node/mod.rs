//! The ROS node `nav_sim`: the simulation on the network. This layer is thin: [`super::simulation`] makes all
//! decisions.
//!
//! One thread owns the simulations of all robots and steps them at their pace. The node's thread passes goals, cancels
//! and requests to it through channels and wakes it; goals are answered between two steps.

mod actions;
mod parameters;
mod robot;
mod services;
mod topics;

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::bt::Time;
use crate::msg::Stamp;
use crate::ros::middleware::Profile;
use crate::ros::{Clock, Ros, RosError, Wake};

use super::pace::Pace;
use super::settings::Settings;
use super::simulation::{ConfigureError, Events, Simulation};
use parameters::SharedSettings;
use robot::{Namespace, Robot};
use topics::TimeTopic;

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
    let simulations = Simulation::fleet(&settings.get())?;
    let end_signal = watch_signals(&wake)?;
    let node = Node::open(&ros, simulations, &settings, changes, &wake)?;
    ros.serve_parameters()?;
    let on_exit = wake.clone();
    ros.handle().on_thread_exit(move || on_exit.notify());
    tracing::info!("nav_sim is ready");
    node.run(&ros, &end_signal, &wake)
}

/// The robots of the process.
struct Node {
    /// One at least. They have the same settings and the same time.
    robots: Vec<Robot>,
    time: TimeTopic,
    changes: Receiver<Settings>,
}

impl Node {
    fn open(
        ros: &Ros,
        simulations: Vec<Simulation>,
        settings: &SharedSettings,
        changes: Receiver<Settings>,
        wake: &Wake,
    ) -> Result<Self, NodeError> {
        let time = ros.handle().with_node_blocking(TIMEOUT, TimeTopic::open)??;
        let namespaces = Namespace::all(ros, &settings.get().fleet.robots);
        let count = simulations.len() as f64;
        let robots = simulations.into_iter().zip(namespaces).enumerate();
        let robots = robots.map(|(index, (simulation, namespace))| {
            Robot::open(ros, namespace, simulation, settings, index as f64 / count, wake)
        });
        Ok(Self {
            robots: robots.collect::<Result<_, _>>()?,
            time,
            changes,
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
            let steps = pace.due(real_time.now());
            for robot in &mut self.robots {
                robot.serve(steps > 0, &mut events);
            }
            for _ in 0..steps {
                self.step(&mut events, ros.clock());
            }
            wake.sleep_until(Instant::now() + pace.next().since(real_time.now()));
        }
    }

    fn pace(&self, now: Time) -> Pace {
        let world = self.robots.first().map(|robot| &robot.simulation().world);
        let (period, speed_factor) = world.map_or((Duration::from_secs(1), 1.0), |world| {
            (world.period(), world.settings.speed_factor)
        });
        Pace::new(now, period, speed_factor)
    }

    fn configure(&mut self, settings: &Settings) {
        for robot in &mut self.robots {
            if let Err(error) = robot.configure(settings) {
                // The validators have checked the settings. This happens only if a map file has changed since.
                tracing::error!("parameters not applied: {error}");
            }
        }
    }

    /// Advances all robots by one step.
    fn step(&mut self, events: &mut Events, clock: &Clock) {
        for robot in &mut self.robots {
            robot.step(events);
        }
        let world = self.robots.first().map(|robot| &robot.simulation().world);
        let stamp = match world {
            Some(world) if world.settings.publish_clock => {
                let nanoseconds = i64::try_from(world.now().as_nanos()).unwrap_or(i64::MAX);
                let stamp = Stamp::from_nanos(nanoseconds);
                self.time.publish(stamp);
                stamp
            }
            _ => clock.stamp(),
        };
        for robot in &mut self.robots {
            robot.publish(stamp);
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
