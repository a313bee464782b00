//! The result of a tick.

use std::fmt;

/// The result of a node's last tick. Numbers and names are those of BehaviorTree.CPP's `NodeStatus`, because logs,
/// recordings and Groot2 contain them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum NodeStatus {
    /// Not started, or reset by its parent.
    #[default]
    Idle = 0,
    /// Started and not finished. Ticked again at the next tick, or halted.
    Running = 1,
    /// Finished with success.
    Success = 2,
    /// Finished with failure.
    Failure = 3,
    /// Did not run. Returned to the parent but never stored: a skipped node keeps its stored status.
    Skipped = 4,
}

impl NodeStatus {
    /// Success or failure.
    #[inline]
    pub fn is_completed(self) -> bool {
        matches!(self, Self::Success | Self::Failure)
    }

    /// Any status except idle and skipped. A completed node is active until its parent resets it.
    #[inline]
    pub fn is_active(self) -> bool {
        !matches!(self, Self::Idle | Self::Skipped)
    }

    /// `IDLE`, `RUNNING`, `SUCCESS`, `FAILURE` or `SKIPPED`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "IDLE",
            Self::Running => "RUNNING",
            Self::Success => "SUCCESS",
            Self::Failure => "FAILURE",
            Self::Skipped => "SKIPPED",
        }
    }

    /// The one-letter form of the trace notation: `I R S F -`.
    pub fn letter(self) -> char {
        match self {
            Self::Idle => 'I',
            Self::Running => 'R',
            Self::Success => 'S',
            Self::Failure => 'F',
            Self::Skipped => '-',
        }
    }

    /// The inverse of `status as u8`.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Idle,
            1 => Self::Running,
            2 => Self::Success,
            3 => Self::Failure,
            4 => Self::Skipped,
            _ => return None,
        })
    }

    /// The inverse of [`NodeStatus::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Idle,
            Self::Running,
            Self::Success,
            Self::Failure,
            Self::Skipped,
        ]
        .into_iter()
        .find(|status| status.name() == name)
    }
}

impl fmt::Display for NodeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::NodeStatus;

    #[test]
    fn names_round_trip() {
        for name in ["IDLE", "RUNNING", "SUCCESS", "FAILURE", "SKIPPED"] {
            let status = NodeStatus::from_name(name).unwrap();
            assert_eq!(status.name(), name);
            assert_eq!(NodeStatus::from_code(status as u8), Some(status));
        }
        assert_eq!(NodeStatus::from_name("success"), None);
    }
}
