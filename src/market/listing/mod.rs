//! The market listing, and the lists of the discovery endpoints.

pub(in crate::market) mod discovery;
pub(in crate::market) mod figures;
pub(in crate::market) mod order;
pub(in crate::market) mod page;
#[cfg(test)]
mod tests;
