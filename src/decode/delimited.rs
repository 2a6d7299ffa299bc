//! Comma-separated rows, as in dumps: the kernels read their columns many rows at a time.

use std::ops::Range;

use super::kernel::Kernel;

/// The positions of a text's fields. Quotes are not supported.
#[derive(Debug)]
pub struct Delimited {
    kernel: Kernel,
    /// Offsets of the commas and line ends, ascending, after one before the text.
    places: Vec<u32>,
    /// Number of commas and line ends before each line end.
    ends: Vec<u32>,
    lines: usize,
    /// The positions before and after the fields of a column.
    column: (Vec<u32>, Vec<u32>),
}

/// One byte before the text.
const BEFORE: u32 = u32::MAX;

impl Delimited {
    /// For no text yet.
    ///
    /// # Errors
    /// As of [`Kernel::active`].
    pub fn new() -> Result<Self, &'static str> {
        Ok(Self::with(Kernel::active()?))
    }

    fn with(kernel: Kernel) -> Self {
        Self { kernel, places: vec![BEFORE], ends: Vec::new(), lines: 0, column: Default::default() }
    }

    /// Finds the fields of another text, shorter than 1 GiB. Text after the last line end is ignored.
    pub fn find(&mut self, text: &[u8]) {
        let room = text.len() + 64;
        if self.ends.len() < room {
            self.places.resize(1 + room, 0);
            self.ends.resize(room, 0);
        }
        self.lines = self.kernel.index_rows(text, &mut self.places[1..], &mut self.ends).1;
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The start of a line, and the end of each of its fields, the last one with the line.
    #[inline]
    pub fn line(&self, line: usize) -> (usize, &[u32]) {
        let (first, last) = (self.first(line), self.ends[line] as usize);
        (self.places[first].wrapping_add(1) as usize, &self.places[first + 1..last + 2])
    }

    /// Number of commas and line ends before a line.
    #[inline]
    fn first(&self, line: usize) -> usize {
        line.checked_sub(1).map_or(0, |before| self.ends[before] as usize + 1)
    }

    /// Whether every line from `from` on has so many fields.
    pub fn have_width(&self, from: usize, width: usize) -> bool {
        let first = self.first(from) as u32;
        let expected = (1..).map(|row| first + row * width as u32 - 1);
        self.ends[from..self.lines].iter().zip(expected).all(|(end, expected)| *end == expected)
    }

    /// The positions of a column's fields, from a line on; every line from there on has `width` fields.
    pub fn fields(&self, from: usize, width: usize, column: usize) -> impl Iterator<Item = Range<usize>> {
        let (befores, ends) = self.around(from, width, column);
        befores.zip(ends).map(|(before, end)| before.wrapping_add(1) as usize..*end as usize)
    }

    fn around(
        &self,
        from: usize,
        width: usize,
        column: usize,
    ) -> (impl Iterator<Item = &u32>, impl Iterator<Item = &u32>) {
        let (first, last) = (self.first(from), self.first(self.lines));
        let every = |first: usize| self.places[first.min(last + 1)..=last].iter().step_by(width);
        (every(first + column), every(first + column + 1))
    }

    /// Appends a column's numbers to `out`, in JSON's spelling with optional white space; `false`, with nothing added,
    /// if one is spelled otherwise. Every line from `from` on has `width` fields.
    pub fn floats(&mut self, text: &[u8], from: usize, width: usize, column: usize, out: &mut Vec<f64>) -> bool {
        let (mut befores, mut ends) = std::mem::take(&mut self.column);
        befores.clear();
        ends.clear();
        let (before, end) = self.around(from, width, column);
        befores.extend(before.take(self.lines - from));
        ends.extend(end);
        let read = self.kernel.floats(text, &befores, 1, &ends, out);
        self.column = (befores, ends);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kernels() -> impl Iterator<Item = Delimited> {
        Kernel::ALL.into_iter().filter(|kernel| kernel.supported()).map(Delimited::with)
    }

    proptest! {
        #[test]
        fn lines_and_fields_are_those_of_the_standard_library(
            text in proptest::collection::vec(prop_oneof![Just(b','), Just(b'\n'), any::<u8>()], 0..400),
        ) {
            for mut found in kernels() {
                for text in [&text[text.len() / 2..], &text[..]] {
                    found.find(text);
                    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
                    let whole = lines.iter().filter(|line| line.ends_with(b"\n")).count();
                    prop_assert_eq!(found.lines(), whole);
                    let mut begin = 0;
                    for (line, expected) in lines[..whole].iter().enumerate() {
                        let (first, ends) = found.line(line);
                        prop_assert_eq!(first, begin);
                        let known = (0..expected.len()).filter(|place| matches!(expected[*place], b',' | b'\n'));
                        prop_assert_eq!(ends.to_vec(), known.map(|place| (begin + place) as u32).collect::<Vec<_>>());
                        begin += expected.len();
                    }
                }
            }
        }

        #[test]
        fn columns_are_read_from_any_line_on(
            rows in proptest::collection::vec(proptest::array::uniform3(any::<f64>()), 1..40),
            header in any::<bool>(),
            rest in "[0-9]{0,3}",
        ) {
            let finite = |value: f64| if value.is_finite() { value } else { 0.5 };
            let rows: Vec<[f64; 3]> = rows.into_iter().map(|row| row.map(finite)).collect();
            let lines = rows.iter().map(|[a, b, c]| format!("{a:?},{b:?},{c:?}\n"));
            let text = lines.fold(if header { "one\n".to_owned() } else { String::new() }, |text, line| text + &line) + &rest;
            for mut found in kernels() {
                found.find(text.as_bytes());
                let from = usize::from(header);
                prop_assert!(found.have_width(from, 3) && !found.have_width(from, 2));
                prop_assert!(!header || !found.have_width(0, 3));
                for column in 0..3 {
                    let mut values = vec![7.0];
                    prop_assert!(found.floats(text.as_bytes(), from, 3, column, &mut values));
                    let expected: Vec<f64> = std::iter::once(7.0).chain(rows.iter().map(|row| row[column])).collect();
                    prop_assert_eq!(values, expected);
                    let texts: Vec<&str> = found.fields(from, 3, column).map(|field| &text[field]).collect();
                    prop_assert_eq!(texts, rows.iter().map(|row| format!("{:?}", row[column])).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn a_column_with_a_word_is_not_read() {
        for mut found in kernels() {
            let text = b"1,2\n3,x\n";
            found.find(text);
            let mut values = Vec::new();
            assert!(!found.floats(text, 0, 2, 1, &mut values) && values.is_empty());
            assert!(found.floats(text, 0, 2, 0, &mut values));
            assert_eq!(values, [1.0, 3.0]);
        }
    }

    #[test]
    fn a_text_without_lines_has_none() {
        for mut found in kernels() {
            found.find(b"1,2");
            assert_eq!(found.lines(), 0);
            assert_eq!(found.fields(0, 2, 1).count(), 0);
            let mut values = Vec::new();
            assert!(found.floats(b"1,2", 0, 2, 1, &mut values) && values.is_empty());
        }
    }
}
