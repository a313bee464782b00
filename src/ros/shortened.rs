//! Cuts long texts. Queues are limited by the number of their items, and a client must not fill the memory with the length
//! of one.

/// Maximum length of a line of the log in bytes: a panic with its backtrace.
pub(super) const MAX_LOG_LINE: usize = 16 << 10;

/// The first `limit` bytes of a text, without the memory of the rest. An ellipsis marks a text that was longer.
pub(super) fn shortened(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_two_characters() {
        assert_eq!(shortened("café".to_owned(), 5), "café");
        assert_eq!(shortened("café".to_owned(), 4), "caf…");
        assert_eq!(shortened("café".to_owned(), 3), "caf…");
    }
}
