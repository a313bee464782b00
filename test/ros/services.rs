//! Services.

use navtree::msg::service::{Trigger, TriggerResponse};
use navtree::ros::{Ros, serve_service};

use crate::harness::{PATIENCE, Peer, alone};

/// A client may see the service before the service has found it, and the middleware then refuses the answer. Two hundred
/// clients, ten of each participant.
#[test]
fn fresh_clients_are_answered() {
    alone("services::fresh_clients_are_answered", || {
        let ros = Ros::start("tested", "/").unwrap();
        let served = ros.handle().with_node_blocking(PATIENCE, |node| {
            serve_service::<Trigger>(node, "trigger", |call| {
                call.respond(&TriggerResponse {
                    success: true,
                    message: String::new(),
                });
            })
        });
        served.unwrap().unwrap();
        let peer = Peer::start("fresh_clients.py");
        for _ in 0..20 {
            assert_eq!(peer.hear("lost "), "0");
        }
        peer.end();
    });
}
