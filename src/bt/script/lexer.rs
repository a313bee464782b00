//! Splits text into tokens.

use std::ops::Range;

use super::program::{AssignOperator, Binary, Comparison};
use super::{Outdated, ScriptError};

/// The kind of a token. Texts and names are read from the bytes of the script.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TokenKind {
    Integer(i64),
    Real(f64),
    /// `true` and `false` become the numbers 1.0 and 0.0.
    Boolean(bool),
    /// With its quotes.
    Text,
    Name,
    /// `+ - * / & | ^ && || ..`; minus is also a prefix.
    Binary(Binary),
    Comparison(Comparison),
    Assign(AssignOperator),
    /// `~`
    Complement,
    /// `!`
    Not,
    Question,
    Colon,
    Open,
    Close,
    Semicolon,
    End,
}

/// A token and its byte range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[cfg(test)]
impl Token {
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// Reads the tokens one by one.
#[derive(Clone)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// The first `\` before the end of a line.
    continuation: Option<usize>,
    /// The first text in double quotes.
    double_quoted: Option<Range<usize>>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            continuation: None,
            double_quoted: None,
        }
    }

    /// The first place of each form that only earlier versions of BehaviorTree.CPP take, among the tokens so far.
    pub(super) fn outdated(&self) -> impl Iterator<Item = (Outdated, Range<usize>)> + use<> {
        let continuation = self
            .continuation
            .map(|at| (Outdated::LineContinuation, at..at + 1));
        let double_quoted = self.double_quoted.clone();
        let double_quoted = double_quoted.map(|range| (Outdated::DoubleQuotes, range));
        continuation.into_iter().chain(double_quoted)
    }

    /// Skips blanks. BehaviorTree.CPP 4.5 to 4.8 skip a `\` before the end of a line too.
    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => {}
                Some(b'\\') if matches!(bytes.get(self.at + 1), Some(b'\r' | b'\n')) => {
                    self.continuation.get_or_insert(self.at);
                }
                _ => return,
            }
            self.at += 1;
        }
    }

    /// The next token. Returns [`TokenKind::End`] after the last one.
    pub(super) fn next(&mut self) -> Result<Token, ScriptError> {
        self.skip_blanks();
        let bytes = self.text.as_bytes();
        let start = self.at;
        let Some(first) = bytes.get(start) else {
            return Ok(self.token(TokenKind::End, start, 0));
        };
        match first {
            b'0'..=b'9' => self.number(start),
            // BehaviorTree.CPP 4.0 to 4.8 take double quotes too. There is no escape.
            quote @ (b'\'' | b'"') => match self.text[start + 1..].find(char::from(*quote)) {
                Some(length) => {
                    let text = self.token(TokenKind::Text, start, length + 2);
                    if *quote == b'"' {
                        self.double_quoted.get_or_insert(text.start..text.end);
                    }
                    Ok(text)
                }
                None => Err(error(
                    "this text has no closing quote: write texts in single quotes, 'like this'",
                    start..self.text.len(),
                )),
            },
            b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'@' => {
                let rest = &bytes[start + 1..];
                let length = 1 + rest.iter().take_while(|byte| is_word(**byte)).count();
                let kind = match &self.text[start..start + length] {
                    "true" => TokenKind::Boolean(true),
                    "false" => TokenKind::Boolean(false),
                    "@" => {
                        return Err(error(
                            "`@` needs a name: `@key` is the key of the outermost blackboard",
                            start..start + 1,
                        ));
                    }
                    _ => TokenKind::Name,
                };
                Ok(self.token(kind, start, length))
            }
            _ => self.operator(start),
        }
    }

    fn token(&mut self, kind: TokenKind, start: usize, length: usize) -> Token {
        self.at = start + length;
        Token {
            kind,
            start,
            end: self.at,
        }
    }

    fn operator(&mut self, start: usize) -> Result<Token, ScriptError> {
        let rest = &self.text[start..];
        // Try longer operators first, for example `:=` before `:`.
        let two = rest.as_bytes().get(..2).and_then(|two| {
            Some(match two {
                b".." => TokenKind::Binary(Binary::Concatenate),
                b"&&" => TokenKind::Binary(Binary::And),
                b"||" => TokenKind::Binary(Binary::Or),
                b"==" => TokenKind::Comparison(Comparison::Equal),
                b"!=" => TokenKind::Comparison(Comparison::NotEqual),
                b"<=" => TokenKind::Comparison(Comparison::LessOrEqual),
                b">=" => TokenKind::Comparison(Comparison::GreaterOrEqual),
                b":=" => TokenKind::Assign(AssignOperator::Create),
                b"+=" => TokenKind::Assign(AssignOperator::Add),
                b"-=" => TokenKind::Assign(AssignOperator::Subtract),
                b"*=" => TokenKind::Assign(AssignOperator::Multiply),
                b"/=" => TokenKind::Assign(AssignOperator::Divide),
                _ => return None,
            })
        });
        if let Some(kind) = two {
            return Ok(self.token(kind, start, 2));
        }
        let first = rest.chars().next().unwrap_or('\0');
        let kind = match first {
            '+' => TokenKind::Binary(Binary::Add),
            '-' => TokenKind::Binary(Binary::Subtract),
            '*' => TokenKind::Binary(Binary::Multiply),
            '/' => TokenKind::Binary(Binary::Divide),
            '&' => TokenKind::Binary(Binary::BitAnd),
            '|' => TokenKind::Binary(Binary::BitOr),
            '^' => TokenKind::Binary(Binary::BitXor),
            '<' => TokenKind::Comparison(Comparison::Less),
            '>' => TokenKind::Comparison(Comparison::Greater),
            '=' => TokenKind::Assign(AssignOperator::Existing),
            '~' => TokenKind::Complement,
            '!' => TokenKind::Not,
            '?' => TokenKind::Question,
            ':' => TokenKind::Colon,
            '(' => TokenKind::Open,
            ')' => TokenKind::Close,
            ';' => TokenKind::Semicolon,
            _ => {
                let help = match first {
                    '{' | '}' => ": in a script, write keys without braces",
                    '.' => ": a number needs a digit before the point; `..` joins texts",
                    '%' => ": there is no remainder operator",
                    _ => "",
                };
                let message = format!("`{first}` has no meaning in a script{help}");
                return Err(error(&message, start..start + first.len_utf8()));
            }
        };
        Ok(self.token(kind, start, first.len_utf8()))
    }

    fn number(&mut self, start: usize) -> Result<Token, ScriptError> {
        let bytes = self.text.as_bytes();
        let digits = |from: usize| -> usize {
            let rest = bytes.get(from..).unwrap_or_default();
            from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        if bytes[start] == b'0' && matches!(bytes.get(start + 1), Some(b'x' | b'X')) {
            let rest = &bytes[start + 2..];
            let end = start + 2 + rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            if end == start + 2 || self.runs_on(end) {
                return Err(self.malformed(start, "a hexadecimal number is `0x` and the digits 0-9, a-f"));
            }
            return match i64::from_str_radix(&self.text[start + 2..end], 16) {
                Ok(number) => Ok(self.token(TokenKind::Integer(number), start, end - start)),
                Err(_) => Err(error("the number does not fit 64 bits", start..end)),
            };
        }
        let mut end = digits(start);
        let mut real = false;
        // `65..x` is a number and an operator.
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
            let fraction = digits(end + 1);
            if fraction == end + 1 {
                return Err(self.malformed(start, "a point needs a digit after it"));
            }
            end = fraction;
            real = true;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent == end + 1 + sign {
                return Err(self.malformed(start, "'e' needs an exponent after it"));
            }
            end = exponent;
            real = true;
        }
        if self.runs_on(end) {
            return Err(self.malformed(start, "a name cannot begin with a digit"));
        }
        let text = &self.text[start..end];
        let kind = if real {
            let number: f64 = text.parse().unwrap_or(f64::INFINITY);
            if number.is_infinite() {
                return Err(error("the number does not fit a double", start..end));
            }
            TokenKind::Real(number)
        } else {
            // BehaviorTree.CPP reads 0 here without an error.
            let number = text
                .parse()
                .map_err(|_| error("the number does not fit 64 bits", start..end))?;
            TokenKind::Integer(number)
        };
        Ok(self.token(kind, start, end - start))
    }

    /// Whether a letter or digit follows the number directly.
    fn runs_on(&self, end: usize) -> bool {
        let bytes = self.text.as_bytes();
        match bytes.get(end) {
            Some(b'.') => bytes.get(end + 1) != Some(&b'.'),
            Some(byte) => is_word(*byte) || *byte == b'@',
            None => false,
        }
    }

    /// Reports the whole malformed number, so the message covers all of it.
    fn malformed(&self, start: usize, why: &str) -> ScriptError {
        let rest = self.text.as_bytes()[start..].iter();
        let length = rest.take_while(|byte| is_word(**byte) || **byte == b'.').count();
        let range = start..start + length;
        error(
            &format!("`{}` is not a number: {why}", &self.text[range.clone()]),
            range,
        )
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn error(message: &str, range: Range<usize>) -> ScriptError {
    ScriptError {
        message: message.to_owned(),
        range,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::TokenKind::{Integer, Name, Real};
    use super::*;

    fn kinds(text: &str) -> Result<Vec<TokenKind>, ScriptError> {
        let mut lexer = Lexer::new(text);
        let mut found = Vec::new();
        loop {
            match lexer.next()?.kind {
                TokenKind::End => return Ok(found),
                kind => found.push(kind),
            }
        }
    }

    const JOIN: TokenKind = TokenKind::Binary(Binary::Concatenate);

    #[test]
    fn numbers_names_and_texts() {
        for (text, expected) in [
            ("0", vec![Integer(0)]),
            ("007", vec![Integer(7)]),
            ("0xFf 0X10", vec![Integer(255), Integer(16)]),
            ("9223372036854775807", vec![Integer(i64::MAX)]),
            (
                "1.5 2e3 2.5e-1 1E+2",
                vec![Real(1.5), Real(2000.0), Real(0.25), Real(100.0)],
            ),
            ("65..x", vec![Integer(65), JOIN, Name]),
            ("6.5..x", vec![Real(6.5), JOIN, Name]),
            ("a..b", vec![Name, JOIN, Name]),
            ("_a1 @b A", vec![Name, Name, Name]),
            (
                "true false truer",
                vec![TokenKind::Boolean(true), TokenKind::Boolean(false), Name],
            ),
            ("'a b' 'two\nlines' ''", vec![TokenKind::Text; 3]),
            (r#""it's" 'a "b"' """#, vec![TokenKind::Text; 3]),
            (" \t\r\n", vec![]),
            ("a@b", vec![Name, Name]),
        ] {
            assert_eq!(kinds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn the_longest_operator_is_read_first() {
        use TokenKind::{Assign, Binary as B, Comparison as C};
        assert_eq!(
            kinds("&& & || | == = != ! <= < >= > := : += + -= - *= * /= / ^ ~ ? ( ) ;").unwrap(),
            [
                B(Binary::And),
                B(Binary::BitAnd),
                B(Binary::Or),
                B(Binary::BitOr),
                C(Comparison::Equal),
                Assign(AssignOperator::Existing),
                C(Comparison::NotEqual),
                TokenKind::Not,
                C(Comparison::LessOrEqual),
                C(Comparison::Less),
                C(Comparison::GreaterOrEqual),
                C(Comparison::Greater),
                Assign(AssignOperator::Create),
                TokenKind::Colon,
                Assign(AssignOperator::Add),
                B(Binary::Add),
                Assign(AssignOperator::Subtract),
                B(Binary::Subtract),
                Assign(AssignOperator::Multiply),
                B(Binary::Multiply),
                Assign(AssignOperator::Divide),
                B(Binary::Divide),
                B(Binary::BitXor),
                TokenKind::Complement,
                TokenKind::Question,
                TokenKind::Open,
                TokenKind::Close,
                TokenKind::Semicolon,
            ]
        );
    }

    #[test]
    fn malformed_tokens_are_marked_entirely() {
        for (text, marked) in [
            ("x + 3foo", "3foo"),
            ("65.", "65."),
            ("1.2.3 + 1", "1.2.3"),
            ("0xZ", "0xZ"),
            ("0x", "0x"),
            ("1e", "1e"),
            ("1e+", "1e"),
            ("0x1F.5", "0x1F.5"),
            ("3_", "3_"),
            (".5", "."),
            ("a.b", "."),
            ("x := 'open", "'open"),
            ("\"x", "\"x"),
            ("{x}", "{"),
            ("5 % 2", "%"),
            ("é", "é"),
            ("@ x", "@"),
            ("99999999999999999999", "99999999999999999999"),
            ("0xFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFF"),
        ] {
            let error = kinds(text).unwrap_err();
            assert_eq!(&text[error.range], marked, "{text}: {}", error.message);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end_or_refused(text in "\\PC*|[a-z0-9.'=&<:@ ]*") {
            let mut lexer = Lexer::new(&text);
            let mut last = 0;
            for _ in 0..=text.len() {
                match lexer.next() {
                    Ok(token) if token.kind == TokenKind::End => return Ok(()),
                    Ok(token) => {
                        prop_assert!(last <= token.start && token.start < token.end);
                        last = token.end;
                    }
                    Err(error) => {
                        prop_assert!(text.get(error.range).is_some_and(|marked| !marked.is_empty()));
                        return Ok(());
                    }
                }
            }
            prop_assert!(false, "the lexer stands still");
        }

        /// Tokens that are separated and read again are the same tokens.
        #[test]
        fn tokens_round_trip(pieces in prop::collection::vec(
            "[a-z_@][a-z0-9_]{0,4}|[0-9]{1,9}|0x[0-9a-f]{1,8}|[0-9]{1,4}\\.[0-9]{1,4}(e-?[0-9]{1,2})?|'[^']{0,5}'|\
             \\.\\.|&&|\\|\\||==|!=|<=|>=|:=|\\+=|-=|\\*=|/=|[-+*/&|^~!<>=?:();]", 0..20))
        {
            let spaced = pieces.join(" ");
            prop_assume!(!pieces.iter().any(|piece| piece == "@"));
            let mut lexer = Lexer::new(&spaced);
            for piece in &pieces {
                let token = lexer.next().unwrap();
                prop_assert_eq!(&spaced[token.range()], piece);
                prop_assert_eq!(kinds(piece).unwrap(), vec![token.kind]);
            }
            prop_assert_eq!(lexer.next().unwrap().kind, TokenKind::End);
        }
    }
}
