//! The live stream as data (service.md 6, supplement 7): channels and their parameters, requests and answers, points.

mod channel;
mod kind;
mod point;
mod rpc;

pub use channel::Channel;
pub use kind::{Accepts, CHANNELS, ChannelKind, ChannelParameter, ChannelSpec, Family, duration};
pub use point::{Frame, Payload, StreamPoint, StreamSeries, StreamTime};
pub use rpc::{AUTHENTICATE, Call, RpcError, SUBSCRIBE, UNSUBSCRIBE, authenticate, error, result, subscribe};
