//! Reads the envelope of a body (service.md 2.2) in portions as they arrive.
//!
//! A body is read in steps: a key, an identity, some points. A step that runs into the end of the available bytes has
//! no effect and is repeated when there are more; so the result does not depend on the portions.

use std::sync::Arc;

use super::error::DecodeError;
use super::json::{Next, Reader, Result};
use super::kernel::Kernel;
use super::names::BodyNames;
use super::open_series::{AfterKey, OpenSeries};
use super::refusal::DecodeRefusal;
use super::series;
use super::unknown_fields::settled;
use crate::columns::Series;
use crate::protocol::Dialect;

/// An error this close to the end of a portion may only mean that the rest is missing: no token that is checked in one
/// piece is longer.
const NEAR_THE_END: usize = 32;
/// After so many series the next ones are assumed to be about as long.
const MANY: usize = 16;
/// Least number of new bytes before a step is repeated.
const WORTH_A_TRY: usize = 256;

/// The body of a `GET /v1/points` answer, decoded while it arrives (service.md 2.2 and 2.3, supplement 2 and 3).
///
/// Feed it the body in portions of any size, then [`finish`](Self::finish). The result, including errors, is that of
/// [`points`](super::points) on the complete body. Decoded bytes are dropped: memory holds the columns and the last
/// portion.
pub struct PointsDecoder {
    kernel: Kernel,
    names: BodyNames,
    stage: Stage,
    /// Bytes that are not decoded yet, and their offset in the body.
    pending: Vec<u8>,
    base: usize,
    /// Length of `pending` at which the next step is worth trying.
    enough: usize,
    list: Option<Vec<Series>>,
    /// Content found instead of series.
    refusal: Option<DecodeRefusal>,
    current: OpenSeries,
    /// After an error nothing more is read.
    failure: Option<DecodeError>,
    /// Announced size of the body, if known.
    announced: usize,
    /// Most bytes that the result may take in memory, and those of the finished series.
    most: usize,
    finished: usize,
    /// Size of the longest series so far.
    longest: usize,
}

/// Next stage of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The body.
    Start,
    /// A key of the body.
    Key,
    /// A comma or the end of the body's object.
    AfterValue,
    /// An element of `series`.
    Series,
    /// A comma or the end of `series`.
    AfterSeries,
    /// A key of a series.
    SeriesKey,
    /// A comma or the end of a series.
    AfterSeriesValue,
    /// An element of `points` or `flat_points`.
    Points,
    /// A comma or the end of that array.
    AfterPoints,
    /// Nothing but white space.
    End,
}

impl Stage {
    /// Brackets that are open.
    const fn depth(self) -> usize {
        match self {
            Self::Start | Self::End => 0,
            Self::Key | Self::AfterValue => 1,
            Self::Series | Self::AfterSeries => 2,
            Self::SeriesKey | Self::AfterSeriesValue => 3,
            Self::Points | Self::AfterPoints => 4,
        }
    }
}

/// Why a step failed.
enum StepStop {
    /// At a position in the available bytes; more bytes may resolve it.
    Here(DecodeError),
    /// At an offset in the body, for good.
    Settled(DecodeError),
}

impl From<DecodeError> for StepStop {
    fn from(error: DecodeError) -> Self {
        Self::Here(error)
    }
}

impl PointsDecoder {
    /// A decoder of one body.
    ///
    /// # Errors
    /// [`KERNEL_VARIABLE`](super::KERNEL_VARIABLE) names a kernel that this processor cannot run.
    pub fn new() -> Result<Self> {
        Ok(Self::with(Kernel::active().map_err(|problem| DecodeError::new(0, problem))?))
    }

    /// A decoder with a given kernel; one that the processor lacks is replaced by the portable one.
    pub fn with(kernel: Kernel) -> Self {
        Self {
            kernel: if kernel.supported() { kernel } else { Kernel::Scalar },
            names: BodyNames::default(),
            stage: Stage::Start,
            pending: Vec::new(),
            base: 0,
            enough: 0,
            list: None,
            refusal: None,
            current: OpenSeries::default(),
            failure: None,
            announced: 0,
            most: usize::MAX,
            finished: 0,
            longest: 0,
        }
    }

    /// Limits the bytes that the result may take in memory. Checked after each portion.
    #[must_use]
    pub fn holding_at_most(self, bytes: usize) -> Self {
        Self { most: bytes, ..self }
    }

    /// Whether the result exceeds its limit.
    pub fn is_too_large(&mut self) -> bool {
        self.finished + self.current.bytes() + self.pending.len() > self.most
    }

    /// Announces the size of the body, so that its columns are allocated at once. A wrong size does no harm.
    pub fn expect(&mut self, bytes: usize) {
        self.announced = bytes;
    }

    /// For a service with a dialect; call it before anything is fed.
    #[must_use]
    pub fn speaking(self, dialect: Option<Arc<Dialect>>) -> Self {
        Self { names: BodyNames::new(dialect), ..self }
    }

    /// Takes the next portion of the body.
    ///
    /// # Errors
    /// As soon as what arrived cannot be the start of a valid body; then again at every call.
    pub fn feed(&mut self, portion: &[u8]) -> Result<()> {
        if self.pending.is_empty() {
            let read = self.advance(portion, false)?;
            self.pending.extend_from_slice(&portion[read..]);
        } else {
            self.pending.extend_from_slice(portion);
            if self.pending.len() < self.enough {
                return self.failure.clone().map_or(Ok(()), Err);
            }
            let pending = std::mem::take(&mut self.pending);
            let read = self.advance(&pending, false)?;
            self.pending = pending;
            self.pending.drain(..read);
        }
        // Half as much again, so that a step that needs many bytes is not tried with every portion.
        self.enough = self.pending.len() + (self.pending.len() / 2).max(WORTH_A_TRY);
        Ok(())
    }

    /// The series of the whole body.
    ///
    /// # Errors
    /// As [`points`](super::points).
    pub fn finish(self) -> Result<Vec<Series>> {
        self.finish_with(&[])
    }

    /// The series of the complete body, of which this is the last portion.
    ///
    /// # Errors
    /// As [`points`](super::points).
    pub fn finish_with(self, portion: &[u8]) -> Result<Vec<Series>> {
        self.finish_as_sent(portion).map(settled)
    }

    /// The same with raw values of unknown fields, to be joined with other answers before they are [`settled`].
    ///
    /// # Errors
    /// As [`points`](super::points).
    pub fn finish_as_sent(mut self, portion: &[u8]) -> Result<Vec<Series>> {
        if self.pending.is_empty() {
            return self.rest(portion);
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(portion);
        self.rest(&pending)
    }

    /// The series of a body whose last portion this is.
    pub(super) fn rest(mut self, bytes: &[u8]) -> Result<Vec<Series>> {
        self.advance(bytes, true)?;
        match (self.list, self.refusal) {
            (None, Some(refusal)) => Err(refusal.into_error()),
            (Some(list), Some(refusal)) if list.is_empty() && refusal.is_error => Err(refusal.into_error()),
            (Some(list), _) => series::whole(list),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// Does as many steps as the bytes allow; returns how many bytes are consumed.
    fn advance(&mut self, bytes: &[u8], last: bool) -> Result<usize> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let beyond = self.announced.saturating_sub(self.base + bytes.len());
        let mut reader = Reader::inside(bytes, self.kernel, self.stage.depth()).before(beyond);
        reader.expect_at_most(self.likely_length());
        self.current.new_bytes();
        loop {
            let done = reader.offset();
            let error = match self.step(&mut reader, last) {
                Ok(true) => continue,
                Ok(false) if last => return Ok(bytes.len()),
                Ok(false) => {
                    self.base += bytes.len();
                    return Ok(bytes.len());
                }
                Err(StepStop::Here(error)) if !last && error.offset + NEAR_THE_END > bytes.len() => {
                    self.base += done;
                    return Ok(done);
                }
                Err(StepStop::Here(error)) => DecodeError { offset: error.offset + self.base, ..self.placed(error) },
                Err(StepStop::Settled(error)) => self.placed(error),
            };
            self.failure = Some(error.clone());
            return Err(error);
        }
    }

    /// The error with the path of this stage.
    fn placed(&self, error: DecodeError) -> DecodeError {
        let series = self.list.as_ref().map_or(0, Vec::len);
        match self.stage {
            Stage::Points | Stage::AfterPoints => error.inside(self.current.array()).at_index(series).inside("series"),
            Stage::Series | Stage::SeriesKey | Stage::AfterSeriesValue => error.at_index(series).inside("series"),
            Stage::AfterSeries => error.inside("series"),
            _ => error,
        }
    }

    /// Does the next step; returns whether there is another one. After an error it can be repeated.
    fn step(&mut self, reader: &mut Reader<'_>, last: bool) -> std::result::Result<bool, StepStop> {
        self.stage = match self.stage {
            Stage::Start => {
                if reader.open(b'{')? {
                    Stage::Key
                } else {
                    Stage::End
                }
            }
            Stage::Key => self.key(reader)?,
            Stage::AfterValue => {
                if reader.another(b'}')? {
                    Stage::Key
                } else {
                    Stage::End
                }
            }
            Stage::Series => {
                let start = reader.offset();
                let more = reader.open(b'{')?;
                reader.expect_at_most(self.likely_length());
                self.current = OpenSeries::at(start + self.base);
                if more {
                    Stage::SeriesKey
                } else {
                    self.settle()?;
                    Stage::AfterSeries
                }
            }
            Stage::AfterSeries => {
                if reader.another(b']')? {
                    Stage::Series
                } else {
                    Stage::AfterValue
                }
            }
            Stage::SeriesKey => self.series_key(reader)?,
            Stage::AfterSeriesValue => {
                if reader.another(b'}')? {
                    Stage::SeriesKey
                } else {
                    self.longest = self.longest.max((reader.offset() + self.base).saturating_sub(self.current.start()));
                    self.settle()?;
                    Stage::AfterSeries
                }
            }
            Stage::Points => {
                let Some(next) = self.current.points(reader, last)? else { return Ok(false) };
                match next {
                    Next::Element => Stage::Points,
                    Next::Separator => Stage::AfterPoints,
                    Next::Left => self.close_points()?,
                }
            }
            Stage::AfterPoints => {
                if reader.another(b']')? {
                    Stage::Points
                } else {
                    self.close_points()?
                }
            }
            Stage::End => {
                reader.finish()?;
                return Ok(false);
            }
        };
        Ok(true)
    }

    /// Most bytes that a series is likely to take. Allocating the rest of a body for each of many short series would be
    /// most of the work.
    fn likely_length(&self) -> usize {
        let many = self.list.as_ref().is_some_and(|list| list.len() >= MANY);
        if many { self.longest.saturating_mul(2) } else { usize::MAX }
    }

    /// Reads a key of the body and what belongs to it.
    fn key(&mut self, reader: &mut Reader<'_>) -> std::result::Result<Stage, StepStop> {
        let key = reader.key()?;
        let value = |error: DecodeError| error.inside(&key);
        if key == "series" {
            if self.list.is_some() {
                return Err(value(reader.error("a duplicate key")).into());
            }
            let more = !reader.null().map_err(value)? && reader.open(b'[').map_err(value)?;
            self.list = Some(Vec::with_capacity(1)); // mostly there is one
            return Ok(if more { Stage::Series } else { Stage::AfterValue });
        }
        reader.peek().map_err(value)?;
        let offset = reader.offset() + self.base;
        let text = String::from_utf8_lossy(reader.skip().map_err(value)?);
        // The number that ends with the available bytes may continue in the next ones.
        reader.peek()?;
        DecodeRefusal::note(&mut self.refusal, &key, &text, offset);
        Ok(Stage::AfterValue)
    }

    /// Reads a key of a series and what belongs to it.
    fn series_key(&mut self, reader: &mut Reader<'_>) -> std::result::Result<Stage, StepStop> {
        match self.current.key(reader, self.base, &self.names)? {
            AfterKey::Passed => Ok(Stage::AfterSeriesValue),
            AfterKey::Points => Ok(Stage::Points),
            AfterKey::NoPoints => self.close_points(),
        }
    }

    /// Finishes the array that is open.
    fn close_points(&mut self) -> std::result::Result<Stage, StepStop> {
        // The stage adds the array's path, if it is still the one of its elements.
        let in_points = self.stage != Stage::SeriesKey;
        let name = self.current.array();
        let closed = self.current.close();
        closed.map_err(|error| StepStop::Settled(if in_points { error } else { error.inside(name) }))?;
        Ok(Stage::AfterSeriesValue)
    }

    /// Finishes the series that is open.
    fn settle(&mut self) -> std::result::Result<(), StepStop> {
        let series = std::mem::take(&mut self.current).finish(self.kernel, &self.names).map_err(StepStop::Settled)?;
        self.finished += series.bytes();
        self.list.get_or_insert_default().push(series);
        Ok(())
    }
}
