//! Damaged bodies: an error with its place, or the answer that the bytes mean; the same from every kernel.

use fastrand::Rng;

use super::agreement::verdict;
use super::bodies::{Case, Style, heatmap, table, table_types};

fn small() -> Vec<Case> {
    let mut random = Rng::with_seed(21);
    let style = Style { gaps: true, ..Style::default() };
    let mut cases: Vec<Case> = table_types()
        .flat_map(|spec| {
            let points = if spec.fields.len() > 15 { 1 } else { 3 };
            [table(spec, points, Style::default(), &mut random), table(spec, points, style, &mut random)]
        })
        .collect();
    cases.extend(heatmap(2, 12, Style::default(), &mut random));
    cases
}

#[test]
fn a_body_cut_at_any_byte_is_an_error() {
    for case in small() {
        let body = case.body.as_bytes();
        for end in 0..body.len() {
            let error = verdict(&body[..end], end).unwrap_err();
            assert!(error.offset <= end, "{end}: {error}");
        }
    }
}

/// Every byte of the small bodies becomes each of these in turn.
fn change(bytes: &[u8], step: usize) {
    let mut turn = 0;
    for case in small() {
        let body = case.body.as_bytes();
        for (place, byte) in (0..body.len()).flat_map(|place| bytes.iter().map(move |byte| (place, *byte))) {
            turn += 1;
            if turn % step != 0 {
                continue;
            }
            let mut changed = body.to_vec();
            changed[place] = byte;
            match verdict(&changed, turn / step) {
                Err(error) => assert!(error.offset <= body.len(), "{error}"),
                // Whole in the eyes of an independent reader too, and no point of it is lost.
                Ok(series) => {
                    serde_json::from_slice::<serde::de::IgnoredAny>(&changed).unwrap();
                    // Numbers out of range and lone surrogates are kept where no table knows the field.
                    let Ok(document) = serde_json::from_slice::<serde_json::Value>(&changed) else { continue };
                    let list = document.get("series").and_then(serde_json::Value::as_array);
                    let counts = list.into_iter().flatten().map(|one| one.get("points")?.as_array().map(Vec::len));
                    for (one, count) in series.iter().zip(counts) {
                        // Two equal points for one time are one.
                        assert!(count.is_none_or(|count| one.len() == count || one.len() + 1 == count));
                    }
                }
            }
        }
    }
}

const BYTES: &[u8] = b"\"}],90-.e \0\xFF{[:n";

#[test]
fn a_changed_byte_is_an_error_or_another_whole_answer() {
    change(BYTES, 17);
}

/// All of them. `make prove` runs it, optimised.
#[test]
#[ignore = "minutes in a debug build"]
fn every_changed_byte_is_an_error_or_another_whole_answer() {
    change(&(0..=u8::MAX).collect::<Vec<_>>(), 1);
}

#[test]
fn a_wrong_row_among_many_is_named_with_its_place() {
    let mut random = Rng::with_seed(23);
    let spec = table_types().next().unwrap();
    let case = table(spec, 300, Style::default(), &mut random);
    let whole = verdict(case.body.as_bytes(), 803).unwrap();
    assert_eq!(whole[0].len(), 300);
    let mut row = 0;
    for (place, _) in case.body.match_indices("\"open\":") {
        let value = place + "\"open\":".len();
        let end = value + case.body[value..].find(',').unwrap();
        for bad in ["NaN", "01", "1e999", "\"1\"", "1.", "{}", "true"] {
            if (row + bad.len()) % 29 != 0 {
                continue;
            }
            let body = format!("{}{bad}{}", &case.body[..value], &case.body[end..]);
            let error = verdict(body.as_bytes(), 700 + row).unwrap_err();
            assert_eq!(error.path, format!("series[0].points[{row}].Point.open"), "{error}");
            assert!((value..=value + bad.len()).contains(&error.offset), "{error}: {value}");
        }
        row += 1;
    }
    assert_eq!(row, 300);
}

// faults.md row 28
#[test]
fn a_wrong_number_in_a_long_list_is_named_with_its_place() {
    let mut random = Rng::with_seed(24);
    let [nested, _, flat] = heatmap(2, 3_000, Style::default(), &mut random);
    for (case, path) in [(nested, "series[0].points["), (flat, "series[0].flat_points[")] {
        let places: Vec<usize> = case.body.match_indices(',').map(|(place, _)| place + 1).collect();
        for place in places.iter().filter(|place| case.body.as_bytes()[**place].is_ascii_digit()).step_by(499) {
            let body = format!("{}x{}", &case.body[..*place], &case.body[*place..]);
            let error = verdict(body.as_bytes(), *place).unwrap_err();
            assert_eq!((error.offset, error.path.starts_with(path)), (*place, true), "{error}");
        }
    }
}

#[test]
fn an_error_comes_as_soon_as_it_is_certain() {
    let mut decoder = crate::decode::PointsDecoder::with(crate::decode::Kernel::Scalar);
    let start = br#"{"series":[{"id":{"type":"TRADE_AGG"},"points":[{"Point":{"open":nothing, "close":1, "low":2, "high":30000, "#;
    let error = decoder.feed(start).unwrap_err();
    assert_eq!((error.offset, &*error.path), (65, "series[0].points[0].Point.open"));
    assert_eq!(decoder.feed(b"}").unwrap_err(), error);
    assert_eq!(decoder.finish().unwrap_err(), error);
}
