//! A strict JSON pull reader over one body: it returns values in place and never builds a tree.

mod name;
mod skip;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub(super) use self::name::FieldName;
use self::name::special_bytes;
use super::error::DecodeError;
use super::kernel::Kernel;
use super::number::{self, Flaw};
use crate::clock::{UnixNanos, UnixSecond};

/// Deepest nesting that is accepted; an answer needs seven levels.
const MAX_DEPTH: usize = 64;
pub(super) type Result<T> = std::result::Result<T, DecodeError>;

/// The next token after some elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A comma or the end.
    Separator,
    /// Another element.
    Element,
    /// The end of the array, which is consumed.
    Left,
}

/// A position in a body.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    kernel: Kernel,
    /// Number of bytes that are likely to follow those available.
    beyond: usize,
    /// Most bytes that the current value is likely to take from here on.
    most: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], kernel: Kernel) -> Self {
        Self::inside(bytes, kernel, 0)
    }

    /// A reader for the rest after that many open brackets.
    pub(super) fn inside(bytes: &'a [u8], kernel: Kernel, depth: usize) -> Self {
        Self { bytes, at: 0, depth, kernel, beyond: 0, most: usize::MAX }
    }

    /// The same before that many further bytes.
    pub(super) fn before(self, beyond: usize) -> Self {
        Self { beyond, ..self }
    }

    /// Number of bytes that are likely to be left of the current value, including those not available yet.
    pub(super) fn left(&self) -> usize {
        (self.bytes.len().saturating_sub(self.at) + self.beyond).min(self.most)
    }

    /// Limits the number of bytes expected to follow.
    pub(super) fn expect_at_most(&mut self, bytes: usize) {
        self.most = bytes;
    }

    /// The complete body, including what was read.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The kernel for reading many numbers at once.
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Moves to a position at the same nesting level.
    pub(super) fn jump(&mut self, at: usize) {
        self.at = at;
    }

    /// Moves after the bracket that closes the current container.
    pub(super) fn leave(&mut self, at: usize) {
        self.at = at;
        self.depth -= 1;
    }

    /// Offset of the next unread byte.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// An error at the next unread byte.
    pub(super) fn error(&self, problem: impl Into<String>) -> DecodeError {
        DecodeError::new(self.at, problem)
    }

    /// Skips white space and returns the next byte without consuming it.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<u8> {
        self.next().ok_or_else(|| self.error("the body ends too early"))
    }

    #[inline]
    fn next(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Checks that only white space is left.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.next() {
            Some(_) => Err(self.error("unexpected data after the end of the document")),
            None => Ok(()),
        }
    }

    /// "expected X, found Y" at the next byte.
    pub(super) fn unexpected(&self, wanted: &str) -> DecodeError {
        let rest = &self.bytes[self.at..];
        let word_length = rest.iter().take(24).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let mut word = String::from_utf8_lossy(&rest[..word_length.max(1).min(rest.len())]).into_owned();
        if word_length == 24 {
            word.push('…'); // where a text is cut, the beginning of a key is looked for too
        }
        self.error(format!("expected {wanted}, found {word:?}"))
    }

    /// Reads an object, calling `each` with every key while the reader is at its value.
    pub(super) fn object(&mut self, mut each: impl FnMut(&mut Self, &Cow<'a, str>) -> Result<()>) -> Result<()> {
        let mut more = self.open(b'{')?;
        while more {
            let key = self.key()?;
            each(self, &key).map_err(|error| error.inside(&key))?;
            more = self.another(b'}')?;
        }
        Ok(())
    }

    /// Reads an array, calling `each` with every index while the reader is at the element.
    pub(super) fn array(&mut self, mut each: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        let mut more = self.open(b'[')?;
        let mut index = 0;
        while more {
            each(self, index).map_err(|error| error.at_index(index))?;
            more = self.another(b']')?;
            index += 1;
        }
        Ok(())
    }

    /// Enters an object or array; `false` if it is empty, and then it is consumed.
    #[inline]
    pub(super) fn open(&mut self, bracket: u8) -> Result<bool> {
        self.descend(bracket)?;
        // the closing `}` and `]` are two after their counterparts
        if self.peek()? == bracket + 2 {
            self.ascend();
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads the separator between two elements; `false` at the end of the object or array, which is consumed.
    #[inline]
    pub(super) fn another(&mut self, closing: u8) -> Result<bool> {
        match self.peek()? {
            b',' => {
                self.at += 1;
                Ok(true)
            }
            byte if byte == closing => {
                self.ascend();
                Ok(false)
            }
            _ => Err(self.unexpected(if closing == b'}' { "',' or '}'" } else { "',' or ']'" })),
        }
    }

    /// Consumes these bytes, if they are next.
    #[inline]
    pub(super) fn pass<const N: usize>(&mut self, bytes: &[u8; N]) -> bool {
        let passed = self.bytes[self.at..].first_chunk() == Some(bytes);
        self.at += if passed { N } else { 0 };
        passed
    }

    /// Reads a plain key and its colon, without white space.
    #[inline]
    pub(super) fn plain_key(&mut self) -> Option<FieldName<'a>> {
        let name = FieldName::at(&self.bytes[self.at..])?;
        self.at += name.bytes.len() + 3;
        Some(name)
    }

    /// Reads `{"s":…}` or `{"s":…,"ns":…}` with plain integers, in exactly this form.
    #[inline]
    pub(super) fn plain_time(&mut self) -> Option<UnixNanos> {
        let before = self.at;
        let time = self.seconds_and_nanoseconds();
        if time.is_none() {
            self.at = before;
        }
        time
    }

    #[inline]
    fn seconds_and_nanoseconds(&mut self) -> Option<UnixNanos> {
        let seconds = if self.pass(b"{\"s\":") { self.plain_integer()? } else { return None };
        let nanoseconds = if self.pass(b",\"ns\":") { self.plain_integer()? } else { 0 };
        self.pass(b"}").then(|| number::moment(UnixSecond(seconds), nanoseconds).ok())?
    }

    #[inline]
    pub(super) fn plain_integer(&mut self) -> Option<i64> {
        let (value, length) = number::plain_integer(&self.bytes[self.at..])?;
        self.at += length;
        Some(value)
    }

    /// Reads a key and its colon.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Cow<'a, str>> {
        if self.peek()? != b'"' {
            return Err(self.unexpected("a key"));
        }
        let before = self.at;
        let key = match self.string() {
            Ok(key) => key,
            Err(error) => {
                self.at = before;
                let text = self.escaped_text().ok_or(error)?;
                self.at += text.len() + 2;
                Cow::Borrowed(text)
            }
        };
        if self.peek()? != b':' {
            return Err(self.unexpected("':'"));
        }
        self.at += 1;
        Ok(key)
    }

    #[inline]
    fn descend(&mut self, bracket: u8) -> Result<()> {
        if self.peek()? != bracket {
            return Err(self.unexpected(if bracket == b'{' { "an object" } else { "an array" }));
        }
        if self.depth == MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn ascend(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// Reads `null`, if it is next.
    pub(super) fn null(&mut self) -> Result<bool> {
        Ok(self.peek()? == b'n' && self.word("null").is_ok())
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        Err(self.unexpected("a value"))
    }

    /// Reads `true` or `false`.
    pub(super) fn boolean(&mut self) -> Result<bool> {
        let truth = self.peek()? == b't';
        self.word(if truth { "true" } else { "false" })?;
        Ok(truth)
    }

    /// Reads a string.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>> {
        if self.peek()? != b'"' {
            return Err(self.unexpected("a string"));
        }
        let start = self.at + 1;
        let mut end = start;
        let mut escaped = false;
        while let Some(eight) = self.bytes.get(end..).and_then(<[u8]>::first_chunk) {
            let special = special_bytes(u64::from_le_bytes(*eight));
            end += special.trailing_zeros() as usize / 8;
            if special != 0 {
                break;
            }
        }
        loop {
            match self.bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end += 2;
                }
                Some(byte) if *byte < 0x20 => return Err(DecodeError::new(end, "a control character in a string")),
                Some(_) => end += 1,
                None => return Err(DecodeError::new(self.bytes.len(), "the body ends inside a string")),
            }
        }
        let text = &self.bytes[start..end];
        let value = if escaped {
            let quoted = &self.bytes[start - 1..=end];
            let decoded = serde_json::from_slice::<String>(quoted);
            Cow::Owned(decoded.map_err(|_| self.error("a string with an invalid escape or invalid UTF-8"))?)
        } else {
            let checked = std::str::from_utf8(text);
            Cow::Borrowed(checked.map_err(|bad| DecodeError::new(start + bad.valid_up_to(), "invalid UTF-8"))?)
        };
        self.at = end + 1;
        Ok(value)
    }

    /// Reads a number in any spelling of the JSON grammar, correctly rounded.
    #[inline]
    pub(super) fn number(&mut self) -> Result<f64> {
        if !matches!(self.peek()?, b'-' | b'0'..=b'9') {
            return Err(self.unexpected("a number"));
        }
        match number::prefix(&self.bytes[self.at..]) {
            Ok((value, length)) => {
                self.at += length;
                Ok(value)
            }
            Err(Flaw::Malformed(index)) => Err(DecodeError::new(self.at + index, "a malformed number")),
            Err(Flaw::Range) => Err(self.error("a number out of the range of a double")),
        }
    }

    /// Reads a number with an integer value, in any spelling.
    pub(super) fn integer(&mut self) -> Result<i64> {
        self.peek()?;
        let start = self.at;
        let value = self.number()?;
        number::integer(value).ok_or_else(|| DecodeError::new(start, "expected a whole number"))
    }
}
