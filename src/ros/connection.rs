//! A node with everything a node of this project has.

use std::time::Duration;

use r2r::{QosProfile, rosgraph_msgs};

use super::console::take_log;
use super::convert::Convert;
use super::qos_overrides::{self, Policy};
use super::{
    Clock, Declaration, Executor, Listening, ParameterError, ParameterStore, RosError, RosHandle,
    TransformBuffer, parameters, type_descriptions,
};
use crate::msg::Stamp;

// The assertion of r2r: without rosgraph_msgs in the build, `use_sim_time` would be ignored in silence.
r2r::assert_compiled_with_use_sim_time_support!();

/// How long the node's thread may take for what is done at start.
const PATIENCE: Duration = Duration::from_secs(10);

/// A node, its clock, its parameters and its transforms. Dropping it destroys the node.
#[derive(Debug)]
pub struct Ros {
    executor: Executor,
    clock: Clock,
    parameters: ParameterStore,
    transforms: TransformBuffer,
}

impl Ros {
    /// Makes a node of that name (which the command line may change), its parameters from the command line and files,
    /// and `use_sim_time` among them, which may be set at any time.
    ///
    /// The parameters are served by [`Ros::serve_parameters`], when all are declared.
    ///
    /// # Errors
    /// [`RosError`].
    pub fn start(name: &str, namespace: &str) -> Result<Self, RosError> {
        let (executor, overrides) = Executor::start(name, namespace, Listening::Apart)?;
        let parameters = ParameterStore::new(overrides);
        let simulated = match parameters.declare(Self::use_sim_time()) {
            Ok(value) => value.as_bool().unwrap_or(false),
            Err(error) => return Err(RosError::Context(error.to_string())),
        };
        let ros = Self {
            executor,
            clock: Clock::new(simulated),
            parameters,
            transforms: TransformBuffer::new(),
        };
        let refused = |error: ParameterError| RosError::Context(error.to_string());
        // Declared also where nobody listens yet: a parameter cannot be declared while another is set.
        let topic = ros.handle().topic("/clock");
        let qos = Self::clock_quality(&ros.parameters, &topic).map_err(refused)?;
        if simulated {
            listen_to_clock(ros.handle(), &ros.clock, &ros.transforms, qos.clone());
        }
        let describes = ros.parameters.declare(Self::start_type_description_service());
        if describes.map_err(refused)?.as_bool() == Some(true) {
            ros.handle()
                .with_node_blocking(PATIENCE, type_descriptions::serve)??;
        }
        if let Some(log) = take_log() {
            log.attach(ros.handle(), &ros.clock)?;
        }
        let (clock, handle) = (ros.clock.clone(), ros.handle().clone());
        let transforms = ros.transforms.clone();
        let listening = std::sync::atomic::AtomicBool::new(simulated);
        ros.parameters.on_change(move |name, value| {
            if let ("use_sim_time", Some(simulated)) = (name, value.as_bool()) {
                if simulated && !listening.swap(true, std::sync::atomic::Ordering::AcqRel) {
                    listen_to_clock(&handle, &clock, &transforms, qos.clone());
                }
                clock.set_simulated(simulated);
            }
        });
        Ok(ros)
    }

    /// The parameter that every node has.
    pub fn use_sim_time() -> Declaration {
        Declaration::new("use_sim_time", false, "Take the time from /clock.")
    }

    /// The parameter by which rclcpp's nodes serve descriptions of their types.
    pub fn start_type_description_service() -> Declaration {
        let text = "Serve ~/get_type_description, by which tools learn what the types of the node's topics and services look \
                    like.";
        Declaration::new("start_type_description_service", true, text).read_only()
    }

    /// The service quality of `/clock`, which has this name after remapping, by the parameters that override it.
    ///
    /// # Errors
    /// [`ParameterError`].
    pub fn clock_quality(store: &ParameterStore, topic: &str) -> Result<QosProfile, ParameterError> {
        let qos = QosProfile::default().keep_last(1).best_effort();
        qos_overrides::declare(store, topic, qos, &Policy::ALL)
    }

    /// The same of `/tf` and `/tf_static`.
    ///
    /// # Errors
    /// [`ParameterError`].
    pub fn transform_qualities(
        store: &ParameterStore,
        [moving, fixed]: [&str; 2],
    ) -> Result<[QosProfile; 2], ParameterError> {
        let qos = QosProfile::default().keep_last(100);
        Ok([
            qos_overrides::declare(store, moving, qos.clone(), &Policy::ALL)?,
            qos_overrides::declare(store, fixed, qos.transient_local(), &Policy::OF_STATIC)?,
        ])
    }

    /// The way to the node.
    pub fn handle(&self) -> &RosHandle {
        self.executor.handle()
    }

    /// The clock that drives trees and stamps messages.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The parameters.
    pub fn parameters(&self) -> &ParameterStore {
        &self.parameters
    }

    /// The transforms; empty until [`Ros::listen_to_transforms`].
    pub fn transforms(&self) -> &TransformBuffer {
        &self.transforms
    }

    /// Puts the parameters on the wire.
    ///
    /// # Errors
    /// [`RosError`].
    pub fn serve_parameters(&self) -> Result<(), RosError> {
        let ros = self.handle().clone();
        let (store, clock) = (self.parameters.clone(), self.clock.clone());
        self.handle().with_node_blocking(PATIENCE, move |node| {
            parameters::serve(node, &ros, &store, &clock)
        })?
    }

    /// Feeds the transforms from `/tf` and `/tf_static`.
    ///
    /// # Errors
    /// [`RosError`].
    pub fn listen_to_transforms(&self) -> Result<(), RosError> {
        let (transforms, clock) = (self.transforms.clone(), self.clock.clone());
        let [moving, fixed] = ["/tf", "/tf_static"].map(|topic| self.handle().topic(topic));
        let qualities = Self::transform_qualities(&self.parameters, [&moving, &fixed])
            .map_err(|error| RosError::Context(error.to_string()))?;
        self.handle()
            .with_node_blocking(PATIENCE, move |node| transforms.feed(node, &clock, qualities))?
    }
}

fn listen_to_clock(handle: &RosHandle, clock: &Clock, transforms: &TransformBuffer, qos: QosProfile) {
    let (clock, transforms) = (clock.clone(), transforms.clone());
    handle.post(move |node| {
        let made = node.subscribe::<rosgraph_msgs::msg::Clock>("/clock", qos, move |message| {
            if clock.take(Stamp::from_wire(message.clock)) {
                // What was before would count as the newest until the time has caught up with it.
                transforms.clear();
            }
        });
        if let Err(error) = made {
            tracing::error!("{error}");
        }
    });
}
