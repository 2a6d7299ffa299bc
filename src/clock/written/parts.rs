//! A text, read from its beginning.

/// The unread rest of a text.
pub(super) struct Parts<'a>(pub(super) &'a [u8]);

impl Parts<'_> {
    /// One of some signs, if it stands here.
    pub(super) fn sign(&mut self, signs: &[u8]) -> Option<u8> {
        let first = *self.0.first()?;
        signs.contains(&first).then(|| {
            self.0 = &self.0[1..];
            first
        })
    }

    /// A number of from so many to so many digits, and how many there are.
    pub(super) fn digits(&mut self, least: usize, most: usize) -> Option<(i64, usize)> {
        let count = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        let (own, rest) = self.0.split_at(count);
        self.0 = rest;
        (count >= least).then(|| (own.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')), count))
    }

    /// A number of two digits.
    pub(super) fn two_digits(&mut self) -> Option<i64> {
        self.digits(2, 2).map(|(number, _)| number)
    }

    /// Passes spaces.
    pub(super) fn spaces(&mut self) {
        self.while_it(u8::is_ascii_whitespace);
    }

    /// All that stands here of a kind.
    pub(super) fn while_it(&mut self, is: impl Fn(&u8) -> bool) -> String {
        let (own, rest) = self.0.split_at(self.0.iter().take_while(|byte| is(byte)).count());
        self.0 = rest;
        String::from_utf8_lossy(own).into_owned()
    }
}
