//! The rules of section 4.1 that a query of `/v1/points` must keep, whatever the data: how a type is selected, and what it
//! can do. What differs between types stands in [`DATA_TYPES`].

use super::parameters::ParamError;
use super::points::{PARAMETERS, PointsQuery};
use super::spelling::{Spelling, argument_of};
use crate::protocol::data_type::{DATA_TYPES, DataType, Selection, TypeSpec};
use crate::protocol::grid::BLOCK_MINUTES;
use crate::protocol::group_by::GroupBy;
use crate::protocol::suggest::hint;

/// The row of a type by its wire name.
///
/// # Errors
/// The name with the nearest one that is known.
pub fn known_type(name: &str) -> Result<&'static TypeSpec, ParamError> {
    DataType::find(name).map(DataType::spec).ok_or_else(|| {
        let near = hint(name, DATA_TYPES.iter().map(|row| row.name));
        ParamError::new("type", format!("{name:?} is not a data type{near}"))
    })
}

impl PointsQuery {
    /// Refuses what the service refuses: a selection that the type does not have, and what it cannot do.
    ///
    /// # Errors
    /// The parameter, what is wrong with it, and what would be right.
    pub fn validate(&self, spec: &TypeSpec, spelling: Spelling) -> Result<(), ParamError> {
        let rules = QueryRules { query: self, spec, spelling };
        rules.selection()?;
        rules.transforms()
    }

    /// Refuses what the service takes, but cannot mean what was meant: two selections at once, and parameters that only
    /// other types read. Clients ask this before they spend.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn validate_meaning(&self, spec: &TypeSpec, spelling: Spelling) -> Result<(), ParamError> {
        let rules = QueryRules { query: self, spec, spelling };
        rules.one_selection()?;
        rules.nothing_unread()
    }
}

/// A query before the rules of its type.
struct QueryRules<'a> {
    query: &'a PointsQuery,
    spec: &'a TypeSpec,
    spelling: Spelling,
}

impl QueryRules<'_> {
    fn refuse(&self, parameter: &'static str, problem: &str) -> Result<(), ParamError> {
        Err(ParamError::new(self.spelling.parameter(parameter), format!("{} {problem}", self.spec.name)))
    }

    fn selection(&self) -> Result<(), ParamError> {
        let Self { query, spec, .. } = *self;
        let (symbol, coin) = (query.raw_symbol.is_some(), query.coin.is_some());
        let normalized = query.normalized_symbol.is_some();
        let of = |parameter| self.spelling.parameter(parameter);
        // A market without a coin, such as a prediction market, belongs to no coin.
        for (name, value) in [("coin", &query.coin), ("normalizedSymbol", &query.normalized_symbol)] {
            if value.as_ref().is_some_and(String::is_empty) {
                return self.refuse(name, &format!("takes no empty {name}"));
            }
        }
        if normalized && !spec.normalized_symbol {
            let having = named(|row| row.normalized_symbol);
            return self.refuse("normalizedSymbol", &format!("does not go by normalizedSymbol; only {having} does"));
        }
        match spec.selection {
            Selection::SymbolOrCoin => {
                if !symbol && !coin && !normalized {
                    let problem = format!("takes an exchange and a symbol, or exchanges and {}", of("coin"));
                    return self.refuse("rawSymbol", &problem);
                }
                if query.exchanges.is_empty() && !(coin && spec.by_coin_alone) {
                    let beside = if symbol {
                        "rawSymbol"
                    } else if coin {
                        "coin"
                    } else {
                        "normalizedSymbol"
                    };
                    return self.refuse("exchange", &format!("takes at least one exchange with {}", of(beside)));
                }
                if symbol && several(&query.exchanges) {
                    let problem =
                        format!("takes exactly one exchange with {}; several go with {}", of("rawSymbol"), of("coin"));
                    return self.refuse("exchange", &problem);
                }
            }
            Selection::CoinOnly if symbol => {
                let problem = format!(
                    "is of a coin, not of one market; give {} and no symbol: {}",
                    of("coin"),
                    self.spelling.without("rawSymbol")
                );
                return self.refuse("rawSymbol", &problem);
            }
            Selection::CoinOnly if !coin => {
                let problem =
                    format!("takes {0}, and exchanges where not all of them are meant; {0} is missing", of("coin"));
                return self.refuse("coin", &problem);
            }
            Selection::CoinOnly => {}
            Selection::OptionSummary => {
                let parts = [
                    ("exchange", !query.exchanges.is_empty()),
                    ("coin", coin),
                    ("rawSymbol", symbol),
                    ("tenor", query.tenor.is_some()),
                ];
                let needs = format!(
                    "takes {}, {}, {} and {} together",
                    of("exchange"),
                    of("coin"),
                    of("rawSymbol"),
                    of("tenor")
                );
                if let Some((missing, _)) = parts.iter().find(|(_, given)| !given) {
                    return self.refuse(missing, &format!("{needs}; {} is missing", of(missing)));
                }
                if several(&query.exchanges) {
                    return self.refuse("exchange", &format!("{needs}; give one exchange, not several"));
                }
            }
            Selection::Token => {
                let goes = format!("goes by {} (and {})", of("coin"), of("tokenName"));
                let markets = [("exchange", !query.exchanges.is_empty()), ("rawSymbol", symbol)];
                if let Some((given, _)) = markets.iter().find(|(_, given)| *given) {
                    let without = self.spelling.without(given);
                    return self.refuse(given, &format!("{goes}, not by {}; {without}", of(given)));
                }
                if !coin {
                    return self.refuse("coin", &format!("{goes}; {} is missing", of("coin")));
                }
            }
        }
        Ok(())
    }

    fn transforms(&self) -> Result<(), ParamError> {
        let Self { query, spec, .. } = *self;
        let of = |parameter| self.spelling.parameter(parameter);
        if query.gapfill && !spec.gapfill {
            let having = named(|row| row.gapfill);
            return self.refuse("gapfill", &format!("has no gapfill; only {having} have"));
        }
        if query.usd && !spec.usd {
            let name = "transform.normalize.quote";
            return self.refuse(name, &format!("cannot be asked in USD; {}", self.spelling.without(name)));
        }
        let name = "transform.groupBy.type";
        match (query.group_by, spec.group_by) {
            (Some(_), None) => {
                let without = self.spelling.without(name);
                return self.refuse(name, &format!("does not aggregate over exchanges; {without}"));
            }
            (Some(asked), Some(allowed)) if asked != allowed => {
                let name_of = |by: GroupBy| match self.spelling {
                    Spelling::Wire => by.name(),
                    Spelling::Arguments | Spelling::Options => by.argument(),
                };
                let problem = format!("does not aggregate by {}; by {} only", name_of(asked), name_of(allowed));
                return self.refuse(name, &problem);
            }
            (Some(_), _) if query.coin.is_none() && query.normalized_symbol.is_none() => {
                return self.refuse(name, &format!("aggregates by coin: give {} instead of a symbol", of("coin")));
            }
            _ => {}
        }
        let name = "transform.normalize.fundingInterval";
        match query.funding_interval {
            Some(_) if !spec.reads(name) => {
                let having = named(|row| row.reads(name));
                return self.refuse(name, &format!("has no rates to normalize; only {having} has"));
            }
            Some(..=0) => return self.refuse(name, "needs milliseconds above 0, such as 28800000 for 8 h"),
            _ => {}
        }
        if spec.needs_block_size && query.block_size.is_none() {
            let where_from = match self.spelling {
                Spelling::Wire => "GET /v1/block-sizes recommends some",
                Spelling::Arguments => "client.block_sizes(exchange=…, raw_symbol=…) recommends some",
                Spelling::Options => "10 and 100 are common for BTC",
            };
            return self.refuse("blockSize", &format!("needs {}, the price step; {where_from}", of("blockSize")));
        }
        if query.block_size.is_some_and(|size| !(size.is_finite() && size > 0.0)) {
            return self.refuse("blockSize", &format!("takes a {} above 0", of("blockSize")));
        }
        if query.max_depth == Some(0) {
            return self.refuse("maxDepth", &format!("takes a {} of 1 or more", of("maxDepth")));
        }
        self.block_minutes()
    }

    fn one_selection(&self) -> Result<(), ParamError> {
        let Self { query, spec, .. } = *self;
        let (symbol, coin) = (query.raw_symbol.is_some(), query.coin.is_some());
        if spec.selection != Selection::SymbolOrCoin {
            return Ok(());
        }
        if symbol && coin {
            return self.refuse("coin", "takes either symbol or coin, not both");
        }
        if query.normalized_symbol.is_some() && (symbol || coin) {
            return self.refuse("normalizedSymbol", "takes one of symbol, coin and normalizedSymbol");
        }
        Ok(())
    }

    fn block_minutes(&self) -> Result<(), ParamError> {
        let name = "tpoBlockSizeMinutes";
        let wrong = |minutes: &u32| self.spec.reads(name) && !BLOCK_MINUTES.contains(minutes);
        let Some(minutes) = self.query.block_minutes.filter(wrong) else { return Ok(()) };
        let given = match self.spelling {
            Spelling::Wire => minutes.to_string(),
            Spelling::Arguments | Spelling::Options => self.spelling.given(&argument_of(name), minutes),
        };
        let all = BLOCK_MINUTES.map(|minutes| minutes.to_string()).join(", ");
        Err(ParamError::new(self.spelling.parameter(name), format!("{given} is not one of {all}")))
    }

    /// Refuses what only other types read: the service may ignore it, and who gave it would take the answer for another.
    fn nothing_unread(&self) -> Result<(), ParamError> {
        for (wire, _) in self.query.known_pairs() {
            let row = PARAMETERS.iter().find(|row| row.wire == wire).filter(|row| !self.spec.reads(row.wire));
            if let Some((row, lacking)) = row.and_then(|row| Some((row, row.lacking?))) {
                return self.refuse(row.wire, &format!("{lacking}; {}", self.spelling.without(row.wire)));
            }
        }
        Ok(())
    }
}

/// The types that have something, by name.
fn named(has: impl Fn(&TypeSpec) -> bool) -> String {
    DATA_TYPES.iter().filter(|row| has(row)).map(|row| row.name).collect::<Vec<_>>().join(" and ")
}

/// Whether these are more than one; the same one twice is one.
fn several(exchanges: &[String]) -> bool {
    exchanges.iter().any(|exchange| *exchange != exchanges[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(query: &str, spelling: Spelling) -> String {
        let query = PointsQuery::parse(query).unwrap();
        let spec = known_type(&query.data_type).unwrap();
        query.validate(spec, spelling).and_then(|()| query.validate_meaning(spec, spelling)).unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_speaks_of_parameters_as_who_asked_wrote_them() {
        let several = "type=TRADE_AGG&exchange=A&exchange=B&rawSymbol=C";
        assert_eq!(
            problem(several, Spelling::Wire),
            "parameter exchange: TRADE_AGG takes exactly one exchange with rawSymbol; several go with coin"
        );
        assert_eq!(
            problem(several, Spelling::Arguments),
            "parameter exchange: TRADE_AGG takes exactly one exchange with symbol; several go with coin="
        );
        let unread = problem("type=TRADE_AGG&exchange=A&rawSymbol=C&tpoBlockSizeMinutes=30", Spelling::Arguments);
        assert!(unread.ends_with("has no time blocks; leave block_minutes= out"), "{unread}");
        let minutes = "type=TPO_AGG&exchange=A&rawSymbol=C&tpoBlockSizeMinutes=15";
        assert_eq!(problem(minutes, Spelling::Wire), "parameter tpoBlockSizeMinutes: 15 is not one of 5, 30, 60, 240");
        assert!(problem(minutes, Spelling::Options).contains(": --block-minutes=15 is not one of 5, 30, 60, 240"));
        let by = "type=FUNDING_RATE_AGG&exchange=A&coin=C&transform.groupBy.type=GROUP_BY_TYPE_SUM";
        assert!(problem(by, Spelling::Arguments).ends_with("by oi_weighted only"));
    }

    #[test]
    fn the_table_says_what_a_type_goes_by() {
        // Section 4.1: TPO by coin alone; supplement 4: volume profiles by normalizedSymbol.
        for row in &DATA_TYPES {
            let coin = PointsQuery { coin: Some("BTC".into()), block_size: Some(1.0), ..PointsQuery::default() };
            let alone = coin.validate(row, Spelling::Wire).is_ok();
            let goes = ["TPO_AGG", "VENUE_LIQUIDATION_AGG", "TOKEN_SUPPLY_AGG"].contains(&row.name);
            assert_eq!(alone, goes, "{}", row.name);
            let normalized = PointsQuery {
                exchanges: vec!["A".into()],
                normalized_symbol: Some("BTC-USDT".into()),
                block_size: Some(1.0),
                ..PointsQuery::default()
            };
            assert_eq!(normalized.validate(row, Spelling::Wire).is_ok(), row.name == "VOLUME_PROFILE_AGG");
        }
    }

    #[test]
    fn types_read_parameters_that_there_are() {
        let of = |name: &str| DATA_TYPES.iter().filter(|row| row.reads(name)).map(|row| row.name).collect::<Vec<_>>();
        for name in DATA_TYPES.iter().flat_map(|row| row.parameters) {
            assert!(PARAMETERS.iter().any(|row| row.wire == *name), "{name}");
        }
        for row in PARAMETERS.iter().filter(|row| row.lacking.is_some()) {
            assert!(!of(row.wire).is_empty(), "{} is read by no type", row.wire);
        }
        // Section 4.1.
        let heatmaps = ["BLOCK_BOOK_SNAPSHOT_AGG", "VENUE_LIQUIDATION_AGG"];
        let summaries = ["SKEW_OPTION_SUMMARY_AGG", "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG"];
        assert_eq!((of("maxDepth"), of("tenor")), (heatmaps.to_vec(), summaries.to_vec()));
        assert_eq!((of("tpoSession"), of("tpoBlockSizeMinutes")), (vec!["TPO_AGG"], vec!["TPO_AGG"]));
        assert_eq!((of("tokenName"), of("blockSize").len()), (vec!["TOKEN_SUPPLY_AGG"], 2));
        assert_eq!(of("transform.normalize.fundingInterval"), ["FUNDING_RATE_AGG"]);
    }

    #[test]
    fn every_argument_is_named_once() {
        for (index, row) in PARAMETERS.iter().enumerate() {
            assert!(PARAMETERS[..index].iter().all(|other| other.wire != row.wire));
            let named = |other: &super::super::Parameter| other.argument.is_some() && other.argument == row.argument;
            assert!(!PARAMETERS[..index].iter().any(named));
        }
    }
}
