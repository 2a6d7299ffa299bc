//! Skips values: only their grammar is checked.

use super::{MAX_DEPTH, Reader, Result};
use crate::decode::error::DecodeError;
use crate::decode::number::{self, Flaw};

/// The container of a skipped value.
enum Nest<'a> {
    /// An array, at this index.
    Array(usize),
    /// An object, under this key.
    Object(&'a [u8]),
}

impl<'a> Reader<'a> {
    /// Skips a value and returns its text. Only the grammar is checked: any nesting depth, numbers out of the range of
    /// a double, and lone surrogates are accepted.
    pub(in crate::decode) fn skip(&mut self) -> Result<&'a [u8]> {
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
            // Closes the containers that end here, and continues with the next value.
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

    /// Skips a key and its colon, and returns the text between its quotes.
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
        // Valid except for surrogates?
        self.at = before;
        let Some(text) = self.escaped_text() else { return Err(error) };
        self.at += text.len() + 2;
        Ok(())
    }

    /// The text between the quotes of a string with valid escapes, even if they are lone surrogates.
    pub(super) fn escaped_text(&self) -> Option<&'a str> {
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
