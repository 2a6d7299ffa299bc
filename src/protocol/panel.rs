//! How data types are drawn: their role, and the panels of those that are lines.

/// How a type is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Candles with their volume.
    Candles,
    /// An amount of each bucket as bars; both sides on one axis.
    Bars,
    /// Lines, by the type's [`Panel`]s.
    Lines,
    /// Volume by time and price, in colours.
    Heatmap,
    /// Volume by price and side.
    Profile,
    /// The time blocks that visited each price of a session.
    Sessions,
}

impl Role {
    /// Name of the role in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Candles => "candles",
            Self::Bars => "bars",
            Self::Lines => "lines",
            Self::Heatmap => "heatmap",
            Self::Profile => "profile",
            Self::Sessions => "sessions",
        }
    }
}

/// Unit of the values of a [`Panel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PanelUnit {
    /// None, or one that is not known.
    Unknown,
    /// That of the market's amounts: coins, contracts, or USD where asked so.
    Amount,
    /// Coins.
    Coin,
    /// US dollars.
    Usd,
    /// Percent.
    Percent,
    /// Fractions, shown in percent.
    Fraction,
    /// Differences of values in percent.
    PercentagePoints,
    /// Places in a ranking: the best is 1.
    Rank,
}

impl PanelUnit {
    /// Name of the unit in Python; the empty text where it is not known.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::Amount => "amount",
            Self::Coin => "coin",
            Self::Usd => "USD",
            Self::Percent => "%",
            Self::Fraction => "fraction",
            Self::PercentagePoints => "percentage points",
            Self::Rank => "rank",
        }
    }
}

/// Columns of one quantity, which are drawn on one panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panel {
    /// The quantity, in words.
    pub quantity: &'static str,
    /// The columns drawn as lines. Of several in one entry the first that has a value.
    pub columns: &'static [&'static [&'static str]],
    /// The columns of the lowest and the highest value in a bucket, drawn as a band.
    pub band: Option<(&'static str, &'static str)>,
    /// Unit of the values.
    pub unit: PanelUnit,
    /// Whether the first entry's values hold until the next one is published, and are drawn as steps.
    pub steps: bool,
}

/// A panel of lines.
pub(super) const fn panel(
    quantity: &'static str,
    columns: &'static [&'static [&'static str]],
    unit: PanelUnit,
) -> Panel {
    Panel { quantity, columns, band: None, unit, steps: false }
}
