//! Names and paths that every request shares (service.md, sections 4, 5 and 8.5).

/// Header that carries the API key (section 5).
pub const KEY_HEADER: &str = "x-service-key";
/// Path of the time-series endpoint (section 4.1).
pub const POINTS_PATH: &str = "/v1/points";
/// Path of the market listing (section 4.2).
pub const MARKETS_PATH: &str = "/v1/markets";
/// Path of the usage record (section 4.2).
pub const USAGE_PATH: &str = "/v1/usage";

/// Weight budget per minute of the key's tier (section 8.5).
pub const LIMIT_HEADER: &str = "x-ratelimit-limit";
/// Whole weight left in the bucket, burst included (section 8.5).
pub const REMAINING_HEADER: &str = "x-ratelimit-remaining";
/// Weight spent in the last window (section 8.5).
pub const USED_HEADER: &str = "x-ratelimit-used";
/// Unix time at which the bucket is full again (section 8.5).
pub const RESET_HEADER: &str = "x-ratelimit-reset";

/// Length of the usage window in seconds (section 8.5).
pub const WINDOW_SECONDS: u32 = 60;
/// Quotes that count as one USD (design, "Rules of the local service").
pub const USD_LIKE: [&str; 6] = ["USD", "USDT", "USDC", "FDUSD", "BUSD", "DAI"];

/// Code of the refusal of a local service over an archive that was never asked for what is wanted.
pub const NOT_ARCHIVED: &str = "NOT_ARCHIVED";
