//! `FollowPath`: drives along a path and switches to a newer path without a stop.

use std::sync::Arc;

use crate::bt::{Context, Input, Output, Ports, Text, Thrown};
use crate::msg::action as actions;
use crate::msg::{Header, Path, TrackingFeedback};
use crate::nav::action_node::{ActionNode, GoalOf, GoalOutcome, Refusal, ResultOf};
use crate::nav::tracking::Tracker;

/// Sends a path to the controller server.
#[derive(Debug)]
pub struct FollowPath {
    path: Input<Arc<Path>>,
    controller_id: Input<Text>,
    goal_checker_id: Input<Text>,
    progress_checker_id: Input<Text>,
    tracker: Tracker,
    tracking_feedback: Output<Arc<TrackingFeedback>>,
}

impl ActionNode for FollowPath {
    type Action = actions::FollowPath;
    const ID: &'static str = "FollowPath";
    const DOC: &'static str = "Drives along a path. A changed path or plugin is sent to the controller at once, \
        and the robot does not stop.";
    const SERVER: &'static str = "follow_path";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let node = Self {
            path: ports.input("path").doc("Path to follow.").needed().bind(),
            controller_id: ports
                .input("controller_id")
                .doc("Controller plugin. May be empty if there is only one.")
                .bind(),
            goal_checker_id: ports
                .input("goal_checker_id")
                .doc("Goal checker plugin. May be empty if there is only one.")
                .bind(),
            progress_checker_id: ports
                .input("progress_checker_id")
                .doc("Progress checker plugin. May be empty if there is only one.")
                .bind(),
            tracker: Tracker,
            tracking_feedback: ports
                .output("tracking_feedback")
                .doc(
                    "Position of the robot relative to the path. Computed here from the path and the robot's \
                    transform, because Jazzy's controller does not report it.",
                )
                .bind(),
        };
        let handler = ports
            .input::<Text>("path_handler_id")
            .doc("Nav2 main: path handler plugin. Jazzy's controller has none.")
            .bind();
        if handler.literal().is_some_and(|text| !text.is_empty()) || handler.slot().is_some() {
            ports.warn_of(
                "path_handler_id",
                "path_handler_id has no effect: the action of Jazzy has no such field",
            );
        }
        node
    }

    fn goal(&self, cx: &mut Context<'_>) -> Result<GoalOf<Self>, Refusal> {
        // The controller refuses an empty path with its own error code, which recoveries evaluate.
        let path = self.path.optional(cx)?.unwrap_or_default();
        Ok(actions::FollowPathGoal {
            path,
            controller_id: super::text(&self.controller_id, cx)?,
            goal_checker_id: super::text(&self.goal_checker_id, cx)?,
            progress_checker_id: super::text(&self.progress_checker_id, cx)?,
        })
    }

    fn version(&self, cx: &Context<'_>) -> u64 {
        self.path.sequence(cx)
    }

    fn is_outdated(&self, cx: &Context<'_>, sent: &GoalOf<Self>, version: u64) -> bool {
        // Selectors write their text in every tick, so texts are compared. A path is written only when there is a new
        // one.
        self.path.sequence(cx) != version
            || !super::equals_sent(&self.controller_id, cx, &sent.controller_id)
            || !super::equals_sent(&self.goal_checker_id, cx, &sent.goal_checker_id)
            || !super::equals_sent(&self.progress_checker_id, cx, &sent.progress_checker_id)
    }

    fn replaces(&self, sent: &GoalOf<Self>, new: &mut GoalOf<Self>) -> bool {
        let is_new_path =
            !Arc::ptr_eq(&sent.path, &new.path) && !self.is_nothing(new) && new.path != sent.path;
        if !is_new_path {
            new.path = Arc::clone(&sent.path);
        }
        is_new_path
            || !super::same_text(&sent.controller_id, &new.controller_id)
            || !super::same_text(&sent.goal_checker_id, &new.goal_checker_id)
            || !super::same_text(&sent.progress_checker_id, &new.progress_checker_id)
    }

    /// A planner that is planning or has failed leaves an empty path. The robot then continues on the old path, even
    /// with another plugin.
    fn is_nothing(&self, new: &GoalOf<Self>) -> bool {
        new.path.is_empty() && new.path.header == Header::default()
    }

    fn running(&self, cx: &mut Context<'_>) -> Result<(), Thrown> {
        if self.tracking_feedback.slot().is_none() {
            return Ok(());
        }
        let Ok(path) = self.path.get(cx) else {
            return Ok(());
        };
        match self.tracker.track(cx, &path)? {
            Some(feedback) => self.tracking_feedback.set(cx, Arc::new(feedback)),
            None => Ok(()),
        }
    }

    fn finished(
        &self,
        cx: &mut Context<'_>,
        _ending: &GoalOutcome<'_, ResultOf<Self>>,
    ) -> Result<(), Thrown> {
        self.halted(cx);
        Ok(())
    }

    /// Without it, `IsWithinPathTrackingBounds` would count an error on this path as one on the next path, and fail before
    /// this leaf could measure again.
    fn halted(&self, cx: &mut Context<'_>) {
        if let Some(slot) = self.tracking_feedback.slot() {
            cx.empty(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::actions::FollowPath;
    use super::*;
    use crate::bt::NodeStatus::{Failure, Idle, Running, Success};
    use crate::msg::Pose;
    use crate::nav::Settings;
    use crate::nav::testing::{Bench, Plan};

    const SERVER: &str = "follow_path";

    fn path(x: f64) -> Arc<Path> {
        let poses = [0.0, x].map(|x| Pose::planar(x, 0.0, 0.0));
        Arc::new(Path::through(Header::in_frame("map"), poses))
    }

    fn bench() -> Bench {
        let mut bench = Bench::new(
            "<FollowPath path=\"{path}\" controller_id=\"{controller}\" goal_checker_id=\"{checker}\" \
             progress_checker_id=\"{progress}\" error_code_id=\"{code}\" server_timeout=\"50\" \
             tracking_feedback=\"{tracking}\"/>",
        );
        bench.action::<FollowPath>(SERVER, |_| Plan::success().after(100));
        bench.set("controller", Text::from("FollowPath"));
        bench.set("path", path(1.0));
        bench
    }

    #[test]
    fn test_follow_path_action_tick() {
        let mut bench = bench();
        assert_eq!(bench.run(20), Success);
        let goal = bench.goals::<FollowPath>(SERVER)[0].clone();
        assert_eq!((goal.path, &*goal.controller_id), (path(1.0), "FollowPath"));
        assert_eq!(bench.status("FollowPath"), Idle);
        bench.halt();
        bench.set("path", path(-2.5));
        assert_eq!(bench.run(20), Success);
        assert_eq!(bench.goals::<FollowPath>(SERVER)[1].path, path(-2.5));
    }

    #[test]
    fn test_follow_path_action_sends_each_change_at_once() {
        let mut bench = bench();
        bench.action::<FollowPath>(SERVER, |_| Plan::endless());
        assert_eq!(bench.run(5), Running);
        let mut sent = 1;
        for key in ["controller", "checker", "progress"] {
            bench.set(key, Text::from("Other"));
            bench.run(5);
            sent += 1;
            assert_eq!(bench.goals::<FollowPath>(SERVER).len(), sent, "{key}");
            bench.set(key, Text::from("Other"));
            bench.run(5);
            assert_eq!(bench.goals::<FollowPath>(SERVER).len(), sent, "{key} as before");
        }
        bench.set("path", path(3.0));
        assert_eq!(bench.run(5), Running);
        let goals = bench.goals::<FollowPath>(SERVER);
        assert_eq!((goals.len(), goals[4].path.clone()), (5, path(3.0)));
        assert_eq!(
            bench.active(SERVER),
            1,
            "the server has ended the goals that were replaced"
        );
        assert_eq!(bench.cancels(SERVER), 0);
    }

    #[test]
    fn an_empty_or_equal_path_is_not_sent() {
        let mut bench = bench();
        bench.action::<FollowPath>(SERVER, |_| Plan::endless());
        bench.run(3);
        bench.set("path", Arc::new(Path::default()));
        bench.run(3);
        bench.set("path", path(1.0));
        bench.run(3);
        assert_eq!(bench.goals::<FollowPath>(SERVER).len(), 1);
    }

    #[test]
    fn a_path_that_arrives_after_the_goal_ended_is_sent() {
        for first in [Plan::success as fn() -> Plan<FollowPath>, || Plan::abort(105)] {
            let mut bench = bench();
            bench.action::<FollowPath>(SERVER, move |goal| {
                let plan = if goal.path == path(1.0) {
                    first()
                } else {
                    Plan::success()
                };
                plan.after(100)
            });
            bench.delay_commands(5);
            assert_eq!(bench.run(10), Running);
            // The result is handled in this tick, before the update that the tick requests.
            bench.set("path", path(3.0));
            assert_eq!((bench.letters(2), bench.active(SERVER)), ("RR".to_owned(), 1));
            assert_eq!(bench.run(20), Success);
            let goals = bench.goals::<FollowPath>(SERVER);
            let paths: Vec<_> = goals.into_iter().map(|goal| goal.path).collect();
            assert_eq!(paths, [path(1.0), path(3.0)]);
        }
    }

    /// The way in which a goal ends by itself.
    type End = fn() -> Plan<FollowPath>;

    /// The words of the leaf whose goal succeeded or was aborted.
    const BY_ITSELF: [&str; 2] = ["a Cancel node cancelled the goal", "scripted"];
    const BEFORE_ACCEPTANCE: &str = "a Cancel node cancelled the goal, which its server may not have had yet";

    /// The first goal ends after 100 ms. Its result is handled before the update of the next tick, so that its leaf sends the
    /// update again one tick later.
    fn send_again_in_tick_12(bench: &mut Bench, end: End) {
        bench.action::<FollowPath>("follow_path", move |goal| match goal.path == path(1.0) {
            true => end().after(100),
            false => Plan::endless(),
        });
        bench.delay_commands(5);
    }

    /// A goal that ends by itself, in two ways, and a Cancel node after a delay in ms. `begin` runs the first ticks. The path
    /// changes then, and no goal follows. `words`: those of the leaf.
    fn assert_no_goal_follows(delay: u32, words: [&str; 2], begin: impl Fn(&mut Bench, End)) {
        let ends: [End; 2] = [Plan::success, || Plan::abort(105)];
        for (end, words) in ends.into_iter().zip(words) {
            let mut bench = Bench::new(&format!(
                "<ParallelAll max_failures=\"1\"><FollowPath path=\"{{path}}\" error_msg=\"{{why}}\"/>\
                 <Delay delay_msec=\"{delay}\"><CancelControl/></Delay></ParallelAll>"
            ));
            bench.set("path", path(1.0));
            begin(&mut bench, end);
            bench.set("path", path(2.0));
            assert_eq!(bench.run(60), Failure);
            assert_eq!(bench.goals::<FollowPath>("follow_path").len(), 1);
            assert_eq!(bench.get::<Text>("why").as_deref(), Some(words));
        }
    }

    #[test]
    fn g3_no_goal_follows_one_that_a_cancel_node_has_cancelled() {
        assert_no_goal_follows(50, BY_ITSELF, |bench, end| {
            // It ends by itself while it stops.
            bench.action::<FollowPath>("follow_path", move |_| end().after(300).stop_after(1_000));
            assert_eq!(bench.run(15), Running);
            assert_eq!(bench.cancels("follow_path"), 1);
        });
    }

    #[test]
    fn g3_no_update_follows_a_cancel_node_although_the_goal_ended_by_itself_before_it() {
        assert_no_goal_follows(30, BY_ITSELF, |bench, end| {
            // The server answers the goal after the Cancel node, and handles the cancel after the end of the goal.
            bench.action::<FollowPath>("follow_path", move |goal| match goal.path == path(1.0) {
                true => end().answer_after(60).after(5),
                false => Plan::endless(),
            });
            bench.delay_cancels(120);
            assert_eq!(bench.run(1), Running);
        });
    }

    #[test]
    fn g3_no_update_that_is_sent_again_in_the_tick_of_a_cancel_node_leaves() {
        assert_no_goal_follows(110, [BEFORE_ACCEPTANCE; 2], |bench, end| {
            send_again_in_tick_12(bench, end);
            assert_eq!(bench.run(10), Running);
        });
    }

    #[test]
    fn g3_an_update_that_a_cancel_node_stops_is_no_success() {
        let tree = "<ParallelAll><FollowPath path=\"{path}\"/><Delay delay_msec=\"110\"><CancelControl/></Delay></ParallelAll>";
        let settings = Settings {
            canceled_is_success: true,
            ..Settings::default()
        };
        let mut bench = Bench::with(tree, &crate::nav::registry(), settings);
        bench.set("path", path(1.0));
        send_again_in_tick_12(&mut bench, || Plan::abort(105));
        assert_eq!(bench.run(10), Running);
        bench.set("path", path(2.0));
        assert_eq!(bench.run(60), Failure);
    }

    #[test]
    fn an_update_is_sent_again_although_a_cancel_node_is_halted_in_its_tick() {
        let leaf = "<FollowPath path=\"{path}\"/>";
        let halted = "<Parallel success_count=\"1\" failure_count=\"2\">\
                      <Delay delay_msec=\"110\"><CancelControl/></Delay><Delay delay_msec=\"110\"><AlwaysSuccess/></Delay>\
                      </Parallel>";
        for both in [[leaf, halted], [halted, leaf]] {
            let mut bench = Bench::new(&format!("<ParallelAll>{}</ParallelAll>", both.concat()));
            bench.set("path", path(1.0));
            send_again_in_tick_12(&mut bench, Plan::success);
            assert_eq!(bench.run(10), Running);
            bench.set("path", path(2.0));
            assert_eq!(bench.run(60), Running);
            assert_eq!(bench.cancels("follow_path"), 0);
            assert_eq!(bench.active("follow_path"), 1);
        }
    }

    #[test]
    fn a_goal_that_is_sent_again_has_the_newest_path() {
        let mut bench = bench();
        send_again_in_tick_12(&mut bench, Plan::success);
        assert_eq!(bench.run(10), Running);
        bench.set("path", path(2.0));
        assert_eq!(bench.run(1), Running);
        bench.set("path", path(3.0));
        bench.run(3);
        let goals = bench.goals::<FollowPath>(SERVER);
        assert_eq!((goals.len(), &goals[1].path), (2, &path(3.0)));
    }

    #[test]
    fn an_update_that_a_cancel_node_may_stop_waits_for_the_answer() {
        let tree = "<Parallel success_count=\"2\" failure_count=\"1\">\
                    <Delay delay_msec=\"110\"><CancelControl/></Delay><FollowPath path=\"{path}\" error_msg=\"{why}\"/></Parallel>";
        let mut bench = Bench::new(tree);
        bench.set("path", path(1.0));
        send_again_in_tick_12(&mut bench, Plan::success);
        bench.delay_cancels(40);
        assert_eq!(bench.run(10), Running);
        bench.set("path", path(2.0));
        assert_eq!(bench.run(5), Running);
        assert_eq!(bench.run(60), Failure);
        assert_eq!(bench.get::<Text>("why").as_deref(), Some(BY_ITSELF[0]));
        assert_eq!(
            (
                bench.goals::<FollowPath>("follow_path").len(),
                bench.cancels("follow_path")
            ),
            (1, 1)
        );
    }

    #[test]
    fn an_update_that_a_cancel_node_stops_does_not_wait_for_the_requests_after_it() {
        let leaf = "<FollowPath path=\"{path}\"/>";
        let repeated =
            "<Delay delay_msec=\"110\"><Repeat num_cycles=\"-1\"><CancelControl/></Repeat></Delay>";
        for both in [[leaf, repeated], [repeated, leaf]] {
            let tree = format!(
                "<Parallel success_count=\"2\" failure_count=\"1\">{}</Parallel>",
                both.concat()
            );
            let mut bench = Bench::new(&tree);
            bench.set("path", path(1.0));
            send_again_in_tick_12(&mut bench, Plan::success);
            assert_eq!(bench.run(10), Running);
            bench.set("path", path(2.0));
            assert_eq!(bench.run(60), Failure);
        }
    }

    #[test]
    fn an_update_after_a_cancel_node_is_sent() {
        let mut bench = Bench::new(
            "<ParallelAll><FollowPath path=\"{path}\"/><Delay delay_msec=\"30\"><CancelControl/></Delay></ParallelAll>",
        );
        bench.action::<FollowPath>("follow_path", |_| Plan::success().answer_after(60).after(5));
        bench.delay_cancels(120);
        bench.set("path", path(1.0));
        assert_eq!(bench.run(4), Running);
        bench.set("path", path(2.0));
        bench.run(60);
        assert_eq!(bench.goals::<FollowPath>("follow_path").len(), 2);
    }

    #[test]
    fn a_changed_plugin_continues_on_the_old_path() {
        let mut bench = bench();
        bench.action::<FollowPath>(SERVER, |_| Plan::endless());
        bench.run(3);
        // A halted planner has cleared the path.
        bench.set("path", Arc::new(Path::default()));
        bench.set("controller", Text::from("Other"));
        bench.run(3);
        let goals = bench.goals::<FollowPath>(SERVER);
        assert_eq!((goals.len(), &*goals[1].controller_id), (2, "Other"));
        assert_eq!(goals[1].path, path(1.0));
    }

    #[test]
    fn test_follow_path_action_ack_timeout_code() {
        let mut bench = bench();
        bench.action::<FollowPath>(SERVER, |_| Plan::silent());
        assert_eq!(bench.run(20), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(FollowPath::CONTROLLER_TIMED_OUT));
    }

    #[test]
    fn a_killed_server_is_a_failure() {
        let mut bench = bench();
        bench.action::<FollowPath>(SERVER, |_| Plan::endless());
        assert_eq!(bench.run(5), Running);
        bench.remove_server(SERVER);
        assert_eq!(bench.tick(), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(FollowPath::UNKNOWN));
    }

    #[test]
    fn a_goal_cancelled_by_another_client_is_a_failure_or_optionally_a_success() {
        let mut bench = bench();
        bench.action::<FollowPath>(SERVER, |_| Plan::endless());
        bench.run(5);
        bench.foreign_cancel(SERVER);
        assert_eq!(bench.run(5), Failure);
        assert_eq!(
            bench.get::<u16>("code"),
            Some(0),
            "no recovery is to start it again"
        );
        bench.world().settings.canceled_is_success = true;
        bench.run(5);
        bench.foreign_cancel(SERVER);
        assert_eq!(bench.run(5), Success);
    }

    #[test]
    fn a_path_that_arrives_during_a_foreign_cancel_is_not_sent() {
        let mut bench = bench();
        bench.action::<FollowPath>(SERVER, |_| Plan::endless().stop_after(500));
        assert_eq!(bench.run(5), Running);
        bench.foreign_cancel(SERVER);
        assert_eq!(bench.run(5), Running);
        bench.set("path", path(3.0));
        assert_eq!(bench.run(100), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(0));
        assert_eq!(
            (bench.goals::<FollowPath>(SERVER).len(), bench.active(SERVER)),
            (1, 0)
        );
    }

    #[test]
    fn a_path_in_flight_when_another_client_cancels_the_goal_is_not_followed() {
        let mut bench = bench();
        let mut is_first = true;
        bench.action::<FollowPath>(SERVER, move |_| {
            let delay = if std::mem::take(&mut is_first) { 0 } else { 50 };
            Plan::endless().answer_after(delay)
        });
        assert_eq!(bench.run(5), Running);
        bench.set("path", path(3.0));
        assert_eq!(bench.tick(), Running);
        bench.foreign_cancel(SERVER);
        assert_eq!(bench.run(100), Failure);
        assert_eq!(bench.get::<u16>("code"), Some(0));
        assert_eq!(bench.goals::<FollowPath>(SERVER).len(), 2);
        bench.wait(1_000);
        assert_eq!(bench.active(SERVER), 0);
    }

    #[test]
    fn tracking_feedback_is_computed() {
        let mut bench = bench();
        bench.action::<FollowPath>(SERVER, |_| Plan::endless());
        bench.run(3);
        assert!(bench.object::<TrackingFeedback>("tracking").is_none());
        bench.transform("map", "base_link", Pose::planar(0.25, 0.5, 0.0));
        bench.run(1);
        let feedback = bench.object::<TrackingFeedback>("tracking").unwrap();
        assert_eq!(feedback.position_tracking_error, 0.5);
    }

    #[test]
    fn g4_tracking_feedback_ends_with_its_path() {
        let mut bench = Bench::new(
            r#"<ReactiveSequence>
                 <IsWithinPathTrackingBounds max_error_left="0.2" max_error_right="0.2"
                   tracking_feedback="{tracking}"/>
                 <FollowPath path="{path}" tracking_feedback="{tracking}"/>
               </ReactiveSequence>"#,
        );
        bench.action::<FollowPath>(SERVER, |_| Plan::success().after(100));
        bench.set("path", path(1.0));
        bench.transform("map", "base_link", Pose::planar(0.25, 0.5, 0.0));
        assert_eq!(bench.run(10), Failure, "the robot is beside its path");
        assert!(bench.object::<TrackingFeedback>("tracking").is_none());
        bench.transform("map", "base_link", Pose::planar(0.25, 0.0, 0.0));
        assert_eq!(bench.run(50), Success, "the next navigation");
        assert!(bench.object::<TrackingFeedback>("tracking").is_none());
    }
}
