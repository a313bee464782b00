//! File URIs and paths.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use lsp_types::Uri;

/// The path of a `file:` URI; `None` for any other URI.
pub(super) fn path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    let encoded = rest.get(rest.find('/')?..)?.as_bytes();
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut at = 0;
    while let Some(&byte) = encoded.get(at) {
        let digits = encoded
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(digits.unwrap_or(byte));
        at += if digits.is_some() { 3 } else { 1 };
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// The `file:` URI of an absolute path.
pub(super) fn of(path: &Path) -> Option<Uri> {
    let text = path.to_str().filter(|_| path.is_absolute())?;
    let mut uri = String::from("file://");
    for byte in text.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            plain if plain.is_ascii_alphanumeric() => uri.push(char::from(plain)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    Uri::from_str(&uri).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_from_their_uris() {
        for text in ["/a/b.xml", "/mit Umlaut ä/%41/🙂.xml"] {
            assert_eq!(
                path(&of(Path::new(text)).unwrap()).as_deref(),
                Some(Path::new(text))
            );
        }
        assert_eq!(of(Path::new("a.xml")), None);
        assert_eq!(path(&Uri::from_str("untitled:Untitled-1").unwrap()), None);
        let broken = Uri::from_str("file://host/a%20b").unwrap();
        assert_eq!(path(&broken), Some(PathBuf::from("/a b")));
    }
}
