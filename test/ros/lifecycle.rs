//! The life cycle, the bond and the log.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use navtree::ros::lifecycle::{LifecycleState, Transition, TransitionResult};
use navtree::ros::{Bond, Lifecycle, LifecycleHandler, Ros, RosError, start_log};

use crate::harness::{PATIENCE, Peer, alone};

struct Life {
    bond: Bond,
    refused: bool,
}

impl LifecycleHandler for Life {
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
fn a_life_under_a_lifecycle_manager() {
    alone("lifecycle::a_life_under_a_lifecycle_manager", || {
        let _log = start_log();
        let ros = Ros::start("tested", "/").unwrap();
        let bond = Bond::prepare(ros.handle(), ros.clock(), Duration::from_millis(100), false).unwrap();
        let life = Life { bond, refused: false };
        let lifecycle = Lifecycle::serve(ros.handle(), ros.clock(), life).unwrap();
        let peer = Peer::start("lifecycle_client.py");
        peer.hear("good");
        peer.end();
        assert_eq!(lifecycle.handle().state(), LifecycleState::Finalized);
        let again = lifecycle.handle().change(Transition::Configure, PATIENCE);
        assert_eq!(again, Ok(false));
    });
}

/// Takes until the test lets it go.
struct Slow(Receiver<()>);

impl LifecycleHandler for Slow {
    fn change(&mut self, _: Transition, _from: LifecycleState) -> TransitionResult {
        let _ = self.0.recv_timeout(PATIENCE);
        TransitionResult::Success
    }
}

#[test]
fn transitions_that_wait_for_one_that_takes_long_fill_no_memory() {
    alone(
        "lifecycle::transitions_that_wait_for_one_that_takes_long_fill_no_memory",
        || {
            let ros = Ros::start("tested", "/").unwrap();
            let (let_go, held) = channel();
            let lifecycle = Lifecycle::serve(ros.handle(), ros.clock(), Slow(held)).unwrap();
            let ask = || lifecycle.handle().change(Transition::Configure, Duration::ZERO);
            let answers: Vec<_> = (0..200).map(|_| ask()).collect();
            // The first may be under way or wait.
            let waiting = answers
                .iter()
                .take_while(|answer| **answer == Err(RosError::Timeout));
            assert!((100..=101).contains(&waiting.count()), "{answers:?}");
            let refused = answers.iter().filter(|answer| **answer == Ok(false));
            assert!((99..=100).contains(&refused.count()));
            drop(let_go);
        },
    );
}
