//! The decoder and the rooms below it, from the files of the crate itself. A few crates are compiled for it and not hundreds.
#![allow(dead_code, unused_imports)] // what only rooms above them use

#[path = "../../../src/clock/mod.rs"]
pub mod clock;
#[path = "../../../src/columns/mod.rs"]
pub mod columns;
#[path = "../../../src/decode/mod.rs"]
pub mod decode;
#[path = "../../../src/protocol/mod.rs"]
pub mod protocol;
