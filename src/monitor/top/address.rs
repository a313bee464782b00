//! The address of the monitor port of a node.

use std::fmt;

use super::client;

/// Where a node serves its run, and the token that it wants.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Host and port.
    pub(super) authority: String,
    pub(super) token: String,
    /// The full name of the node, if the process has several; empty: the first one.
    pub(super) robot: String,
}

impl fmt::Debug for Address {
    /// The token stays out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.authority, self.robot)
    }
}

impl Address {
    /// A port of this machine.
    pub fn local(port: u16, token: &str) -> Self {
        Self {
            authority: format!("127.0.0.1:{port}"),
            token: token.to_owned(),
            robot: String::new(),
        }
    }

    /// The address of each robot of the process, if there are several. Asks the node, for at most two seconds.
    pub fn each_robot(self) -> Vec<Self> {
        if !self.robot.is_empty() {
            return vec![self];
        }
        match client::robots(&self) {
            Ok(names) if names.len() > 1 => {
                let address = |robot| Self {
                    robot,
                    ..self.clone()
                };
                names.into_iter().map(address).collect()
            }
            // A node that cannot be reached is tried again later.
            _ => vec![self],
        }
    }

    /// The path and query of a request about the robot.
    pub(super) fn request(&self, path: &str) -> String {
        match self.robot.as_str() {
            "" => path.to_owned(),
            robot => format!("{path}?robot={robot}"),
        }
    }

    /// Reads the address that the node prints: `http://127.0.0.1:8080/#TOKEN`. `token`: used if the address has none. The
    /// address may choose a robot, as that of the page: `http://127.0.0.1:8080/?robot=/r1/bt_navigator#TOKEN`.
    ///
    /// # Errors
    /// The address has another form, or a character that a request cannot have.
    pub fn parse(text: &str, token: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not the address of a node: it looks like http://127.0.0.1:8080/#TOKEN");
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (place, own) = rest.split_once('#').unwrap_or((rest, ""));
        let (place, robot) = place.split_once("?robot=").unwrap_or((place, ""));
        let robot = robot.replace("%2F", "/").replace("%2f", "/");
        let authority = place.trim_end_matches('/');
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_/".contains(&byte);
        if authority.is_empty() || !authority.bytes().all(is_plain) || !robot.bytes().all(is_name) {
            return Err(wrong());
        }
        let has_port = authority
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        Ok(Self {
            authority: if has_port {
                authority.to_owned()
            } else {
                format!("{authority}:80")
            },
            token: if own.is_empty() { token } else { own }.to_owned(),
            robot,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn the_address_of_the_log_is_read() {
        let address = Address::parse("http://127.0.0.1:8080/#secret", "other").unwrap();
        assert_eq!(
            (address.authority.as_str(), address.token.as_str()),
            ("127.0.0.1:8080", "secret")
        );
        let address = Address::parse("http://robot", "other").unwrap();
        assert_eq!(
            (address.authority.as_str(), address.token.as_str()),
            ("robot:80", "other")
        );
        assert_eq!(format!("{address:?}"), "Address(robot:80)");
        assert_eq!(address.request("/events"), "/events");
        let address = Address::parse("http://robot:8080/?robot=%2Fr1%2Fbt_navigator#secret", "").unwrap();
        assert_eq!(address.to_string(), "robot:8080/r1/bt_navigator");
        assert_eq!(address.request("/events"), "/events?robot=/r1/bt_navigator");
        for wrong in [
            "",
            "robot:80",
            "https://robot:80",
            "http://",
            "http://a b/",
            "http://a\r\nb/",
            "http://a/?robot=b c",
        ] {
            assert!(Address::parse(wrong, "").is_err(), "{wrong}");
        }
    }
}
