//! The heartbeat that Nav2's lifecycle manager expects from its nodes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use r2r::bond::msg::Status;
use r2r::{QosProfile, std_msgs};

use crate::ros::convert::Convert;
use crate::ros::ready::Haste;
use crate::ros::{Clock, Publisher, RosError, RosHandle, RosNode, TimerTrigger};

/// Maximum time between heartbeats before the other side considers the node dead, in s: Nav2's value.
const TIMEOUT: f32 = 4.0;
/// How long a new bond waits for the other side's first heartbeat: bondcpp's value.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time to the next heartbeat in a pause, which a trigger ends.
const PAUSE: Duration = Duration::from_secs(3600);
/// The number of messages at the end of the bond: a peer that is just joining could miss a single one.
const END_MESSAGES: u32 = 3;

/// This node's end of a bond on the topic `bond` in its namespace. While it is active, it publishes a status every
/// period. When it ends, or when the other side reports its end, it publishes the end. The manager forms the bond, and
/// shuts the stack down when it breaks.
///
/// The node's own thread sends the heartbeat, so there is none while it does not answer. If no heartbeat of the other side arrived during the timeout of either
/// side, nothing listens, and the heartbeat pauses until the next one arrives.
#[derive(Clone)]
pub struct Bond {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Bond {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bond")
    }
}

struct Shared {
    id: String,
    instance: String,
    period: Duration,
    /// Whether the bond breaks if no heartbeat of the other side arrived during the timeout of either side.
    breaks: bool,
    clock: Clock,
    /// Makes the next heartbeat due when a pause is over.
    trigger: TimerTrigger,
    inner: Mutex<Inner>,
}

struct Inner {
    publisher: Publisher<Status>,
    is_started: bool,
    /// The time until which heartbeats are sent if no further one arrives.
    heartbeats_until: Instant,
}

impl Bond {
    /// Prepares a bond for the node. `period` is Nav2's parameter `bond_heartbeat_period`; `breaks` is true if its
    /// `bond_disable_heartbeat_timeout` is false.
    ///
    /// # Errors
    /// [`RosError`].
    pub fn prepare(ros: &RosHandle, clock: &Clock, period: Duration, breaks: bool) -> Result<Self, RosError> {
        let (id, clock) = (ros.name().to_owned(), clock.clone());
        ros.with_node_blocking(Duration::from_secs(10), move |node| {
            Self::on_node(node, id, clock, (period, breaks))
        })?
    }

    fn on_node(
        node: &mut RosNode,
        id: String,
        clock: Clock,
        (period, breaks): (Duration, bool),
    ) -> Result<Self, RosError> {
        let qos = || QosProfile::default().keep_last(100);
        // In the node's namespace, as in bondcpp.
        let publisher = node.publisher("bond", qos())?;
        let shared = Arc::new(Shared {
            instance: format!("{id}-{}", std::process::id()),
            id,
            period,
            breaks,
            clock,
            trigger: TimerTrigger::default(),
            inner: Mutex::new(Inner {
                publisher,
                is_started: false,
                heartbeats_until: Instant::now(),
            }),
        });
        let sender = Arc::clone(&shared);
        node.whenever_due(period, &shared.trigger, move || {
            let mut inner = sender.lock();
            if inner.is_started && Instant::now() >= inner.heartbeats_until && sender.breaks {
                tracing::warn!("bond broken: no heartbeat from the lifecycle manager in time");
                sender.publish_end(&mut inner);
            }
            if !inner.is_started || Instant::now() >= inner.heartbeats_until {
                return PAUSE;
            }
            sender.publish_status(&inner, true);
            period
        });
        let other = Arc::clone(&shared);
        // A heartbeat of this node takes those of the other side with it. In a pause they wait for half a second at most.
        node.subscribe_with("bond", qos(), Haste::AtWork, move |status: Status| {
            if status.id != other.id || status.instance_id == other.instance {
                return;
            }
            if status.active {
                other.receive_heartbeat();
            } else {
                other.end();
            }
        })?;
        Ok(Self { shared })
    }

    /// Starts the heartbeat, when the node becomes active.
    pub fn begin(&self) {
        let mut inner = self.shared.lock();
        inner.is_started = true;
        inner.heartbeats_until = Instant::now() + CONNECT_TIMEOUT;
        self.shared.publish_status(&inner, true);
        self.shared.trigger.give();
    }

    /// Ends the heartbeat and reports the end to the other side.
    pub fn end(&self) {
        self.shared.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a heartbeat of the other side. The first one after a pause is answered at once.
    fn receive_heartbeat(&self) {
        let mut inner = self.lock();
        let now = Instant::now();
        if inner.is_started && now >= inner.heartbeats_until {
            self.publish_status(&inner, true);
            self.trigger.give();
        }
        inner.heartbeats_until = now + Duration::from_secs_f32(TIMEOUT);
    }

    fn end(&self) {
        self.publish_end(&mut self.lock());
    }

    fn publish_end(&self, inner: &mut Inner) {
        if std::mem::replace(&mut inner.is_started, false) {
            for _ in 0..END_MESSAGES {
                self.publish_status(inner, false);
            }
        }
    }

    fn publish_status(&self, inner: &Inner, active: bool) {
        let _ = inner.publisher.publish(&Status {
            header: std_msgs::msg::Header {
                stamp: self.clock.stamp().to_wire(),
                frame_id: String::new(),
            },
            id: self.id.clone(),
            instance_id: self.instance.clone(),
            active,
            heartbeat_timeout: TIMEOUT,
            heartbeat_period: self.period.as_secs_f32(),
        });
    }
}
