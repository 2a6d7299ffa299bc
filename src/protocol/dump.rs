//! The layout of raw dumps, `KIND/EXCHANGE/SYMBOL/DAY.csv`, as an ingest reads it and a recorded stream is written in it
//! (docs/dumps.md).

/// Folder of trades.
pub const TRADES: &str = "trades";
/// Folder of forced orders, whose rows are those of trades.
pub const LIQUIDATIONS: &str = "liquidations";
/// Folder of funding rates and open interest.
pub const TICKERS: &str = "derivative_ticker";
/// Folder of changes of order books.
pub const BOOK_CHANGES: &str = "incremental_book_L2";
/// File beside these folders in which a recorder notes when it began and where it has gaps.
pub const RECORDING: &str = "recording.jsonl";
