//! The envelope: series, their identity and their points (service.md 2.2).

use super::DecodeError;
use super::json::{Reader, Result};
use super::table::Table;
use crate::columns::{Column, Series, arrange, heatmap_from_flat, heatmap_from_levels, heatmap_from_sides, join};
use crate::protocol::{DataType, Field, FieldKind, SeriesId, Shape, TypeSpec};

/// Reads a whole body.
pub(super) fn body(bytes: &[u8]) -> Result<Vec<Series>> {
    let mut reader = Reader::new(bytes);
    let mut list = None;
    let mut refusal = None;
    reader.object(|reader, key| match &**key {
        "series" if list.is_some() => Err(reader.error("a duplicate key")),
        "series" => {
            let mut read = Vec::new();
            if !reader.null()? {
                reader.array(|reader, _| {
                    read.push(series(reader)?);
                    Ok(())
                })?;
            }
            list = Some(read);
            Ok(())
        }
        // Whatever stands where series should stand: an error object in the clothes of a good answer.
        _ => {
            let offset = reader.offset();
            let text = String::from_utf8_lossy(reader.skip()?).into_owned();
            if key == "error" || refusal.is_none() {
                refusal = Some((offset, format!("{key}: {text}"), key == "error"));
            }
            Ok(())
        }
    })?;
    reader.finish()?;
    match (list, refusal) {
        (Some(list), Some((_, _, true))) if !list.is_empty() => whole(list),
        (None, Some((offset, text, _))) | (Some(_), Some((offset, text, true))) => {
            Err(DecodeError::new(offset, format!("an error object, not series ({text})")))
        }
        (Some(list), _) => whole(list),
        (None, None) => Ok(Vec::new()),
    }
}

/// Series of one identity are one series, also within a body.
fn whole(list: Vec<Series>) -> Result<Vec<Series>> {
    let repeated = |(index, one): (usize, &Series)| list[..index].iter().any(|other| other.id == one.id);
    if !list.iter().enumerate().any(repeated) {
        return Ok(list);
    }
    let unique = list.iter().all(|one| one.data_type() != Some(DataType::TokenSupplyAgg));
    join(vec![list], unique).map_err(|conflict| DecodeError::new(0, conflict.to_string()))
}

/// Reads one series. Points wait until the identity is known, whichever comes first.
fn series(reader: &mut Reader<'_>) -> Result<Series> {
    let start = reader.offset();
    let (mut id, mut points, mut flat) = (None, None, None);
    reader.object(|reader, key| {
        let waiting = match &**key {
            "id" if id.is_some() => return Err(reader.error("a duplicate key")),
            "id" => {
                id = Some(if reader.null()? { SeriesId::default() } else { identity(reader)? });
                return Ok(());
            }
            "points" => &mut points,
            "flat_points" => &mut flat,
            _ => return reader.skip().map(drop),
        };
        if waiting.is_some() {
            return Err(reader.error("a duplicate key"));
        }
        if reader.null()? {
            return Ok(());
        }
        // With the identity already read, points are read where they stand; otherwise they are passed and read after.
        *waiting = Some(match &id {
            Some(id) => Waiting::Read(Box::new(payload(reader, id, key == "flat_points")?)),
            None => {
                let place = reader.clone();
                reader.skip()?;
                Waiting::At(place)
            }
        });
        Ok(())
    })?;
    let id = id.unwrap_or_default();
    let settle = |waiting: Option<Waiting<'_>>, name: &str| {
        waiting
            .map(|waiting| match waiting {
                Waiting::Read(series) => Ok(*series),
                Waiting::At(mut place) => {
                    payload(&mut place, &id, name == "flat_points").map_err(|error| error.inside(name))
                }
            })
            .transpose()
    };
    let (nested, flat) = (settle(points, "points")?, settle(flat, "flat_points")?);
    let mut series = match (nested, flat) {
        (Some(nested), Some(flat)) if !nested.is_empty() && !flat.is_empty() => {
            return Err(DecodeError::new(start, "a series with both points and flat_points"));
        }
        (Some(nested), Some(flat)) => {
            if flat.is_empty() {
                nested
            } else {
                flat
            }
        }
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => finish(&id, Table::new(fields(&id)), start)?,
    };
    let unique = series.data_type() != Some(DataType::TokenSupplyAgg);
    arrange(&mut series, unique).map_err(|conflict| DecodeError::new(start, conflict.to_string()))?;
    Ok(series)
}

enum Waiting<'a> {
    At(Reader<'a>),
    Read(Box<Series>),
}

fn spec(id: &SeriesId) -> Option<&'static TypeSpec> {
    id.data_type.as_deref().and_then(DataType::find).map(DataType::spec)
}

fn fields(id: &SeriesId) -> &'static [Field] {
    // A type that the table does not know still has a timestamp in every point.
    const ONLY_TIME: &[Field] = &[Field { wire: "timestamp", column: "timestamp", kind: FieldKind::Time }];
    spec(id).map_or(ONLY_TIME, |spec| spec.fields)
}

fn identity(reader: &mut Reader<'_>) -> Result<SeriesId> {
    let mut id = SeriesId::default();
    reader.object(|reader, key| {
        let Some(place) = id.field_mut(key) else {
            let text = String::from_utf8_lossy(reader.skip()?).into_owned();
            id.extra.push((key.to_string(), text));
            return Ok(());
        };
        if place.is_some() {
            return Err(reader.error("a duplicate key"));
        }
        if !reader.null()? {
            *place = Some(reader.string()?.into_owned());
        }
        Ok(())
    })?;
    Ok(id)
}

fn payload(reader: &mut Reader<'_>, id: &SeriesId, flat: bool) -> Result<Series> {
    let start = reader.offset();
    if flat {
        let mut values = Vec::new();
        reader.array(|reader, _| {
            values.push(reader.number()?);
            Ok(())
        })?;
        return heatmap_from_flat(id.clone(), &values).map_err(|bad| DecodeError::new(start, bad.to_string()));
    }
    let mut table = Table::new(fields(id));
    reader.array(|reader, _| {
        let mut found = false;
        reader.object(|reader, key| {
            if key != "Point" {
                return reader.skip().map(drop);
            }
            if found {
                return Err(reader.error("a duplicate key"));
            }
            found = true;
            table.row(reader)
        })?;
        if found { Ok(()) } else { Err(reader.error("a point without the key Point")) }
    })?;
    finish(id, table, start)
}

/// A series without points, with the columns of its type.
pub(super) fn nothing(id: SeriesId) -> Series {
    let table = Table::new(fields(&id));
    finish(&id, table, 0).unwrap_or_else(|_| Series::empty(id, Shape::Table))
}

/// A profile's list holds price, buy volume and sell volume of each level (supplement 4).
fn check_triplets(columns: &[(String, Column)], start: usize) -> Result<()> {
    let Some((_, Column::List(list))) = columns.iter().find(|(name, _)| name == "profile") else { return Ok(()) };
    match (0..list.len()).find(|&row| !list.row(row).len().is_multiple_of(3)) {
        None => Ok(()),
        Some(row) => {
            let values = list.row(row).len();
            let message = format!("profile of point {row}: {values} values are no triplets of price, buys and sells");
            Err(DecodeError::new(start, message))
        }
    }
}

fn remove(columns: &mut Vec<(String, Column)>, name: &str) -> Option<Column> {
    let index = columns.iter().position(|(known, _)| known == name)?;
    Some(columns.remove(index).1)
}

/// Gives a finished table the shape of its type.
fn finish(id: &SeriesId, table: Table, start: usize) -> Result<Series> {
    let mut columns = table.finish();
    let Some(Column::Time(timestamps)) = remove(&mut columns, "timestamp") else {
        return Err(DecodeError::new(start, "points without timestamps"));
    };
    let shape = spec(id).map_or(Shape::Table, |spec| spec.shape);
    if shape == Shape::Profile {
        check_triplets(&columns, start)?;
    }
    if shape != Shape::Heatmap {
        return Ok(Series { id: id.clone(), shape, timestamps, columns });
    }
    let mut list = |name: &str| match remove(&mut columns, name) {
        Some(Column::List(list)) => Some(list),
        _ => None,
    };
    let heatmap = match list("levels") {
        Some(levels) => heatmap_from_levels(id.clone(), timestamps, levels),
        None => {
            let (bids, asks) = (list("bids").unwrap_or_default(), list("asks").unwrap_or_default());
            heatmap_from_sides(id.clone(), timestamps, &bids, &asks)
        }
    };
    let mut heatmap = heatmap.map_err(|bad| DecodeError::new(start, bad.to_string()))?;
    heatmap.columns.append(&mut columns); // what this version does not know
    Ok(heatmap)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = r#""id":{"type":"TRADE_AGG","rawSymbol":"BTCUSDT","side":"BUY","rank":7}"#;
    const POINTS: &str = r#""points":[
        {"Point":{"open":3,"high":4,"low":2,"close":3.5,"volume":1e+06,"timestamp":{"s":120},"new":5}},
        {"Point":{"timestamp":{"s":60},"close":1,"lastTimestamp":{"ns":5,"s":61},"open":1,"low":1,"high":1}}]"#;

    fn one(text: &str) -> Series {
        let mut all = body(text.as_bytes()).unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    fn problem(text: &str) -> String {
        body(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn omitted_numbers_are_zero_times_missing_and_rows_ascend() {
        let series = one(&format!("{{\"series\":[{{{ID},{POINTS}}}]}}"));
        assert_eq!(series.timestamps, [60_000_000_000, 120_000_000_000]);
        assert_eq!(series.floats("close").unwrap(), [1.0, 3.5]);
        assert_eq!(series.floats("volume").unwrap(), [0.0, 1e6]);
        assert_eq!(series.column("last_timestamp"), Some(&Column::Time(vec![61_000_000_005, i64::MIN])));
        assert!(series.floats("new").unwrap()[0].is_nan());
        assert_eq!(series.id.extra, [("rank".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn key_order_does_not_matter() {
        let first = one(&format!("{{\"series\":[{{{ID},{POINTS}}}]}}"));
        let second = one(&format!(" {{\"next\":[1], \"series\" : [ {{{POINTS},{ID}}} ] }}\n"));
        // The column that neither is NaN-free is compared by its other row.
        assert_eq!(first.id, second.id);
        assert_eq!(first.floats("open"), second.floats("open"));
        assert_eq!(first.timestamps, second.timestamps);
    }

    #[test]
    fn all_kinds_of_nothing_are_empty() {
        for text in ["{}", r#"{"series":[]}"#, r#"{"series":null}"#] {
            assert_eq!(body(text.as_bytes()).unwrap(), []);
        }
        for text in [
            r#"{"series":[{"id":{"type":"TRADE_AGG"}}]}"#,
            r#"{"series":[{"id":{"type":"TRADE_AGG"},"points":[]}]}"#,
            r#"{"series":[{"points":null,"id":{"type":"TRADE_AGG"}}]}"#,
        ] {
            let series = one(text);
            assert_eq!((series.len(), series.floats("close")), (0, Some(&[][..])), "{text}");
        }
        assert_eq!(one(r#"{"series":[{"id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"}}]}"#).levels().unwrap().0.len(), 0);
    }

    #[test]
    fn nested_and_flat_heatmaps_agree() {
        let id = r#""id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"}"#;
        let nested = one(&format!(
            r#"{{"series":[{{{id},"points":[{{"Point":{{"bids":[2,20,1,10],"asks":[3,30],"timestamp":{{"s":1.7768808e+09}}}}}}]}}]}}"#
        ));
        let flat = one(&format!(r#"{{"series":[{{{id},"flat_points":[3,1.7768808e+15,1,10,2,20,3,30]}}]}}"#));
        assert_eq!(nested.timestamps, flat.timestamps);
        assert_eq!(nested.levels().unwrap().0, flat.levels().unwrap().0);
        assert_eq!((nested.levels().unwrap().1, flat.levels().unwrap().1), (&[2][..], &[-1][..]));
    }

    #[test]
    fn a_profile_reads_from_below_its_wrapper() {
        let series = one(
            r#"{"series":[{"id":{"type":"TPO_AGG"},"points":[{"Point":{"TpoAggregation":{"timestamp":{"s":60},
                "levels":[{"price":1,"block_ids":[0,2],"buy_volume":5},{"price":2,"sell_volume":1}],"poor_highs":[2]}}}]}]}"#,
        );
        let Some(Column::Rows(rows)) = series.column("levels") else { panic!() };
        assert_eq!(rows.offsets, [0, 2]);
        assert_eq!(rows.columns[3], ("sell_volume".to_owned(), Column::Float(vec![0.0, 1.0])));
        assert_eq!(series.timestamps, [60_000_000_000]);
    }

    #[test]
    fn a_volume_profile_holds_triplets() {
        let body = |values: &str| {
            format!(
                r#"{{"series":[{{"id":{{"type":"VOLUME_PROFILE_AGG"}},"points":[
                    {{"Point":{{"timestamp":{{"s":60}},"profile":[{values}]}}}}]}}]}}"#
            )
        };
        let series = one(&body("1,2,3,4,0,6"));
        let Some(Column::List(list)) = series.column("profile") else { panic!() };
        assert_eq!((list.row(0), series.shape), (&[1.0, 2.0, 3.0, 4.0, 0.0, 6.0][..], Shape::Profile));
        assert!(problem(&body("1,2,3,4")).contains("profile of point 0: 4 values are no triplets"));
    }

    #[test]
    fn problems_are_named_with_their_place() {
        let point =
            |point: &str| problem(&format!(r#"{{"series":[{{"id":{{"type":"TRADE_AGG"}},"points":[{point}]}}]}}"#));
        assert!(point(r#"{"Point":{"open":NaN}}"#).contains("found \"NaN\" at byte"));
        assert!(point(r#"{"Point":{"open":"1"}}"#).ends_with("(series[0].points[0].Point.open)"));
        assert!(point(r#"{"Point":{"open":1}}"#).contains("a point without timestamp"));
        assert!(point(r#"{"open":1}"#).contains("without the key Point"));
        assert!(point(r#"{"Point":{"open":1,"open":1,"timestamp":{"s":1}}}"#).contains("duplicate key"));
        assert!(problem(r#"{"error":"RATE_LIMITED","message":"slow"}"#).contains("RATE_LIMITED"));
        assert!(problem(r#"{"message":"slow","error":"X"}"#).contains("error: \"X\""));
        for text in [r#"{"code":13,"details":[]}"#, r#"{"error":"X","series":[]}"#, r#"{"success":false,"data":null}"#]
        {
            assert!(problem(text).contains("an error object"), "{text}");
        }
        assert!(point(r#"{"Point":{"open":1,"timestamp":null}}"#).contains("a point without timestamp"));
        assert!(point(r#"{"Point":{"open":true,"timestamp":{"s":1}}}"#).contains("expected a number"));
        let twice = r#"{"series":[{"id":{"side":"BUY"},"points":[{"Point":{"timestamp":{"s":1},"a":1}}]},
            {"id":{"side":"BUY"},"points":[{"Point":{"timestamp":{"s":1},"a":2}}]}]}"#;
        assert!(problem(twice).contains("two different points"));
        assert!(problem("{}x").contains("after the end"));
        assert!(problem("<html>").contains("expected an object"));
        assert!(problem("\u{feff}{}").contains("expected an object"));
        assert!(problem(r#"{"series":[{"points":[{"Point":{"timestamp":{"s":5},"a":1}},{"Point":{"timestamp":{"s":5},"a":2}}]}]}"#)
            .contains("two different points"));
    }

    #[test]
    fn a_cut_body_is_an_error_at_every_byte() {
        let text = format!("{{\"series\":[{{{ID},{POINTS}}}]}}");
        for end in 0..text.len() {
            assert!(body(&text.as_bytes()[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_flood_of_unknown_fields_is_refused() {
        let fields: Vec<String> = (0..2_000).map(|index| format!("\"f{index}\":1")).collect();
        let text = format!(r#"{{"series":[{{"points":[{{"Point":{{{}}}}}]}}]}}"#, fields.join(","));
        assert!(problem(&text).contains("more than"));
    }
}
