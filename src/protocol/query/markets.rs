//! The query of the market listing (service.md 4.2).

use std::borrow::Cow;

use super::parameters::{Pairs, ParamError, choice, flag, number, push_flag, push_number, push_text};
use crate::protocol::sort_direction::SortDirection;

/// Rows of a page when `pageSize` is absent (supplement 5).
pub const DEFAULT_PAGE_SIZE: u32 = 10;
/// Most rows of a page. The specification states no maximum.
pub const MAX_PAGE_SIZE: u32 = 1_000;

/// Sort key of a listing (`sortCriteria.field`, section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MarketSort {
    /// 24-hour volume.
    #[default]
    Volume24h,
    /// 24-hour price change, percent.
    PriceChange24h,
    /// Distance to the highest price, percent.
    PctFromAth,
    /// 24-hour open interest change, percent.
    OiChange24h,
    /// Average true range, percent of the price.
    AtrPercent,
    /// Market capitalization.
    Marketcap,
    /// When the market became available.
    AvailableSince,
}

impl MarketSort {
    /// Every order, by its name on the wire.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("VOLUME_24H", Self::Volume24h),
        ("PRICE_CHANGE_24H", Self::PriceChange24h),
        ("PCT_FROM_ATH", Self::PctFromAth),
        ("MARKET_SYMBOL_OI_CHANGE_24H", Self::OiChange24h),
        ("MARKET_SYMBOL_ATR_PERCENT", Self::AtrPercent),
        ("MARKET_SYMBOL_MARKETCAP", Self::Marketcap),
        ("AVAILABLE_SINCE", Self::AvailableSince),
    ];

    /// Name on the wire.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Reads the wire name, in any case.
    pub fn find(text: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, sort)| *sort)
    }
}

/// A query of `GET /v1/markets` (section 4.2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarketsQuery {
    /// `exchange`, repeated
    pub exchanges: Vec<String>,
    /// `coin`, repeated
    pub coins: Vec<String>,
    /// `category`, repeated
    pub categories: Vec<String>,
    /// `type`, repeated
    pub types: Vec<String>,
    /// `symbolFilter`
    pub symbol_filter: Option<String>,
    /// `sortCriteria.field`
    pub sort_by: Option<MarketSort>,
    /// `sortCriteria.direction`
    pub sort: Option<SortDirection>,
    /// `distinct`: one result per normalized symbol
    pub distinct: bool,
    /// `pageSize`
    pub page_size: Option<u32>,
    /// `pageOffset`
    pub page_offset: Option<u32>,
    /// Parameters this version does not know, passed through in order.
    pub extra: Vec<(String, String)>,
}

/// Parameter names of `/v1/markets` that this version reads.
pub const MARKETS_PARAMETERS: [&str; 10] = [
    "exchange",
    "coin",
    "category",
    "type",
    "symbolFilter",
    "sortCriteria.field",
    "sortCriteria.direction",
    "distinct",
    "pageSize",
    "pageOffset",
];

/// Other spellings under which the parameters of the order are sent: the name that the service's protocol definitions
/// have, and the one that query-string libraries make of a nested object.
const SORT_SPELLINGS: [(&str, &str); 4] = [
    ("sort_criteria.field", "sortCriteria.field"),
    ("sortCriteria[field]", "sortCriteria.field"),
    ("sort_criteria.direction", "sortCriteria.direction"),
    ("sortCriteria[direction]", "sortCriteria.direction"),
];

impl MarketsQuery {
    /// The query string, percent-encoded, without a leading `?`.
    pub fn to_query_string(&self) -> String {
        let mut pairs: Pairs<'_> = Vec::new();
        for (name, values) in [
            ("exchange", &self.exchanges),
            ("coin", &self.coins),
            ("category", &self.categories),
            ("type", &self.types),
        ] {
            pairs.extend(values.iter().map(|value| (name, Cow::Borrowed(value.as_str()))));
        }
        push_text(&mut pairs, "symbolFilter", self.symbol_filter.as_deref());
        push_text(&mut pairs, "sortCriteria.field", self.sort_by.map(MarketSort::name));
        push_text(&mut pairs, "sortCriteria.direction", self.sort.map(SortDirection::name));
        push_flag(&mut pairs, "distinct", self.distinct);
        push_number(&mut pairs, "pageSize", self.page_size);
        push_number(&mut pairs, "pageOffset", self.page_offset);
        pairs.extend(self.extra.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str()))));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    /// Reads a query string. Unknown parameters are kept in `extra`.
    pub fn parse(query: &str) -> Result<Self, ParamError> {
        let mut parsed = Self::default();
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let name = canonical(&name).to_owned();
            let filter = matches!(&*name, "exchange" | "coin" | "category" | "type");
            if !filter && MARKETS_PARAMETERS.contains(&&*name) && seen.contains(&name) {
                return Err(ParamError::new(name, "given twice; give it once"));
            }
            parsed.read(&name, value.into_owned())?;
            seen.push(name);
        }
        Ok(parsed)
    }

    fn read(&mut self, name: &str, value: String) -> Result<(), ParamError> {
        match name {
            "exchange" => self.exchanges.push(value),
            "coin" => self.coins.push(value),
            "category" => self.categories.push(value),
            "type" => self.types.push(value),
            "symbolFilter" => self.symbol_filter = Some(value),
            "sortCriteria.field" => {
                let names = MarketSort::NAMES.map(|(name, _)| name);
                self.sort_by = Some(choice(name, &value, MarketSort::find(&value), &names)?);
            }
            "sortCriteria.direction" => {
                let names = [SortDirection::Ascending.name(), SortDirection::Descending.name()];
                self.sort = Some(choice(name, &value, SortDirection::find_loosely(&value), &names)?);
            }
            "distinct" => self.distinct = flag(name, &value)?,
            "pageSize" => {
                let rows = number(name, &value, "a number of rows")?;
                if !(1..=MAX_PAGE_SIZE).contains(&rows) {
                    let problem = format!("{rows} rows asked; ask for 1 to {MAX_PAGE_SIZE} at a time");
                    return Err(ParamError::new(name, problem));
                }
                self.page_size = Some(rows);
            }
            "pageOffset" => {
                let offset: i32 = number(name, &value, "a row number from 0")?;
                let wrong = |_| ParamError::new(name, format!("{value:?} is not a row number from 0"));
                self.page_offset = Some(u32::try_from(offset).map_err(wrong)?);
            }
            _ => self.extra.push((name.to_owned(), value)),
        }
        Ok(())
    }
}

fn canonical(name: &str) -> &str {
    SORT_SPELLINGS.iter().find(|(other, _)| *other == name).map_or(name, |(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_written_and_read() {
        let query = "exchange=A&exchange=B&coin=C&category=D&type=E&symbolFilter=F+G&sortCriteria.field=PCT_FROM_ATH\
                     &sortCriteria.direction=SORT_DIRECTION_ASC&distinct=true&pageSize=7&pageOffset=8&new=9";
        let parsed = MarketsQuery::parse(query).unwrap();
        assert_eq!(parsed.to_query_string(), query);
        assert_eq!((parsed.page_size, parsed.page_offset, parsed.distinct), (Some(7), Some(8), true));
        assert_eq!(parsed.extra, [("new".to_owned(), "9".to_owned())]);
        assert_eq!(MarketsQuery::parse("").unwrap(), MarketsQuery::default());
    }

    #[test]
    fn orders_are_read_in_every_spelling() {
        for (name, sort) in MarketSort::NAMES {
            assert_eq!(sort.name(), name);
            for field in ["sortCriteria.field", "sort_criteria.field", "sortCriteria%5Bfield%5D"] {
                let parsed = MarketsQuery::parse(&format!("{field}={}", name.to_lowercase())).unwrap();
                assert_eq!((parsed.sort_by, parsed.sort), (Some(sort), None), "{field}={name}");
            }
        }
        for (spelt, sort) in [
            ("SORT_DIRECTION_ASC", SortDirection::Ascending),
            ("1", SortDirection::Ascending),
            ("asc", SortDirection::Ascending),
            ("SORT_DIRECTION_DESC", SortDirection::Descending),
            ("2", SortDirection::Descending),
            ("DESC", SortDirection::Descending),
        ] {
            for name in ["sortCriteria.direction", "sort_criteria.direction", "sortCriteria[direction]"] {
                assert_eq!(MarketsQuery::parse(&format!("{name}={spelt}")).unwrap().sort, Some(sort), "{spelt}");
            }
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_name() {
        for (query, name) in [
            ("sortCriteria.field=VOLUME", "sortCriteria.field"),
            ("sort_criteria.direction=3", "sortCriteria.direction"),
            ("sortCriteria.direction=1&sort_criteria.direction=2", "sortCriteria.direction"),
            ("distinct=yes", "distinct"),
            ("pageSize=0", "pageSize"),
            ("pageSize=1001", "pageSize"),
            ("pageSize=-1", "pageSize"),
            ("pageOffset=-1", "pageOffset"),
            ("pageOffset=2147483648", "pageOffset"),
            ("symbolFilter=a&symbolFilter=b", "symbolFilter"),
        ] {
            assert_eq!(MarketsQuery::parse(query).unwrap_err().name, name, "{query}");
        }
        assert_eq!(MarketsQuery::parse("pageSize=1000&pageOffset=2147483647").unwrap().page_size, Some(1_000));
    }
}
