//! Ticks the tree of the current navigation.

use std::sync::Arc;

use super::{NavigationState, Navigator, log_notes};
use crate::bt::{HaltReason, NodeStatus, Time, TreeDef};
use crate::nav::{Payload, World};
use crate::navigator::Robot;
use crate::navigator::goal::{NavigationError, NavigationResult};

impl Navigator {
    /// Does all work besides the tick: goals that wait for a transform, and trees that are stopping. Called in each
    /// period while the navigator is not idle, and when a message has arrived. Returns whether a goal of the queue was
    /// taken.
    pub fn poll(&mut self, now: Time) -> bool {
        if !self.is_running() {
            self.resources.begin(now);
            self.end_waiting_if_canceled();
        }
        let has_new_goal = self.start_next_goal(now);
        // A halt is for the next goal too, so it comes first: code of a leaf may have blocked this thread since its request.
        if !self.queue.is_halt_requested()
            && let Some(next) = self.end_stopped_session(now)
        {
            // Before a tree is made: code of its leaves may block.
            self.hand_over();
            self.start(next, now);
        }
        has_new_goal
    }

    /// Like [`Navigator::poll`], for a turn without a tick. Another client's cancel ends the navigation now: later, it would
    /// end the navigation that has taken its place by then.
    pub fn poll_without_tick(&mut self, now: Time) -> bool {
        self.end_if_canceled(now);
        self.poll(now)
    }

    /// Receives what has arrived, and ends the navigation if another client has cancelled a goal of its tree. Returns
    /// whether it has.
    fn end_if_canceled(&mut self, now: Time) -> bool {
        let NavigationState::Running(session) = &self.state else {
            return false;
        };
        let kind = session.kind();
        let Some(tree) = &mut self.trees[kind.index()] else {
            return false;
        };
        if let Some(recorder) = &self.recorder {
            // What arrives has the time of the tick.
            recorder.stream().set_time(now);
        }
        let Some(world) = tree.resource::<World>() else {
            return false;
        };
        world.receive(now);
        let Some(failure) = world.take_canceled() else {
            return false;
        };
        let def = Arc::clone(tree.definition());
        // Before the tree is halted: code of its leaves may block, and goals that come meanwhile come after the stop.
        let waiting = self.queue.drain_tree(kind, &def);
        self.hand_over();
        let report = NavigationResult::aborted(0, &failure.to_string());
        self.stop_tree(HaltReason::GoalCanceled, report, now);
        self.end_waiting(waiting, &failure);
        self.end_stop_of_tree(now);
        true
    }

    /// Executes one tick. The schedule decides when.
    pub fn tick(&mut self, now: Time) {
        self.poll(now);
        self.hand_over();
        // Before the tick: the tree starts nothing. The poll may have made a tree, and code of its leaves may have blocked.
        if self.end_if_overtaken(now) || self.is_stop_requested() || self.end_if_canceled(now) {
            return;
        }
        let NavigationState::Running(session) = &mut self.state else {
            return;
        };
        let kind = session.kind();
        let Some(tree) = &mut self.trees[kind.index()] else {
            return;
        };
        let result = tree.tick(now);
        if let Some(world) = tree.resource::<World>() {
            log_notes(world.take_notes());
            // Names that the tree computed at run time. The others were opened before.
            self.opened[kind.index()].add(&world.take_opened());
            for fault in world.take_faults() {
                tracing::error!("{}: {fault}", fault.leaf);
            }
        }
        let def = Arc::clone(tree.definition());
        if !matches!(result, Ok(NodeStatus::Running)) {
            // First: what leaves before a halt of all leaves has its effect.
            self.hand_over();
        }
        if self.end_if_overtaken(now) {
            return;
        }
        let (NavigationState::Running(session), Some(tree)) =
            (&mut self.state, &mut self.trees[kind.index()])
        else {
            return;
        };
        match result {
            Ok(NodeStatus::Running | NodeStatus::Idle) => {
                if session.feedback_is_due(now, self.options.feedback_period) {
                    let robot = Robot::of(tree);
                    session.send_feedback(tree, &self.options, &robot, now);
                }
                self.publish_log(&def);
            }
            Ok(status @ (NodeStatus::Success | NodeStatus::Failure))
                if session.take_replacement() && !tree.is_current(status) =>
            {
                // As far as the tree can tell, this status belongs to the previous goal.
                tree.halt(HaltReason::ParentFinished, now);
                crate::navigator::blackboard_io::goal(tree, &self.options, kind, session.poses());
                if let Some(world) = tree.resource::<World>() {
                    world.failures.forget();
                }
                self.publish_log(&def);
            }
            // A tree that is skipped as a whole has failed, as in Nav2. Another tick would skip it again and its client
            // would wait.
            Ok(status @ (NodeStatus::Success | NodeStatus::Failure | NodeStatus::Skipped)) => {
                let report = match status {
                    NodeStatus::Success => NavigationResult::succeeded(),
                    _ => match crate::navigator::blackboard_io::error_of(tree, &self.options) {
                        (0, _) if status == NodeStatus::Skipped => NavigationResult::aborted(0, SKIPPED),
                        (code, message) => NavigationResult::aborted(code, &message),
                    },
                };
                self.complete(HaltReason::ParentFinished, report, now);
            }
            Err(error) => {
                tracing::error!("{error}");
                let code = NavigationError::Unknown.code(kind);
                let report = NavigationResult::aborted(code, &error.to_string());
                self.complete(HaltReason::TreeFailed, report, now);
            }
        }
    }

    /// Ends a session whose tree has ended. Its client gets the result at once, or when all remaining goals and jobs of
    /// the tree have stopped.
    pub(super) fn complete(&mut self, reason: HaltReason, report: NavigationResult, now: Time) {
        self.stop_tree(reason, report, now);
        self.end_stop_of_tree(now);
    }

    /// Clears the error codes of the tree that was stopped, and ends its session if everything has stopped.
    fn end_stop_of_tree(&mut self, now: Time) {
        if let NavigationState::Stopping { session, .. } = &self.state
            && let Some(tree) = &mut self.trees[session.kind().index()]
        {
            crate::navigator::blackboard_io::clear_errors(tree, &self.options);
        }
        self.poll(now);
    }

    pub(super) fn publish_log(&mut self, def: &TreeDef) {
        let Some(topic) = self.log_topic else { return };
        let idle_transitions = self.options.log_idle_transitions;
        let Some(world) = self.world() else { return };
        let stamp = world.stamp();
        if let Some(message) = self.log.take(def, stamp, idle_transitions)
            && let Some(world) = self.world()
        {
            world.publish_log(topic, Payload::new(message));
        }
    }
}

/// Error message for a goal whose tree was skipped.
const SKIPPED: &str = "the tree returned SKIPPED: a precondition skips its root or all children of its root";
