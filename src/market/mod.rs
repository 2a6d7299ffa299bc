//! The engine behind the service: raw events → candles and book heatmaps; its sources (demo, store); transforms.
//! No HTTP.

mod demo;
mod source;

pub use demo::Demo;
pub use source::{Bar, Book, Level, Listing, Source, SourceError, Trade};
