//! The filters that the discovery endpoints share (service.md 4.2).

use std::borrow::Cow;

use super::parameters::Pairs;

/// Common filters: each repeatable, or within a filter, and between filters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Filters {
    /// `type`
    pub types: Vec<String>,
    /// `exchange`
    pub exchanges: Vec<String>,
    /// `category`
    pub categories: Vec<String>,
    /// `coin`
    pub coins: Vec<String>,
    /// `rawSymbol`
    pub raw_symbols: Vec<String>,
    /// `normalizedSymbol`
    pub normalized_symbols: Vec<String>,
    /// Parameters this version does not know, passed through in order.
    pub extra: Vec<(String, String)>,
}

/// Parameter names of the discovery endpoints, for hints on a misspelt one.
pub const FILTER_PARAMETERS: [&str; 6] = ["type", "exchange", "category", "coin", "rawSymbol", "normalizedSymbol"];

impl Filters {
    fn lists(&self) -> [&Vec<String>; 6] {
        [&self.types, &self.exchanges, &self.categories, &self.coins, &self.raw_symbols, &self.normalized_symbols]
    }

    fn list_mut(&mut self, index: usize) -> &mut Vec<String> {
        match index {
            0 => &mut self.types,
            1 => &mut self.exchanges,
            2 => &mut self.categories,
            3 => &mut self.coins,
            4 => &mut self.raw_symbols,
            _ => &mut self.normalized_symbols,
        }
    }

    /// The query string, percent-encoded, without a leading `?`.
    pub fn to_query_string(&self) -> String {
        let mut pairs: Pairs<'_> = Vec::new();
        for (name, values) in FILTER_PARAMETERS.into_iter().zip(self.lists()) {
            pairs.extend(values.iter().map(|value| (name, Cow::Borrowed(value.as_str()))));
        }
        pairs.extend(self.extra.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str()))));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    /// Reads a query string. Unknown parameters are kept in `extra`.
    pub fn parse(query: &str) -> Self {
        form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }
}

/// Parameters by wire name. Unknown ones are kept in `extra`.
impl FromIterator<(String, String)> for Filters {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> Self {
        let mut filters = Self::default();
        for (name, value) in pairs {
            match FILTER_PARAMETERS.iter().position(|known| *known == name) {
                Some(index) => filters.list_mut(index).push(value),
                None => filters.extra.push((name, value)),
            }
        }
        filters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_reaches_its_own_list_and_comes_back() {
        let query = "type=A&type=B&exchange=C&category=D&coin=E&rawSymbol=F&normalizedSymbol=G&new=H";
        let filters = Filters::parse(query);
        assert_eq!(filters.to_query_string(), query);
        assert_eq!((filters.types.len(), &filters.normalized_symbols[0][..]), (2, "G"));
        assert_eq!(filters.extra, [("new".to_owned(), "H".to_owned())]);
    }
}
