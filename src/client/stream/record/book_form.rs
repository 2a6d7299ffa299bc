//! How order books are recorded: in blocks of a size, with all or so many levels. A replay makes one book of a market's rows: all
//! must have one form.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use serde_json::Value;

use crate::archive::LinesFile;
use crate::client::error::{ClientError, ErrorKind};
use crate::protocol::dump::RECORDING;
use crate::protocol::stream::{Channel, ChannelKind};

/// The form of a channel's books, as the channel spells it.
struct BookForm<'a> {
    block_size: &'a str,
    /// Most levels of a side; `None` is all.
    max_depth: Option<&'a str>,
}

impl<'a> BookForm<'a> {
    /// That of a channel; `None` if it has no books.
    fn of(channel: &'a Channel) -> Option<Self> {
        let block_size = channel.parameter("blockSize")?;
        let is_book = ChannelKind::find(&channel.kind) == Some(ChannelKind::BlockBookSnapshot);
        is_book.then(|| Self { block_size, max_depth: channel.parameter("maxDepth") })
    }

    fn is(&self, other: &BookForm<'_>) -> bool {
        let is_same = |one: &str, other: &str| {
            one == other || one.parse::<f64>().ok().is_some_and(|number| other.parse() == Ok(number))
        };
        is_same(self.block_size, other.block_size)
            && match (self.max_depth, other.max_depth) {
                (Some(one), Some(other)) => is_same(one, other),
                (one, other) => one == other,
            }
    }
}

impl Display for BookForm<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let levels = self.max_depth.map_or_else(|| "all levels".to_owned(), |depth| format!("{depth} levels a side"));
        write!(f, "in blocks of {} ({levels})", self.block_size)
    }
}

/// Checks that each market's book has one form, among these channels and with what the folder's log says.
///
/// # Errors
/// A market with two, named with both; a log that cannot be read.
pub(super) fn check<'a>(folder: &Path, channels: impl IntoIterator<Item = &'a Channel>) -> Result<(), ClientError> {
    let mut forms: HashMap<(&str, &str), BookForm<'_>> = HashMap::new();
    for channel in channels {
        let Some(form) = BookForm::of(channel) else { continue };
        match forms.get(&(channel.exchange.as_str(), channel.symbol.as_str())) {
            Some(known) if !known.is(&form) => return Err(refused(channel, known, &form)),
            Some(_) => {}
            None => drop(forms.insert((&channel.exchange, &channel.symbol), form)),
        }
    }
    if forms.is_empty() {
        return Ok(());
    }
    let mut refusal = None;
    LinesFile::each_line(&folder.join(RECORDING), |line| {
        // A line that is none of a recording's says nothing.
        let note: Value = serde_json::from_str(line).unwrap_or_default();
        let opened = note.get("opened").and_then(|_| note["channels"].as_array());
        for channel in opened.into_iter().flatten().filter_map(|channel| Channel::from_json(channel).ok()) {
            let Some(kept) = BookForm::of(&channel) else { continue };
            match forms.get(&(channel.exchange.as_str(), channel.symbol.as_str())) {
                Some(form) if !kept.is(form) => refusal = Some(refused(&channel, &kept, form)),
                _ => {}
            }
        }
    })
    .map_err(|fault| ClientError::new(ErrorKind::Archive, format!("the stream cannot be recorded: {fault}")))?;
    refusal.map_or(Ok(()), Err)
}

fn refused(channel: &Channel, one: &BookForm<'_>, other: &BookForm<'_>) -> ClientError {
    ClientError::invalid(format!(
        "record: one folder would have the order book of {} {} {one} and {other} ({RECORDING} names what it has), of which a \
         replay makes one book; record each into a folder of its own",
        channel.exchange, channel.symbol
    ))
}
