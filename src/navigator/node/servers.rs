//! The action servers of the node, and its topic of goals.

use super::{Node, StartError, TIMEOUT};
use crate::msg::PoseStamped;
use crate::msg::action::{NavigateThroughPoses, NavigateToPose, NavigateToPoseGoal};
use crate::navigator::NavigatorKind;
use crate::navigator::client::WireGoal;
use crate::navigator::goal::{Request, RequestedTree};
use crate::navigator::handler::Handler;
use crate::navigator::parameters::Parameters;
use crate::ros::{ActionServer, RosError};

/// The served navigate actions.
pub(super) struct Servers {
    pub(super) to_pose: Option<ActionServer<NavigateToPose>>,
    pub(super) through_poses: Option<ActionServer<NavigateThroughPoses>>,
}

impl Node {
    pub(super) fn serve(&self, parameters: &Parameters) -> Result<Servers, StartError> {
        let clock = self.ros.clock().clone();
        let retention = parameters.result_retention;
        // The tick thread sends the feedback and the result of a goal.
        let sender = &self.from_ticks;
        let max_poses = parameters.settings.max_goal_poses;
        let to_pose = Handler::<NavigateToPose>::new(self.ticks.handle(), sender, max_poses);
        let through_poses = Handler::<NavigateThroughPoses>::new(self.ticks.handle(), sender, max_poses);
        let [to, through] =
            NavigatorKind::ALL.map(|kind| parameters.navigators.contains(&kind).then(|| kind.action()));
        let servers =
            self.ros
                .handle()
                .with_node_blocking(TIMEOUT, move |node| -> Result<_, RosError> {
                    Ok(Servers {
                        to_pose: to
                            .map(|name| ActionServer::serve(node, name, &clock, retention, to_pose))
                            .transpose()?,
                        through_poses: through
                            .map(|name| ActionServer::serve(node, name, &clock, retention, through_poses))
                            .transpose()?,
                    })
                })??;
        if let Some(to_pose) = &servers.to_pose {
            self.listen_for_goals(parameters, to_pose)?;
        }
        Ok(servers)
    }

    /// Makes a goal of each pose on the goal topic, as RViz sends them.
    fn listen_for_goals(
        &self,
        parameters: &Parameters,
        server: &ActionServer<NavigateToPose>,
    ) -> Result<(), StartError> {
        let (navigator, sender, server) = (
            self.ticks.handle().clone(),
            self.from_ticks.clone(),
            server.clone(),
        );
        let mut ids = self.ros.handle().goal_ids(&parameters.robot_id, "/goal_topic");
        let topic = parameters.goal_topic.clone();
        self.ros.handle().with_node_blocking(TIMEOUT, move |node| {
            node.subscribe_topic::<PoseStamped>(&topic, move |pose| {
                let Some(permit) = navigator.admit() else {
                    tracing::warn!("goal from the topic dropped: the node is not active");
                    return;
                };
                let wanted = NavigateToPoseGoal {
                    pose: pose.clone(),
                    behavior_tree: String::new(),
                };
                let goal = match server.begin(ids.next_id(), wanted) {
                    Ok(goal) => goal,
                    Err(error) => return tracing::error!("goal from the topic dropped: {error}"),
                };
                let sender = sender.clone();
                let accepted = sender.clock().steady();
                permit.submit(Request {
                    kind: NavigatorKind::ToPose,
                    poses: vec![pose],
                    tree: RequestedTree::Named(String::new()),
                    accepted,
                    run_accepted: accepted,
                    client: Box::new(WireGoal { goal, sender }),
                });
            })
        })??;
        Ok(())
    }
}
