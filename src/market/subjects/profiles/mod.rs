//! Price profiles: volume profiles and market profiles (TPO) from trades, heatmaps from liquidations (service.md 2.3 and
//! 4.1, supplement 4). The rules below decide what these sections leave open.
//!
//! **Levels.** A trade counts to the level price = floor(price / step) × step. The step is `blockSize` for TPO where it
//! is given. Otherwise, and always for volume profiles (which ignore `blockSize`), the server chooses it for each
//! bucket or session: the member of 1, 2, 5, 10, … × 10ⁿ that is nearest in proportion to price / 2000 among the
//! multiples of the market's tick (known from its trades or books). The price is that of the bucket's first trade, or
//! first liquidation in a heatmap. So a closed bucket does not depend on the window, and a forming one never changes
//! its grid. With several markets the first trade of all of them counts, and the step is a multiple of each tick.
//!
//! **USD.** Volumes are price × amount. Prices of quotes that are not USD-like are converted by the rate of their minute
//! ([`super::query::usd`]), as candles' are; their ticks then do not count.
//!
//! **SUM** adds volumes by level; a block's low and high are those over all markets; opening and closing price are means
//! weighted by volume, high and low the extremes, as for candles.
//!
//! **Sessions.** `tpoSession` cuts days at 00:00 UTC, weeks on Monday and months on the first; without it (or with
//! `TPO_SESSION_UNSPECIFIED`) each bucket of `interval` is a session. As with buckets, a session counts when its start
//! lies in the window, a forming one has the trades up to now, one without trades is absent. `period_start` and
//! `timestamp` are its start, `period_end` its nominal end (exclusive, for a forming session in the future).
//!
//! **Market profile.** Block *i* is the trades in [start + *i* × length, start + (*i* + 1) × length), cut at the
//! session's end. It visits every level between its lowest and its highest trade; levels that no block visited, because
//! the price jumped over them between two blocks, are left out and are no neighbours in the rules below. `poc_price` is
//! the level with most blocks (of equals the one nearest to the middle of the range, then the lower); the value area
//! grows from it by the pair of levels above or below that has more blocks (above when equal) until it holds 70 % of
//! all; `value_area_percentage` is that 70. `vah_price`, `val_price` and `poc_price` are level prices; `profile_high`,
//! `profile_low`, `opening_price`, `closing_price` and the initial balance `ibr_high`, `ibr_low` (first hour of the
//! session) are prices of trades, so they agree with the session's candle. `poor_highs` and `poor_lows` hold the
//! highest and lowest level where two or more blocks visited it; `single_prints` the levels between them that exactly
//! one block visited. `total_tpo_count` is the sum of `tpo_count`, `total_volume` that of `volume`.

pub(in crate::market) mod events;
mod profile;
pub(in crate::market) mod sessions;
#[cfg(test)]
mod tests;
pub(in crate::market) mod tpo;
mod tpo_columns;
mod value_area;
pub(in crate::market) mod volume;
