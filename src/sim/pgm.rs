//! Portable grey maps (PGM): the image format of map files.

/// A grey picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Number of pixels per row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Brightness from 0 (black) to 1 (white), row by row from the top.
    pub pixels: Vec<f64>,
}

/// The reason why bytes are not a PGM image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PgmError {
    /// Another format.
    #[error(
        "not a PGM image (it must start with P5 or P2); convert it, for example with `convert map.png map.pgm`"
    )]
    OtherFormat,
    /// A number of the header or of a pixel is missing or out of range.
    #[error("byte {offset}: expected {expected}")]
    Number {
        /// Offset in the file.
        offset: usize,
        /// The expected number.
        expected: &'static str,
    },
    /// Fewer pixels than the header states.
    #[error("the image has {found} of {expected} pixels")]
    MissingPixels {
        /// Number of pixels in the header.
        expected: usize,
        /// Number of pixels found.
        found: usize,
    },
}

/// Decodes a binary (P5, one or two bytes per pixel) or plain (P2) grey map.
///
/// # Errors
/// The error and its position.
pub fn decode(bytes: &[u8]) -> Result<Image, PgmError> {
    let is_plain = match bytes.get(..2) {
        Some(b"P2") => true,
        Some(b"P5") => false,
        _ => return Err(PgmError::OtherFormat),
    };
    let mut reader = Reader { bytes, offset: 2 };
    let width = reader.number("a width above 0", 1..=1 << 20)?;
    let height = reader.number("a height above 0", 1..=1 << 20)?;
    let max_grey = reader.number("a maximum grey value from 1 to 65535", 1..=65535)?;
    let expected = width.saturating_mul(height);
    let scale = |grey: usize| (grey as f64 / max_grey as f64).min(1.0);
    let pixels: Vec<f64> = if is_plain {
        // Not `with_capacity`: the header may state a number that exceeds the memory.
        let mut pixels = Vec::new();
        while pixels.len() < expected {
            pixels.push(scale(reader.number("a grey value", 0..=max_grey)?));
        }
        pixels
    } else {
        let data = bytes.get(reader.offset + 1..).unwrap_or_default();
        if max_grey < 256 {
            data.iter()
                .take(expected)
                .map(|byte| scale(usize::from(*byte)))
                .collect()
        } else {
            let pairs = data.chunks_exact(2).take(expected);
            pairs
                .map(|pair| scale(usize::from(u16::from_be_bytes([pair[0], pair[1]]))))
                .collect()
        }
    };
    if pixels.len() < expected {
        return Err(PgmError::MissingPixels {
            expected,
            found: pixels.len(),
        });
    }
    Ok(Image {
        width,
        height,
        pixels,
    })
}

struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl Reader<'_> {
    fn number(
        &mut self,
        expected: &'static str,
        range: std::ops::RangeInclusive<usize>,
    ) -> Result<usize, PgmError> {
        loop {
            match self.bytes.get(self.offset) {
                Some(b'#') => {
                    while self.bytes.get(self.offset).is_some_and(|byte| *byte != b'\n') {
                        self.offset += 1;
                    }
                }
                Some(byte) if byte.is_ascii_whitespace() => self.offset += 1,
                _ => break,
            }
        }
        let start = self.offset;
        let mut value = 0_usize;
        while let Some(digit) = self.bytes.get(self.offset).filter(|byte| byte.is_ascii_digit()) {
            value = value.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
            self.offset += 1;
        }
        if self.offset == start || !range.contains(&value) {
            return Err(PgmError::Number {
                offset: start,
                expected,
            });
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::{PgmError, decode};

    #[test]
    fn decodes_all_three_kinds() {
        let expected = [0.0, 1.0, 0.2, 0.4];
        for bytes in [
            b"P2 2 2 5\n0 5 1 2".as_slice(),
            b"P5\n# made by hand\n2 2\n5\n\x00\x05\x01\x02",
            b"P5 2 2 1000\n\x00\x00\x03\xe8\x00\xc8\x01\x90",
        ] {
            let image = decode(bytes).unwrap();
            assert_eq!((image.width, image.height), (2, 2));
            assert_eq!(image.pixels, expected);
        }
    }

    #[test]
    fn errors_have_their_offset() {
        assert_eq!(decode(b"\x89PNG"), Err(PgmError::OtherFormat));
        assert_eq!(decode(b""), Err(PgmError::OtherFormat));
        assert_eq!(
            decode(b"P5 0 2 255\n"),
            Err(PgmError::Number {
                offset: 3,
                expected: "a width above 0"
            })
        );
        assert_eq!(
            decode(b"P5 2 2 255\n\x00"),
            Err(PgmError::MissingPixels {
                expected: 4,
                found: 1
            })
        );
        assert!(decode(b"P5 2 2").is_err());
        assert!(decode(b"P2 1048576 1048576 255 1 2").is_err());
    }
}
