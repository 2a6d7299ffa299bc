//! How large an answer of `/v1/points` grows, by estimate: a plan cuts its window so that no body is much larger than
//! [`BODY_BOUND`]. The specification bounds points and not bytes, and one deep heatmap point holds as much as a thousand
//! candles.

use super::data_type::TypeSpec;
use super::field::{FieldKind, Shape};

/// Bytes that the estimate of one body may reach, decompressed: some of them are under way and decoded at once. A thousand
/// points are always asked at once, because less costs as much (section 8.2).
pub const BODY_BOUND: u64 = 64 << 20;

/// A double and its comma: 17 significant digits are common (supplement 2).
const NUMBER: u64 = 20;
/// `{"s":1776880800,"ns":126000000},`
const TIME: u64 = 32;
/// `{"Point":{}},`
const WRAPPER: u64 = 13;
/// Price and volume of a level; prices are short.
const LEVEL: u64 = 28;
/// Levels of a volume or market profile, whose height the service chooses.
const PROFILE_LEVELS: u64 = 200;
/// Price, buy volume and sell volume.
const TRIPLET: u64 = 48;
/// One level object of a market profile with its block indices.
const TPO_LEVEL: u64 = 150;

impl TypeSpec {
    /// Bytes of one bucket in an answer, both sides of a per-side type together, by estimate and rather too many.
    pub fn bucket_bytes(&self, max_depth: Option<u32>) -> u64 {
        let lists = self.fields.iter().filter(|field| field.kind == FieldKind::List).count() as u64;
        let depth = u64::from(max_depth.or(self.included_depth).unwrap_or(0));
        let levels = match self.shape {
            Shape::Table => 0,
            Shape::Heatmap => lists * depth * LEVEL,
            Shape::Profile => PROFILE_LEVELS * TRIPLET,
            Shape::Tpo => PROFILE_LEVELS * TPO_LEVEL,
        };
        let values: u64 = self.fields.iter().map(|field| field.wire.len() as u64 + 3 + value(field.kind)).sum();
        (WRAPPER + values + levels) * if self.per_side { 2 } else { 1 }
    }
}

fn value(kind: FieldKind) -> u64 {
    match kind {
        FieldKind::Number | FieldKind::Price | FieldKind::Optional | FieldKind::Text => NUMBER,
        FieldKind::Time | FieldKind::OptionalTime => TIME,
        FieldKind::List | FieldKind::Rows(_) => 2,
    }
}

#[cfg(test)]
mod tests {
    use crate::protocol::DataType;

    fn bytes(name: &str, max_depth: Option<u32>) -> u64 {
        DataType::find(name).unwrap().spec().bucket_bytes(max_depth)
    }

    #[test]
    fn a_recorded_point_is_within_the_estimate() {
        // The widest candle that the wire style of supplement 2 can show.
        let candle = r#"{"Point":{"open":100000.12345678901,"high":100000.12345678901,"low":100000.12345678901,
"close":100000.12345678901,"volume":3353.919000000029,"timestamp":{"s":1776880800},
"firstTimestamp":{"s":1776880800,"ns":126000000},"lastTimestamp":{"s":1776880859,"ns":126000000}}},"#;
        let estimate = bytes("TRADE_SIDE_AGNOSTIC_AGG", None);
        let real = candle.replace('\n', "").len() as u64;
        assert!((real..2 * real).contains(&estimate), "{estimate} for {real}");
        assert_eq!(bytes("TRADE_AGG", None), 2 * estimate);
    }

    #[test]
    fn levels_count_by_depth_and_by_list() {
        let (book, liquidations) = ("BLOCK_BOOK_SNAPSHOT_AGG", "VENUE_LIQUIDATION_AGG");
        assert!(bytes(book, Some(100)) < bytes(book, Some(200)) && bytes(book, None) == bytes(book, Some(3_500)));
        let per_level = |name, lists: u64| (bytes(name, Some(2_000)) - bytes(name, Some(1_000))) / (1_000 * lists);
        assert_eq!(per_level(book, 2), per_level(liquidations, 1));
    }
}
