//! `GoalUpdater`: replaces the goal by newer goals from a topic.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Output, Ports, Text, Thrown, Tick};
use crate::msg::{Goals, PoseStamped, Stamp, StampedGoals};
use crate::nav::endpoint::{path_of, world};
use crate::nav::topic::{Subscription, TopicKind};
use crate::nav::{Payload, World};

/// Selects the newest of a goal and the goals published on a topic.
#[derive(Debug)]
pub struct GoalUpdater {
    input_goal: Input<Arc<PoseStamped>>,
    output_goal: Output<Arc<PoseStamped>>,
    input_goals: Input<Arc<Goals>>,
    output_goals: Output<Arc<Goals>>,
}

#[derive(Default)]
struct UpdateState {
    goal: Subscription,
    goals: Subscription,
}

impl Node for GoalUpdater {
    const ID: &'static str = "GoalUpdater";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child with the input goal, or with the goal published on the topic of \
        the parameter goal_updater_topic if that is as new or newer. An update counts if this node received it \
        after it accepted the goal of this navigation. The topic is not latched, so there are no older messages.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            input_goal: ports.input("input_goal").doc("Input goal.").bind(),
            output_goal: ports.output("output_goal").doc("Newest goal.").bind(),
            input_goals: ports
                .input("input_goals")
                .doc(
                    "Input goals of a navigation through poses. Newer goals arrive on the topic of the \
                    parameter goals_updater_topic.",
                )
                .bind(),
            output_goals: ports.output("output_goals").doc("Newest goals.").bind(),
        }
    }
}

/// The newest message of a subscription, if it arrived during this navigation.
fn newest<T: Send + Sync + 'static>(
    cx: &mut Context<'_>,
    subscription: fn(&UpdateState) -> &Subscription,
) -> Result<Option<Arc<T>>, Thrown> {
    let Some(topic) = subscription(cx.state::<UpdateState>()).topic() else {
        return Ok(None);
    };
    let world: &World = world!(cx);
    let payload = world
        .current_sample(topic)
        .and_then(|sample| sample.payload.as_ref());
    Ok(payload.and_then(Payload::share))
}

const UNSTAMPED: &str =
    "ignoring a published goal without stamp: it cannot be compared with the current goal; set header.stamp";

/// Whether a published goal replaces the given one: it must be as new or newer.
fn is_taken(cx: &mut Context<'_>, published: Stamp, given: Option<Stamp>) -> Result<bool, Thrown> {
    if published.is_zero() {
        let path = path_of(cx);
        world!(cx).note(&path, UNSTAMPED);
        return Ok(false);
    }
    Ok(given.is_none_or(|given| published >= given))
}

impl GoalUpdater {
    fn update_goal(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        let mut goal = self.input_goal.optional(cx)?;
        if let Some(published) = newest::<PoseStamped>(cx, |state| &state.goal)? {
            let given = goal.as_ref().map(|goal| goal.header.stamp);
            if is_taken(cx, published.header.stamp, given)? {
                goal = Some(published);
            }
        }
        match goal {
            Some(goal) => self.output_goal.set(cx, goal),
            None => Ok(()),
        }
    }

    fn update_goals(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        let mut goals = self.input_goals.optional(cx)?;
        if let Some(published) = newest::<StampedGoals>(cx, |state| &state.goals)? {
            let max = world!(cx).settings.max_goal_poses;
            let count = published.goals.0.len();
            if count > max {
                let path = path_of(cx);
                world!(cx).note(
                    &path,
                    format!("ignoring {count} published goals: max_goal_poses is {max}"),
                );
            } else if is_taken(cx, published.stamp(), goals.as_ref().map(|goals| goals.stamp()))? {
                goals = Some(Arc::clone(&published.goals));
            }
        }
        match goals {
            Some(goals) => self.output_goals.set(cx, goals),
            None => Ok(()),
        }
    }
}

impl Behavior for GoalUpdater {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if self.output_goal.slot().is_some() {
            self.update_goal(cx)?;
        }
        if self.output_goals.slot().is_some() {
            self.update_goals(cx)?;
        }
        cx.set_status(NodeStatus::Running);
        cx.tick_child(0)
    }

    fn attach(&self, cx: &mut Context<'_>) {
        let Some(world) = cx.resource::<World>() else {
            return;
        };
        let names: [Text; 2] = [
            world.settings.goal_updater_topic.as_str().into(),
            world.settings.goals_updater_topic.as_str().into(),
        ];
        let mut state = cx.take_state::<UpdateState>();
        if self.output_goal.slot().is_some() {
            state.goal.open(cx, TopicKind::GOAL, &names[0], "output_goal");
        }
        if self.output_goals.slot().is_some() {
            state.goals.open(cx, TopicKind::GOALS, &names[1], "output_goals");
        }
        cx.put_state(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::Success;
    use crate::msg::{Header, Pose};
    use crate::nav::Settings;
    use crate::nav::testing::Bench;

    fn goal(seconds: i32, x: f64) -> PoseStamped {
        PoseStamped {
            header: Header::new(
                Stamp {
                    sec: seconds,
                    nanosec: 0,
                },
                "map",
            ),
            pose: Pose::planar(x, 0.0, 0.0),
        }
    }

    #[test]
    fn test_goal_updater_node() {
        let mut bench = Bench::new(
            "<GoalUpdater input_goal=\"{goal}\" output_goal=\"{updated}\"><AlwaysSuccess/></GoalUpdater>",
        );
        let updated = |bench: &mut Bench| {
            assert_eq!(bench.tick(), Success);
            bench.object::<PoseStamped>("updated").unwrap().pose.position.x
        };
        bench.set("goal", Arc::new(goal(10, 1.0)));
        assert_eq!(updated(&mut bench), 1.0, "nothing was published");
        bench.publish("goal_update", goal(9, 2.0));
        assert_eq!(updated(&mut bench), 1.0, "older than the goal");
        bench.publish("goal_update", goal(11, 3.0));
        bench.publish("goal_update", goal(12, 4.0));
        assert_eq!(updated(&mut bench), 4.0, "the last of two");
        bench.set("goal", Arc::new(goal(13, 5.0)));
        assert_eq!(updated(&mut bench), 5.0);
        bench.publish("goal_update", goal(0, 6.0));
        assert_eq!(updated(&mut bench), 5.0, "without a stamp");
        assert_eq!(bench.notes(), [UNSTAMPED]);
        assert_eq!(&*bench.topics()[0].type_name, "geometry_msgs/msg/PoseStamped");
    }

    #[test]
    fn a_list_of_goals_is_updated() {
        let mut bench = Bench::new(
            "<GoalUpdater input_goals=\"{goals}\" output_goals=\"{updated}\"><AlwaysSuccess/></GoalUpdater>",
        );
        bench.set("goals", Arc::new(Goals(vec![goal(10, 1.0)])));
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.object::<Goals>("updated").unwrap().0.len(), 1);
        let newer = StampedGoals {
            header: Header::default(),
            goals: Arc::new(Goals(vec![goal(11, 1.0), goal(11, 2.0)])),
        };
        bench.publish("goals_update", newer.clone());
        assert_eq!(bench.tick(), Success);
        let updated = bench.object::<Goals>("updated").unwrap();
        assert!(Arc::ptr_eq(&updated, &newer.goals), "shared, not copied");
        assert_eq!(&*bench.topics()[0].type_name, "nav_msgs/msg/Goals");
    }

    #[test]
    fn g1_a_list_longer_than_max_goal_poses_is_ignored() {
        let settings = Settings {
            max_goal_poses: 2,
            ..Settings::default()
        };
        let mut bench = Bench::with(
            "<GoalUpdater input_goals=\"{goals}\" output_goals=\"{updated}\"><AlwaysSuccess/></GoalUpdater>",
            &crate::nav::registry(),
            settings,
        );
        bench.set("goals", Arc::new(Goals(vec![goal(10, 1.0)])));
        for (published, taken) in [(3, 1), (2, 2)] {
            let list = StampedGoals {
                header: goal(11, 0.0).header,
                goals: Arc::new(Goals(vec![goal(11, 1.0); published])),
            };
            bench.publish("goals_update", list);
            assert_eq!(bench.tick(), Success);
            assert_eq!(bench.object::<Goals>("updated").unwrap().0.len(), taken);
        }
        assert_eq!(bench.notes(), ["ignoring 3 published goals: max_goal_poses is 2"]);
    }

    #[test]
    fn the_header_determines_the_age_of_a_list() {
        let mut bench = Bench::new(
            "<GoalUpdater input_goals=\"{goals}\" output_goals=\"{updated}\"><AlwaysSuccess/></GoalUpdater>",
        );
        bench.set("goals", Arc::new(Goals(vec![goal(10, 1.0)])));
        for (seconds, count) in [(9, 1), (10, 2), (0, 1)] {
            let list = StampedGoals {
                header: goal(seconds, 0.0).header,
                goals: Arc::new(Goals(vec![goal(0, 1.0), goal(0, 2.0)])),
            };
            bench.publish("goals_update", list);
            assert_eq!(bench.tick(), Success);
            assert_eq!(
                bench.object::<Goals>("updated").unwrap().0.len(),
                count,
                "{seconds}"
            );
        }
        assert_eq!(bench.notes(), [UNSTAMPED]);
    }
}
