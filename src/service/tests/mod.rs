//! The service over real sockets, with a clock that stands still and a canned source.

mod analytics;
mod budget;
mod harness;
mod lifecycle;
mod lists;
mod openapi;
mod transport;
mod walls;
