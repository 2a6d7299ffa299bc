//! Series identity: the `id` object of a series (service.md 2.2, supplement 2).

/// The side of a series, or of a trade, that bought.
pub const BUY: &str = "BUY";
/// The side that sold.
pub const SELL: &str = "SELL";

/// Makes of one row for each field: the struct, the wire names and the access by them.
macro_rules! identity {
    ($($(#[$about:meta])* $field:ident, $wire:literal;)*) => {
        /// Identity of a series. Every field is optional: an aggregated series keeps only the fields that its parts share.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct SeriesId {
            $($(#[$about])* pub $field: Option<String>,)*
            /// Fields this version does not know: name and the value's JSON text, as sent.
            pub extra: Vec<(String, String)>,
        }

        /// Wire names of the identity fields, in the order in which the live service writes them (supplement 2).
        pub const ID_FIELDS: [&str; [$($wire),*].len()] = [$($wire),*];

        impl SeriesId {
            /// The known fields in wire order, each with its wire name.
            pub fn fields(&self) -> [(&'static str, Option<&str>); ID_FIELDS.len()] {
                [$(($wire, self.$field.as_deref())),*]
            }

            /// The place for the field with this wire name; `None` for a name this version does not know.
            pub fn field_mut(&mut self, wire_name: &str) -> Option<&mut Option<String>> {
                match wire_name {
                    $($wire => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

identity! {
    /// Data type, such as `TRADE_AGG`.
    data_type, "type";
    /// Exchange-native symbol.
    raw_symbol, "rawSymbol";
    /// Exchange identifier.
    exchange, "exchange";
    /// Symbol in BASE-QUOTE form.
    normalized_symbol, "normalizedSymbol";
    /// `SPOT`, `PERPETUAL`, `OPTION` or another open string.
    category, "category";
    /// Wire name of the interval.
    interval, "interval";
    /// [`BUY`] or [`SELL`] for per-side types, as sent.
    side, "side";
    /// Base asset.
    coin, "coin";
    /// Option tenor.
    tenor, "tenor";
    /// Token name (token supply).
    token_name, "tokenName";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wire_name_reaches_its_own_field() {
        let mut id = SeriesId { token_name: Some("Bitcoin".to_owned()), ..SeriesId::default() };
        assert_eq!(id.field_mut("tokenName").unwrap().as_deref(), Some("Bitcoin"));
        for name in ID_FIELDS {
            *id.field_mut(name).unwrap() = Some(name.to_owned());
        }
        assert!(id.fields().iter().all(|(name, value)| *value == Some(name)));
        assert!(id.field_mut("colour").is_none());
    }
}
