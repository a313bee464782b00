//! Counts the links that use each endpoint, and tells which endpoints may end.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

/// How long an endpoint is kept without a user. A mission that changes between two trees then finds its servers at
/// once: a new client is discovered by its server only after some milliseconds.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// The maximum number of endpoints that are kept without a user. Missions may change their trees at any rate.
const MAX_UNUSED: usize = 64;

/// The users of endpoints, by the endpoints' numbers.
#[derive(Default)]
pub(super) struct EndpointUses {
    users: FxHashMap<u32, usize>,
    /// The endpoints without a user, and since when. The one that lost its last user first is the first.
    unused: VecDeque<(u32, Instant)>,
    /// The same for those that could not end. They do not end early: they would be asked without a pause.
    kept_on: VecDeque<(u32, Instant)>,
}

impl EndpointUses {
    /// Adds a user.
    pub(super) fn begin(&mut self, endpoint: u32) {
        let users = self.users.entry(endpoint).or_default();
        *users += 1;
        if *users == 1 {
            self.forget_aside(endpoint);
        }
    }

    /// Removes a user.
    pub(super) fn end(&mut self, endpoint: u32, now: Instant) {
        if let Some(users) = self.users.get_mut(&endpoint) {
            *users = users.saturating_sub(1);
            if *users == 0 {
                self.forget_aside(endpoint);
                self.unused.push_back((endpoint, now));
            }
        }
    }

    /// Starts the time without a user once more: the endpoint cannot end yet.
    pub(super) fn keep_on(&mut self, endpoint: u32, now: Instant) {
        if self.users.contains_key(&endpoint) {
            self.forget_aside(endpoint);
            self.kept_on.push_back((endpoint, now));
        }
    }

    fn forget_aside(&mut self, endpoint: u32) {
        self.unused.retain(|(unused, _)| *unused != endpoint);
        self.kept_on.retain(|(unused, _)| *unused != endpoint);
    }

    /// The number of users of an endpoint.
    pub(super) fn users(&self, endpoint: u32) -> usize {
        self.users.get(&endpoint).copied().unwrap_or_default()
    }

    /// Forgets an endpoint that has ended.
    pub(super) fn forget(&mut self, endpoint: u32) {
        self.users.remove(&endpoint);
        self.forget_aside(endpoint);
    }

    /// Takes the next endpoint that may end, because it has been without a user for long, or because there are too many.
    pub(super) fn next_expired(&mut self, now: Instant) -> Option<u32> {
        let is_old = |(_, since): &mut (u32, Instant)| now >= *since + KEPT_FOR;
        let are_too_many = self.unused.len() > MAX_UNUSED;
        let next = self
            .unused
            .pop_front_if(|unused| are_too_many || is_old(unused))
            .or_else(|| self.kept_on.pop_front_if(is_old));
        next.map(|(endpoint, _)| endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The endpoints that end at these seconds of a sequence: `+1` begins a use of endpoint 1, `-1` ends it.
    fn expired(steps: &[(u64, &str)]) -> Vec<(u64, u32)> {
        let begin = Instant::now();
        let mut uses = EndpointUses::default();
        let mut expired = Vec::new();
        for (second, step) in steps {
            let now = begin + Duration::from_secs(*second);
            for change in step.split_whitespace() {
                let endpoint = change[1..].parse().unwrap();
                match &change[..1] {
                    "+" => uses.begin(endpoint),
                    _ => uses.end(endpoint, now),
                }
            }
            while let Some(endpoint) = uses.next_expired(now) {
                uses.forget(endpoint);
                expired.push((*second, endpoint));
            }
        }
        expired
    }

    #[test]
    fn an_endpoint_ends_ten_seconds_after_its_last_user() {
        assert_eq!(
            expired(&[(0, "+1 +1 -1"), (20, "-1"), (29, ""), (30, "")]),
            [(30, 1)]
        );
    }

    #[test]
    fn an_endpoint_that_is_used_again_stays_and_its_time_starts_anew() {
        let steps = [(0, "+1 -1"), (5, "+1"), (12, "-1"), (21, ""), (22, "")];
        assert_eq!(expired(&steps), [(22, 1)]);
    }

    #[test]
    fn an_endpoint_counts_once_however_often_it_was_used() {
        let many: Vec<String> = (1..MAX_UNUSED)
            .map(|number| format!("+{number} -{number}"))
            .collect();
        let steps = [(0, &*many.join(" ")), (1, &"+0 -0 ".repeat(2 * MAX_UNUSED))];
        assert_eq!(expired(&steps), []);
    }

    #[test]
    fn many_endpoints_that_cannot_end_are_asked_once_in_ten_seconds() {
        let begin = Instant::now();
        let mut uses = EndpointUses::default();
        let many = 2 * MAX_UNUSED as u32;
        for endpoint in 0..many {
            uses.begin(endpoint);
            uses.end(endpoint, begin);
        }
        for second in [10, 20, 30] {
            let now = begin + Duration::from_secs(second);
            let mut asked = 0;
            while let Some(endpoint) = uses.next_expired(now) {
                uses.keep_on(endpoint, now);
                asked += 1;
                assert!(asked <= many);
            }
            assert_eq!(asked, many);
        }
    }

    #[test]
    fn the_oldest_ends_early_if_there_are_too_many() {
        let all: Vec<String> = (0..=MAX_UNUSED)
            .map(|number| format!("+{number} -{number}"))
            .collect();
        assert_eq!(expired(&[(0, &all.join(" "))]), [(0, 0)]);
    }
}
