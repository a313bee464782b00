//! The heartbeat that Nav2's lifecycle manager wants from the nodes it manages.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use r2r::bond::msg::Status;
use r2r::{Publisher, QosProfile, std_msgs};

use crate::ros::convert::Convert;
use crate::ros::{Clock, RosError, RosHandle, RosNode, TimerTrigger};

/// How long the other side waits for a heartbeat before it takes the node for dead: Nav2's value.
const TIMEOUT: f32 = 4.0;
/// How long a bond that begins waits for the other side's first heartbeat: bondcpp's value.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it is looked whether a rest is over, where nobody says so: at the heartbeat's own period, a node that nobody
/// manages was woken ten times a second.
const REST: Duration = Duration::from_secs(1);
/// Messages that say the bond is over: one could be lost on a peer that is just joining.
const FAREWELLS: u32 = 3;

/// Our end of a bond on `bond`, in the node's namespace: while it is begun, a status is published every period; when it
/// ends, or the other side says that it does, we say so too. The manager forms the bond, and brings the stack down when it
/// breaks.
///
/// The heartbeat comes from the node's own thread: it says that the node answers, as the manager wants to know. Where the
/// other side has not been heard for as long as either side waits, nobody listens, and it rests until somebody is: a
/// heartbeat to nobody was 0.3 % of a core.
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
    /// The bond breaks where the other side has not been heard for as long as either side waits.
    breaks: bool,
    clock: Clock,
    /// Makes the next heartbeat due: a rest is over.
    trigger: TimerTrigger,
    inner: Mutex<Inner>,
}

struct Inner {
    publisher: Publisher<Status>,
    begun: bool,
    /// Until when it beats if nothing more is heard.
    beats_until: Instant,
}

impl Bond {
    /// Prepares a bond for the node of that name; `period` is Nav2's parameter `bond_heartbeat_period`, and `breaks` says
    /// that its `bond_disable_heartbeat_timeout` is false.
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
        // In the node's namespace, where bondcpp has it.
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
                begun: false,
                beats_until: Instant::now(),
            }),
        });
        let beating = Arc::clone(&shared);
        node.whenever_due(period, shared.trigger.clone(), move || {
            let mut inner = beating.lock();
            if inner.begun && Instant::now() >= inner.beats_until && beating.breaks {
                tracing::warn!("the bond is broken: the lifecycle manager has not been heard in time");
                beating.say_farewell(&mut inner);
            }
            if !inner.begun || Instant::now() >= inner.beats_until {
                return REST.max(period);
            }
            beating.say(&inner, true);
            period
        });
        let other = Arc::clone(&shared);
        node.subscribe::<Status>("bond", qos(), move |status| {
            if status.id != other.id || status.instance_id == other.instance {
                return;
            }
            if status.active {
                other.heard();
            } else {
                other.end();
            }
        })?;
        Ok(Self { shared })
    }

    /// The heartbeat begins: when the node becomes active.
    pub fn begin(&self) {
        let mut inner = self.shared.lock();
        inner.begun = true;
        inner.beats_until = Instant::now() + CONNECT_TIMEOUT;
        self.shared.say(&inner, true);
        self.shared.trigger.give();
    }

    /// The heartbeat ends, and the other side is told.
    pub fn end(&self) {
        self.shared.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A heartbeat of the other side. The first after a rest is answered at once.
    fn heard(&self) {
        let mut inner = self.lock();
        let now = Instant::now();
        if inner.begun && now >= inner.beats_until {
            self.say(&inner, true);
            self.trigger.give();
        }
        inner.beats_until = now + Duration::from_secs_f32(TIMEOUT);
    }

    fn end(&self) {
        self.say_farewell(&mut self.lock());
    }

    fn say_farewell(&self, inner: &mut Inner) {
        if std::mem::replace(&mut inner.begun, false) {
            for _ in 0..FAREWELLS {
                self.say(inner, false);
            }
        }
    }

    fn say(&self, inner: &Inner, active: bool) {
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
