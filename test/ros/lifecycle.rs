//! The lifecycle, the bond and the log.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use navtree::ros::lifecycle::{LifecycleState, Transition, TransitionResult};
use navtree::ros::{Bond, Lifecycle, LifecycleHandler, Ros, RosError, start_log};

use crate::harness::{Peer, TIMEOUT, alone};

struct RefusesOnce {
    bond: Bond,
    refused: bool,
}

impl LifecycleHandler for RefusesOnce {
    fn change(&mut self, transition: Transition, _from: LifecycleState) -> TransitionResult {
        tracing::info!("change {transition:?}");
        match transition {
            Transition::Configure if !std::mem::replace(&mut self.refused, true) => {
                return TransitionResult::Failure;
            }
            Transition::Activate => self.bond.begin(),
            Transition::Deactivate => self.bond.end(),
            _ => {}
        }
        TransitionResult::Success
    }
}

#[test]
fn a_lifecycle_manager_drives_all_transitions() {
    alone("lifecycle::a_lifecycle_manager_drives_all_transitions", || {
        let _log = start_log();
        let ros = Ros::start("tested", "/").unwrap();
        let bond = Bond::prepare(ros.handle(), ros.clock(), Duration::from_millis(100), false).unwrap();
        let handler = RefusesOnce { bond, refused: false };
        let lifecycle = Lifecycle::serve(ros.handle(), ros.clock(), handler).unwrap();
        let peer = Peer::start("lifecycle_client.py");
        peer.receive("good");
        peer.end();
        assert_eq!(lifecycle.handle().state(), LifecycleState::Finalized);
        let again = lifecycle.handle().change(Transition::Configure, TIMEOUT);
        assert_eq!(again, Ok(false));
    });
}

/// Each transition takes until the test releases it.
struct Slow(Receiver<()>);

impl LifecycleHandler for Slow {
    fn change(&mut self, _: Transition, _from: LifecycleState) -> TransitionResult {
        let _ = self.0.recv_timeout(TIMEOUT);
        TransitionResult::Success
    }
}

#[test]
fn transitions_that_wait_for_a_slow_one_use_bounded_memory() {
    alone(
        "lifecycle::transitions_that_wait_for_a_slow_one_use_bounded_memory",
        || {
            let ros = Ros::start("tested", "/").unwrap();
            let (release, held) = channel();
            let lifecycle = Lifecycle::serve(ros.handle(), ros.clock(), Slow(held)).unwrap();
            let request = || lifecycle.handle().change(Transition::Configure, Duration::ZERO);
            let answers: Vec<_> = (0..200).map(|_| request()).collect();
            // The first transition may already run.
            let waiting = answers
                .iter()
                .take_while(|answer| **answer == Err(RosError::Timeout));
            assert!((100..=101).contains(&waiting.count()), "{answers:?}");
            let refused = answers.iter().filter(|answer| **answer == Ok(false));
            assert!((99..=100).contains(&refused.count()));
            drop(release);
        },
    );
}
