//! Services.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use navtree::msg::service::{Trigger, TriggerResponse};
use navtree::ros::{Ros, serve_service};

use crate::harness::{PATIENCE, Peer, alone, eventually};

/// What this process logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Everything from now on.
    fn begin() -> Self {
        let log = Self::default();
        let to = log.clone();
        tracing_subscriber::fmt()
            .with_env_filter("navtree=debug")
            .with_ansi(false)
            .with_writer(move || to.clone())
            .init();
        log
    }

    fn count(&self, text: &str) -> usize {
        let bytes = self.0.lock().unwrap();
        String::from_utf8_lossy(&bytes).matches(text).count()
    }
}

fn serve(ros: &Ros, names: &'static [&'static str]) {
    let served = ros.handle().with_node_blocking(PATIENCE, |node| {
        names.iter().try_for_each(|name| {
            serve_service::<Trigger>(node, name, |call| {
                call.respond(&TriggerResponse {
                    success: true,
                    message: String::new(),
                });
            })
        })
    });
    served.unwrap().unwrap();
}

/// A client may see the service before the service has found it, and the middleware then refuses the answer. Two hundred
/// clients, ten of each participant.
///
/// One answer was once missing after ten seconds, on a machine with far more to do than it could; in twenty runs with three
/// busy loops on two cores none was, of 4,000. Two things take so long: a request or answer that is lost on the way comes
/// again with a heartbeat, every three seconds, and an answer that is refused is given up after five. So the peer waits for
/// twenty seconds, and a failure says what was given up.
#[test]
fn fresh_clients_are_answered() {
    alone("services::fresh_clients_are_answered", || {
        let log = Log::begin();
        let ros = Ros::start("tested", "/").unwrap();
        serve(&ros, &["trigger"]);
        let peer = Peer::start("fresh_clients.py");
        let mut slowest = String::new();
        for _ in 0..20 {
            slowest = slowest.max(peer.hear("slowest "));
            assert_eq!(
                peer.hear("lost "),
                "0",
                "{} given up",
                log.count("response dropped")
            );
        }
        println!(
            "the slowest took {slowest} s, {} were refused at first",
            log.count("sent at attempt")
        );
        peer.end();
    });
}

/// Refused for real, by clients whose readers never match: a client that stays has its answer given up, one that goes
/// has it taken by the middleware and dropped, and others are answered meanwhile.
///
/// That an answer is refused and then heard was not to be provoked: not by 480 clients that were destroyed, or ended, up to
/// five milliseconds after their request, nor by 200 fresh ones while a flood had the system drop packets of the discovery.
/// A client announces its reader before its writer, so only the loss of the one and not of the other leads there.
#[test]
fn an_answer_that_is_refused_is_given_up_and_keeps_nobody_else_from_theirs() {
    alone(
        "services::an_answer_that_is_refused_is_given_up_and_keeps_nobody_else_from_theirs",
        || {
            let log = Log::begin();
            let ros = Ros::start("tested", "/").unwrap();
            serve(&ros, &["trigger", "other"]);
            let peer = Peer::start("incompatible_qos_client.py");
            let slowest: f64 = peer.hear("slowest ").parse().unwrap();
            // An attempt waits for a tenth of a second, and the node's thread for it; all of them take five.
            assert!(slowest < 4.0, "{slowest} s");
            eventually("the response is dropped", || {
                (log.count("response dropped after") > 0).then_some(())
            });
            assert_eq!(
                log.count("response dropped"),
                1,
                "the one that went is no refusal any more"
            );
            assert_eq!(log.count("sent at attempt"), 1, "it is taken, and dropped");
            peer.end();
        },
    );
}
