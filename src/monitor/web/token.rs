//! The secret of a monitor: who knows it may read the run and act on it.

use std::fmt;

/// Minimum length of a token that a person chooses.
const MIN_LENGTH: usize = 16;

/// A token. It is part of the page's URL, behind the `#`, which browsers do not send and do not put into `Referer`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    /// The token stays out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// A new token of 128 random bits.
    ///
    /// # Errors
    /// The operating system gives no random numbers.
    pub fn random() -> Result<Self, String> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers for a token: {error}"))?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// A chosen token.
    ///
    /// # Errors
    /// The token is short, or has characters that a URL cannot have.
    pub fn chosen(text: &str) -> Result<Self, String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if text.len() < MIN_LENGTH || !text.bytes().all(is_plain) {
            return Err(format!(
                "a token has at least {MIN_LENGTH} characters, and only letters, digits and -._~"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The token, for the URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a request has this token. The time does not depend on the place of the first difference.
    pub(super) fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differences = own
            .iter()
            .zip(given)
            .fold(0, |found, (left, right)| found | (left ^ right));
        std::hint::black_box(differences) == 0 && own.len() == given.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn only_the_whole_token_is_accepted() {
        let token = Token::chosen("0123456789abcdef").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for other in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF"] {
            assert!(!token.is(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn tokens_are_long_and_fit_into_a_url() {
        assert_ne!(Token::random().unwrap(), Token::random().unwrap());
        assert!(Token::chosen(Token::random().unwrap().as_str()).is_ok());
        for bad in [
            "short",
            "0123456789abcde/",
            "0123456789abcde f",
            "0123456789abcdeé",
        ] {
            assert!(Token::chosen(bad).is_err(), "{bad}");
        }
    }
}
