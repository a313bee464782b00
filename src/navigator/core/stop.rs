//! Ends navigations: halts their trees, and answers their clients when goals and jobs have stopped.

use std::sync::Arc;

use super::trees::drop_tree;
use super::{NavigationState, Navigator};
use crate::bt::{HaltReason, Resource, Time, TreeDef};
use crate::nav::{LeafFailure, World};
use crate::navigator::goal::{NavigationError, NavigationId, NavigationResult, Request, UNHANDLED};
use crate::navigator::goal_log;
use crate::navigator::goal_queue::ArrivalNumber;
use crate::navigator::heartbeat::Overtaking;
use crate::navigator::session::Session;
use crate::navigator::{Heartbeat, NavigatorKind};

impl Navigator {
    /// Cancels a goal. Its client gets the result when the goals and jobs of its tree have stopped.
    pub fn cancel(&mut self, goal: NavigationId, now: Time) {
        if let Some(request) = self.queue.remove(goal) {
            self.end_not_started(request);
        }
        if let NavigationState::Stopping {
            next, ended_goals, ..
        } = &mut self.state
            && let Some(request) = next.take_if(|next| next.id() == goal)
        {
            // It gets its result when that goal has stopped.
            ended_goals.push((request, NavigationResult::not_started()));
        }
        if self.running_goal() == Some(goal) {
            self.stop(HaltReason::GoalCanceled, NavigationResult::canceled(""), now);
        }
    }

    /// Ends a cancelled goal that has left the queue before its start. Goals and jobs of other navigations may move the
    /// robot.
    pub fn end_not_started(&mut self, request: Request) {
        let report = if matches!(self.state, NavigationState::Idle) {
            NavigationResult::not_started().with_still_active(request.kind, &self.still_active())
        } else {
            NavigationResult::not_started_beside_another()
        };
        goal_log::finish(request.kind, request.client, report);
    }

    /// Ends all goals, because the node is deactivated or the process ends (guarantee G8).
    pub fn stop_all(&mut self, reason: HaltReason, now: Time) {
        self.stop_until(ArrivalNumber::MAX, reason, now);
    }

    /// Like [`Navigator::stop_all`], but goals that came to the queue after `newest` stay: the number that
    /// [`GoalQueue::halt_requested`](crate::navigator::goal_queue::GoalQueue::halt_requested) has returned.
    pub fn stop_until(&mut self, newest: ArrivalNumber, reason: HaltReason, now: Time) {
        self.queue.halt_handled();
        let report = stopped(reason);
        self.end_all(newest, reason, |_| report.clone(), now);
    }

    /// Ends a goal whose tree runs, and those that wait behind it, as
    /// [`Handle::end_goal`](crate::navigator::Handle::end_goal) says. If it has ended or been halted by now, those that
    /// wait end all the same: they came to the queue up to `newest`, before the request. Returns whether a goal is ended.
    pub fn end_goal(&mut self, goal: NavigationId, message: &str, newest: ArrivalNumber, now: Time) -> bool {
        self.queue.halt_handled();
        let is_current = match &self.state {
            NavigationState::Idle => false,
            NavigationState::Running(session) if session.id() != goal => return false,
            NavigationState::Running(session) | NavigationState::Stopping { session, .. } => {
                session.id() == goal
            }
        };
        let report = NavigationResult::stopped(message);
        self.end_all(newest, HaltReason::GoalCanceled, |_| report.clone(), now) || is_current
    }

    /// Aborts all goals because of an error of this node.
    pub fn abort_all(&mut self, error: NavigationError, message: &str, now: Time) {
        let report = |kind| NavigationResult::aborted(error.code(kind), message);
        self.end_all(ArrivalNumber::MAX, HaltReason::TimedOut, report, now);
    }

    /// Ends the goals of the queue up to `newest`, the current goal and the next one. Returns whether the queue had one.
    pub(super) fn end_all(
        &mut self,
        newest: ArrivalNumber,
        reason: HaltReason,
        report: impl Fn(NavigatorKind) -> NavigationResult,
        now: Time,
    ) -> bool {
        let waiting = self.queue.drain(newest);
        let had_waiting = !waiting.is_empty();
        for request in waiting {
            goal_log::finish(request.kind, request.client, report(request.kind));
        }
        if had_waiting {
            // Before the tree is halted: code of its leaves may block.
            self.hand_over();
        }
        match &mut self.state {
            NavigationState::Idle => {}
            NavigationState::Running(session) => {
                let report = report(session.kind());
                self.stop(reason, report, now);
            }
            NavigationState::Stopping {
                next, ended_goals, ..
            } => {
                ended_goals.extend(next.take().map(|request| {
                    let report = report(request.kind);
                    (request, report)
                }));
            }
        }
        had_waiting
    }

    /// Ends the run of the current tree if all its leaves were halted without this thread. What they ask for has no effect,
    /// and they would wait without end for goals that were cancelled (guarantee G6). Returns whether they were.
    pub fn end_if_overtaken(&mut self, now: Time) -> bool {
        let Some(overtaking) = self.heartbeat.as_ref().and_then(Heartbeat::take_overtaking) else {
            return false;
        };
        let NavigationState::Running(session) = &self.state else {
            self.forget_cancel_nodes();
            return false;
        };
        let (reason, report) = match overtaking {
            Overtaking::Halt(reason) => (reason, stopped(reason)),
            Overtaking::Cancel(request) => {
                let report = if session.id() == request.goal {
                    request.result()
                } else {
                    NavigationResult::aborted(
                        0,
                        "the watchdog stopped its leaves, because the goal before it was cancelled",
                    )
                };
                (HaltReason::GoalCanceled, report)
            }
        };
        self.stop_tree(reason, report, now);
        self.forget_cancel_nodes();
        self.poll(now);
        true
    }

    /// Ends the wait for the answers to halted Cancel nodes: after a halt of all leaves none comes, and the stop of a session
    /// has a time limit. Then another client may have stopped the robot (guarantee G3).
    fn forget_cancel_nodes(&mut self) {
        if let Some(world) = self.resources.get::<World>() {
            world.forget_detached();
        }
    }

    /// Ends the wait for a stopping session: goals and jobs that have not stopped by now are reported.
    pub fn end_wait(&mut self) {
        if let NavigationState::Stopping { deadline, .. } = &mut self.state {
            *deadline = Some(deadline.map_or(self.steady, |deadline| self.steady.min(deadline)));
        }
    }

    /// Halts the current tree and waits for its goals and jobs without blocking.
    pub(super) fn stop(&mut self, reason: HaltReason, report: NavigationResult, now: Time) {
        self.stop_tree(reason, report, now);
        self.poll(now);
    }

    /// Halts the current tree: its session is stopping.
    pub(super) fn stop_tree(&mut self, reason: HaltReason, mut report: NavigationResult, now: Time) {
        match std::mem::replace(&mut self.state, NavigationState::Idle) {
            NavigationState::Running(session) => {
                // A leaf may block the thread while it is halted.
                let goal = session.id();
                if let Some(heartbeat) = &self.heartbeat {
                    heartbeat.cancel_requested(goal);
                }
                let (tree, panic) = self.halt_tree(&session, reason, now).unzip();
                if let Some(panic) = panic.flatten() {
                    tracing::error!("while the tree was halted: {panic}");
                    report = report.with_error(session.kind(), NavigationError::Unknown, &panic);
                }
                if let Some(recorder) = &self.recorder {
                    recorder.stopping();
                }
                if let Some(heartbeat) = &self.heartbeat {
                    heartbeat.cancel_processed(goal);
                    heartbeat.goal_is_stopping();
                }
                self.state = NavigationState::Stopping {
                    session,
                    tree,
                    report,
                    next: None,
                    ended_goals: Vec::new(),
                    deadline: None,
                };
                self.end_waiting_if_canceled();
            }
            other => self.state = other,
        }
    }

    /// Ends goals that were accepted before another client stopped the robot, and have not started. While a session is
    /// stopping, their clients get the results together with its result, because the robot may move until then.
    pub(super) fn end_waiting(&mut self, requests: Vec<Request>, failure: &LeafFailure) {
        let report = NavigationResult::aborted(0, &format!("{failure}; this goal had not started"));
        for request in requests {
            let report = report.clone();
            match &mut self.state {
                NavigationState::Stopping { ended_goals, .. } => ended_goals.push((request, report)),
                _ => {
                    let report = report.with_still_active(request.kind, &self.still_active());
                    goal_log::finish(request.kind, request.client, report);
                }
            }
        }
    }

    /// Halts the tree of a session and takes the world back from it. Returns its definition, and the text of a node that
    /// panicked in this halt.
    fn halt_tree(
        &mut self,
        session: &Session,
        reason: HaltReason,
        now: Time,
    ) -> Option<(Arc<TreeDef>, Option<String>)> {
        let tree = self.trees[session.kind().index()].as_mut()?;
        let had_panic = tree.panic().is_some();
        tree.halt(reason, now);
        let def = Arc::clone(tree.definition());
        let panic = tree.panic().map(ToString::to_string);
        self.resources = tree.take_resources();
        // At once: what follows may drop this tree or make another one, and code of their leaves may block.
        self.hand_over();
        if panic.is_some() {
            self.discard(session.kind(), reason, now);
        }
        self.publish_log(&def);
        // The result of a tick that panicked has its text already.
        Some((def, panic.filter(|_| !had_panic)))
    }

    /// Drops a tree in which a node panicked, because its nodes may be in an inconsistent state. The next goal gets a
    /// new tree. The GoalTracker stops all requests of the old one.
    pub(super) fn discard(&mut self, kind: NavigatorKind, reason: HaltReason, now: Time) {
        if let Some(world) = self.resources.get::<World>() {
            world.halt_all(reason);
            world.end_tick(now);
            world.hand_over();
        }
        drop_tree(self.trees[kind.index()].take());
    }

    /// Ends the goals that wait for the stopping or just ended session if another client has stopped the robot: they were
    /// accepted before the stop. Called as soon as the node learns of it: a goal that is accepted later drives.
    pub(super) fn end_waiting_if_canceled(&mut self) {
        let stopped = match &self.state {
            NavigationState::Stopping { session, tree, .. } => {
                tree.clone().map(|tree| (session.kind(), tree))
            }
            NavigationState::Idle => self.ended.clone(),
            NavigationState::Running(_) => None,
        };
        let Some((kind, tree)) = stopped else { return };
        let canceled = self.resources.get::<World>().and_then(World::take_canceled);
        let Some(failure) = canceled else { return };
        let mut waiting = Vec::new();
        if let NavigationState::Stopping { next, .. } = &mut self.state {
            let is_for_tree = |next: &mut Request| {
                let is_loaded = next
                    .tree
                    .loaded()
                    .is_some_and(|loaded| Arc::ptr_eq(loaded, &tree));
                next.kind == kind && is_loaded
            };
            waiting.extend(next.take_if(is_for_tree));
        }
        waiting.extend(self.queue.drain_tree(kind, &tree));
        self.end_waiting(waiting, &failure);
    }

    /// The goals and jobs that have not stopped although no tree runs, one text each. The list may contain goals and jobs of
    /// earlier sessions which are known to continue.
    fn still_active(&mut self) -> Vec<String> {
        let Some(world) = self.resources.get::<World>() else {
            return Vec::new();
        };
        if self.options.stop_timeout.is_zero() {
            // Without a stop timeout, nothing is late.
            return Vec::new();
        }
        let is_settled = world.is_settled() && self.jobs.is_settled();
        let unhandled = (!is_settled && world.has_unhandled()).then(|| UNHANDLED.to_owned());
        let goals = world.unsettled().into_iter();
        goals.chain(self.jobs.give_up()).chain(unhandled).collect()
    }

    /// Ends a stopping session when all its goals and jobs have stopped, or at its deadline. Returns the next goal.
    pub(super) fn end_stopped_session(&mut self, now: Time) -> Option<Request> {
        let NavigationState::Stopping { deadline, .. } = &self.state else {
            return None;
        };
        let overdue =
            self.options.stop_timeout.is_zero() || deadline.is_some_and(|deadline| self.steady >= deadline);
        let settled = self.resources.get::<World>()?.is_settled() && self.jobs.is_settled();
        if !overdue && !settled {
            return None;
        }
        let still_active = self.still_active();
        // A notice may have arrived after the last reading. A goal is settled only after its notice has arrived.
        self.resources.begin(now);
        if !overdue && !self.resources.get::<World>()?.is_settled() {
            // The notice is of a cancel, and the answer to a Cancel node shows who has cancelled.
            return None;
        }
        if !settled {
            self.forget_cancel_nodes();
        }
        self.end_waiting_if_canceled();
        let (session, report, next, ended_goals, tree) =
            match std::mem::replace(&mut self.state, NavigationState::Idle) {
                NavigationState::Stopping {
                    session,
                    report,
                    next,
                    ended_goals,
                    tree,
                    ..
                } => (session, report, next, ended_goals, tree),
                other => {
                    self.state = other;
                    return None;
                }
            };
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.goal_has_stopped();
        }
        let kind = session.kind();
        self.ended = tree.map(|tree| (kind, tree));
        let mut report = report.with_still_active(kind, &still_active);
        if let Some(recorder) = &mut self.recorder {
            report = recorder.end(&session, report, now);
        }
        self.last_end = Some((kind, report.clone()));
        goal_log::finish(kind, session.into_client(), report);
        for (request, report) in ended_goals {
            let report = report.with_still_active(request.kind, &still_active);
            goal_log::finish(request.kind, request.client, report);
        }
        next
    }
}

/// The result of a goal that ends because the node is deactivated, or because the process ends.
fn stopped(reason: HaltReason) -> NavigationResult {
    NavigationResult::stopped(&match reason {
        // A lifecycle manager ends goals by a pause, a reset, or when a server is gone.
        HaltReason::Deactivated => "the node was deactivated: activate it and send the goal again".to_owned(),
        reason => format!("the navigator was stopped: {reason}"),
    })
}
