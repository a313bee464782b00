//! The clients for which ticks are paused: the end of one client's pause does not end the pause of another.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::navigator::{Handle, Heartbeat, NavigationId, Pending, Unacknowledged};

/// Maximum time that a request waits for the tick thread.
pub(super) const TIMEOUT: Duration = Duration::from_millis(300);

/// The reason of a refusal.
pub(super) const NOT_RUNNING: &str = "this goal runs no longer";

/// What may pause the ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Client {
    /// The web page in a browser.
    Page,
    /// A program that uses the web page's addresses.
    Program,
    /// Groot2 on a port.
    Groot2(u16),
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page => f.write_str("web page"),
            Self::Program => f.write_str("a program, by the web page's address"),
            Self::Groot2(port) => write!(f, "Groot2 on port {port}"),
        }
    }
}

/// The pause of one client.
pub trait PauseControl: Send + Sync {
    /// Pauses the ticks of a goal for the client.
    ///
    /// # Errors
    /// The reason why they are not paused. If the pause [is held](Self::is_held), they are paused when the tick thread
    /// answers again.
    fn pause(&self, goal: NavigationId) -> Result<(), String>;

    /// Ends the client's pause. Ticks are resumed if they are paused for no other client.
    ///
    /// # Errors
    /// The reason why they are not resumed.
    fn release(&self) -> Result<(), String>;

    /// Whether ticks are paused for the client. Another client's resume and the end of the goal end the pause, too.
    fn is_held(&self) -> bool;
}

/// The clients for which ticks are paused. Clones share them. A pause is about one goal and ends with it.
///
/// The requests to the tick thread are sent under the lock, so that it gets them in the order of these changes: it must not
/// pause for a client whose pause another one has ended.
#[derive(Clone, Debug, Default)]
pub struct PauseHolders(Arc<Mutex<Vec<(Client, NavigationId)>>>);

impl PauseHolders {
    fn lock(&self) -> MutexGuard<'_, Vec<(Client, NavigationId)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ticks of a goal are paused for a client by `send`. `running`: reads the goal whose tree runs, under the lock; pauses
    /// of other goals have ended.
    fn hold<T>(
        &self,
        client: Client,
        goal: NavigationId,
        running: impl FnOnce() -> Option<NavigationId>,
        send: impl FnOnce() -> T,
    ) -> T {
        let mut holders = self.lock();
        let running = running();
        holders.retain(|held| Some(held.1) == running && *held != (client, goal));
        holders.push((client, goal));
        send()
    }

    /// Ticks of the goal were not paused.
    fn take_back(&self, client: Client, goal: NavigationId) {
        self.lock().retain(|held| *held != (client, goal));
    }

    /// Ticks are no longer paused for a client. `send` resumes them if they were, and for no other client. `running`: reads
    /// the goal whose tree runs.
    fn release<T>(
        &self,
        client: Client,
        running: impl FnOnce() -> Option<NavigationId>,
        send: impl FnOnce() -> T,
    ) -> Option<T> {
        let mut holders = self.lock();
        let running = running();
        let is_held = running.is_some_and(|running| holders.contains(&(client, running)));
        holders.retain(|(holder, goal)| *holder != client && Some(*goal) == running);
        (is_held && holders.is_empty()).then(send)
    }

    /// Ticks are paused for no client. `send` resumes them.
    fn release_all<T>(&self, send: impl FnOnce() -> T) -> T {
        let mut holders = self.lock();
        holders.clear();
        send()
    }

    /// Whether ticks of the goal that runs are paused for a client.
    fn holds(&self, client: Client, running: impl FnOnce() -> Option<NavigationId>) -> bool {
        let holders = self.lock();
        running().is_some_and(|running| holders.contains(&(client, running)))
    }
}

/// The pause of a client of a tick thread. Each of its acts is logged.
#[derive(Clone)]
pub struct ClientPause {
    client: Client,
    ticks: Handle,
    heartbeat: Heartbeat,
    holders: PauseHolders,
}

impl fmt::Debug for ClientPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientPause")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl ClientPause {
    /// The pause of a client.
    pub fn new(client: Client, ticks: Handle, heartbeat: Heartbeat, holders: PauseHolders) -> Self {
        Self {
            client,
            ticks,
            heartbeat,
            holders,
        }
    }

    /// The pause of another client.
    #[must_use]
    pub fn of(&self, client: Client) -> Self {
        Self {
            client,
            ..self.clone()
        }
    }

    /// Pauses the ticks of a goal now, or changes nothing: a tick thread that is blocked must not pause later, when the client
    /// was told that nothing is done. An earlier pause of the client goes on.
    ///
    /// # Errors
    /// The reason why they are not paused.
    pub fn pause_now(&self, goal: NavigationId) -> Result<(), String> {
        let was_held = self.is_held();
        self.pause(goal).inspect_err(|_| {
            if !was_held {
                let _ = self.release();
            }
        })
    }

    /// Ends the pause for all clients.
    ///
    /// # Errors
    /// The reason why ticks are not resumed.
    pub fn resume(&self) -> Result<(), String> {
        let resumed = self.holders.release_all(|| self.ticks.resume());
        resumed.wait(TIMEOUT).map_err(|missing| match missing {
            Unacknowledged::NotYet => {
                "not yet: a leaf blocks the tick thread, which resumes when the leaf returns".to_owned()
            }
            Unacknowledged::Never => reason(missing),
        })?;
        tracing::warn!("{}: ticks are resumed", self.client);
        Ok(())
    }
}

impl PauseControl for ClientPause {
    fn pause(&self, goal: NavigationId) -> Result<(), String> {
        // First, so that another client which ends its own pause meanwhile does not end this one.
        let running = || self.heartbeat.active_goal();
        let paused = self
            .holders
            .hold(self.client, goal, running, || self.ticks.pause(goal));
        let refusal = match paused.wait(TIMEOUT) {
            Ok(true) => {
                tracing::warn!("{}: ticks are paused", self.client);
                return Ok(());
            }
            Ok(false) => NOT_RUNNING.to_owned(),
            // A thread that is blocked now pauses later.
            Err(Unacknowledged::NotYet) => return Err(reason(Unacknowledged::NotYet)),
            Err(Unacknowledged::Never) => reason(Unacknowledged::Never),
        };
        self.holders.take_back(self.client, goal);
        Err(refusal)
    }

    fn release(&self) -> Result<(), String> {
        let running = || self.heartbeat.active_goal();
        let resumed = self.holders.release(self.client, running, || self.ticks.resume());
        let Some(resumed) = resumed else {
            return Ok(());
        };
        wait(&resumed)?;
        tracing::warn!("{}: ticks are resumed", self.client);
        Ok(())
    }

    fn is_held(&self) -> bool {
        self.holders.holds(self.client, || self.heartbeat.active_goal())
    }
}

/// Waits for the tick thread.
///
/// # Errors
/// The reason why there is no answer.
pub(super) fn wait<T>(request: &Pending<T>) -> Result<T, String> {
    request.wait(TIMEOUT).map_err(reason)
}

fn reason(unacknowledged: Unacknowledged) -> String {
    match unacknowledged {
        Unacknowledged::NotYet => "the tick thread does not answer: a leaf blocks it".to_owned(),
        Unacknowledged::Never => "the tick thread has ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Client::{Groot2, Page, Program};
    use super::*;
    use crate::bt::Time;
    use crate::goal::GoalId;
    use crate::nav::testing::Bench;
    use crate::nav::{Settings, World};
    use crate::navigator::{Navigator, NavigatorKind, Options, TickClock, TickThread};

    struct StoppedClock;

    impl TickClock for StoppedClock {
        fn now(&self) -> Time {
            Time::ZERO
        }

        fn wall_time_until(&self, _: Time) -> Duration {
            Duration::from_secs(60)
        }
    }

    fn goal(number: u8) -> NavigationId {
        NavigationId {
            kind: NavigatorKind::ToPose,
            goal: GoalId([number; 16]),
        }
    }

    /// Whether to resume.
    fn release(holders: &PauseHolders, client: Client, running: Option<NavigationId>) -> bool {
        holders.release(client, || running, || ()).is_some()
    }

    #[test]
    fn the_tick_thread_gets_requests_in_the_order_of_the_pauses() {
        let holders = PauseHolders::default();
        let running = || Some(goal(1));
        let send = || assert!(holders.0.try_lock().is_err(), "another client could come between");
        holders.hold(Page, goal(1), running, send);
        assert!(holders.release(Page, running, send).is_some());
        holders.release_all(send);
    }

    #[test]
    fn a_client_ends_its_own_pause_only() {
        let holders = PauseHolders::default();
        let running = || Some(goal(1));
        holders.hold(Page, goal(1), running, || ());
        assert!(!release(&holders, Groot2(1667), Some(goal(1))), "Groot2 has gone");
        assert!(holders.holds(Page, || Some(goal(1))));
        holders.hold(Groot2(1667), goal(1), running, || ());
        assert!(
            !release(&holders, Page, Some(goal(1))),
            "the page was closed at a breakpoint"
        );
        assert!(release(&holders, Groot2(1667), Some(goal(1))));
        assert!(!release(&holders, Groot2(1667), Some(goal(1))), "once");
    }

    #[test]
    fn a_resume_and_the_end_of_the_goal_end_all_pauses() {
        let holders = PauseHolders::default();
        holders.hold(Program, goal(1), || Some(goal(1)), || ());
        holders.release_all(|| ());
        assert!(!holders.holds(Program, || Some(goal(1))));
        holders.hold(Page, goal(1), || Some(goal(1)), || ());
        let next = Some(goal(2));
        assert!(!holders.holds(Page, || next) && !holders.holds(Page, || None));
        holders.hold(Program, goal(2), || next, || ());
        assert!(!release(&holders, Page, next), "it paused an earlier goal");
        assert!(release(&holders, Program, next));
    }

    #[test]
    fn a_pause_that_a_blocked_thread_does_not_answer_ends_no_earlier_one() {
        let (heartbeat, holders) = (Heartbeat::new(), PauseHolders::default());
        let world = World::new(Bench::new("<AlwaysSuccess/>").link(), Settings::default());
        let (unblock, blocked) = std::sync::mpsc::channel::<()>();
        let thread = TickThread::start(
            move |_| {
                let _ = blocked.recv();
                Navigator::new(world, Options::default())
            },
            Arc::new(StoppedClock),
            heartbeat.clone(),
            || (),
        );
        let ticks = thread.unwrap();
        let page = ClientPause::new(Page, ticks.handle().clone(), heartbeat.clone(), holders.clone());
        let program = page.of(Program);
        heartbeat.set_goal(goal(2));
        holders.hold(Program, goal(2), || Some(goal(2)), || ());
        for client in [&page, &program] {
            assert_eq!(client.pause_now(goal(2)), Err(reason(Unacknowledged::NotYet)));
        }
        assert!(!page.is_held() && program.is_held());
        drop(unblock);
    }

    #[test]
    fn a_pause_of_a_goal_that_runs_no_longer_is_refused_and_leaves_the_others_as_they_are() {
        let (heartbeat, holders) = (Heartbeat::new(), PauseHolders::default());
        let world = World::new(Bench::new("<AlwaysSuccess/>").link(), Settings::default());
        let thread = TickThread::start(
            move |_| Navigator::new(world, Options::default()),
            Arc::new(StoppedClock),
            heartbeat.clone(),
            || (),
        );
        let ticks = thread.unwrap();
        let page = ClientPause::new(Page, ticks.handle().clone(), heartbeat.clone(), holders.clone());
        // The tree of goal 2 runs, as far as the clients know.
        heartbeat.set_goal(goal(2));
        holders.hold(Program, goal(2), || Some(goal(2)), || ());
        for late in [goal(1), goal(2)] {
            assert_eq!(page.pause(late), Err(NOT_RUNNING.to_owned()));
            assert!(!page.is_held());
            assert!(page.of(Program).is_held());
        }
    }
}
