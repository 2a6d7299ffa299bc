//! The engine behind the service: raw events → candles and book heatmaps; its sources (demo, store); transforms.
//! No HTTP.
