//! `PauseResumeController`: pauses and resumes a subtree with two services. A node of Nav2's main branch.

use crate::bt::{Behavior, Context, HaltReason, Input, Node, NodeKind, NodeStatus, Ports, Text, Tick};
use crate::nav::World;
use crate::nav::endpoint::report_fault;
use crate::nav::link::TopicId;

/// Ticks one of up to four children: the running child, the paused child, and one child for each transition.
///
/// Memory: `index` is the current child.
#[derive(Debug)]
pub struct PauseResumeController {
    pause: Input<Text>,
    resume: Input<Text>,
}

const RESUMED: u32 = 0;
const PAUSED: u32 = 1;
const ON_PAUSE: u32 = 2;
const ON_RESUME: u32 = 3;

/// The two services. They are shared with other trees. A request applies to the whole run.
#[derive(Default)]
struct Services {
    pause: Option<TopicId>,
    resume: Option<TopicId>,
}

impl Node for PauseResumeController {
    const ID: &'static str = "PauseResumeController";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its first child until the pause service is called, then its second child \
        (if any) until the resume service is called. The third child (if any) is ticked to completion on \
        pausing, the fourth on resuming. Calls before the acceptance of this navigation are ignored. A pause \
        lasts until the resume service is called, even if the node is halted and ticked again, another tree \
        replaces this one, or another goal replaces this one.";
    const CHILDREN: (usize, usize) = (1, 4);

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            pause: ports
                .input("pause_service_name")
                .doc("Name of the pause service (std_srvs/Trigger).")
                .required()
                .bind(),
            resume: ports
                .input("resume_service_name")
                .doc("Name of the resume service (std_srvs/Trigger).")
                .required()
                .bind(),
        };
        if let (Some(pause), Some(resume)) = (node.pause.literal(), node.resume.literal())
            && pause == resume
        {
            ports.problem_of(
                "resume_service_name",
                format!("`{pause}` is already the pause service"),
            );
        }
        node
    }
}

impl PauseResumeController {
    /// Whether the last request since the start of the run was a pause. A request that does not apply to the current
    /// state has no effect.
    fn is_paused(cx: &mut Context<'_>) -> bool {
        let services = cx.state::<Services>();
        let (pause, resume) = (services.pause, services.resume);
        let Some(world) = cx.resource::<World>() else {
            return false;
        };
        let last = |topic: Option<TopicId>| {
            topic
                .and_then(|topic| world.run_sample(topic))
                .map_or(0, |sample| sample.order)
        };
        last(pause) > last(resume)
    }

    fn go_to(cx: &mut Context<'_>, state: u32) {
        cx.halt_children(HaltReason::Preempted);
        cx.memory().index = state;
    }
}

impl Behavior for PauseResumeController {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        let has = |cx: &Context<'_>, state: u32| (state as usize) < cx.child_count();
        let state = cx.memory().index;
        if Self::is_paused(cx) == matches!(state, RESUMED | ON_RESUME) {
            let next = match state {
                RESUMED | ON_RESUME if has(cx, ON_PAUSE) => ON_PAUSE,
                RESUMED | ON_RESUME => PAUSED,
                _ if has(cx, ON_RESUME) => ON_RESUME,
                _ => RESUMED,
            };
            Self::go_to(cx, next);
        }
        let state = cx.memory().index;
        if !has(cx, state) {
            return Ok(NodeStatus::Running);
        }
        match (state, cx.tick_child(state as usize)?) {
            (_, NodeStatus::Running) => Ok(NodeStatus::Running),
            (_, NodeStatus::Failure) => {
                Self::go_to(cx, RESUMED);
                Ok(NodeStatus::Failure)
            }
            // Nav2 does not distinguish a completed child from a skipped one.
            (RESUMED, _) => {
                Self::go_to(cx, RESUMED);
                Ok(NodeStatus::Success)
            }
            (ON_PAUSE, _) => {
                Self::go_to(cx, PAUSED);
                Ok(NodeStatus::Running)
            }
            (ON_RESUME, _) => {
                Self::go_to(cx, RESUMED);
                Ok(NodeStatus::Running)
            }
            // The paused child is done: wait for the resume service.
            (_, _) => Ok(NodeStatus::Running),
        }
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.halt_children(reason);
        cx.memory().index = RESUMED;
    }

    fn attach(&self, cx: &mut Context<'_>) {
        let mut serve = |port: &Input<Text>| {
            let name = port.get(cx).unwrap_or_default();
            match cx.resource::<World>()?.serve_trigger(&name) {
                Ok(topic) => Some(topic),
                Err(error) => {
                    report_fault(cx, port.name(), error.to_string());
                    None
                }
            }
        };
        let (pause, resume) = (serve(&self.pause), serve(&self.resume));
        let services = cx.state::<Services>();
        services.pause = pause;
        services.resume = resume;
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        cx.memory().index = RESUMED;
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::bt::Tree;
    use crate::msg::action::{BackUp, Spin, Wait};
    use crate::nav::testing::{Bench, Plan};
    use std::sync::Arc;

    #[test]
    fn services_pause_and_resume() {
        let mut bench = Bench::new(
            "<PauseResumeController pause_service_name=\"pause\" resume_service_name=\"resume\">
               <Spin/><AlwaysSuccess/><Wait/><BackUp/>
             </PauseResumeController>",
        );
        bench.action::<Spin>("spin", |_| Plan::endless());
        bench.action::<Wait>("wait", |_| Plan::success());
        bench.action::<BackUp>("backup", |_| Plan::success());
        assert_eq!(bench.run(3), Running);
        bench.publish("resume", ());
        assert_eq!(bench.run(3), Running);
        assert_eq!(bench.active("spin"), 1, "there was nothing to resume");
        bench.publish("pause", ());
        assert_eq!(bench.run(6), Running);
        assert_eq!((bench.active("spin"), bench.goals::<Wait>("wait").len()), (0, 1));
        bench.action::<Spin>("spin", |_| Plan::success());
        bench.publish("resume", ());
        assert_eq!(bench.run(20), Success);
        assert_eq!(
            (
                bench.goals::<BackUp>("backup").len(),
                bench.goals::<Spin>("spin").len()
            ),
            (1, 2)
        );
    }

    const TREE: &str =
        "<PauseResumeController pause_service_name=\"pause\" resume_service_name=\"resume\"><Spin/>
         </PauseResumeController>";

    #[test]
    fn the_last_request_between_two_ticks_counts() {
        let mut bench = Bench::new(TREE);
        bench.action::<Spin>("spin", |_| Plan::endless());
        bench.run(3);
        for (requests, active) in [
            (["pause", "resume"], 1),
            (["resume", "pause"], 0),
            (["resume", "pause"], 0),
            (["pause", "resume"], 1),
        ] {
            for request in requests {
                bench.publish(request, ());
            }
            assert_eq!(bench.run(5), Running);
            assert_eq!(bench.active("spin"), active, "{requests:?}");
        }
    }

    #[test]
    fn a_pause_lasts_across_a_halt_and_a_tree_swap() {
        let mut bench = Bench::new(TREE);
        bench.action::<Spin>("spin", |_| Plan::endless());
        bench.run(3);
        bench.publish("pause", ());
        bench.run(3);
        assert_eq!(bench.active("spin"), 0);
        bench.halt();
        bench.run(3);
        assert_eq!(bench.active("spin"), 0, "after a halt");
        bench.halt();
        let mut other = Tree::new(Arc::clone(bench.tree.definition()));
        other.put_resources(bench.tree.take_resources());
        other.attach(bench.now()).unwrap();
        bench.tree = other;
        bench.run(3);
        assert_eq!(bench.active("spin"), 0, "in another tree");
        bench.publish("resume", ());
        bench.run(3);
        assert_eq!(bench.active("spin"), 1);
    }

    #[test]
    #[should_panic(expected = "`pause` is already the pause service")]
    fn one_service_is_not_enough() {
        Bench::new(&TREE.replace("\"resume\"", "\"pause\""));
    }

    #[test]
    fn one_child_is_enough() {
        let mut bench = Bench::new(
            "<PauseResumeController pause_service_name=\"pause\" resume_service_name=\"resume\"><Spin/>
             </PauseResumeController>",
        );
        bench.action::<Spin>("spin", |_| Plan::endless());
        bench.run(3);
        bench.publish("pause", ());
        assert_eq!(bench.run(3), Running);
        assert_eq!(bench.active("spin"), 0);
    }

    #[test]
    fn a_failure_of_any_child_fails_the_node_and_a_skipped_child_is_a_success() {
        let tree = |child: &str| {
            format!(
                "<PauseResumeController pause_service_name=\"pause\" resume_service_name=\"resume\">{child}
                 </PauseResumeController>"
            )
        };
        let mut bench = Bench::new(&tree("<AlwaysSuccess _skipIf=\"true\"/>"));
        assert_eq!(bench.tick(), Success);
        let mut bench = Bench::new(&tree("<Spin/><AlwaysSuccess/><AlwaysFailure/>"));
        bench.action::<Spin>("spin", |_| Plan::endless());
        assert_eq!(bench.run(3), Running);
        bench.publish("pause", ());
        assert_eq!(bench.run(3), Failure);
    }
}
