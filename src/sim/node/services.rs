//! The services: requests wait in a queue for their delay and are executed between two steps.

use std::sync::mpsc::{Receiver, Sender, channel};

use crate::bt::Time;
use crate::msg::service::{
    ClearCostmapAroundPose, ClearCostmapAroundRobot, ClearCostmapExceptRegion, ClearEntireCostmap,
    IsPathValid,
};
use crate::ros::convert::ServiceType;
use crate::ros::{Ros, RosError, RosNode, ServiceCall, serve_service};
use crate::sim::fleet::Fleet;
use crate::sim::service::ServiceQueue;
use crate::sim::settings::{SERVICE_SERVERS, Settings};
use crate::sim::simulation::{Clearing, ConfigureError, Simulation, Which};

use super::robot::{Arrivals, Namespace};
use super::{NodeError, TIMEOUT};

/// The services, in groups that share a fault plan.
pub(super) struct Services {
    groups: [Group; SERVICE_SERVERS.len()],
}

struct Group {
    inbox: Receiver<Box<dyn Task>>,
    queue: ServiceQueue<Box<dyn Task>>,
}

/// A request that waits for its answer.
trait Task: Send {
    /// Executes the request and answers it.
    fn answer(self: Box<Self>, simulation: &mut Simulation);
    /// Drops the request without an answer.
    fn ignore(self: Box<Self>);
}

struct PendingRequest<S: ServiceType> {
    call: ServiceCall<S>,
    execute: fn(&S::Request, Which, &mut Simulation) -> S::Response,
    target: Which,
}

impl<S: ServiceType> Task for PendingRequest<S>
where
    ServiceCall<S>: Send,
{
    fn answer(self: Box<Self>, simulation: &mut Simulation) {
        let response = (self.execute)(self.call.request(), self.target, simulation);
        self.call.respond(&response);
    }

    fn ignore(self: Box<Self>) {
        self.call.ignore();
    }
}

/// Passes requests from the node's thread to a group.
#[derive(Clone)]
struct RequestSender {
    tasks: Sender<Box<dyn Task>>,
    arrivals: Arrivals,
    namespace: Namespace,
}

impl RequestSender {
    fn serve<S: ServiceType>(
        &self,
        node: &mut RosNode,
        name: &str,
        target: Which,
        execute: fn(&S::Request, Which, &mut Simulation) -> S::Response,
    ) -> Result<(), RosError>
    where
        ServiceCall<S>: Send,
    {
        let request_sender = self.clone();
        serve_service::<S>(node, &self.namespace.name(name), move |call| {
            // At the end of the process there is no receiver.
            let _ = request_sender.tasks.send(Box::new(PendingRequest {
                call,
                execute,
                target,
            }));
            request_sender.arrivals.notify();
        })
    }
}

impl Services {
    pub(super) fn open(
        ros: &Ros,
        namespace: &Namespace,
        fleet: &Fleet,
        arrivals: &Arrivals,
    ) -> Result<Self, NodeError> {
        let mut request_senders = Vec::new();
        let groups = std::array::from_fn(|_| {
            let (tasks, inbox) = channel();
            request_senders.push(RequestSender {
                tasks,
                arrivals: arrivals.clone(),
                namespace: namespace.clone(),
            });
            Group {
                inbox,
                queue: ServiceQueue::default(),
            }
        });
        let servers = SERVICE_SERVERS.map(|server| fleet.has_server(server));
        ros.handle().with_node_blocking(TIMEOUT, move |node| {
            // Both are in the order of `SERVICE_SERVERS`.
            let opened = request_senders.iter().zip(servers).enumerate();
            for (index, (request_sender, _)) in opened.filter(|(_, (_, is_open))| *is_open) {
                match index {
                    0 => serve_clearing(request_sender, node, "global_costmap", Which::Global)?,
                    1 => serve_clearing(request_sender, node, "local_costmap", Which::Local)?,
                    _ => request_sender.serve::<IsPathValid>(
                        node,
                        "is_path_valid",
                        Which::Global,
                        |request, _, simulation| simulation.is_path_valid(request),
                    )?,
                }
            }
            Ok::<(), RosError>(())
        })??;
        Ok(Self { groups })
    }

    pub(super) fn configure(&mut self, settings: &Settings) -> Result<(), ConfigureError> {
        for (group, name) in self.groups.iter_mut().zip(SERVICE_SERVERS) {
            group.queue.configure(settings.service_faults(name).plan()?);
        }
        Ok(())
    }

    /// Puts received requests into the queues.
    pub(super) fn receive_requests(&mut self, now: Time) {
        for group in &mut self.groups {
            while let Ok(task) = group.inbox.try_recv() {
                if let Some(ignored) = group.queue.receive(task, now) {
                    ignored.ignore();
                }
            }
        }
    }

    /// Executes the requests that are due.
    pub(super) fn answer(&mut self, simulation: &mut Simulation) {
        for group in &mut self.groups {
            for task in group.queue.due(simulation.now()) {
                task.answer(simulation);
            }
        }
    }
}

fn serve_clearing(
    request_sender: &RequestSender,
    node: &mut RosNode,
    costmap: &str,
    target: Which,
) -> Result<(), RosError> {
    let name = |what: &str| format!("{costmap}/clear_{what}_{costmap}");
    request_sender.serve::<ClearEntireCostmap>(
        node,
        &name("entirely"),
        target,
        |_, target, simulation| {
            clear(simulation, target, &Clearing::Entirely);
            Default::default()
        },
    )?;
    request_sender.serve::<ClearCostmapExceptRegion>(
        node,
        &name("except"),
        target,
        |request, target, simulation| {
            clear(simulation, target, &Clearing::ExceptRegion(request.clone()));
            Default::default()
        },
    )?;
    request_sender.serve::<ClearCostmapAroundRobot>(
        node,
        &name("around"),
        target,
        |request, target, simulation| {
            clear(simulation, target, &Clearing::AroundRobot(request.clone()));
            Default::default()
        },
    )?;
    request_sender.serve::<ClearCostmapAroundPose>(
        node,
        &name("around_pose"),
        target,
        |request, target, simulation| {
            clear(simulation, target, &Clearing::AroundPose(request.clone()));
            Default::default()
        },
    )
}

/// Clears a costmap and logs a failure: the responses of these services have no error field.
fn clear(simulation: &mut Simulation, target: Which, clearing: &Clearing) {
    match simulation.clear(target, clearing) {
        Ok(()) => tracing::debug!("cleared the {target:?} costmap: {clearing:?}"),
        Err(error) => tracing::warn!("the {target:?} costmap was not cleared: {error}"),
    }
}
