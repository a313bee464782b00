//! A robot for the benches and the test of allocations: whole navigation trees, and a link that answers at once.

use std::path::Path as FilePath;
use std::sync::Arc;

use navtree::bt::{
    Behavior, Context, Input, NodeInfo, NodeStatus, Output, Ports, Registry, Substitute, Text, Tick, Time,
    Tree,
};
use navtree::goal::{Command, GoalId, Notice, Outcome, ServerId, Ticket};
use navtree::msg::action::{ComputePathToPoseGoal, ComputePathToPoseResult};
use navtree::msg::{Header, Path, Pose, PoseStamped, Stamp, TransformStamped};
use navtree::nav::{
    EndpointKind, Event, Form, Link, LinkError, Payload, Settings, TopicId, TopicSpec, TransformError, World,
};
use navtree::record::{RecordedLink, Stream, Tracer};
use navtree::xml::Loader;

/// A planner that answers at once, with a new path each time, and a controller that never arrives.
struct Instantly {
    events: Vec<Event>,
    paths: [Payload; 2],
    planned: usize,
}

impl Link for Instantly {
    fn open(&mut self, _: EndpointKind, name: &str, _: &str, _: Form) -> Result<ServerId, LinkError> {
        Ok(ServerId(name.len() as u32))
    }

    fn hear(&mut self, _: ServerId) {}

    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        Ok(TopicId(topic.name.len() as u32))
    }

    fn advertise(&mut self, _: &TopicSpec) -> Result<TopicId, LinkError> {
        Ok(TopicId(0))
    }

    fn publish(&mut self, _: TopicId, _: Payload) {}

    fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
        for command in commands.drain(..) {
            let Command::Start { ticket, payload, .. } = command else {
                continue;
            };
            self.events.push(Event::Notice(Notice::Accepted {
                ticket,
                goal: GoalId::ZERO,
            }));
            if payload.get::<ComputePathToPoseGoal>().is_some() {
                self.planned += 1;
                self.events.push(Event::Notice(Notice::Finished {
                    ticket,
                    updates: 0,
                    outcome: Outcome::Succeeded(self.paths[self.planned % 2].clone()),
                }));
            }
        }
    }

    fn is_settled(&self, _since: Ticket) -> bool {
        true
    }

    fn unsettled(&self, _since: Ticket) -> Vec<String> {
        Vec::new()
    }

    fn receive(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.events);
    }

    fn transform(
        &self,
        target: &str,
        source: &str,
        _: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        Err(TransformError::NotConnected {
            from: source.to_owned(),
            to: target.to_owned(),
        })
    }

    fn stamp(&self, _: Time) -> Stamp {
        Stamp::ZERO
    }

    fn parameter(&self, _: &str) -> Option<String> {
        None
    }
}

/// The stub leaves of the peers' measurements: they read and write the same ports as Nav2's leaves, always return the
/// same status, and do not use ROS. The selectors are the real ones.
struct WithoutRos;

impl Substitute for WithoutRos {
    fn behavior(&self, node: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        Some(match &*node.id {
            "ComputePathToPose" => Box::new(Plans {
                goal: ports.input("goal").bind(),
                start: ports.input("start").bind(),
                planner_id: ports.input("planner_id").bind(),
                path: ports.output("path").bind(),
                outputs: Outputs::bind(ports),
                planned: Arc::default(),
            }),
            "FollowPath" => Box::new(Follows {
                path: ports.input("path").bind(),
                ids: [
                    "controller_id",
                    "goal_checker_id",
                    "progress_checker_id",
                    "server_name",
                ]
                .map(|name| ports.input(name).bind()),
                outputs: Outputs::bind(ports),
            }),
            "GlobalUpdatedGoal" | "IsGoalNearby" => Box::new(Fails),
            _ => return None,
        })
    }
}

/// The outputs of all action clients.
struct Outputs {
    error_code: Output<u16>,
    error_message: Output<Text>,
}

impl Outputs {
    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            error_code: ports.output("error_code_id").bind(),
            error_message: ports.output("error_msg").bind(),
        }
    }

    fn write(&self, cx: &mut Context<'_>) -> Result<(), navtree::bt::Thrown> {
        self.error_code.set(cx, 0)?;
        self.error_message.set(cx, Text::default())
    }
}

struct Plans {
    goal: Input<Arc<PoseStamped>>,
    start: Input<Arc<PoseStamped>>,
    planner_id: Input<Text>,
    path: Output<Arc<Path>>,
    outputs: Outputs,
    planned: Arc<Path>,
}

impl Behavior for Plans {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let inputs = (self.goal.get(cx), self.start.get(cx), self.planner_id.get(cx));
        std::hint::black_box(&inputs);
        self.path.set(cx, Arc::clone(&self.planned))?;
        self.outputs.write(cx)?;
        Ok(NodeStatus::Success)
    }
}

struct Follows {
    path: Input<Arc<Path>>,
    ids: [Input<Text>; 4],
    outputs: Outputs,
}

impl Behavior for Follows {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        std::hint::black_box(self.path.as_object(cx));
        for id in &self.ids {
            std::hint::black_box(id.as_str(cx));
        }
        self.outputs.error_code.set(cx, 0)?;
        Ok(NodeStatus::Running)
    }
}

struct Fails;

impl Behavior for Fails {
    fn tick(&self, _: &mut Context<'_>) -> Tick {
        Ok(NodeStatus::Failure)
    }
}

/// This package's default tree.
const DEFAULT: &str = include_str!("../behavior_trees/navigate_to_pose.xml");

/// A tree with the 38 nodes of Nav2's default tree in the same positions. A tick that plans visits 17 of them, another
/// tick 10.
const OF_NAV2: &str = r#"<root BTCPP_format="4"><BehaviorTree ID="LikeNav2">
  <RecoveryNode number_of_retries="6" name="Navigate">
    <PipelineSequence>
      <ProgressCheckerSelector selected_progress_checker="{progress}" default_progress_checker="progress_checker" topic_name="progress_checker_selector"/>
      <GoalCheckerSelector selected_goal_checker="{checker}" default_goal_checker="goal_checker" topic_name="goal_checker_selector"/>
      <PathHandlerSelector selected_path_handler="{handler}" default_path_handler="PathHandler" topic_name="path_handler_selector"/>
      <ControllerSelector selected_controller="{controller}" default_controller="FollowPath" topic_name="controller_selector"/>
      <PlannerSelector selected_planner="{planner}" default_planner="GridBased" topic_name="planner_selector"/>
      <RateController hz="1.0">
        <RecoveryNode number_of_retries="1" name="Plan">
          <Fallback>
            <ReactiveSequence>
              <Inverter><GlobalUpdatedGoal/></Inverter>
              <IsGoalNearby path="{path}" proximity_threshold="4.0" max_robot_pose_search_dist="1.5"/>
              <TruncatePathLocal input_path="{path}" output_path="{rest}" distance_forward="-1" distance_backward="0.0"/>
              <ValidatePath path="{rest}"/>
            </ReactiveSequence>
            <ComputePathToPose goal="{goal}" path="{path}" planner_id="{planner}" error_code_id="{plan_code}" error_msg="{plan_message}"/>
          </Fallback>
          <Sequence>
            <WouldAPlannerRecoveryHelp error_code="{plan_code}"/>
            <ClearEntireCostmap name="ClearGlobal" service_name="global_costmap/clear_entirely_global_costmap"/>
          </Sequence>
        </RecoveryNode>
      </RateController>
      <RecoveryNode number_of_retries="1" name="Follow">
        <FollowPath path="{path}" controller_id="{controller}" goal_checker_id="{checker}" progress_checker_id="{progress}" error_code_id="{follow_code}" error_msg="{follow_message}"/>
        <Sequence>
          <WouldAControllerRecoveryHelp error_code="{follow_code}"/>
          <ClearEntireCostmap name="ClearLocal" service_name="local_costmap/clear_entirely_local_costmap"/>
        </Sequence>
      </RecoveryNode>
    </PipelineSequence>
    <Sequence>
      <Fallback>
        <WouldAControllerRecoveryHelp error_code="{follow_code}"/>
        <WouldAPlannerRecoveryHelp error_code="{plan_code}"/>
      </Fallback>
      <ReactiveFallback>
        <GoalUpdated/>
        <RoundRobin>
          <Sequence>
            <ClearEntireCostmap name="ClearLocalToo" service_name="local_costmap/clear_entirely_local_costmap"/>
            <ClearEntireCostmap name="ClearGlobalToo" service_name="global_costmap/clear_entirely_global_costmap"/>
          </Sequence>
          <Spin spin_dist="1.57"/>
          <Wait wait_duration="5.0"/>
          <BackUp backup_dist="0.30" backup_speed="0.15"/>
        </RoundRobin>
      </ReactiveFallback>
    </Sequence>
  </RecoveryNode>
</BehaviorTree></root>"#;

#[allow(clippy::panic)] // without a valid tree there is nothing to measure
fn tree(text: &str, rate: &str, registry: &Registry, stream: Option<&Stream>) -> Tree {
    let text = text.replace("hz=\"1.0\"", &format!("hz=\"{rate}\""));
    let def = match Loader::new(registry).load_text("tree.xml", &text, FilePath::new("."), None) {
        Ok(loaded) => loaded.def,
        Err(refused) => panic!("{refused}"),
    };
    let path = |y: f64| {
        let poses = (0..200).map(|x| Pose::planar(f64::from(x) * 0.05, y, 0.0));
        Payload::new(ComputePathToPoseResult {
            path: Arc::new(Path::through(Header::in_frame("map"), poses)),
            ..Default::default()
        })
    };
    let link = Instantly {
        events: Vec::new(),
        paths: [path(0.0), path(0.1)],
        planned: 0,
    };
    let link: Box<dyn Link> = match stream {
        None => Box::new(link),
        Some(stream) => Box::new(RecordedLink::new(Box::new(link), stream.clone())),
    };
    let mut tree = Tree::new(Arc::clone(&def));
    tree.insert_resource(World::new(link, Settings::default()));
    let _ = tree.attach(Time::ZERO);
    if let Some(stream) = stream {
        tree.set_observer(Some(Box::new(Tracer::new(stream.clone(), &def))));
    }
    let goal = PoseStamped::in_frame("map", Pose::planar(10.0, 0.0, 0.0));
    assert!(tree.set("goal", Arc::new(goal)).is_ok(), "the key is free");
    tree
}

/// One tick of a running tree. The clock advances so that a rate of 1 kHz is always due and one of 1 mHz never.
pub(crate) fn tick(tree: &mut Tree, now: &mut u64) {
    *now += 1_000_000;
    let status = tree.tick_exactly_once(Time::from_nanos(*now));
    assert!(
        matches!(std::hint::black_box(status), Ok(NodeStatus::Running)),
        "it drives"
    );
}

/// The measured cases, by name.
pub(crate) fn cases() -> [(&'static str, Tree); 4] {
    let registry = navtree::nav::registry();
    let mut without_ros = registry.clone();
    without_ros.set_substitute(Some(Arc::new(WithoutRos)));
    [
        ("cruising", tree(OF_NAV2, "0.001", &without_ros, None)),
        ("replanning", tree(OF_NAV2, "1000", &without_ros, None)),
        ("cruising_with_goals", tree(DEFAULT, "0.001", &registry, None)),
        ("replanning_with_goals", tree(DEFAULT, "1000", &registry, None)),
    ]
}

/// The same trees, recorded in a stream.
#[allow(dead_code)] // `cruise` does not record
pub(crate) fn recorded_cases(stream: &Stream) -> [(&'static str, Tree); 4] {
    let registry = navtree::nav::registry();
    let mut without_ros = registry.clone();
    without_ros.set_substitute(Some(Arc::new(WithoutRos)));
    let stream = Some(stream);
    [
        ("recorded_cruising", tree(OF_NAV2, "0.001", &without_ros, stream)),
        ("recorded_replanning", tree(OF_NAV2, "1000", &without_ros, stream)),
        (
            "recorded_cruising_with_goals",
            tree(DEFAULT, "0.001", &registry, stream),
        ),
        (
            "recorded_replanning_with_goals",
            tree(DEFAULT, "1000", &registry, stream),
        ),
    ]
}
