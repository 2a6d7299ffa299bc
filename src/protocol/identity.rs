//! Series identity: the `id` object of a series (service.md 2.2, supplement 2).

/// Identity of a series. Every field is optional: an aggregated series keeps only the fields that its parts share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeriesId {
    /// Data type, such as `TRADE_AGG`.
    pub data_type: Option<String>,
    /// Exchange-native symbol.
    pub raw_symbol: Option<String>,
    /// Exchange identifier.
    pub exchange: Option<String>,
    /// Symbol in BASE-QUOTE form.
    pub normalized_symbol: Option<String>,
    /// `SPOT`, `PERPETUAL`, `OPTION` or another open string.
    pub category: Option<String>,
    /// Wire name of the interval.
    pub interval: Option<String>,
    /// `BUY` or `SELL` for per-side types, as sent.
    pub side: Option<String>,
    /// Base asset.
    pub coin: Option<String>,
    /// Option tenor.
    pub tenor: Option<String>,
    /// Token name (token supply).
    pub token_name: Option<String>,
    /// Fields this version does not know: name and the value's JSON text, as sent.
    pub extra: Vec<(String, String)>,
}

/// Wire names of the identity fields, in the order in which the live service writes them (supplement 2).
pub const ID_FIELDS: [&str; 10] =
    ["type", "rawSymbol", "exchange", "normalizedSymbol", "category", "interval", "side", "coin", "tenor", "tokenName"];

impl SeriesId {
    /// The known fields in wire order, each with its wire name.
    pub fn fields(&self) -> [(&'static str, Option<&str>); 10] {
        let values = [
            &self.data_type,
            &self.raw_symbol,
            &self.exchange,
            &self.normalized_symbol,
            &self.category,
            &self.interval,
            &self.side,
            &self.coin,
            &self.tenor,
            &self.token_name,
        ];
        std::array::from_fn(|index| (ID_FIELDS[index], values[index].as_deref()))
    }

    /// The place for the field with this wire name; `None` for a name this version does not know.
    pub fn field_mut(&mut self, wire_name: &str) -> Option<&mut Option<String>> {
        Some(match wire_name {
            "type" => &mut self.data_type,
            "rawSymbol" => &mut self.raw_symbol,
            "exchange" => &mut self.exchange,
            "normalizedSymbol" => &mut self.normalized_symbol,
            "category" => &mut self.category,
            "interval" => &mut self.interval,
            "side" => &mut self.side,
            "coin" => &mut self.coin,
            "tenor" => &mut self.tenor,
            "tokenName" => &mut self.token_name,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wire_name_reaches_its_own_field() {
        let mut id = SeriesId::default();
        for name in ID_FIELDS {
            *id.field_mut(name).unwrap() = Some(name.to_owned());
        }
        assert!(id.fields().iter().all(|(name, value)| *value == Some(name)));
        assert!(id.field_mut("colour").is_none());
    }
}
