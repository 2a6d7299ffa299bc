//! Block sizes of recorded order books. A replay makes one book of a market's rows: they must be of one size.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::client::error::ClientError;
use crate::protocol::dump::RECORDING;
use crate::protocol::stream::{Channel, ChannelKind};

/// Parameter of the channels.
const BLOCK_SIZE: &str = "blockSize";

/// Checks that each market's book has one block size, among these channels and with what the folder's log says.
///
/// # Errors
/// A market with two, named with both.
pub(super) fn check<'a>(folder: &Path, channels: impl IntoIterator<Item = &'a Channel>) -> Result<(), ClientError> {
    let mut sizes: HashMap<(&str, &str), &str> = HashMap::new();
    for channel in channels {
        let Some(size) = block_size(channel) else { continue };
        let known = *sizes.entry((&channel.exchange, &channel.symbol)).or_insert(size);
        if !is_same(known, size) {
            return Err(refused(channel, known, size));
        }
    }
    if sizes.is_empty() {
        return Ok(());
    }
    // Where it cannot be read, the note that the channels were opened says why.
    let log = fs::read_to_string(folder.join(RECORDING)).unwrap_or_default();
    for line in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let Some(opened) = line.get("opened").and_then(|_| line["channels"].as_array()) else { continue };
        for channel in opened.iter().filter_map(|channel| Channel::from_json(channel).ok()) {
            let Some(kept) = block_size(&channel) else { continue };
            match sizes.get(&(channel.exchange.as_str(), channel.symbol.as_str())) {
                Some(size) if !is_same(kept, size) => return Err(refused(&channel, kept, size)),
                _ => {}
            }
        }
    }
    Ok(())
}

fn block_size(channel: &Channel) -> Option<&str> {
    channel.parameter(BLOCK_SIZE).filter(|_| ChannelKind::find(&channel.kind) == Some(ChannelKind::BlockBookSnapshot))
}

/// Whether two spellings are of one number.
fn is_same(one: &str, other: &str) -> bool {
    one == other || one.parse::<f64>().ok().is_some_and(|size| other.parse() == Ok(size))
}

fn refused(channel: &Channel, one: &str, other: &str) -> ClientError {
    ClientError::invalid(format!(
        "record: one folder would have the order book of {} {} in blocks of {one} and of {other}, of which a replay makes one \
         book; record each size into a folder of its own",
        channel.exchange, channel.symbol
    ))
}
