//! Profiles of small hand-made tapes and of the demo market, against plain computations.

mod demo;
mod tape;
mod tpo;
mod tpo_plain;
mod volume;
