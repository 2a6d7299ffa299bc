//! Kinds of raw data.

use crate::protocol::{DataType, RawData};

/// The raw data of one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawDataSet(u8);

impl RawDataSet {
    /// These and one more.
    #[must_use]
    pub const fn with(self, kind: RawData) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether the market has the kind.
    pub const fn has(self, kind: RawData) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Whether the market serves a data type.
    pub fn serve(self, data_type: DataType) -> bool {
        data_type.spec().made_of.is_some_and(|kind| self.has(kind))
    }
}

impl FromIterator<RawData> for RawDataSet {
    fn from_iter<I: IntoIterator<Item = RawData>>(raw_data: I) -> Self {
        raw_data.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_are_a_set() {
        let raw_data: RawDataSet = [RawData::Books, RawData::FundingRates, RawData::Books].into_iter().collect();
        let kinds: Vec<RawData> = RawData::ALL.into_iter().filter(|kind| raw_data.has(*kind)).collect();
        assert_eq!(kinds, [RawData::Books, RawData::FundingRates]);
        assert!(raw_data.serve(DataType::FundingRateAgg) && !raw_data.serve(DataType::OpenInterestAgg));
        assert!(!raw_data.serve(DataType::LiquidationAgg) && !raw_data.serve(DataType::TokenSupplyAgg));
        assert!(RawData::ALL.iter().enumerate().all(|(place, kind)| *kind as usize == place));
    }
}
