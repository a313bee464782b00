//! Nodes that cancel all goals of an action server: a table, one row per node. [`CancelLeaf`] has the behaviour.

use super::cancel_leaf::{CancelLeaf, CancelNode};
use crate::bt::{Registry, RegistryError};
use crate::msg::action as actions;

/// A row: the node, what it cancels, the action, and the server if the port `server_name` does not name another.
macro_rules! cancel_nodes {
    ($($node:ident cancels $what:literal: $action:ident on $server:literal,)*) => {
        $(
            #[doc = concat!("Cancels ", $what, ": all goals of the server, from any client.")]
            #[derive(Debug)]
            pub struct $node;

            impl CancelNode for $node {
                type Action = actions::$action;
                const ID: &'static str = stringify!($node);
                const DOC: &'static str =
                    concat!("Cancels ", $what, " of any client. SUCCESS when the server has answered.");
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
    CancelAssistedTeleop cancels "assisted teleoperation": AssistedTeleop on "assisted_teleop",
    CancelBackUp cancels "driving backwards": BackUp on "backup",
    CancelComputeAndTrackRoute cancels "route tracking": ComputeAndTrackRoute on "compute_and_track_route",
    CancelControl cancels "path following": FollowPath on "follow_path",
    CancelDriveOnHeading cancels "driving on a heading": DriveOnHeading on "drive_on_heading",
    CancelFollowObject cancels "object following": FollowObject on "follow_object",
    CancelSpin cancels "rotations": Spin on "spin",
    CancelWait cancels "waits": Wait on "wait",
}
