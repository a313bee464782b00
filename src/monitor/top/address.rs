//! The address of the monitor port of a node.

use std::fmt;

/// Where a node serves its run, and the token that it wants.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Host and port.
    pub(super) authority: String,
    pub(super) token: String,
}

impl fmt::Debug for Address {
    /// The token stays out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.authority)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority)
    }
}

impl Address {
    /// A port of this machine.
    pub fn local(port: u16, token: &str) -> Self {
        Self {
            authority: format!("127.0.0.1:{port}"),
            token: token.to_owned(),
        }
    }

    /// Reads the address that the node prints: `http://127.0.0.1:8080/#TOKEN`. `token`: used if the address has none.
    ///
    /// # Errors
    /// The address has another form, or a character that a request cannot have.
    pub fn parse(text: &str, token: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not the address of a node: it looks like http://127.0.0.1:8080/#TOKEN");
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (place, own) = rest.split_once('#').unwrap_or((rest, ""));
        let authority = place.trim_end_matches('/');
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        if authority.is_empty() || !authority.bytes().all(is_plain) {
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
        for wrong in [
            "",
            "robot:80",
            "https://robot:80",
            "http://",
            "http://a b/",
            "http://a\r\nb/",
        ] {
            assert!(Address::parse(wrong, "").is_err(), "{wrong}");
        }
    }
}
