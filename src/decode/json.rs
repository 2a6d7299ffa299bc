//! A strict JSON pull reader over one body: it hands out values where they stand and never builds a tree.

use std::borrow::Cow;

use super::DecodeError;
use super::kernel::Kernel;
use super::number::{self, Flaw};

/// Deepest nesting that is read; an answer needs seven levels.
const MAX_DEPTH: usize = 64;
pub(super) type Result<T> = std::result::Result<T, DecodeError>;

/// What comes after some elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A comma or the end.
    Separator,
    /// Another element.
    Element,
    /// What follows the array, which is left.
    Left,
}

/// A position in a body.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    kernel: Kernel,
    /// Bytes that are likely to follow those at hand.
    beyond: usize,
    /// Most bytes that what is being read is likely to take from here on.
    most: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], kernel: Kernel) -> Self {
        Self::inside(bytes, kernel, 0)
    }

    /// A reader of what follows after that many open brackets.
    pub(super) fn inside(bytes: &'a [u8], kernel: Kernel, depth: usize) -> Self {
        Self { bytes, at: 0, depth, kernel, beyond: 0, most: usize::MAX }
    }

    /// The same before that many bytes more.
    pub(super) fn before(self, beyond: usize) -> Self {
        Self { beyond, ..self }
    }

    /// Bytes that are likely to be left of what is being read, those that are not at hand included.
    pub(super) fn left(&self) -> usize {
        (self.bytes.len().saturating_sub(self.at) + self.beyond).min(self.most)
    }

    /// Bounds how much is likely to follow.
    pub(super) fn expect_at_most(&mut self, bytes: usize) {
        self.most = bytes;
    }

    /// The whole body, read or not.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What reads many numbers at once.
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Goes to a byte whose surroundings are known: no bracket opens or closes between here and there.
    pub(super) fn jump(&mut self, at: usize) {
        self.at = at;
    }

    /// Goes to the byte behind the bracket that closes what the reader is in.
    pub(super) fn leave(&mut self, at: usize) {
        self.at = at;
        self.depth -= 1;
    }

    /// Byte offset of the next unread byte.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// An error at the next unread byte.
    pub(super) fn error(&self, problem: impl Into<String>) -> DecodeError {
        DecodeError::new(self.at, problem)
    }

    /// Skips white space and tells the next byte without reading it.
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
        let word = String::from_utf8_lossy(&rest[..word_length.max(1).min(rest.len())]).into_owned();
        self.error(format!("expected {wanted}, found {word:?}"))
    }

    /// Reads an object, calling `each` with every key when the reader stands at its value.
    pub(super) fn object(&mut self, mut each: impl FnMut(&mut Self, &Cow<'a, str>) -> Result<()>) -> Result<()> {
        let mut more = self.open(b'{')?;
        while more {
            let key = self.key()?;
            each(self, &key).map_err(|error| error.inside(&key))?;
            more = self.another(b'}')?;
        }
        Ok(())
    }

    /// Reads an array, calling `each` with every index when the reader stands at the element.
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

    /// Enters an object or array; `false` when it is empty, and then it is left again.
    #[inline]
    pub(super) fn open(&mut self, bracket: u8) -> Result<bool> {
        self.descend(bracket)?;
        // `{` and `[` stand two before their counterparts.
        if self.peek()? == bracket + 2 {
            self.ascend();
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads what stands between two elements; `false` when it is the end, and then the object or array is left.
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

    /// Passes these bytes, if they are next.
    #[inline]
    pub(super) fn pass<const N: usize>(&mut self, bytes: &[u8; N]) -> bool {
        let passed = self.bytes[self.at..].first_chunk() == Some(bytes);
        self.at += if passed { N } else { 0 };
        passed
    }

    /// Reads a key of letters, digits and such, and its colon, if nothing else stands before or between them.
    #[inline]
    pub(super) fn plain_key(&mut self) -> Option<Name<'a>> {
        let name = Name::at(&self.bytes[self.at..])?;
        self.at += name.bytes.len() + 3;
        Some(name)
    }

    /// Reads `{"s":…}` or `{"s":…,"ns":…}` with plain whole numbers, if that is what stands here to the letter.
    #[inline]
    pub(super) fn plain_time(&mut self) -> Option<i64> {
        let before = self.at;
        let time = self.seconds_and_nanoseconds();
        if time.is_none() {
            self.at = before;
        }
        time
    }

    #[inline]
    fn seconds_and_nanoseconds(&mut self) -> Option<i64> {
        let seconds = if self.pass(b"{\"s\":") { self.plain_integer()? } else { return None };
        let nanoseconds = if self.pass(b",\"ns\":") { self.plain_integer()? } else { 0 };
        self.pass(b"}").then(|| number::unix_nanoseconds(seconds, nanoseconds).ok())?
    }

    #[inline]
    fn plain_integer(&mut self) -> Option<i64> {
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

    /// Reads a number; every spelling of the JSON grammar, correctly rounded.
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

    /// Reads a number with a whole value, in any spelling.
    pub(super) fn integer(&mut self) -> Result<i64> {
        self.peek()?;
        let start = self.at;
        let value = self.number()?;
        number::integer(value).ok_or_else(|| DecodeError::new(start, "expected a whole number"))
    }

    /// Skips a value and returns its text. Only its grammar is checked: it may be nested as deep as it likes, its numbers
    /// may be out of the range of a double, and its strings may hold lone surrogates.
    pub(super) fn skip(&mut self) -> Result<&'a [u8]> {
        self.peek()?;
        let start = self.at;
        let mut open = Vec::new();
        match self.skip_nested(&mut open) {
            Ok(()) => Ok(&self.bytes[start..self.at]),
            Err(error) => Err(open.into_iter().rev().take(MAX_DEPTH).fold(error, |error, inside| match inside {
                Nest::Array(index) => error.at_index(index),
                Nest::Object(key) => error.inside(&String::from_utf8_lossy(key)),
            })),
        }
    }

    fn skip_nested(&mut self, open: &mut Vec<Nest<'a>>) -> Result<()> {
        loop {
            match self.peek()? {
                b'{' => {
                    self.at += 1;
                    if self.peek()? == b'}' {
                        self.at += 1;
                    } else {
                        open.push(Nest::Object(self.skip_key()?));
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    if self.peek()? == b']' {
                        self.at += 1;
                    } else {
                        open.push(Nest::Array(0));
                        continue;
                    }
                }
                b'"' => self.skip_string()?,
                b't' | b'f' => drop(self.boolean()?),
                b'n' => self.word("null")?,
                _ => self.skip_number()?,
            }
            // Closes what ends here, and goes on to the next value.
            loop {
                let Some(inside) = open.last_mut() else { return Ok(()) };
                let byte = self.peek()?;
                match inside {
                    Nest::Array(index) if byte == b',' => {
                        self.at += 1;
                        *index += 1;
                        break;
                    }
                    Nest::Object(key) if byte == b',' => {
                        self.at += 1;
                        *key = self.skip_key()?;
                        break;
                    }
                    Nest::Array(_) if byte == b']' => {}
                    Nest::Object(_) if byte == b'}' => {}
                    Nest::Array(_) => return Err(self.unexpected("',' or ']'")),
                    Nest::Object(_) => return Err(self.unexpected("',' or '}'")),
                }
                self.at += 1;
                open.pop();
            }
        }
    }

    /// Skips a key and its colon, and returns what stands between its quotes.
    fn skip_key(&mut self) -> Result<&'a [u8]> {
        if self.peek()? != b'"' {
            return Err(self.unexpected("a key"));
        }
        let start = self.at + 1;
        self.skip_string()?;
        let key = &self.bytes[start..self.at - 1];
        if self.peek()? != b':' {
            return Err(self.unexpected("':'"));
        }
        self.at += 1;
        Ok(key)
    }

    fn skip_string(&mut self) -> Result<()> {
        let before = self.at;
        let Err(error) = self.string() else { return Ok(()) };
        // Good but for its surrogates?
        self.at = before;
        let Some(text) = self.escaped_text() else { return Err(error) };
        self.at += text.len() + 2;
        Ok(())
    }

    /// What stands between the quotes of a string whose escapes are well spelt, whether or not they are letters.
    fn escaped_text(&self) -> Option<&'a str> {
        let rest = self.bytes.get(self.at + 1..)?;
        let mut end = 0;
        loop {
            match rest.get(end)? {
                b'"' => return str::from_utf8(&rest[..end]).ok(),
                b'\\' => {
                    end += match rest.get(end + 1)? {
                        b'u' if rest.get(end + 2..end + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                        _ => return None,
                    }
                }
                0..0x20 => return None,
                _ => end += 1,
            }
        }
    }

    fn skip_number(&mut self) -> Result<()> {
        if !matches!(self.peek()?, b'-' | b'0'..=b'9') {
            return Err(self.unexpected("a value"));
        }
        match number::prefix(&self.bytes[self.at..]) {
            Ok((_, length)) => self.at += length,
            Err(Flaw::Malformed(index)) => return Err(DecodeError::new(self.at + index, "a malformed number")),
            Err(Flaw::Range) => {
                self.at += usize::from(self.bytes[self.at] == b'-');
                self.skip_digits();
                if self.bytes.get(self.at) == Some(&b'.') {
                    self.at += 1;
                    self.skip_digits();
                }
                if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
                    self.at += 1;
                    self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
                    self.skip_digits();
                }
            }
        }
        Ok(())
    }

    fn skip_digits(&mut self) {
        self.at += self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
}

/// What a value that is skipped stands in.
enum Nest<'a> {
    /// An array, at this index.
    Array(usize),
    /// An object, under this key.
    Object(&'a [u8]),
}

/// The name of a field, and a number that tells most names apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'a> {
    pub(super) bytes: &'a [u8],
    /// The first eight bytes and the length: of a name that is no longer, all there is to know.
    pub(super) mark: u64,
}

impl<'a> Name<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut first = [0; 8];
        let length = bytes.len().min(8);
        first[..length].copy_from_slice(&bytes[..length]);
        Self::of(bytes, u64::from_le_bytes(first))
    }

    /// The name that stands here between quotes, before a colon and without anything between, escapes, or other alphabets.
    #[inline]
    pub(super) fn at(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(b"\"")?;
        let first = u64::from_le_bytes(*rest.first_chunk()?);
        let mut length = 0;
        let mut word = first;
        loop {
            let special = special_bytes(word);
            length += special.trailing_zeros() as usize / 8;
            if special != 0 {
                break;
            }
            word = u64::from_le_bytes(*rest.get(length..)?.first_chunk()?);
        }
        (rest.get(length..length + 2)? == b"\":").then(|| Self::of(&rest[..length], first))
    }

    /// `first`: the eight bytes from the start of the name on.
    #[inline]
    fn of(bytes: &'a [u8], first: u64) -> Self {
        let first = if bytes.len() < 8 { first & !(u64::MAX << (8 * bytes.len())) } else { first };
        Self { bytes, mark: first ^ (bytes.len() as u64).rotate_right(8) }
    }
}

/// The top bit of the first byte that is a quote, a backslash, a control character or no ASCII; perhaps of later bytes.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = u64::from_le_bytes([0x80; 8]);
    let zero = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    (zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | below_space | word) & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> Result<f64> {
        let mut reader = Reader::new(text.as_bytes(), Kernel::Scalar);
        let value = reader.number()?;
        reader.finish()?;
        Ok(value)
    }

    #[test]
    fn numbers_in_every_spelling_of_the_service() {
        let cases: [(&str, f64); 10] = [
            ("100", 100.0),
            ("1.9340026e+07", 19_340_026.0),
            ("-8.81e-06", -8.81e-6),
            ("3353.919000000029", 3_353.919_000_000_029),
            ("0.013999999999999999", 0.013_999_999_999_999_999),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("1e0", 1.0),
            ("0E-9", 0.0),
            ("5e-324", 5e-324),
            ("123456789012345678901234567890", 1.234_567_890_123_456_8e29),
        ];
        for (text, value) in cases {
            assert_eq!(number(text).unwrap().to_bits(), value.to_bits(), "{text}");
        }
        assert_eq!(number("-0.0").unwrap().to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in
            ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "NaN", "Infinity", "-Infinity", "1e400", "0x1", "1 2"]
        {
            assert!(number(text).is_err(), "{text}");
        }
        assert!(number("NaN").unwrap_err().problem.contains("NaN"));
    }

    #[test]
    fn strings_are_checked_and_unescaped() {
        let string = |text: &[u8]| Reader::new(text, Kernel::Scalar).string().map(Cow::into_owned);
        assert_eq!(string(br#""a\"\u00e9\\""#).unwrap(), "a\"é\\");
        for bad in [&b"\"\xff\""[..], b"\"a", b"\"\\\"", b"\"\\ud800\"", b"\"\\x\"", b"\"\n\"", b"\"\\"] {
            assert!(string(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(100_000);
        let mut reader = Reader::new(deep.as_bytes(), Kernel::Scalar);
        let opened = (0..1_000).take_while(|_| reader.open(b'[').is_ok()).count();
        assert_eq!(opened, MAX_DEPTH);
        assert!(reader.open(b'[').unwrap_err().problem.contains("nested deeper"));
    }

    #[test]
    fn what_is_skipped_may_be_deep_large_or_no_letter() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        for text in [
            &*deep,
            r#"{"\ud800":[1e400,-1E+999,"\udfff",{"a":{}}]}"#,
            "[ 1 , { } , [ ] ]",
            r#""\ud800""#,
            "-12.5e+400",
        ] {
            let mut reader = Reader::new(text.as_bytes(), Kernel::Scalar);
            assert_eq!(reader.skip().unwrap(), text.as_bytes());
            reader.finish().unwrap();
        }
        for text in
            ["[1e400-5]", "[1e400.5]", "{\"a\":1e400e5}", "\"\\ud80\"", "[1 2]", "[1,]", "[,1]", "{\"a\":1,}", "{1:2}"]
        {
            assert!(Reader::new(text.as_bytes(), Kernel::Scalar).skip().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_double_in_any_spelling_reads_back_bit_for_bit(value in any::<f64>(), digits in 0usize..25) {
            prop_assume!(value.is_finite());
            for text in [format!("{value}"), format!("{value:e}"), format!("{value:E}")] {
                prop_assert_eq!(number(&text).unwrap().to_bits(), value.to_bits(), "{}", text);
            }
            let rounded = format!("{value:.digits$e}");
            let expected = rounded.parse::<f64>().unwrap();
            prop_assert_eq!(number(&rounded).ok().map(f64::to_bits), Some(expected.to_bits()).filter(|_| expected.is_finite()));
        }

        /// The grammar is serde_json's: what one accepts, the other accepts.
        #[test]
        fn agrees_with_serde_json_on_what_is_json(text in "[-+0-9.eE\"a\\\\{}\\[\\],: ]{0,12}") {
            let mut reader = Reader::new(text.as_bytes(), Kernel::Scalar);
            let ours = reader.skip().and_then(|_| reader.finish()).is_ok();
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(ours, theirs, "{}", text);
        }
    }
}
