//! Nodes that cancel the goals of an action server: a table, one row a node, with one behaviour for all ([`CancelLeaf`]).

use super::cancel_leaf::{CancelLeaf, CancelNode};
use crate::bt::{Registry, RegistryError};
use crate::msg::action as actions;

/// A row: the node, what it stops, the action, and the server unless the port `server_name` says otherwise.
macro_rules! cancel_nodes {
    ($($node:ident stops $what:literal: $action:ident on $server:literal,)*) => {
        $(
            #[doc = concat!("Stops ", $what, ": cancels every goal of the server, from every client.")]
            #[derive(Debug)]
            pub struct $node;

            impl CancelNode for $node {
                type Action = actions::$action;
                const ID: &'static str = stringify!($node);
                const DOC: &'static str =
                    concat!("Stops ", $what, ", whoever asked for it. SUCCESS when the server has answered.");
                const SERVER: &'static str = $server;
            }
        )*

        /// Registers every node of this table.
        pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
            $(registry.register::<CancelLeaf<$node>>()?;)*
            Ok(())
        }
    };
}

cancel_nodes! {
    CancelAssistedTeleop stops "assisted teleoperation": AssistedTeleop on "assisted_teleop",
    CancelBackUp stops "driving backwards": BackUp on "backup",
    CancelComputeAndTrackRoute stops "route tracking": ComputeAndTrackRoute on "compute_and_track_route",
    CancelControl stops "path following": FollowPath on "follow_path",
    CancelDriveOnHeading stops "driving on a heading": DriveOnHeading on "drive_on_heading",
    CancelFollowObject stops "object following": FollowObject on "follow_object",
    CancelSpin stops "spinning": Spin on "spin",
    CancelWait stops "waiting": Wait on "wait",
}
