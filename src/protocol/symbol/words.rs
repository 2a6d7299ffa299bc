//! Words that symbols are made of.

/// Quotes by which symbols without a separator end, the longest first where one ends another.
pub(super) const QUOTES: [&str; 19] = [
    "FDUSD", "USDT", "USDC", BUSD, "USD", "DAI", "EUR", "GBP", "TRY", "BRL", "JPY", "KRW", "AUD", "CHF", "BTC", "XBT",
    "ETH", "BNB", UST,
];
/// Binance's dollar: where it was not quoted, `BNBUSD` is BNB in USD.
pub(super) const BUSD: &str = "BUSD";
/// Bitfinex's name of Tether.
pub(super) const UST: &str = "UST";

/// Words of a symbol that say that it is a perpetual.
pub(super) const PERPETUAL_WORDS: [&str; 6] = ["SWAP", "PERP", "PERPETUAL", "UMCBL", "DMCBL", "CMCBL"];
/// Words that stand for the day on which a future ends: this week, next week, this quarter, next quarter.
pub(super) const ROLLING_WORDS: [&str; 4] = ["CW", "NW", "CQ", "NQ"];
