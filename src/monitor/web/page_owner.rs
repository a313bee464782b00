//! The robot whose parameters count for a web page that several robots of a process share.

use std::fmt;

/// The first robot of a page, with the parameters that count.
pub(super) struct PageOwner {
    /// The full name of its node.
    pub(super) robot: String,
    /// `monitor_port`.
    pub(super) port: u16,
    /// `monitor_address`.
    pub(super) address: String,
    /// `monitor_token`. Empty: a random one.
    pub(super) token: String,
}

impl fmt::Debug for PageOwner {
    /// The token stays out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageOwner")
            .field("robot", &self.robot)
            .field("port", &self.port)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl PageOwner {
    /// The warning about the parameters of another robot with the same port that do not count; `None`: all are the same, or
    /// not set.
    pub(super) fn warning(&self, address: &str, token: &str) -> Option<String> {
        let differing = [
            ("monitor_address", address != self.address),
            ("monitor_token", !token.is_empty() && token != self.token),
        ];
        let names: Vec<&str> = differing
            .into_iter()
            .filter_map(|(name, differs)| differs.then_some(name))
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "ignoring {}: the web page on port {} is that of {}; set the same value for all robots, or another \
                 monitor_port for this one",
                names.join(" and "),
                self.port,
                self.robot
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_do_not_count_are_told() {
        let owner = PageOwner {
            robot: "/r1/bt_navigator".to_owned(),
            port: 8080,
            address: "127.0.0.1".to_owned(),
            token: "the-token-of-r1".to_owned(),
        };
        assert_eq!(owner.warning("127.0.0.1", "the-token-of-r1"), None);
        assert_eq!(owner.warning("127.0.0.1", ""), None, "a random one is not wanted");
        let told = owner.warning("127.0.0.1", "the-token-of-r2").unwrap();
        assert_eq!(
            told,
            "ignoring monitor_token: the web page on port 8080 is that of /r1/bt_navigator; set the same value for all \
             robots, or another monitor_port for this one"
        );
        let told = owner.warning("0.0.0.0", "the-token-of-r2").unwrap();
        assert!(
            told.starts_with("ignoring monitor_address and monitor_token: "),
            "{told}"
        );
    }
}
