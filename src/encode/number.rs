//! The spelling of numbers (supplement 2): the fewest digits that read back as the same double, an exponent from 1e6
//! upwards and below 1e-4, no point where there is no fraction.

use super::piece::short;

/// Writes a finite double: `100`, `0.5`, `1.9340026e+07`, `-8.81e-06`. Negative zero keeps its sign, `-0`.
///
/// JSON has no word for what is not finite; it is written as `null`.
pub fn double(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    let magnitude = value.abs();
    if magnitude < 1e6 {
        let thousandths = (magnitude * 1e3 + 0.5) as u32;
        if f64::from(thousandths) / 1e3 == magnitude {
            if value.is_sign_negative() {
                out.push(b'-');
            }
            few_decimals(out, thousandths);
            return;
        }
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value).as_bytes();
    if (1e-4..1e6).contains(&magnitude) {
        short(out, text); // here the digits have no exponent, and whole numbers were written above
    } else {
        with_exponent(out, text);
    }
}

/// Three digits, and how many of them are left when zeros at the end go.
const DIGITS: [[u8; 4]; 1_000] = {
    let mut table = [[0; 4]; 1_000];
    let mut number = 0;
    while number < 1_000 {
        let kept = if number % 10 != 0 {
            3
        } else if number % 100 != 0 {
            2
        } else {
            (number != 0) as u8
        };
        let [hundreds, tens, ones] = [number / 100, number / 10 % 10, number % 10];
        table[number] = [b'0' + hundreds as u8, b'0' + tens as u8, b'0' + ones as u8, kept];
        number += 1;
    }
    table
};

/// Writes so many thousandths, fewer than 10^9, as most prices and amounts are. Of at most 15 digits no other spelling reads
/// back as the same double, so this is the shortest once its zeros are gone. Without a branch: lengths differ at random.
#[inline]
fn few_decimals(out: &mut Vec<u8>, thousandths: u32) {
    let (whole, decimals) = (thousandths / 1_000, (thousandths % 1_000) as usize);
    let [upper, lower] = [DIGITS[whole as usize / 1_000 % 1_000], DIGITS[whole as usize % 1_000]];
    let [tenth, hundredth, thousandth, kept] = DIGITS[decimals];
    let [a, b, c, _] = upper;
    let [d, e, f, _] = lower;
    let padded = [a, b, c, d, e, f, b'.', tenth, hundredth, thousandth, 0, 0, 0, 0, 0, 0];
    let zeros = [10, 100, 1_000, 10_000, 100_000].iter().map(|power| usize::from(whole < *power)).sum::<usize>();
    let length = 6 - zeros + usize::from(kept) + usize::from(kept > 0);
    let digits = u128::from_le_bytes(padded) >> (8 * zeros);
    out.extend_from_slice(&digits.to_le_bytes());
    out.truncate(out.len() - 16 + length);
}

/// Writes a whole number plainly.
pub fn integer(out: &mut Vec<u8>, value: i64) {
    short(out, itoa::Buffer::new().format(value).as_bytes());
}

/// Respells shortest digits, plain (`12340000.0`, `0.00005`) or with an exponent (`1.5e300`), as `d.ddde±XX`.
fn with_exponent(out: &mut Vec<u8>, text: &[u8]) {
    let text = match text.strip_prefix(b"-") {
        Some(rest) => {
            out.push(b'-');
            rest
        }
        None => text,
    };
    let mut digits = [0; 32];
    let mut count = 0;
    let mut point = None; // digits before the point, leading zeros not counted
    let mut exponent = 0;
    for (index, &byte) in text.iter().enumerate() {
        match byte {
            b'.' => point = Some(count as i64),
            b'e' => {
                exponent = exponent_of(&text[index + 1..]);
                break;
            }
            // A zero before the first digit only moves the point, once it is behind us.
            b'0' if count == 0 => point = point.map(|places| places - 1),
            digit if count < digits.len() => {
                digits[count] = digit;
                count += 1;
            }
            _ => {}
        }
    }
    exponent += point.unwrap_or(count as i64) - 1;
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    out.push(digits[0]);
    if count > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..count]);
    }
    out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    if exponent.abs() < 10 {
        out.push(b'0');
    }
    integer(out, exponent.abs());
}

fn exponent_of(text: &[u8]) -> i64 {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    if negative { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelt(value: f64) -> String {
        let mut out = Vec::new();
        double(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_examples_of_the_supplement() {
        for (value, text) in [
            (1.934_002_6e7, "1.9340026e+07"),
            (-8.81e-6, "-8.81e-06"),
            (100.0, "100"),
            (1_000_000.0, "1e+06"),
            (3_353.919_000_000_029, "3353.919000000029"),
            (0.013_999_999_999_999_999, "0.013999999999999999"),
            (1_774_800_000_000_000.0, "1.7748e+15"),
        ] {
            assert_eq!(spelt(value), text);
        }
    }

    #[test]
    fn the_borders_of_the_exponent_form() {
        for (value, text) in [
            (999_999.0, "999999"),
            (-999_999.5, "-999999.5"),
            (999_999.999_999_999_9, "999999.9999999999"),
            (1_000_000.5, "1.0000005e+06"),
            (-1_234_567.0, "-1.234567e+06"),
            (0.000_1, "0.0001"),
            (0.000_123_4, "0.0001234"),
            (0.000_099_999, "9.9999e-05"),
            (0.000_05, "5e-05"),
            (0.000_01, "1e-05"),
            (1e-9, "1e-09"),
            (1.5e-10, "1.5e-10"),
            (1e16, "1e+16"),
            (1.25e17, "1.25e+17"),
            (1e100, "1e+100"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "5e-324"),
            (0.0, "0"),
            (-0.0, "-0"),
            (f64::NAN, "null"),
            (f64::NEG_INFINITY, "null"),
        ] {
            assert_eq!(spelt(value), text);
        }
    }

    #[test]
    fn numbers_of_few_decimals_are_spelt_as_the_rule_says() {
        for thousandths in
            (0..20_000).chain((0..1_000_000_000).step_by(7_919)).chain([999_999_999, 999_999_990, 100_000])
        {
            let value = f64::from(thousandths) / 1e3;
            assert_eq!(spelt(value), model(value));
            assert_eq!(spelt(-value), model(-value));
        }
    }

    #[test]
    fn whole_numbers_of_every_size() {
        for value in [0, 7, -10, 1_776_880_800, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            integer(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    /// The rule by the standard library: shortest digits from `{:e}`, the exponent padded, or `{}`.
    fn model(value: f64) -> String {
        let magnitude = value.abs();
        if magnitude == 0.0 || (1e-4..1e6).contains(&magnitude) {
            return format!("{value}");
        }
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap();
        let exponent: i32 = exponent.parse().unwrap();
        format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
    }

    /// The text with every digit before the exponent as `9`. Where two shortest spellings are equally near, as `…05.2`
    /// and `…05.3` of a number that ends in 05.25, the standard library may take the other one.
    fn outline(text: &str) -> String {
        let (digits, exponent) = text.split_once('e').unwrap_or((text, ""));
        digits.replace(|letter: char| letter.is_ascii_digit(), "9") + exponent
    }

    proptest! {
        #[test]
        fn any_double_follows_the_rule_and_reads_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(outline(&spelt(value)), outline(&model(value)));
            prop_assert_eq!(spelt(value).parse::<f64>().unwrap().to_bits(), bits);
        }

        #[test]
        fn a_tie_between_shortest_spellings_still_reads_back(quarters in (1i64 << 51)..(1i64 << 53)) {
            let value = quarters as f64 / 4.0;
            prop_assert_eq!(outline(&spelt(value)), outline(&model(value)));
            prop_assert_eq!(spelt(value).parse::<f64>().unwrap(), value);
        }

        #[test]
        fn doubles_as_they_occur_follow_the_rule(mantissa in -10_000_000_000i64..10_000_000_000, scale in -16i32..16) {
            let value = mantissa as f64 * 10f64.powi(scale);
            prop_assert_eq!(outline(&spelt(value)), outline(&model(value)));
            prop_assert_eq!(spelt(value).parse::<f64>().unwrap(), value);
        }
    }
}
