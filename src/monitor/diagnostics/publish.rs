//! The publisher of `/diagnostics`.

use std::sync::Arc;
use std::time::Duration;

use super::{Diagnostics, GoalsSeen, Seen, ServersSeen, TicksSeen, TreeSeen};
use crate::bt::Time;
use crate::msg::{DiagnosticArray, Header};
use crate::navigator::{NodeHandles, Pending, TickStatus, Unacknowledged};
use crate::ros::{GoalsView, KnownServer, RosError, TopicPublisher};

/// The usual topic of diagnostics.
const TOPIC: &str = "/diagnostics";
/// Interval between two checks for a worse status.
const CHECK_PERIOD: Duration = Duration::from_millis(100);
/// Maximum delay for a new subscriber, to wait for the tick thread's answer.
const FIRST_ANSWER: Duration = Duration::from_secs(1);
/// Maximum time for the node's thread to create the publisher.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Publishes the status of the node on `/diagnostics`, every `period`. Without a subscriber, nothing is collected. The
/// tick thread gets its request between two ticks, and no thread waits for the answer (G1).
///
/// # Errors
/// [`RosError`].
pub fn publish(node_handles: &NodeHandles, period: Duration) -> Result<(), RosError> {
    let node_handles = node_handles.clone();
    node_handles
        .ros
        .clone()
        .with_node_blocking(TIMEOUT, move |node| {
            let publisher = TopicPublisher::<DiagnosticArray>::new(node, TOPIC)?;
            let mut observer = Observer::new(node_handles, period);
            let mut next = Time::ZERO;
            // Runs when the node's thread wakes anyway to look for servers. A separate timer woke an idle node five
            // times a second more, half as often again.
            node.every(period, || {});
            node.every(Duration::ZERO, move || {
                // The steady clock, because a paused simulation also gets diagnostics.
                let now = observer.node_handles.clock.steady();
                if now < next {
                    return;
                }
                next = now + CHECK_PERIOD.min(period);
                if publisher.has_listeners() {
                    if let Some(message) = observer.poll(now)
                        && let Err(error) = publisher.publish(&message)
                    {
                        tracing::debug!("{TOPIC}: {error}");
                    }
                } else {
                    observer.rest();
                }
            });
            Ok(())
        })?
}

/// Collects the states of the parts of a node.
struct Observer {
    node_handles: NodeHandles,
    diagnostics: Diagnostics,
    /// The open request to the tick thread, with its time.
    question: Option<(Pending<TickStatus>, Time)>,
    tick_status: Option<TickStatus>,
}

impl Observer {
    fn new(node_handles: NodeHandles, period: Duration) -> Self {
        let diagnostics = Diagnostics::new(node_handles.ros.full_name(), period);
        Self {
            node_handles,
            diagnostics,
            question: None,
            tick_status: None,
        }
    }

    /// Resets the state while there is no subscriber.
    fn rest(&mut self) {
        if self.tick_status.is_some() || self.question.is_some() {
            (self.tick_status, self.question) = (None, None);
            self.diagnostics.forget();
        }
    }

    /// The message, if one is due.
    fn poll(&mut self, now: Time) -> Option<DiagnosticArray> {
        let asked = self.ask(now);
        // The thread answers between two ticks: before the next check, unless a leaf occupies it.
        if self.tick_status.is_none() && now.since(asked) < FIRST_ANSWER {
            return None;
        }
        let view = self.node_handles.goal_tracker.view();
        let leaf = self.node_handles.heartbeat.leaf();
        let seen = Seen {
            ticks: TicksSeen {
                tick_status: self.tick_status.as_ref(),
                asked,
                leaf: leaf.as_ref(),
            },
            servers: self.servers(),
            tree: self.tree(),
            goals: self.goals(view),
        };
        let status = self.diagnostics.check(&seen, now)?;
        Some(DiagnosticArray {
            header: Header::new(self.node_handles.clock.stamp(), ""),
            status,
        })
    }

    /// Takes the tick thread's answer and sends a new request. Returns the time of the open request.
    fn ask(&mut self, now: Time) -> Time {
        let answer = self.question.as_ref().map(|(pending, _)| pending.try_wait());
        match answer {
            Some(Ok(tick_status)) => self.tick_status = Some(tick_status),
            Some(Err(Unacknowledged::NotYet)) => {
                return self.question.as_ref().map_or(now, |(_, asked)| *asked);
            }
            // If the tick thread has ended, the process ends.
            Some(Err(Unacknowledged::Never)) | None => {}
        }
        self.question = Some((self.node_handles.ticks.tick_status(), now));
        now
    }

    fn goals(&self, view: GoalsView) -> GoalsSeen {
        let last_report = view.reports.back().map(|report| {
            let server = self.node_handles.goal_tracker.servers(&[report.server]).pop();
            let name = server.map_or_else(|| Arc::from("?"), |server| server.name);
            (report.clone(), name)
        });
        GoalsSeen {
            live: view.live.into_iter().zip(view.servers).collect(),
            abandoned: view.abandoned,
            counters: view.counters,
            last_report,
            totals: self
                .node_handles
                .records
                .as_ref()
                .map_or_else(Default::default, |(_, totals)| totals.clone()),
        }
    }

    fn servers(&self) -> ServersSeen {
        let opened = self
            .tick_status
            .as_ref()
            .map_or(&[][..], |tick_status| &tick_status.navigator.servers);
        let (present, absent): (Vec<_>, Vec<_>) = self
            .node_handles
            .goal_tracker
            .servers(opened)
            .into_iter()
            .partition(|server| server.present);
        let names = |servers: Vec<KnownServer>| servers.into_iter().map(|server| server.name).collect();
        ServersSeen {
            present: names(present),
            absent: names(absent),
        }
    }

    fn tree(&self) -> TreeSeen {
        let navigator = self
            .tick_status
            .as_ref()
            .map(|tick_status| &tick_status.navigator);
        TreeSeen {
            current: navigator.and_then(|navigator| Some((navigator.kind, navigator.tree.clone()?))),
            defaults: self.node_handles.library.defaults(),
            refused: self.node_handles.library.last_refusal(),
            last_end: navigator.and_then(|navigator| navigator.last_end.clone()),
        }
    }
}
