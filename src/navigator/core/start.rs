//! Starts navigations: takes goals from the queue when they are ready.

use std::sync::Arc;

use super::{NavigationState, Navigator};
use crate::bt::{HaltReason, Time, Tree};
use crate::nav::World;
use crate::navigator::global_frame::{IncompleteTransform, TransformProgress};
use crate::navigator::goal::{NavigationError, NavigationResult, Request};
use crate::navigator::goal_log;
use crate::navigator::goal_queue::{Readiness, Replaceable, SHUT};
use crate::navigator::session::Session;
use crate::navigator::{Heartbeat, Robot, blackboard_io, global_frame};

impl Navigator {
    /// Puts an accepted goal into the queue.
    pub fn goal(&mut self, request: Request, now: Time) {
        let result = match self.queue.admit() {
            Some(epoch) => self.queue.push(epoch, request),
            None => Err(request),
        };
        if let Err(request) = result {
            request.refuse(NavigationError::None, SHUT);
        }
        self.start_next_goal(now);
    }

    /// Starts the newest goal of the queue that is ready. Returns false if there is none, or while a stop of the current goal
    /// is on its way: another goal must not take its place, or nothing is stopped.
    pub fn start_next_goal(&mut self, now: Time) -> bool {
        if self.queue.is_empty() || self.is_stop_requested() {
            return false;
        }
        let current = self.current_or_next();
        let mut lookups = global_frame::MAX_LOOKUPS;
        let deadline = (self.steady + self.options.arrival_patience).max(self.options.discovered);
        let queue = self.queue.clone();
        let (steady, options) = (self.steady, &self.options);
        let is_allowed = (options.allow_navigator_preemption, options.allow_tree_preemption);
        let refusal = |older: &Replaceable, request: &Request| refusal(older, request, is_allowed);
        let check_readiness = |request: &mut Request, progress: &mut TransformProgress, is_first: bool| {
            self.readiness(request, progress, is_first, &mut lookups)
        };
        let selection = queue.select(steady, deadline, current, refusal, check_readiness);
        for (request, error, reason) in selection.refused {
            request.refuse(error, &reason);
        }
        // A command to a displaced goal, such as a pause, also applies to the goal that displaces it.
        let run_accepted = selection
            .displaced
            .iter()
            .map(|request| request.run_accepted)
            .min();
        for request in selection.displaced {
            goal_log::finish(request.kind, request.client, NavigationResult::preempted());
        }
        let Some(mut request) = selection.selected else {
            return false;
        };
        request.run_accepted = request
            .run_accepted
            .min(run_accepted.unwrap_or(request.run_accepted));
        // Before a tree is made: code of its leaves may block.
        self.hand_over();
        self.run_goal(request, now);
        true
    }

    /// The navigation that runs, or that starts when the current session has stopped, with its tree.
    fn current_or_next(&self) -> Option<Replaceable> {
        match &self.state {
            NavigationState::Idle => None,
            NavigationState::Running(session) => {
                let tree = self.trees[session.kind().index()].as_ref();
                Some((session.kind(), tree.map(Tree::definition).cloned()))
            }
            NavigationState::Stopping { next, .. } => {
                let next = next.as_ref()?;
                Some((next.kind, next.tree.loaded().cloned()))
            }
        }
    }

    /// Returns whether a goal has everything it needs to start now.
    fn readiness(
        &mut self,
        request: &mut Request,
        progress: &mut TransformProgress,
        is_first: bool,
        lookups: &mut usize,
    ) -> Readiness {
        let Some(world) = self.world() else {
            return Readiness::TransformMissing("the navigator has no resources yet".to_owned());
        };
        if is_first && let Some(reason) = global_frame::missing_frame_error(world, request) {
            return Readiness::Impossible(NavigationError::TransformFailed, reason);
        }
        match global_frame::transform_poses(world, request, progress, lookups) {
            Ok(()) => Readiness::Ready,
            Err(IncompleteTransform::Missing(reason)) => Readiness::TransformMissing(reason),
            Err(IncompleteTransform::Unfinished) => Readiness::Unfinished,
        }
    }

    /// Returns whether the tree of a goal is the one that its navigator keeps.
    fn has_tree_of(&self, request: &Request) -> bool {
        let kept = self.trees[request.kind.index()].as_ref();
        kept.zip(request.tree.loaded())
            .is_some_and(|(tree, def)| Arc::ptr_eq(tree.definition(), def))
    }

    /// Runs a goal: at once, in place of the current goal, or when the current goal has stopped.
    pub(super) fn run_goal(&mut self, request: Request, now: Time) {
        match &self.state {
            NavigationState::Idle => self.start(request, now),
            NavigationState::Running(session)
                if request.kind == session.kind() && self.has_tree_of(&request) =>
            {
                self.replace_goal(request, now);
            }
            NavigationState::Running(_) | NavigationState::Stopping { .. } => self.preempt(request, now),
        }
    }

    /// Gives a goal to the tree that runs. As in Nav2, the tree is not halted, and its nodes read the new goal through
    /// their ports.
    fn replace_goal(&mut self, request: Request, now: Time) {
        let kind = request.kind;
        let (NavigationState::Running(session), Some(tree)) =
            (&mut self.state, &mut self.trees[kind.index()])
        else {
            return;
        };
        if let Some(world) = tree.resource::<World>() {
            world.begin_navigation(request.accepted);
            world.failures.forget();
        }
        let old = session.replace(request, now);
        if let Some(recorder) = &self.recorder {
            recorder.replace(session, now);
        }
        blackboard_io::goal(tree, &self.options, kind, session.poses());
        tree.renew_sources();
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.set_goal(session.id());
        }
        goal_log::finish(kind, old, NavigationResult::preempted());
        let robot = Robot::of(tree).pose;
        let poses = &session.poses().0;
        goal_log::log_begin(session.id(), robot.as_ref(), poses, tree.definition());
    }

    /// Halts the current tree for a goal, which starts when that tree has stopped. The tree of the goal is made first:
    /// if that fails, nothing is halted (guarantee G7).
    fn preempt(&mut self, mut request: Request, now: Time) {
        let new_tree = match request.tree.loaded().cloned() {
            Some(def) if self.options.always_reload || !self.has_tree_of(&request) => {
                match self.make_tree(request.kind, &def, now) {
                    Ok(new_tree) => Some(new_tree),
                    Err(reason) => {
                        return request.refuse(NavigationError::FailedToLoadBehaviorTree, &reason);
                    }
                }
            }
            _ => None,
        };
        // A cancel or a halt may have come while the tree was made: code of its leaves may block.
        let is_canceled = |heartbeat: &Heartbeat| heartbeat.has_cancel_of(request.id());
        if self.heartbeat.as_ref().is_some_and(is_canceled) {
            self.drop_new(new_tree);
            return self.end_not_started(request);
        }
        if let NavigationState::Running(session) = &self.state {
            request.run_accepted = session.run_accepted();
            let cancel = self.heartbeat.as_ref().and_then(Heartbeat::waiting_cancel);
            if cancel.is_none() && self.queue.is_halt_requested() {
                // The halt is the end of the current goal, which no other goal has replaced.
                self.drop_new(new_tree);
                return request.refuse(NavigationError::None, SHUT);
            }
            let report = cancel.map_or_else(NavigationResult::preempted, |cancel| cancel.result());
            self.stop_tree(HaltReason::Replaced, report, now);
        }
        if let Some(new_tree) = new_tree {
            self.keep(request.kind, new_tree);
        }
        if let NavigationState::Stopping {
            next, ended_goals, ..
        } = &mut self.state
        {
            if let Some(older) = next.take() {
                request.run_accepted = older.run_accepted;
                let heartbeat = self.heartbeat.as_ref();
                if heartbeat.is_some_and(|heartbeat| heartbeat.has_cancel_of(older.id())) {
                    ended_goals.push((older, NavigationResult::not_started()));
                } else {
                    goal_log::finish(older.kind, older.client, NavigationResult::preempted());
                }
            }
            *next = Some(request);
        }
        self.poll(now);
    }

    pub(super) fn start(&mut self, request: Request, now: Time) {
        let Some(def) = request.tree.loaded().cloned() else {
            return;
        };
        let index = request.kind.index();
        if self.options.always_reload || !self.has_tree_of(&request) {
            match self.make_tree(request.kind, &def, now) {
                Ok(new_tree) => self.keep(request.kind, new_tree),
                Err(reason) => {
                    request.refuse(NavigationError::FailedToLoadBehaviorTree, &reason);
                    return;
                }
            }
        }
        let Some(tree) = &mut self.trees[index] else {
            return;
        };
        self.current = request.kind;
        self.ended = None;
        if let Some(heartbeat) = &self.heartbeat {
            // The watchdog has stopped the leaves of the session before, not those of this one.
            heartbeat.begin_session();
            heartbeat.follow(tree.current_node());
            heartbeat.set_goal(request.id());
        }
        tree.put_resources(std::mem::take(&mut self.resources));
        self.jobs.begin_session();
        let session = Session::new(request, now);
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(&session, tree, &self.options, now);
        }
        if let Some(world) = tree.resource::<World>() {
            world.begin_session(session.run_accepted());
            world.begin_navigation(session.accepted());
        }
        blackboard_io::goal(tree, &self.options, session.kind(), session.poses());
        let robot = Robot::of(tree).pose;
        let poses = &session.poses().0;
        goal_log::log_begin(session.id(), robot.as_ref(), poses, &def);
        self.state = NavigationState::Running(session);
    }
}

/// The reason why a goal may not replace an older one. `is_allowed`: the options `allow_navigator_preemption` and
/// `allow_tree_preemption`.
fn refusal((kind, tree): &Replaceable, request: &Request, is_allowed: (bool, bool)) -> Option<&'static str> {
    let (other_navigator, other_tree) = is_allowed;
    if *kind != request.kind {
        return (!other_navigator).then_some(OTHER_NAVIGATOR);
    }
    let is_other = match (tree, request.tree.loaded()) {
        (Some(tree), Some(requested)) => !Arc::ptr_eq(tree, requested),
        _ => false,
    };
    (is_other && !other_tree).then_some(OTHER_TREE)
}

/// Error message for a goal that is refused because of the other navigator.
const OTHER_NAVIGATOR: &str =
    "the other navigator has an active goal: cancel that goal first, or set allow_navigator_preemption";

/// Error message for a goal that is refused because of its tree.
const OTHER_TREE: &str =
    "the active goal has another tree: cancel that goal first, or set allow_tree_preemption";
