//! The services: requests wait in a queue for their delay and are executed between two steps.

use std::sync::mpsc::{Receiver, Sender, channel};

use crate::bt::Time;
use crate::msg::service::{
    ClearCostmapAroundPose, ClearCostmapAroundRobot, ClearCostmapExceptRegion, ClearEntireCostmap,
    IsPathValid,
};
use crate::ros::convert::ServiceType;
use crate::ros::{Ros, RosError, RosNode, ServiceCall, Wake, serve_service};
use crate::sim::service::ServiceQueue;
use crate::sim::settings::{SERVICE_SERVERS, Settings};
use crate::sim::simulation::{Clearing, ConfigureError, Simulation, Which};

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
    work: fn(&S::Request, Which, &mut Simulation) -> S::Response,
    which: Which,
}

impl<S: ServiceType> Task for PendingRequest<S>
where
    ServiceCall<S>: Send,
{
    fn answer(self: Box<Self>, simulation: &mut Simulation) {
        let response = (self.work)(self.call.request(), self.which, simulation);
        self.call.respond(&response);
    }

    fn ignore(self: Box<Self>) {
        self.call.ignore();
    }
}

/// Passes requests from the node's thread to a group.
#[derive(Clone)]
struct Outbox {
    tasks: Sender<Box<dyn Task>>,
    wake: Wake,
}

impl Outbox {
    fn serve<S: ServiceType>(
        &self,
        node: &mut RosNode,
        name: &str,
        which: Which,
        work: fn(&S::Request, Which, &mut Simulation) -> S::Response,
    ) -> Result<(), RosError>
    where
        ServiceCall<S>: Send,
    {
        let outbox = self.clone();
        serve_service::<S>(node, name, move |call| {
            // At the end of the process there is no receiver.
            let _ = outbox.tasks.send(Box::new(PendingRequest { call, work, which }));
            outbox.wake.notify();
        })
    }
}

impl Services {
    pub(super) fn open(ros: &Ros, wake: &Wake) -> Result<Self, NodeError> {
        let mut outboxes = Vec::new();
        let groups = std::array::from_fn(|_| {
            let (tasks, inbox) = channel();
            outboxes.push(Outbox {
                tasks,
                wake: wake.clone(),
            });
            Group {
                inbox,
                queue: ServiceQueue::default(),
            }
        });
        ros.handle().with_node_blocking(TIMEOUT, move |node| {
            // In the order of `SERVICE_SERVERS`.
            let mut outboxes = outboxes.into_iter();
            for (which, name) in [(Which::Global, "global_costmap"), (Which::Local, "local_costmap")] {
                if let Some(outbox) = outboxes.next() {
                    serve_clearing(&outbox, node, name, which)?;
                }
            }
            if let Some(outbox) = outboxes.next() {
                outbox.serve::<IsPathValid>(
                    node,
                    "is_path_valid",
                    Which::Global,
                    |request, _, simulation| simulation.is_path_valid(request),
                )?;
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
    pub(super) fn take(&mut self, now: Time) {
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

fn serve_clearing(outbox: &Outbox, node: &mut RosNode, costmap: &str, which: Which) -> Result<(), RosError> {
    let name = |what: &str| format!("{costmap}/clear_{what}_{costmap}");
    outbox.serve::<ClearEntireCostmap>(node, &name("entirely"), which, |_, which, simulation| {
        clear(simulation, which, &Clearing::Entirely);
        Default::default()
    })?;
    outbox.serve::<ClearCostmapExceptRegion>(
        node,
        &name("except"),
        which,
        |request, which, simulation| {
            clear(simulation, which, &Clearing::ExceptRegion(request.clone()));
            Default::default()
        },
    )?;
    outbox.serve::<ClearCostmapAroundRobot>(node, &name("around"), which, |request, which, simulation| {
        clear(simulation, which, &Clearing::AroundRobot(request.clone()));
        Default::default()
    })?;
    outbox.serve::<ClearCostmapAroundPose>(node, &name("around_pose"), which, |request, which, simulation| {
        clear(simulation, which, &Clearing::AroundPose(request.clone()));
        Default::default()
    })
}

/// Clears a costmap and logs a failure: the responses of these services have no error field.
fn clear(simulation: &mut Simulation, which: Which, clearing: &Clearing) {
    match simulation.clear(which, clearing) {
        Ok(()) => tracing::debug!("cleared the {which:?} costmap: {clearing:?}"),
        Err(error) => tracing::warn!("the {which:?} costmap was not cleared: {error}"),
    }
}
