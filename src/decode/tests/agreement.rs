//! All kernels, and all portions in which a body may arrive, give what the body means, bit for bit.

use fastrand::Rng;

use super::bodies::{Case, Style, heatmap, table, table_types};
use crate::columns::{Column, ColumnName, Series};
use crate::decode::{DecodeError, Kernel, PointsDecoder, points_with};

fn kernels() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|kernel| kernel.supported())
}

/// One of those that this processor has, each in its turn.
pub(super) fn kernel(turn: usize) -> Kernel {
    let all: Vec<Kernel> = kernels().collect();
    all[turn % all.len()]
}

/// Equality of bits: NaN is itself, and -0 is not 0.
fn same(left: &Column, right: &Column) -> bool {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    match (left, right) {
        (Column::Float(left), Column::Float(right)) => bits(left) == bits(right),
        (Column::List(left), Column::List(right)) => {
            left.offsets == right.offsets && bits(&left.values) == bits(&right.values)
        }
        (Column::Rows(left), Column::Rows(right)) => {
            left.offsets == right.offsets && same_columns(&left.columns, &right.columns)
        }
        _ => left == right,
    }
}

pub(super) fn same_columns(left: &[(ColumnName, Column)], right: &[(ColumnName, Column)]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(one, other)| one.0 == other.0 && same(&one.1, &other.1))
}

fn same_series(left: &Series, right: &Series) -> bool {
    (&left.id, left.shape, &left.timestamps) == (&right.id, right.shape, &right.timestamps)
        && same_columns(&left.columns, &right.columns)
}

/// Decodes in portions of those sizes, one after the other and again.
pub(super) fn in_portions(kernel: Kernel, body: &[u8], sizes: &[usize]) -> Result<Vec<Series>, DecodeError> {
    let mut decoder = PointsDecoder::with(kernel);
    let mut rest = body;
    for size in sizes.iter().cycle() {
        let (portion, after) = rest.split_at((*size).min(rest.len()));
        decoder.feed(portion)?;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    decoder.finish()
}

fn check(case: &Case, random: &mut Rng) {
    let body = case.body.as_bytes();
    for kernel in kernels() {
        let sizes = [1 + random.usize(..40), 1 + random.usize(..4_000), 1 + random.usize(..20_000)];
        for answer in [points_with(kernel, body), in_portions(kernel, body, &sizes)] {
            let answer = answer.unwrap_or_else(|error| panic!("{}: {error}: {}", kernel.name(), case.body));
            assert_eq!(answer.len(), 1);
            assert_eq!(answer[0].timestamps, case.timestamps, "{}", kernel.name());
            for ((name, found), (wanted_name, wanted)) in answer[0].columns.iter().zip(&case.columns) {
                assert_eq!(name, wanted_name);
                assert!(same(found, wanted), "{} {name}: {found:?} {wanted:?}\n{}", kernel.name(), case.body);
            }
            assert_eq!(answer[0].columns.len(), case.columns.len());
        }
    }
}

#[test]
fn every_type_in_every_style_reads_as_it_was_written() {
    let mut random = Rng::with_seed(11);
    for round in 0..6 {
        for spec in table_types() {
            let style = if round == 0 { Style::default() } else { Style::any(&mut random) };
            let points = [0, 1, 2, 9, 70, 200][random.usize(..6)];
            let points = if spec.fields.len() > 15 { points / 10 } else { points };
            check(&table(spec, points, style, &mut random), &mut random);
        }
    }
}

#[test]
fn long_bodies_cross_every_border_of_a_stretch() {
    let mut random = Rng::with_seed(12);
    for style in [
        Style::default(),
        Style { shuffled: true, ..Style::default() },
        Style { gaps: true, ..Style::default() },
        Style { wild: true, ..Style::default() },
    ] {
        for spec in table_types().take(4) {
            check(&table(spec, 400, style, &mut random), &mut random);
        }
        for case in heatmap(3, 2_500, style, &mut random) {
            check(&case, &mut random);
        }
    }
}

#[test]
fn heatmaps_of_every_form_read_as_they_were_written() {
    let mut random = Rng::with_seed(13);
    for _ in 0..40 {
        let style = Style::any(&mut random);
        let (snapshots, depth) = (random.usize(..6), [0, 1, 7, 60, 300][random.usize(..5)]);
        for case in heatmap(snapshots, depth, style, &mut random) {
            check(&case, &mut random);
        }
    }
}

#[test]
fn every_portion_size_gives_the_same() {
    let mut random = Rng::with_seed(14);
    let style = Style { gaps: true, strangers: true, ..Style::default() };
    let mut cases: Vec<Case> = table_types().map(|spec| table(spec, 3, style, &mut random)).collect();
    cases.extend(heatmap(2, 9, style, &mut random));
    for case in cases {
        let body = case.body.as_bytes();
        let whole = points_with(Kernel::Scalar, body).unwrap();
        for size in (1..80).chain([127, 255, 1_000, body.len() - 1, body.len()]) {
            let answer = in_portions(kernel(size), body, &[size]).unwrap();
            assert!(answer.iter().zip(&whole).all(|(one, other)| same_series(one, other)), "{size}: {}", case.body);
        }
    }
}

/// A profile's rows, of which some hold a field with the name of the wrapper around them.
fn named_as_the_wrapper(random: &mut Rng, values: &[&str]) -> (String, Vec<f64>) {
    let (mut rows, mut wanted) = (Vec::new(), Vec::new());
    let often = random.f64();
    for row in 0..=random.usize(..60) {
        let level = |price| format!(r#"{{"price":{price},"block_ids":[0,{row}],"buy_volume":{row}.5}}"#);
        let levels: Vec<String> = (0..random.usize(..4)).map(level).collect();
        let mut parts = vec![
            format!(r#""timestamp":{{"s":{row}}}"#),
            format!(r#""levels":[{}]"#, levels.join(",")),
            format!(r#""poc_price":{}"#, random.u8(..)),
        ];
        wanted.push(f64::NAN);
        if random.f64() < often {
            let value = values[random.usize(..values.len())];
            wanted[row] = value.parse().unwrap_or(f64::NAN);
            parts.insert(random.usize(..4), format!(r#""TpoAggregation":{value}"#));
        }
        rows.push(format!(r#"{{"Point":{{"TpoAggregation":{{{}}}}}}}"#, parts.join(",")));
    }
    let body = format!(r#"{{"series":[{{"id":{{"type":"TPO_AGG"}},"points":[{}]}}]}}"#, rows.join(","));
    (body, wanted)
}

// faults.md row 31
#[test]
fn a_number_named_as_the_wrapper_of_profiles_reads_the_same_in_every_portion() {
    let mut random = Rng::with_seed(15);
    for _ in 0..60 {
        let (body, wanted) = named_as_the_wrapper(&mut random, &["7", "-1.5e3", "0", "null"]);
        for turn in [0, 1, 2, 3, 4 * random.usize(..211), 4 * random.usize(..211) + 1, 4 * random.usize(..211) + 3] {
            let answer = verdict(body.as_bytes(), turn).unwrap_or_else(|error| panic!("{error}: {body}"));
            assert_eq!(answer[0].timestamps.len(), wanted.len());
            let found = answer[0].columns.iter().find(|(name, _)| *name == "tpo_aggregation");
            match found {
                None => assert!(wanted.iter().all(|value| value.is_nan()), "{body}"),
                Some((_, column)) => assert!(same(column, &Column::Float(wanted.clone())), "{column:?}: {body}"),
            }
        }
    }
}

#[test]
fn values_of_every_kind_named_as_the_wrapper_agree_in_every_portion() {
    let mut random = Rng::with_seed(16);
    let values = ["7", "null", "true", r#""text""#, "[1,2]", r#"{"more":1}"#, "{}", r#"{"timestamp":{"s":5}}"#, "[{}]"];
    for _ in 0..150 {
        let (body, _) = named_as_the_wrapper(&mut random, &values);
        for turn in 0..4 {
            drop(verdict(body.as_bytes(), turn + 4 * random.usize(..211)));
        }
    }
}

/// What a body that may be wrong gives: the portable kernel on the whole and another one, whole and in portions, agree, or
/// this fails. `turn` chooses the other kernel and the size of the portions.
pub(super) fn verdict(body: &[u8], turn: usize) -> Result<Vec<Series>, DecodeError> {
    let first = points_with(Kernel::Scalar, body);
    let kernel = kernel(turn);
    let size = 1 + turn / 4 % 211;
    for (how, answer) in [("whole", points_with(kernel, body)), ("portions", in_portions(kernel, body, &[size]))] {
        let equal = match (&answer, &first) {
            (Ok(answer), Ok(first)) => {
                answer.len() == first.len() && answer.iter().zip(first).all(|(one, other)| same_series(one, other))
            }
            (Err(answer), Err(first)) => answer == first,
            _ => false,
        };
        let text = String::from_utf8_lossy(body);
        assert!(equal, "{} {how} {size}: {answer:?}\nscalar: {first:?}\n{text}", kernel.name());
    }
    first
}
