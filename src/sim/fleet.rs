//! The robots that one process simulates, and the servers of each.

use super::setting::{SettingError, settings};
use super::settings::{ACTION_SERVERS, SERVICE_SERVERS};

settings! {
    /// The robots of the process and their servers. They count at the start.
    Fleet {
        /// Namespaces of the robots, below the namespace of the node. Empty: one robot, in the namespace of the node.
        robots: Vec<String> = Vec::<String>::new();
        /// Servers that each robot has, by the names that the faults use. Empty: all.
        servers: Vec<String> = Vec::<String>::new();
    }
}

impl Fleet {
    /// The number of robots.
    pub fn robot_count(&self) -> usize {
        self.robots.len().max(1)
    }

    /// Whether the robots have this server.
    pub fn has_server(&self, server: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|listed| listed == server)
    }

    pub(super) fn check(&self) -> Result<(), SettingError> {
        let error = |name: &str, reason| SettingError::Text {
            name: name.to_owned(),
            reason,
        };
        for (index, robot) in self.robots.iter().enumerate() {
            if self.robots[..index].contains(robot) {
                return Err(error("robots", format!("`{robot}` is listed twice")));
            }
        }
        let known: Vec<&str> = ACTION_SERVERS.into_iter().chain(SERVICE_SERVERS).collect();
        match self
            .servers
            .iter()
            .find(|server| !known.contains(&server.as_str()))
        {
            Some(server) => {
                let reason = format!(
                    "there is no server `{server}`; write some of: {}",
                    known.join(", ")
                );
                Err(error("servers", reason))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fleet;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn empty_lists_are_one_robot_with_all_servers() {
        let fleet = Fleet::default();
        assert_eq!((fleet.robot_count(), fleet.has_server("spin")), (1, true));
        let fleet = Fleet {
            robots: names(&["r1", "r2"]),
            servers: names(&["follow_path", "is_path_valid"]),
        };
        fleet.check().unwrap();
        assert_eq!(fleet.robot_count(), 2);
        assert!(fleet.has_server("follow_path") && !fleet.has_server("spin"));
    }

    #[test]
    fn wrong_lists_are_refused() {
        let error = |robots, servers| {
            let (robots, servers) = (names(robots), names(servers));
            Fleet { robots, servers }.check().unwrap_err().to_string()
        };
        assert_eq!(error(&["r1", "r2", "r1"], &[]), "`robots`: `r1` is listed twice");
        let text = error(&[], &["spin", "dance"]);
        assert!(
            text.starts_with("`servers`: there is no server `dance`; write some of: compute_"),
            "{text}"
        );
    }
}
