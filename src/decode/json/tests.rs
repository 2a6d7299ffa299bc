use super::*;
use proptest::prelude::*;

fn number(text: &str) -> Result<f64> {
    let mut reader = Reader::new(text.as_bytes(), Kernel::Scalar);
    let value = reader.number()?;
    reader.finish()?;
    Ok(value)
}

// faults.md row 30
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

// faults.md row 30
#[test]
fn what_is_no_number_is_refused() {
    for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "NaN", "Infinity", "-Infinity", "1e400", "0x1", "1 2"] {
        assert!(number(text).is_err(), "{text}");
    }
    assert!(number("NaN").unwrap_err().problem.contains("NaN"));
}

// faults.md row 31
#[test]
fn strings_are_checked_and_unescaped() {
    let string = |text: &[u8]| Reader::new(text, Kernel::Scalar).string().map(Cow::into_owned);
    assert_eq!(string(br#""a\"\u00e9\\""#).unwrap(), "a\"é\\");
    for bad in [&b"\"\xff\""[..], b"\"a", b"\"\\\"", b"\"\\ud800\"", b"\"\\x\"", b"\"\n\"", b"\"\\"] {
        assert!(string(bad).is_err(), "{bad:?}");
    }
}

// faults.md row 31
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
    for text in
        [&*deep, r#"{"\ud800":[1e400,-1E+999,"\udfff",{"a":{}}]}"#, "[ 1 , { } , [ ] ]", r#""\ud800""#, "-12.5e+400"]
    {
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
