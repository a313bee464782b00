//! A node with its clock, parameters and transforms.

use std::time::Duration;

use r2r::{QosProfile, rosgraph_msgs};

use super::convert::Convert;
use super::node::Group;
use super::qos_overrides::{self, Policy};
use super::{
    Clock, Declaration, Executor, ParameterError, ParameterStore, ParameterValue, Robots, RosError,
    RosHandle, TransformBuffer, parameters, rosout, type_descriptions,
};
use crate::msg::Stamp;

// r2r's assertion: without rosgraph_msgs in the build, `use_sim_time` would be ignored silently.
r2r::assert_compiled_with_use_sim_time_support!();

/// Maximum time for tasks on the node's thread at start.
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
    /// Creates a node with that name (the command line may change it), and its parameters, with overrides from the
    /// command line and from files. One of them is `use_sim_time`, which can be set at any time.
    ///
    /// [`Ros::serve_parameters`] serves the parameters, after all are declared.
    ///
    /// # Errors
    /// [`RosError`].
    pub fn start(name: &str, namespace: &str) -> Result<Self, RosError> {
        let (executor, overrides) = Executor::start(name, namespace)?;
        Self::with(executor, overrides)
    }

    /// Creates the node of one of the robots of this process. Like [`Ros::start`], but several robots have namespaces
    /// that the command line does not change.
    ///
    /// # Errors
    /// [`RosError`].
    pub fn start_robot(name: &str, robots: &Robots, index: usize) -> Result<Self, RosError> {
        let Some(namespace) = robots.namespace(index) else {
            return Self::start(name, "");
        };
        let (executor, mut overrides) = Executor::start_in(namespace, name)?;
        overrides.push(("robots".to_owned(), robots.names().to_vec().into()));
        Self::with(executor, overrides)
    }

    fn with(executor: Executor, overrides: Vec<(String, ParameterValue)>) -> Result<Self, RosError> {
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
        // Declared even if no one subscribes yet: a parameter cannot be declared while another one is being set.
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
        rosout::attach(ros.handle(), &ros.clock)?;
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

    /// The parameter `use_sim_time`, which every node has.
    pub fn use_sim_time() -> Declaration {
        Declaration::new(
            "use_sim_time",
            false,
            "Use the time of /clock instead of the system time.",
        )
    }

    /// The parameter of rclcpp's nodes that enables the service for type descriptions.
    pub fn start_type_description_service() -> Declaration {
        let text = "Serve ~/get_type_description, which describes the message and service types of the node for \
                    tools.";
        Declaration::new("start_type_description_service", true, text).read_only()
    }

    /// The quality of service of `/clock`, with the parameters that override it. `topic`: the name after remapping.
    ///
    /// # Errors
    /// [`ParameterError`].
    pub fn clock_quality(store: &ParameterStore, topic: &str) -> Result<QosProfile, ParameterError> {
        let qos = QosProfile::default().keep_last(1).best_effort();
        qos_overrides::declare(store, topic, qos, &Policy::ALL)
    }

    /// The quality of service of `/tf` and of `/tf_static`, with the parameters that override them.
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

    /// Access to the node.
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

    /// Serves the parameters.
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

    /// Subscribes to `/tf` and `/tf_static` for the transforms.
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

/// The group of the subscription of /clock. The groups of servers and topics count up from 1.
const CLOCK_GROUP: Group = Group(u32::MAX);

fn listen_to_clock(handle: &RosHandle, clock: &Clock, transforms: &TransformBuffer, qos: QosProfile) {
    let (clock, transforms) = (clock.clone(), transforms.clone());
    handle.post(move |node| {
        node.create_or_retry("/clock", CLOCK_GROUP, move |node| {
            let (clock, transforms) = (clock.clone(), transforms.clone());
            node.subscribe::<rosgraph_msgs::msg::Clock>("/clock", qos.clone(), move |message| {
                if clock.take(Stamp::from_wire(message.clock)) {
                    // Earlier transforms would count as the newest until the time has passed theirs.
                    transforms.clear();
                }
            })
            .map_err(|error| error.to_string())
        });
    });
}
