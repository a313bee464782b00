//! Creates entities, and tries again what fails.

use std::time::{Duration, Instant};

use super::RosNode;
use super::node::Group;

/// The time from the first failure to the next attempt. It doubles with each failure.
const DELAY: Duration = Duration::from_secs(1);

/// The number of attempts.
const MAX_ATTEMPTS: u32 = 8;

type Create<N> = Box<dyn FnMut(&mut N) -> Result<(), String> + Send>;

/// The creation of the entities of one server or topic on a node `N`. If it fails, as when the memory is short for a moment, it
/// is tried again later: a server without a client would stay absent for its trees (G6), and a goal on it could not be
/// cancelled (G3).
pub(super) struct Retry<N> {
    name: String,
    group: Group,
    create: Create<N>,
    attempts: u32,
    due: Instant,
}

impl<N> Retry<N> {
    pub(super) fn new(
        name: &str,
        group: Group,
        now: Instant,
        create: impl FnMut(&mut N) -> Result<(), String> + Send + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            group,
            create: Box::new(create),
            attempts: 0,
            due: now,
        }
    }

    /// For tests: an attempt after which there is none.
    #[cfg(test)]
    pub(super) fn last(mut self) -> Self {
        self.attempts = MAX_ATTEMPTS - 1;
        self
    }

    /// The group of the entities.
    pub(super) fn group(&self) -> Group {
        self.group
    }

    /// The time of the next attempt.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Makes an attempt.
    ///
    /// # Errors
    /// The next attempt; `None` if there is none.
    pub(super) fn attempt(mut self, node: &mut N, now: Instant) -> Result<(), Option<Self>> {
        let Err(error) = (self.create)(node) else {
            return Ok(());
        };
        let name = &self.name;
        self.attempts += 1;
        if self.attempts >= MAX_ATTEMPTS {
            tracing::error!("{name}: {error}; remove the cause and restart the node");
            return Err(None);
        }
        let delay = DELAY * 2_u32.pow(self.attempts - 1);
        tracing::error!("{name}: {error}; the next attempt is in {delay:?}");
        self.due = now + delay;
        Err(Some(self))
    }
}

impl RosNode {
    /// Creates the entities of a server or topic, and tries again later if that fails.
    pub(super) fn create_or_retry(
        &mut self,
        name: &str,
        group: Group,
        create: impl FnMut(&mut Self) -> Result<(), String> + Send + 'static,
    ) {
        self.attempt(Retry::new(name, group, Instant::now(), create));
    }

    /// Makes the attempts that are due.
    pub(super) fn run_due_retries(&mut self, now: Instant) {
        let due: Vec<_> = self.retries.extract_if(.., |retry| retry.due() <= now).collect();
        for retry in due {
            self.attempt(retry);
        }
    }

    pub(super) fn attempt(&mut self, retry: Retry<Self>) {
        let group = retry.group();
        let made = self.create_in(group, |node| retry.attempt(node, Instant::now()));
        if let Err(next) = made {
            // A part of them may exist.
            self.close(group);
            self.retries.extend(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds between the attempts, if the first `failures` attempts fail.
    fn delays(failures: u32) -> Vec<u64> {
        let begin = Instant::now();
        let mut open = Some(Retry::new("spin", Group(1), begin, move |attempts: &mut u32| {
            *attempts += 1;
            if *attempts <= failures {
                Err("no memory".to_owned())
            } else {
                Ok(())
            }
        }));
        let (mut attempts, mut now, mut delays) = (0, begin, Vec::new());
        while let Some(retry) = open {
            delays.push((retry.due() - now).as_secs());
            now = retry.due();
            open = retry.attempt(&mut attempts, now).err().flatten();
        }
        delays
    }

    #[test]
    fn g6_a_creation_that_fails_is_tried_again_later_and_not_for_ever() {
        assert_eq!(delays(0), [0]);
        assert_eq!(delays(2), [0, 1, 2]);
        assert_eq!(delays(100), [0, 1, 2, 4, 8, 16, 32, 64]);
    }
}
