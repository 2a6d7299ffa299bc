//! A line of a table → its fields. Fields may be quoted as RFC 4180 says, but a field ends in its line: a stray quote then
//! spoils one row and not the rest of the file. (The `csv` crate reads on to the next quote, and cannot say that there was
//! none.)

use csv::ByteRecord;

/// A misplaced quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::market) enum StrayQuote {
    /// The quote that opens this field is not closed.
    Open(usize),
    /// Text follows the closing quote of this field.
    Behind(usize),
}

/// Puts the fields of a line into the record, without their quotes.
pub(in crate::market) fn split(line: &[u8], fields: &mut ByteRecord) -> Result<(), StrayQuote> {
    fields.clear();
    let mut rest = line;
    loop {
        let Some(quoted) = rest.strip_prefix(b"\"") else {
            let Some(end) = memchr::memchr(b',', rest) else {
                fields.push_field(rest);
                return Ok(());
            };
            fields.push_field(&rest[..end]);
            rest = &rest[end + 1..];
            continue;
        };
        let mut field = Vec::new();
        rest = quoted;
        loop {
            let end = memchr::memchr(b'"', rest).ok_or(StrayQuote::Open(fields.len()))?;
            field.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            // Two quotes within a quoted field stand for one.
            let Some(more) = rest.strip_prefix(b"\"") else { break };
            field.push(b'"');
            rest = more;
        }
        let place = fields.len();
        fields.push_field(&field);
        match rest {
            [] => return Ok(()),
            [b',', more @ ..] => rest = more,
            _ => return Err(StrayQuote::Behind(place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields(line: &str) -> Result<Vec<String>, StrayQuote> {
        let mut record = ByteRecord::new();
        split(line.as_bytes(), &mut record)?;
        Ok(record.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect())
    }

    #[test]
    fn a_quote_in_no_place_for_one_is_reported_with_its_field() {
        assert_eq!(fields("").unwrap(), [""]);
        assert_eq!(fields("a,,").unwrap(), ["a", "", ""]);
        assert_eq!(fields("\"a,b\",5\" pipe,\"\",\"say \"\"x\"\"\"").unwrap(), ["a,b", "5\" pipe", "", "say \"x\""]);
        assert_eq!(fields("a,\"b,c"), Err(StrayQuote::Open(1)));
        assert_eq!(fields("a,b,\""), Err(StrayQuote::Open(2)));
        assert_eq!(fields("a,\"b\"\""), Err(StrayQuote::Open(1)));
        assert_eq!(fields("\"a\"b,c"), Err(StrayQuote::Behind(0)));
        assert_eq!(fields("a,\"b\" ,c"), Err(StrayQuote::Behind(1)));
    }

    proptest! {
        #[test]
        fn what_the_csv_library_writes_is_read(row in proptest::collection::vec("[a\" ,;é]{0,6}", 1..6)) {
            let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
            writer.write_record(&row).unwrap();
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            prop_assert_eq!(fields(text.trim_end_matches('\n')).unwrap(), row);
        }
    }
}
