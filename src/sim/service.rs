//! A service as a pure state machine: whether and when it answers.

use crate::bt::Time;

use super::faults::ServicePlan;

/// Requests that wait for their answer. `T` contains everything that the ROS layer needs to answer one.
pub struct ServiceQueue<T> {
    plan: ServicePlan,
    request_count: u64,
    pending: Vec<(Time, T)>,
}

impl<T> Default for ServiceQueue<T> {
    fn default() -> Self {
        Self {
            plan: ServicePlan::default(),
            request_count: 0,
            pending: Vec::new(),
        }
    }
}

impl<T> ServiceQueue<T> {
    /// Sets a fault plan. Request numbers continue.
    pub fn configure(&mut self, plan: ServicePlan) {
        self.plan = plan;
    }

    /// Takes a request. A request that is never answered is returned.
    #[must_use]
    pub fn receive(&mut self, request: T, now: Time) -> Option<T> {
        self.request_count += 1;
        if self.plan.ignore.contains(self.request_count) {
            return Some(request);
        }
        self.pending.push((now + self.plan.answer_delay, request));
        None
    }

    /// The requests to execute and answer now, in order of arrival.
    pub fn due(&mut self, now: Time) -> Vec<T> {
        let (due, later) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.pending = later;
        let due: Vec<(Time, T)> = due;
        due.into_iter().map(|(_, request)| request).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::ServiceQueue;
    use crate::bt::Time;
    use crate::sim::faults::{GoalSet, ServicePlan};
    use std::time::Duration;

    #[test]
    fn answers_late_or_never() {
        let mut queue = ServiceQueue::default();
        queue.configure(ServicePlan {
            ignore: GoalSet::parse("2").unwrap(),
            answer_delay: Duration::from_secs(1),
        });
        assert_eq!(queue.receive("a", Time::ZERO), None);
        assert_eq!(queue.receive("b", Time::ZERO), Some("b"));
        assert_eq!(queue.receive("c", Time::ZERO), None);
        assert!(queue.due(Time::from_millis(999)).is_empty());
        assert_eq!(queue.due(Time::from_millis(1000)), ["a", "c"]);
        assert!(queue.due(Time::from_millis(9000)).is_empty());
    }
}
