//! The discovery endpoints that answer with one list (service.md 4.2, supplement 5).

/// Tenors of the option summaries that the service is known to take, shortest first (section 2.4). Open strings: new ones
/// pass through.
pub const TENORS: [&str; 4] = ["ONE_W", "ONE_M", "TWO_M", "THREE_M"];

/// One endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListEndpoint {
    /// The list.
    pub list: DiscoveryList,
    /// Its path.
    pub path: &'static str,
    /// Key of the list in the answer; an empty list is an absent key.
    pub key: &'static str,
    /// Other keys under which the live service has been seen to send it.
    pub also: &'static [&'static str],
    /// Whether it answers 500 without `type` (section 7).
    pub needs_type: bool,
}

/// Lists of the discovery endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the paths in `LISTS` say it
pub enum DiscoveryList {
    Coins,
    Symbols,
    NormalizedSymbols,
    BlockSizes,
    Tenors,
    Types,
    Exchanges,
    Categories,
}

const fn endpoint(list: DiscoveryList, path: &'static str, key: &'static str, needs_type: bool) -> ListEndpoint {
    ListEndpoint { list, path, key, also: &[], needs_type }
}

/// Every endpoint; all weigh 0.
pub const LISTS: [ListEndpoint; 8] = [
    endpoint(DiscoveryList::Coins, "/v1/coins", "coins", false),
    ListEndpoint { also: &["symbols"], ..endpoint(DiscoveryList::Symbols, "/v1/symbols", "rawSymbols", true) },
    endpoint(DiscoveryList::NormalizedSymbols, "/v1/normalized-symbols", "normalizedSymbols", true),
    endpoint(DiscoveryList::BlockSizes, "/v1/block-sizes", "blockSizes", false),
    endpoint(DiscoveryList::Tenors, "/v1/tenors", "tenors", false),
    endpoint(DiscoveryList::Types, "/v1/types", "types", false),
    endpoint(DiscoveryList::Exchanges, "/v1/exchanges", "exchanges", false),
    endpoint(DiscoveryList::Categories, "/v1/categories", "categories", false),
];

impl DiscoveryList {
    /// Looks a list up by the last part of its path, such as `normalized-symbols`.
    pub fn find(name: &str) -> Option<Self> {
        LISTS.iter().find(|row| row.path.strip_prefix("/v1/") == Some(name)).map(|row| row.list)
    }

    /// The list's endpoint.
    pub const fn endpoint(self) -> &'static ListEndpoint {
        &LISTS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_enum_indexes_the_table() {
        assert!(LISTS.iter().all(|row| row.list.endpoint() == row));
        assert_eq!(DiscoveryList::find("normalized-symbols"), Some(DiscoveryList::NormalizedSymbols));
        assert!(LISTS.iter().all(|row| DiscoveryList::find(&row.path[4..]) == Some(row.list)));
        assert_eq!(DiscoveryList::find("/v1/coins"), None);
    }
}
