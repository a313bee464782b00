//! The two navigators.

/// The action of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum NavigatorKind {
    /// `navigate_to_pose`.
    ToPose,
    /// `navigate_through_poses`.
    ThroughPoses,
}

impl NavigatorKind {
    /// Both kinds, in the order of their parameters.
    pub const ALL: [Self; 2] = [Self::ToPose, Self::ThroughPoses];

    /// The action name, relative to the namespace of the node.
    pub fn action(self) -> &'static str {
        match self {
            Self::ToPose => "navigate_to_pose",
            Self::ThroughPoses => "navigate_through_poses",
        }
    }

    /// The kind with this action name.
    pub fn of_action(action: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.action() == action)
    }

    /// The parameter with the default tree file.
    pub fn tree_parameter(self) -> &'static str {
        match self {
            Self::ToPose => "default_nav_to_pose_bt_xml",
            Self::ThroughPoses => "default_nav_through_poses_bt_xml",
        }
    }

    /// The file name of the default tree if the parameter is empty, below `share/navtree/behavior_trees`.
    pub fn default_tree(self) -> &'static str {
        match self {
            Self::ToPose => "navigate_to_pose.xml",
            Self::ThroughPoses => "navigate_through_poses.xml",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}
