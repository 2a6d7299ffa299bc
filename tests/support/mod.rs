//! What the tests of this folder share.

pub(crate) mod dumps;
pub(crate) mod scripted;
