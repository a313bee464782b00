//! Nav2's default tree with stub leaves, as in the peers' measurements: they have no logic, and read and write the same
//! ports as the real leaves in such a tick. Controls and decorators are the real ones; every port of every leaf is
//! declared and has an entry on the blackboard.

use std::sync::Arc;

use navtree::bt::{
    Behavior, Context, Input, NodeInfo, NodeKind, NodeStatus, Output, Ports, Substitute, Text, Tick, Tree,
    TreeDef,
};
use navtree::msg::{Header, Path, Pose, PoseStamped};
use navtree::xml::Loader;

/// The tree, with a placeholder for its rate.
pub(crate) const SHAPE: &str = include_str!("nav2.xml");

/// A rate in Hz that is never due again.
pub(crate) const CRUISING: &str = "0.001";
/// A rate in Hz that is always due.
pub(crate) const REPLANNING: &str = "1e9";

/// Registers the stub leaves.
#[derive(Debug)]
struct StandIns {
    /// The path of each plan.
    path: Arc<Path>,
}

impl Substitute for StandIns {
    fn behavior(&self, node: &NodeInfo, ports: &mut Ports<'_>) -> Option<Box<dyn Behavior>> {
        if !matches!(node.kind, NodeKind::Action | NodeKind::Condition) {
            return None;
        }
        let what = node.id.strip_suffix("Selector").map(|what| match what {
            "ProgressChecker" => ("default_progress_checker", "selected_progress_checker"),
            "GoalChecker" => ("default_goal_checker", "selected_goal_checker"),
            "PathHandler" => ("default_path_handler", "selected_path_handler"),
            "Controller" => ("default_controller", "selected_controller"),
            _ => ("default_planner", "selected_planner"),
        });
        if let Some((default, selected)) = what {
            return Some(Box::new(Selects {
                default: ports.input(default).bind(),
                selected: ports.output(selected).bind(),
            }));
        }
        Some(match &*node.id {
            "FollowPath" => Box::new(Follows {
                path: ports.input("path").bind(),
                texts: [
                    "controller_id",
                    "goal_checker_id",
                    "progress_checker_id",
                    "path_handler_id",
                ]
                .map(|name| ports.input(name).bind()),
                code: ports.output("error_code_id").bind(),
            }),
            "ComputePathToPose" => Box::new(Plans {
                goal: ports.input("goal").bind(),
                planner: ports.input("planner_id").bind(),
                path: ports.output("path").bind(),
                code: ports.output("error_code_id").bind(),
                found: Arc::clone(&self.path),
            }),
            _ => Box::new(Fails),
        })
    }
}

/// A selector: writes its default. Like the selectors of `nav`, it counts no references if the text is there already.
struct Selects {
    default: Input<Text>,
    selected: Output<Text>,
}

impl Behavior for Selects {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let default = self.default.as_str(cx).map(std::ptr::from_ref);
        if !default.is_some_and(|text| self.selected.set_same(cx, text)) {
            let selected = self.default.require(cx)?;
            self.selected.set(cx, selected)?;
        }
        Ok(NodeStatus::Success)
    }
}

/// Reads five ports, writes one, and returns RUNNING.
struct Follows {
    path: Input<Arc<Path>>,
    texts: [Input<Text>; 4],
    code: Output<u16>,
}

impl Behavior for Follows {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let poses = self.path.as_object(cx).map_or(0, |path| path.poses.len());
        let letters = self
            .texts
            .iter()
            .filter_map(|text| text.as_str(cx))
            .map(str::len)
            .sum::<usize>();
        self.code.set(cx, u16::from(poses + letters == 0))?;
        Ok(NodeStatus::Running)
    }
}

/// Reads a goal and the planner's name, writes a path and a code, and succeeds.
struct Plans {
    goal: Input<Arc<PoseStamped>>,
    planner: Input<Text>,
    path: Output<Arc<Path>>,
    code: Output<u16>,
    found: Arc<Path>,
}

impl Behavior for Plans {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let goal = self.goal.require(cx)?;
        let named = self.planner.as_str(cx).is_some_and(|name| !name.is_empty());
        self.path.set(cx, Arc::clone(&self.found))?;
        self.code
            .set(cx, u16::from(!named && goal.pose.position.x > 0.0))?;
        Ok(NodeStatus::Success)
    }
}

/// The leaves that a tick without failures only checks.
struct Fails;

impl Behavior for Fails {
    fn tick(&self, _: &mut Context<'_>) -> Tick {
        Ok(NodeStatus::Failure)
    }
}

/// The definition, with the given rate of planning.
#[allow(clippy::panic)] // without a valid tree there is nothing to measure
pub(crate) fn define(rate: &str) -> Arc<TreeDef> {
    let poses = (0..200).map(|x| Pose::planar(f64::from(x) * 0.05, 0.0, 0.0));
    let path = Arc::new(Path::through(Header::in_frame("map"), poses));
    let mut registry = navtree::nav::registry();
    registry.set_substitute(Some(Arc::new(StandIns { path })));
    let text = SHAPE.replace("RATE", rate);
    let loaded = Loader::new(&registry).load_text("nav2.xml", &text, std::path::Path::new("."), None);
    match loaded {
        Ok(loaded) => loaded.def,
        Err(refused) => panic!("{refused}"),
    }
}

/// A robot's run of it, with its goal set.
pub(crate) fn instance(def: &Arc<TreeDef>, goal: &Arc<PoseStamped>) -> Tree {
    let mut tree = Tree::new(Arc::clone(def));
    assert!(tree.set("goal", Arc::clone(goal)).is_ok(), "the key is free");
    tree
}

/// The goal of all robots.
pub(crate) fn goal() -> Arc<PoseStamped> {
    Arc::new(PoseStamped::in_frame("map", Pose::planar(10.0, 0.0, 0.0)))
}
