//! Tests of ticks that events bring (`tick_on_event`).

use super::Options;
use super::test_harness::{load, registry};
use super::thread_tests::{Remote, TIMEOUT};
use crate::nav::testing::Plan;

fn remote(tick_on_event: bool) -> Remote {
    Remote::with_options(Options {
        tick_on_event,
        ..Options::default()
    })
}

impl Remote {
    /// The number of ticks of a function.
    fn ticks_of(&mut self, function: impl FnOnce(&mut Self)) -> u64 {
        let before = self.settled_ticks();
        function(self);
        self.settled_ticks() - before
    }

    /// The number of ticks after all that was asked for. The thread answers a question before the tick of its turn.
    fn settled_ticks(&self) -> u64 {
        self.ticks();
        self.ticks()
    }

    fn event(&self) {
        self.thread.handle().event();
    }

    fn missed(&self) -> u64 {
        let tick_status = self.thread.handle().tick_status().wait(TIMEOUT).unwrap();
        tick_status.statistics.missed
    }
}

#[test]
fn g10_without_tick_on_event_an_event_brings_no_tick() {
    let mut remote = remote(false);
    remote.turn(Plan::endless);
    remote.clock.advance(5);
    assert_eq!(remote.ticks_of(|remote| remote.event()), 0);
}

#[test]
fn an_event_brings_a_tick_between_those_of_the_schedule() {
    let mut remote = remote(true);
    remote.turn(Plan::endless);
    remote.clock.advance(5);
    assert_eq!(remote.ticks_of(|remote| remote.event()), 1);
    // The schedule goes on as without the event.
    assert_eq!(remote.ticks_of(|remote| remote.clock.advance(4)), 0);
    assert_eq!(remote.ticks_of(|remote| remote.clock.advance(1)), 1);
    assert_eq!(remote.missed(), 0);
}

#[test]
fn events_bring_at_most_one_tick_per_interval() {
    let mut remote = remote(true);
    remote.turn(Plan::endless);
    remote.clock.advance(5);
    let ticks = remote.ticks_of(|remote| {
        for _ in 0..100 {
            remote.event();
        }
    });
    assert_eq!(ticks, 1);
    // The event that came too early gets its tick when the interval is over.
    remote.event();
    assert_eq!(remote.ticks_of(|remote| remote.clock.advance(1)), 1);
    assert_eq!(remote.ticks_of(|remote| remote.clock.advance(1)), 0);
}

#[test]
fn a_goal_for_the_running_tree_brings_a_tick() {
    for (tick_on_event, ticks) in [(true, 1), (false, 0)] {
        let mut remote = remote(tick_on_event);
        let tree = remote.turn(Plan::endless);
        remote.clock.advance(5);
        assert_eq!(remote.ticks_of(|remote| remote.goal(2, &tree)), ticks);
    }
}

#[test]
fn an_event_brings_no_tick_while_ticks_are_paused() {
    let mut remote = remote(true);
    remote.turn(Plan::endless);
    remote.pause(1);
    remote.clock.advance(5);
    assert_eq!(remote.ticks_of(|remote| remote.event()), 0);
}

#[test]
fn a_tree_that_replaces_a_stopped_one_is_ticked_at_once() {
    let mut remote = remote(false);
    remote.turn(|| Plan::endless().stop_after(100));
    let next = load(&registry(), "<AlwaysSuccess/>");
    remote.goal(2, &next);
    remote.periods(5);
    assert!(remote.reports.try_recv().is_err(), "the first one stops");
    // The last goal stops, which is an event, and no tick is due.
    remote.bench.wait(100);
    remote.event();
    let ended: Vec<_> = (0..2)
        .map(|_| remote.reports.recv_timeout(TIMEOUT).unwrap().0)
        .collect();
    assert_eq!(ended, [1, 2]);
}
