//! Every kernel against the standard library's parser.

use super::*;
use crate::decode::tests::bodies::service;

/// Values and tokens of a list of spellings, through one kernel.
fn read(kernel: Kernel, spellings: &[String]) -> Option<Vec<f64>> {
    let text = format!("{}[{}]", " ".repeat(40), spellings.join(","));
    let bytes = text.as_bytes();
    let mut places = vec![0; bytes.len() + 65];
    places[0] = 40;
    let found = kernel.index(bytes, 41, &mut places[1..]);
    assert_eq!(found, spellings.len(), "{}", kernel.name());
    let mut values = Vec::new();
    kernel.floats(bytes, &places[..found], 1, &places[1..=found], &mut values).then_some(values)
}

fn kernels() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|kernel| kernel.supported())
}

fn agree(spellings: &[String]) {
    for kernel in kernels() {
        let values = read(kernel, spellings).unwrap_or_else(|| panic!("{}: {spellings:?}", kernel.name()));
        for (spelling, value) in spellings.iter().zip(values) {
            let expected: f64 = spelling.parse().unwrap();
            assert_eq!(value.to_bits(), expected.to_bits(), "{}: {spelling}: {value:e}", kernel.name());
        }
    }
}

/// Spellings as the service and its hostile cousins write them.
fn spelling(random: &mut fastrand::Rng) -> String {
    let value = match random.u32(..6) {
        0 => f64::from_bits(random.u64(..)),
        1 => random.f64() * 10f64.powi(random.i32(-8..12)),
        2 => random.u64(..100_000_000) as f64 / 10f64.powi(random.i32(0..9)),
        3 => (random.u64(..1 << 53) as f64) * 10f64.powi(random.i32(-30..30)),
        4 => f64::from(random.u32(..1_000)),
        _ => random.f64(),
    };
    let value = if value.is_finite() { value } else { 1.5 };
    let value = if random.u32(..8) == 0 { -value } else { value };
    let digits = random.usize(..22);
    match random.u32(..9) {
        0 => format!("{value}"),
        1 => format!("{value:e}"),
        2 => format!("{value:.digits$e}"),
        3 if value.abs() < 1e25 => format!("{value:.digits$}"),
        4 | 5 => service(value),
        6 => halfway(value.abs()),
        7 => format!("{}{}.{}", random.u32(1..10), random.u64(..), random.u64(..)),
        _ => format!("{}e{}", random.u64(..), random.i32(-99..99)),
    }
}

/// Exactly or nearly in the middle between a double and the next.
fn halfway(value: f64) -> String {
    let whole = (value % 1e15).trunc().max(1.0);
    let bits = whole.to_bits();
    let next = f64::from_bits(bits + 1);
    let middle = u128::from(whole as u64) + u128::from((next - whole) as u64 / 2);
    if next - whole >= 2.0 {
        return format!("{middle}");
    }
    format!("{:.30}", f64::midpoint(whole, next))
}

/// A long number of the usual kind, to fill complete groups: 17 to 20 bytes with a dot, possibly an exponent.
fn usual(random: &mut fastrand::Rng) -> String {
    let count = random.usize(16..20);
    let mut text: String = (0..count).map(|_| random.digit(10)).collect();
    let dot = random.usize(1..count);
    if random.u32(..8) > 0 {
        text.insert(dot, '.');
    }
    if text.starts_with('0') && !text.starts_with("0.") {
        text.replace_range(..1, "1");
    }
    match random.u32(..3) {
        0 => format!("{text}e{}{:02}", ['+', '-'][random.usize(..2)], random.u32(..40)),
        _ => text,
    }
}

/// A number of a few digits; now and then any other one.
fn few(random: &mut fastrand::Rng) -> String {
    let digits = random.u32(1..5);
    match random.u32(..100) {
        0 => spelling(random),
        1 => random.u32(..).to_string(),
        _ => random.u32(..10u32.pow(digits)).to_string(),
    }
}

fn many(count: usize, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..count / 1_000 {
        let style = [spelling, usual, few][round % 3];
        agree(&std::iter::repeat_with(|| style(&mut random)).take(1_000).collect::<Vec<_>>());
    }
}

/// What stands beside a number that is looked at closely: numbers of a few digits, short ones and long ones, each of which
/// are read in another way.
const NEIGHBOURS: [&str; 3] = ["7", "1.5", "1234.5678901234567"];

#[test]
fn a_dot_may_stand_anywhere_but_only_once() {
    let digits = "98765432109876543210987";
    for neighbour in NEIGHBOURS {
        let line = |text: &str, place: usize| {
            let mut line = vec![neighbour.to_owned(); 25];
            text.clone_into(&mut line[place]);
            line
        };
        for length in 1..digits.len() {
            for dot in 0..=length {
                let once = format!("{}.{}", &digits[..dot], &digits[dot..length]);
                let exponent = format!("{once}e-07");
                for text in [&once, &exponent] {
                    if dot > 0 && dot < length {
                        agree(&line(text, dot));
                    } else {
                        assert!(kernels().all(|kernel| read(kernel, &line(text, dot)).is_none()), "{text}");
                    }
                }
                for second in dot..=length {
                    let twice = format!("{}.{}.{}", &digits[..dot], &digits[dot..second], &digits[second..length]);
                    assert!(kernels().all(|kernel| read(kernel, &line(&twice, second)).is_none()), "{twice}");
                }
            }
            let zero = format!("0{}", &digits[..length]);
            assert!(kernels().all(|kernel| read(kernel, &line(&zero, length)).is_none()), "{zero}");
        }
    }
}

#[test]
fn generated_spellings_give_the_same_bits_as_the_standard_library() {
    many(60_000, 1);
}

/// All of issue 5: ten million for every kernel. `make prove` runs it, optimised.
#[test]
#[ignore = "minutes in a debug build"]
fn ten_million_spellings_give_the_same_bits_as_the_standard_library() {
    many(10_000_000, 2);
}

#[test]
fn corners_of_the_grammar_and_of_rounding() {
    let texts = [
        "0",
        "-0",
        "0.0",
        "-0.0",
        "0e+00",
        "0.000e-99",
        "1",
        "9",
        "10",
        "99999999",
        "100000000",
        "9999999999999999",
        "9007199254740993",
        "9007199254740992",
        "90071992547409930",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999",
        "1.7976931348623157e308",
        "2.2250738585072014e-308",
        "5e-324",
        "2.4703282292062328e-324",
        "1.9340026e+07",
        "-8.81e-06",
        "1.7748e+15",
        "3353.919000000029",
        "0.013999999999999999",
        "0.00012345678901234567",
        "123456.78901234567",
        "0.000000000000000000000000000001",
        "1e-99",
        "1e+99",
        "1E5",
        "1e5",
        "1E+05",
        "1.0e-05",
        "123456789012345678901234567890",
        "0.1",
        "0.12345678901234",
        "1234567890123.45",
        "8.5e-05",
        "4503599627370496.5",
        "4503599627370497.5",
        "9.5e+22",
        "1e22",
        "1e23",
        "89255e-22",
        "104110013277974872254e-225",
        "1.1754943508222875e-38",
        "7.2057594037927933e+16",
        "-1.5",
        "-123456789012345678",
    ];
    agree(&texts.map(str::to_owned));
    // In every lane and beside every other.
    for text in texts {
        for neighbour in NEIGHBOURS {
            let mut line = vec![neighbour.to_owned(); 17];
            for place in 0..line.len() {
                text.clone_into(&mut line[place]);
                agree(&line);
                neighbour.clone_into(&mut line[place]);
            }
        }
    }
}

#[test]
fn runs_of_short_integers_hold_any_number_in_every_lane() {
    agree(&(0..10_000).map(|number| number.to_string()).collect::<Vec<_>>());
    for other in ["0", "9999", "10000", "-7", "1.5", "0.5", "1e3", "-0", "12345678", "1.7976931348623157e+308"] {
        for lane in 0..24 {
            let mut line: Vec<String> = (0..24).map(|number| (number * 7 % 100).to_string()).collect();
            other.clone_into(&mut line[lane]);
            agree(&line);
        }
    }
}

#[test]
fn what_is_no_number_is_refused_in_every_lane() {
    let texts = [
        "",
        "-",
        ".",
        "+1",
        "01",
        "00",
        "-01",
        "00.5",
        "1.",
        ".5",
        "-.5",
        "1..5",
        "1.5.",
        "5.5.5",
        ".5.",
        "1e",
        "1e+",
        "e+07",
        "1e+0",
        "1.e+07",
        "-e+07",
        "1e+0x",
        "1e*07",
        "1e+1.",
        "1-2",
        "--1",
        "1-",
        "12a",
        "a12",
        "NaN",
        "Infinity",
        "null",
        "true",
        "\"1\"",
        "1 2",
        "[1",
        "{",
        "1\u{0C}",
        "0x10",
        "1_000",
        "1e400",
        "-1e400",
        "1e+999",
        "0123456789012345678",
        "012345678901234567890123456789",
        "0123.4567890123456789",
        "1/2",
        "1:2",
        "12345678:",
        "é",
        "1.2345678901234567e+1a",
        "12345678901234567.",
        ".12345678901234567",
        "1234567890.12345.67890123",
        // Read as digits, these bytes are 2^64 - 1.
        "1843@744073709551615",
        "18421.9.0737095.51615",
        "-1843@744073709551615e+10",
    ];
    // "1e+0" is a number; it stands among these to show that the test can fail.
    for text in texts.into_iter().filter(|text| *text != "1e+0") {
        for (place, neighbour) in (0..17).flat_map(|place| NEIGHBOURS.map(|neighbour| (place, neighbour))) {
            let mut line = vec![neighbour.to_owned(); 17];
            text.clone_into(&mut line[place]);
            for kernel in kernels() {
                let values = read(kernel, &line);
                assert_eq!(values, None, "{}: {text:?} at {place}", kernel.name());
            }
        }
    }
}

#[test]
fn white_space_around_a_number_is_allowed() {
    for kernel in kernels() {
        let line = [" 1", "2 ", "\n3\t", "4", "\r5e+00 "].map(str::to_owned);
        assert_eq!(read(kernel, &line).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0], "{}", kernel.name());
    }
}

#[test]
fn delimiters_are_found_at_every_place() {
    let mut random = fastrand::Rng::with_seed(3);
    for length in 0..300 {
        let bytes: Vec<u8> = (0..length).map(|_| b",]}ab|=m\x0C\xAC\xDD\xFD"[random.usize(..12)]).collect();
        let from = random.usize(..=length);
        let expected: Vec<u32> =
            (from..length).filter(|place| b",]}".contains(&bytes[*place])).map(|place| place as u32).collect();
        for kernel in kernels() {
            let mut out = vec![0; length - from + 64];
            let found = kernel.index(&bytes, from, &mut out);
            assert_eq!(out[..found], expected, "{}", kernel.name());
            let mut closers = vec![0; out.len()];
            let (all, closing) = kernel.index_closers(&bytes, from, &mut out, &mut closers);
            assert_eq!(out[..all], expected, "{}", kernel.name());
            let close = |index: &u32| bytes[expected[*index as usize] as usize] != b',';
            let wanted: Vec<u32> = (0..expected.len() as u32).filter(close).collect();
            assert_eq!(closers[..closing], wanted, "{}", kernel.name());
            let bracket = (from..length).find(|place| bytes[*place] == b']');
            let commas = |end: usize| bytes[from..end].iter().filter(|byte| **byte == b',').count();
            assert_eq!(kernel.list_end(&bytes, from), bracket.map(|end| (commas(end), end)), "{}", kernel.name());
            let closing = expected.iter().position(|place| bytes[*place as usize] != b',');
            let found = kernel.index_list(&bytes, from, &mut out);
            assert_eq!(
                out[..found],
                expected[..closing.map_or(expected.len(), |place| place + 1)],
                "{}",
                kernel.name()
            );
        }
    }
}

#[test]
fn commas_and_line_ends_are_found_at_every_place() {
    let mut random = fastrand::Rng::with_seed(4);
    for length in 0..300 {
        let bytes: Vec<u8> = (0..length).map(|_| b",\nab]}\r\x0B\x8A\xAC\x2A\x8C"[random.usize(..12)]).collect();
        let expected: Vec<u32> =
            (0..length).filter(|place| b",\n".contains(&bytes[*place])).map(|place| place as u32).collect();
        let is_end = |index: &u32| bytes[expected[*index as usize] as usize] == b'\n';
        let line_ends: Vec<u32> = (0..expected.len() as u32).filter(is_end).collect();
        for kernel in kernels() {
            let (mut out, mut ends) = (vec![0; length + 64], vec![0; length + 64]);
            let (found, lines) = kernel.index_rows(&bytes, &mut out, &mut ends);
            assert_eq!((&out[..found], &ends[..lines]), (&expected[..], &line_ends[..]), "{}", kernel.name());
        }
    }
}

#[test]
fn the_delimiters_of_lists_are_brought_together_whatever_their_length() {
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..300 {
        let longest = [1, 5, 31, 32, 33, 70][round % 6];
        let places: Vec<u32> = (0..400).map(|place| 10 * place + 7).collect();
        let (mut spans, mut befores, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut first = 0;
        loop {
            first += random.usize(0..4);
            let count = random.usize(0..=longest);
            let Some(list) = places.get(first..first + count) else { break };
            let before = random.u32(..);
            for (index, place) in list.iter().enumerate() {
                befores.push(if index == 0 { before } else { list[index - 1] });
                ends.push(*place);
            }
            spans.push(ListSpan { first: first as u32, before, until: ends.len() as u32 });
            first += count;
        }
        for kernel in kernels() {
            let room = ends.len() + Kernel::LIST_ROOM;
            let (mut starts, mut stops) = (vec![0; room], vec![0; room]);
            assert_eq!(kernel.lists(&places, &spans, &mut starts, &mut stops), spans.len(), "{}", kernel.name());
            assert_eq!((&starts[..ends.len()], &stops[..ends.len()]), (&befores[..], &ends[..]), "{}", kernel.name());
            // What is not there ends it, in delimiters and in room.
            let last = *spans.last().unwrap();
            let beyond = [
                ListSpan { first: 400, until: last.until + 1, ..last },
                ListSpan { first: u32::MAX, until: last.until + 1, ..last },
                ListSpan { first: 0, until: u32::MAX, ..last },
                ListSpan { first: 0, until: last.until.wrapping_sub(1), ..last },
            ];
            for odd in beyond {
                let with_odd = [&spans[..], &[odd]].concat();
                assert_eq!(kernel.lists(&places, &with_odd, &mut starts, &mut stops), spans.len(), "{odd:?}");
            }
            let whole = kernel.lists(&places, &spans, &mut starts[..ends.len() / 2], &mut stops);
            assert!(spans[..whole].iter().all(|span| span.until as usize <= ends.len() / 2), "{}", kernel.name());
        }
    }
}

#[test]
fn pairs_ascend_when_each_first_is_at_least_the_one_before() {
    let mut random = fastrand::Rng::with_seed(9);
    for count in 0..40 {
        let mut pairs: Vec<f64> = (0..count).flat_map(|level| [f64::from(level / 2), random.f64() * 100.0]).collect();
        for kernel in kernels() {
            assert!(kernel.ascend(&pairs), "{} {count}", kernel.name());
        }
        for level in 1..count as usize {
            let kept = std::mem::replace(&mut pairs[2 * level], -1.0);
            for kernel in kernels() {
                assert!(!kernel.ascend(&pairs), "{} {count} {level}", kernel.name());
            }
            pairs[2 * level] = kept;
        }
    }
}

#[test]
fn the_first_place_without_the_literal_is_found_whichever_it_is() {
    let literal: Vec<u8> = (0..70).map(|place| b'a' + place % 26).collect();
    for length in [1, 31, 32, 33, 70] {
        let literal = &literal[..length];
        for count in [0, 1, 7, 8, 9, 16, 17, 40] {
            // With no more behind the last one than must be, and with enough to look beyond it.
            for behind in [0, 64] {
                let row = [b"..", literal].concat();
                let mut bytes = [row.repeat(count), vec![b' '; behind]].concat();
                let befores: Vec<u32> = (0..count).map(|index| (index * row.len()) as u32).collect();
                let wanted = Literal::new(literal);
                for kernel in kernels() {
                    assert_eq!(kernel.same(&bytes, &befores, 2, &wanted), count, "{} {length}", kernel.name());
                }
                for (index, place) in
                    (0..count).flat_map(|index| [0, length / 2, length - 1].map(|place| (index, place)))
                {
                    let at = index * row.len() + 2 + place;
                    let kept = std::mem::replace(&mut bytes[at], b'!');
                    for kernel in kernels() {
                        let name = kernel.name();
                        assert_eq!(kernel.same(&bytes, &befores, 2, &wanted), index, "{name} {length} {count} {place}");
                    }
                    bytes[at] = kept;
                }
            }
        }
    }
}

#[test]
fn literals_are_compared_whole_and_never_past_the_end() {
    let bytes: Vec<u8> = (0..200u8).collect();
    for length in [1, 5, 31, 32, 33, 64, 70] {
        let literal = Literal::new(&bytes[10..10 + length]);
        for kernel in kernels() {
            assert_eq!(kernel.same(&bytes, &[8, 8, 8], 2, &literal), 3);
            assert_eq!(kernel.same(&bytes, &[8, 9, 8], 2, &literal), 1);
            assert_eq!(kernel.same(&bytes[..10 + length], &[8, 8], 2, &literal), 2);
            assert_eq!(kernel.same(&bytes[..9 + length], &[8, 8], 2, &literal), 0);
            for wrong in 0..length {
                let mut changed = bytes.clone();
                changed[10 + wrong] ^= 1;
                assert_eq!(kernel.same(&changed, &[8], 2, &literal), 0, "{} {length} {wrong}", kernel.name());
            }
        }
    }
}

#[test]
fn times_are_whole_seconds_and_nanoseconds_within_a_second() {
    let cases: [(&str, &str, Option<i64>); 12] = [
        ("1776880800", "126000000", Some(1_776_880_800_126_000_000)),
        ("0", "0", Some(0)),
        ("-1", "999999999", Some(-1)),
        ("1.7768808e+09", "1e+00", Some(1_776_880_800_000_000_001)),
        ("9223372035", "999999999", Some(9_223_372_035_999_999_999)),
        ("9223372036", "854775807", Some(i64::MAX)),
        ("9223372036", "854775808", None),
        ("1", "1000000000", None),
        ("1", "-1", None),
        ("1.5", "0", None),
        ("01", "0", None),
        ("1", "", None),
    ];
    for kernel in kernels() {
        for (seconds, part, expected) in cases {
            for place in 0..9 {
                let row = |index: usize| if index == place { (seconds, part) } else { ("7", "8") };
                let rows: Vec<_> = (0..9).map(|index| format!("s{},n{}}}", row(index).0, row(index).1)).collect();
                let text = rows.concat();
                let text = format!("{}{text}", " ".repeat(40));
                let mut places = vec![0; text.len() + 64];
                let found = kernel.index(text.as_bytes(), 0, &mut places);
                let ends: Vec<u32> = places[..found].iter().copied().step_by(2).collect();
                let parts: Vec<u32> = places[1..found].iter().copied().step_by(2).collect();
                let befores: Vec<u32> = std::iter::once(39).chain(parts.iter().copied()).take(9).collect();
                let mut out = Vec::new();
                let right = kernel.times(text.as_bytes(), &befores, 2, &ends, Some((2, &parts)), &mut out);
                assert_eq!(out.get(place).copied(), expected, "{} {seconds} {part}", kernel.name());
                if right {
                    assert_eq!(out[(place + 1) % 9], 7_000_000_008);
                }
                out.clear();
                let whole = kernel.times(text.as_bytes(), &befores, 2, &ends, None, &mut out);
                assert_eq!(whole, !["1.5", "01"].contains(&seconds), "{} {seconds}", kernel.name());
            }
        }
    }
}

#[test]
fn the_variable_names_a_kernel() {
    assert_eq!(Kernel::named("scalar"), Ok(Kernel::Scalar));
    let error = Kernel::named("mmx").unwrap_err();
    assert!(error.starts_with("MARKETPOINTS_KERNEL=mmx is no kernel; unset it or choose one of: scalar"), "{error}");
    for kernel in Kernel::ALL {
        match Kernel::named(kernel.name()) {
            Ok(found) => assert_eq!((found, kernel.supported()), (kernel, true)),
            Err(error) => assert!(!kernel.supported() && error.contains("this processor lacks"), "{error}"),
        }
    }
}

#[test]
fn powers_of_five_are_those_of_an_independent_division() {
    use super::super::powers::{LARGEST, LOWER, SMALLEST, UPPER};
    // The published table of Lemire's paper, at its corners.
    let word = |power: i64| ((power - SMALLEST) as usize, power);
    for ((index, power), upper, lower) in [
        (word(0), 0x8000_0000_0000_0000, 0),
        (word(-1), 0xCCCC_CCCC_CCCC_CCCC, 0xCCCC_CCCC_CCCC_CCCD),
        (word(1), 0xA000_0000_0000_0000, 0),
        (word(27), 0xCECB_8F27_F420_0F3A, 0),
        (word(28), 0x813F_3978_F894_0984, 0x4000_0000_0000_0000),
    ] {
        assert_eq!((UPPER[index], LOWER[index]), (upper, lower), "{power}");
    }
    assert_eq!(UPPER.len() as i64, LARGEST - SMALLEST + 1);
}

/// A closure in a function without the instructions is compiled without them, and calls each intrinsic: that took 138 instead of
/// 18 ms for a body of long numbers.
#[test]
fn functions_in_256_bits_have_their_instructions_or_are_inlined_where_these_are() {
    let files = [
        include_str!("x86/mod.rs"),
        include_str!("x86/number.rs"),
        include_str!("x86/int4.rs"),
        include_str!("x86/column.rs"),
        include_str!("x86/decimal16x4.rs"),
        include_str!("x86/decimal31x2.rs"),
    ];
    let mut wide = 0;
    for text in files {
        let (mut attributes, mut function) = (String::new(), None);
        for line in text.lines().map(str::trim) {
            let words = ["pub(super)", "pub(in", "super::super)", "unsafe", "const", ""];
            let signature =
                line.split_once("fn ").filter(|(before, _)| before.split(' ').all(|word| words.contains(&word)));
            if let Some((_, signature)) = signature {
                let name = signature.split(['(', '<']).next().unwrap_or_default().to_owned();
                function = Some((name, std::mem::take(&mut attributes)));
            } else if line.starts_with("#[") {
                attributes.push_str(line);
            } else if let Some((name, attributes)) = &function {
                let own = attributes.contains("#[target_feature(enable = \"avx2");
                if line.contains("_mm256_") {
                    wide += 1;
                    assert!(own || attributes.contains("#[inline(always)]"), "{name}");
                }
                let closure = line.starts_with('|') && !line.starts_with("| ")
                    || ["= |", "(|", ", |", "move |"].iter().any(|start| line.contains(start));
                assert!(own || !(closure && line.contains("_mm256_")), "{name}: {line}");
            }
        }
    }
    assert!(wide >= 80, "{wide}");
}
