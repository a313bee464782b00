//! Access to the GoalTracker from other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::input::{Input, InputSender, Message};
use super::outbox::Outbox;
use crate::bt::HaltReason;
use crate::goal::{Command, IncidentKind, Phase, ServerId, Ticket};
use crate::ros::goals_view::{GoalsBoard, GoalsView};
use crate::ros::guardian::GuardedGoals;
use crate::ros::servers_board::{KnownServer, ServersBoard};
use crate::ros::takeover::Takeover;
use crate::ros::{Clock, RosHandle};

/// Access to the GoalTracker from any thread. Cheap to clone.
#[derive(Clone)]
pub struct GoalTrackerHandle {
    pub(super) inputs: InputSender,
    pub(super) outbox: Option<Arc<Outbox>>,
    pub(super) board: Arc<GoalsBoard>,
    pub(super) servers: Arc<ServersBoard>,
    pub(super) takeover: Arc<Takeover>,
    /// The number of goals in the guardian's list.
    pub(super) guarded: Arc<AtomicUsize>,
    pub(super) mark: u32,
    pub(super) clock: Clock,
    pub(super) ros: RosHandle,
}

impl std::fmt::Debug for GoalTrackerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GoalTrackerHandle")
    }
}

impl GoalTrackerHandle {
    pub(in crate::ros) fn inputs(&self) -> &InputSender {
        &self.inputs
    }

    /// The node's clock.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(in crate::ros) fn ros(&self) -> &RosHandle {
        &self.ros
    }

    /// A handle for the tick thread: messages sent through it or a clone leave with [`GoalTrackerHandle::hand_over`].
    /// Each message to a sleeping thread wakes it, and the woken thread may take the processor from the tick.
    #[must_use]
    pub fn with_outbox(&self) -> Self {
        Self {
            outbox: Some(Arc::new(Outbox::new(self.inputs.clone()))),
            ..self.clone()
        }
    }

    /// A handle for all other threads: messages leave at once.
    #[must_use]
    pub fn without_outbox(&self) -> Self {
        Self {
            outbox: None,
            ..self.clone()
        }
    }

    /// Sends the messages of a tick, at its end.
    pub fn hand_over(&self) {
        if let Some(outbox) = &self.outbox {
            outbox.hand_over();
        }
    }

    /// Sends an input, at once or at the end of a tick.
    pub(in crate::ros) fn put(&self, input: Input) {
        match &self.outbox {
            Some(outbox) => outbox.hold(input),
            None => self.inputs.send(input),
        }
    }

    /// Like [`GoalTrackerHandle::submit`], but always at once: for inputs that must arrive before any message of a
    /// server.
    pub(in crate::ros) fn submit_at_once(&self, input: Input) {
        self.board.count_in();
        self.inputs().send(input);
    }

    /// Sends an input that changes goals. It is counted, so [`GoalTrackerHandle::is_settled`] knows when it was
    /// handled.
    pub(in crate::ros) fn submit(&self, input: Input) {
        self.board.count_in();
        self.put(input);
    }

    /// Sends a message on the thread `goal-tracker`, after earlier messages, so a tick does not wait for the middleware
    /// (G1).
    pub fn send(&self, send: impl FnOnce() + Send + 'static) {
        self.put(Input::Message(Message::Send(Box::new(send))));
    }

    /// Halts every leaf of every tree, at once and from any thread: a client's cancel need not wait for a tick. Leaves
    /// are not notified (G4). Halt the tree at its next tick, which then finds nothing to stop.
    pub fn halt_all(&self, reason: HaltReason) {
        self.submit(Input::Commands(vec![Command::HaltAll { reason }]));
    }

    /// Sets whether the node is active. Only an active node cancels goals of its earlier runs (see
    /// [`Command::Adopt`]), and only if no other node on the graph has its name.
    pub fn set_active(&self, active: bool) {
        self.takeover.set_active(active, self);
    }

    /// The first bytes of the ids of this node's goals; see [`GoalId::mark`](crate::goal::GoalId::mark).
    pub(in crate::ros) fn mark(&self) -> u32 {
        self.mark
    }

    /// Shuts down at the end of the process (G8): halts every leaf, starts no more requests, and reports and abandons
    /// goals that have not ended after `patience`. [`GoalsView::idle`] tells when all are done.
    pub fn shut_down(&self, patience: Duration) {
        self.submit(Input::ShutDown(patience));
    }

    /// Whether all inputs so far were handled and no goal with a ticket of the session keeps it from ending; see
    /// [`LiveGoal::delays_result`](crate::goal::LiveGoal::delays_result).
    pub fn is_settled(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        self.board.is_settled(of_session)
    }

    /// Whether inputs wait for the thread, so it may send goals that [`GoalTrackerHandle::unsettled`] lacks.
    pub fn has_unhandled(&self) -> bool {
        self.board.has_unhandled()
    }

    /// A counter that grows when the thread begins to work and when it waits again; odd while it works.
    pub fn beats(&self) -> u64 {
        self.board.beats()
    }

    /// Whether there may be goals on servers, even if the thread has stalled before it published them: a goal is in the
    /// guardian's list before its request leaves.
    pub fn may_have_goals(&self) -> bool {
        !self.board.view().live.is_empty() || self.guarded.load(Ordering::Acquire) > 0
    }

    /// The state of the goals, as of a moment ago. Never waits for the thread that owns them.
    pub fn view(&self) -> GoalsView {
        self.board.view().clone()
    }

    /// The state of some servers, in the given order, as of a moment ago. Never waits.
    pub fn servers(&self, servers: &[ServerId]) -> Vec<KnownServer> {
        self.servers.of(servers)
    }

    /// The goals that have not stopped when a session ends, one text per goal; see
    /// [`LiveGoal::is_left_by`](crate::goal::LiveGoal::is_left_by). Includes the session's abandoned goals.
    pub fn unsettled(&self, of_session: impl Fn(Ticket) -> bool) -> Vec<String> {
        let view = self.board.view();
        let abandoned = view.abandoned.iter();
        let abandoned = abandoned
            .filter(|(goal, _)| goal.is_left_by(&of_session))
            .map(|(goal, server)| {
                let state = match goal.what {
                    IncidentKind::GaveUpUnanswered => "its request was never answered, given up",
                    _ => "given up",
                };
                format!("{server}: goal of {} ({state})", goal.leaf)
            });
        view.live
            .iter()
            .zip(&view.servers)
            .filter(|(goal, _)| goal.is_left_by(&of_session))
            .map(|(goal, server)| {
                let leaf = if goal.leaf.is_empty() {
                    "an earlier activation or run"
                } else {
                    &goal.leaf
                };
                format!("{server}: goal of {leaf} ({})", words(goal.phase))
            })
            .chain(abandoned)
            .collect()
    }

    /// Maintains a list of the goals on servers, for a guardian. Call it before anything is opened.
    pub fn guard(&self, mut goals: GuardedGoals) {
        goals.count_in(Arc::clone(&self.guarded));
        self.inputs().send(Input::Guard(goals));
    }

    /// Calls `listener` whenever the live goals have changed, on the thread that owns them. It must not wait.
    pub fn on_goals_changed(&self, listener: impl Fn() + Send + 'static) {
        self.board.on_change(Box::new(listener));
    }
}

fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Queued => "waiting for another goal to stop",
        Phase::Absent => "waiting for its server",
        Phase::Sent => "not answered",
        Phase::Executing => "executing",
        Phase::Finishing => "waiting for its result",
        Phase::Replaced => "replaced by a newer goal",
        Phase::CancelPending => "its request was not answered, and it is to be cancelled",
        Phase::Canceling => "being cancelled",
        Phase::Unreachable => "server gone",
        Phase::Ended => "over",
    }
}
