//! Parameters.

use navtree::ros::{Declaration, Ros};

use crate::harness::{Peer, alone};

#[test]
fn g7_rclpy_parameter_client_is_served_and_refused() {
    alone(
        "parameters::g7_rclpy_parameter_client_is_served_and_refused",
        || {
            let ros = Ros::start("tested", "/").unwrap();
            let parameters = ros.parameters();
            for declaration in [
                Declaration::new("rate", 100.0, "ticks a second").within(1.0, 1000.0),
                Declaration::new("frame", "map", "the frame").read_only(),
                Declaration::new("tree", "a.xml", "the tree").validated("a tree", |value| {
                    match value.as_str() {
                        Some("broken.xml") => Err("broken.xml:3:5: no such node".to_owned()),
                        _ => Ok(()),
                    }
                }),
            ] {
                parameters.declare(declaration).unwrap();
            }
            ros.serve_parameters().unwrap();
            let peer = Peer::start("parameter_client.py");
            peer.receive("good");
            peer.end();
            assert_eq!(parameters.text("tree").as_deref(), Some("b.xml"));
            assert_eq!(parameters.text("rate").as_deref(), Some("70"));
        },
    );
}
