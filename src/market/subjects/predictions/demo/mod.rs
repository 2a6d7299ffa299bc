//! The demo's prediction venue.

pub(in crate::market) mod events;
pub(in crate::market) mod odds;
pub(in crate::market) mod positions;
pub(in crate::market) mod tape;
pub(in crate::market) mod venue;
