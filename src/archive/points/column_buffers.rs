//! Reads the series of many files into preallocated columns: each column is as long as in all files together, and every
//! file is decoded into its range, in parallel. Only for files with the same numeric columns; others are joined
//! (`columns::Joiner`).

use std::mem;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::pack::{PackedSeries, TIME};
use super::part_file::packed;
use super::scan::Scan;
use crate::archive::file_bytes::FileBytes;
use crate::archive::parquet_values::{Leaf, ParquetKind, ParquetValues};
use crate::clock::UnixNanos;
use crate::columns::{Column, Growing, List, Series, parallel, times_ascend};
use crate::protocol::{SeriesId, Shape};

/// Most series of a file that is read this way: for each, the pages at its edges are read separately.
pub(super) const FEW: usize = 4;
/// Most growth of a column's capacity over its present length: a ledger's claim is not trusted further.
const MOST: usize = 1 << 10;

/// An open file; only its times are read.
pub(super) struct Open {
    values: ParquetValues,
    series: Vec<SeriesRange>,
}

/// The part of a file that belongs to a series.
struct SeriesRange {
    of: PackedSeries,
    /// Its rows of the file that are in the window.
    rows: Range<usize>,
    times: Vec<i64>,
    columns: Vec<Vec<Leaf>>,
    /// Whether some of its rows are outside of the window, so that the lengths of its lists are not known yet.
    is_cut: bool,
}

/// Opens a file whose checksums are right, as far as it was read; `None` if its values cannot be read into preallocated columns.
pub(super) fn open(bytes: &FileBytes, scan: Scan<'_>) -> Option<Open> {
    let mut values = ParquetValues::open(bytes.clone())?;
    let packed = packed(&values.metadata()).filter(|packed| packed.len() <= FEW)?;
    let declared = packed.iter().try_fold(0_usize, |sum, one| sum.checked_add(one.rows))?;
    let time = values.leaf(TIME).filter(|time| time.kind == ParquetKind::Time && declared == values.rows())?;
    let mut times = vec![0; declared];
    values.integers(&time, 0..declared, &mut times).ok()?;
    let window = scan.window.nanos();
    let (mut series, mut done, alone) = (Vec::new(), 0, packed.len() == 1);
    for of in packed {
        // Raw values are made from several columns.
        if !of.has_no_raw_values() {
            return None;
        }
        let own = done..done + of.rows;
        done = own.end;
        let rows = within(&times[own.clone()], &window)?;
        let rows = own.start + rows.start..own.start + rows.end;
        // Most files have one series, completely in the window.
        let is_all = alone && rows.len() == declared;
        let own_times = if is_all { mem::take(&mut times) } else { times[rows.clone()].to_vec() };
        let of = of.narrowed(scan.columns);
        let columns = of.columns.iter().map(|(_, names)| leaves(&values, names)).collect::<Option<_>>()?;
        series.push(SeriesRange { times: own_times, is_cut: rows != own, of, rows, columns });
    }
    if series.iter().any(|one| one.is_cut) {
        values = ParquetValues::open_by_pages(bytes.clone())?;
    }
    Some(Open { values, series })
}

/// The rows whose times are in a window; `None` if they are not contiguous.
fn within(times: &[i64], window: &Range<UnixNanos>) -> Option<Range<usize>> {
    if times_ascend(times) {
        let first = times.partition_point(|time| UnixNanos(*time) < window.start);
        return Some(first..first + times[first..].partition_point(|time| UnixNanos(*time) < window.end));
    }
    let is_within = |time: &i64| window.contains(&UnixNanos(*time));
    let first = times.iter().position(is_within).unwrap_or(times.len());
    let rows = first..first + times[first..].iter().take_while(|time| is_within(time)).count();
    (!times[rows.end..].iter().any(is_within)).then_some(rows)
}

/// The columns of a file for a column of a series: one, or several of lists.
fn leaves(values: &ParquetValues, names: &[String]) -> Option<Vec<Leaf>> {
    let leaves = names.iter().map(|name| values.leaf(name)).collect::<Option<Vec<_>>>()?;
    let fit = leaves.len() == 1 || !leaves.is_empty() && leaves.iter().all(|leaf| leaf.kind == ParquetKind::List);
    fit.then_some(leaves)
}

/// Series that grow file by file.
#[derive(Default)]
pub(super) struct PreallocatedRead {
    series: Vec<SeriesBuilder>,
    /// Rows still to come, as far as known.
    to_come: usize,
}

struct SeriesBuilder {
    like: PackedSeries,
    kinds: Vec<(ParquetKind, usize)>,
    of: Series,
    times: Growing<i64>,
    columns: Vec<ColumnBuffer>,
}

enum ColumnBuffer {
    Floats(Growing<f64>),
    /// Integers or times.
    Integers(Growing<i64>),
    /// The end of each row, and values.
    Lists(Growing<i64>, Growing<f64>),
}

/// The capacity that some rows need.
#[derive(Clone, Copy)]
struct Capacity {
    /// Upper bound: for lists that are read in part, the values of all rows of the file.
    most: usize,
    /// Approximate number of values, from which the need of the rows to come is extrapolated.
    likely: usize,
}

impl Capacity {
    /// For so many values.
    fn of(values: usize) -> Self {
        Self { most: values, likely: values }
    }
}

/// A part of a column, and where its values go.
struct ReadTask<'a> {
    file: usize,
    values: &'a ParquetValues,
    leaves: &'a [Leaf],
    rows: Range<usize>,
    out: OutputSlice<'a>,
}

enum OutputSlice<'a> {
    Floats(&'a mut [f64]),
    Integers(&'a mut [i64]),
    Lists { ends: &'a mut [i64], values: &'a mut [f64], found: &'a mut usize },
}

impl PreallocatedRead {
    /// For files of so many rows in all.
    pub(super) fn expecting(rows: usize) -> Self {
        Self { to_come: rows, ..Self::default() }
    }

    /// Adds the rows of the next files; `false`, with nothing added, if their columns differ or cannot be read this
    /// way.
    pub(super) fn add(&mut self, files: &[Open]) -> bool {
        let known = self.series.len();
        let added = self.targets(files).is_some_and(|targets| self.fill(files, &targets));
        if !added {
            self.series.truncate(known);
        }
        added
    }

    /// The series so far.
    pub(super) fn finish(self) -> Vec<Series> {
        self.series.into_iter().map(SeriesBuilder::finish).collect()
    }

    /// Assigns the parts of the files to series: in order of the files, with new series in order of their first
    /// appearance.
    fn targets(&mut self, files: &[Open]) -> Option<Vec<Vec<(usize, usize)>>> {
        let mut shares: Vec<Vec<(usize, usize)>> = self.series.iter().map(|_| Vec::new()).collect();
        for (file, open) in files.iter().enumerate() {
            for (number, share) in open.series.iter().enumerate() {
                let like = share.of.of_no_rows();
                let kinds: Vec<_> = share.columns.iter().map(|leaves| (leaves[0].kind, leaves.len())).collect();
                let found = self.series.iter().position(|one| one.like == like && one.kinds == kinds);
                let place = if let Some(place) = found {
                    place
                } else {
                    let of = like.without_rows().ok()?;
                    // A series that differs in its columns, or in its raw values, is joined instead.
                    if self.series.iter().any(|one| identity(&one.of) == identity(&of)) {
                        return None;
                    }
                    self.series.push(SeriesBuilder::new(like, kinds, of));
                    shares.push(Vec::new());
                    self.series.len() - 1
                };
                shares[place].push((file, number));
            }
        }
        Some(shares)
    }

    fn fill(&mut self, files: &[Open], shares: &[Vec<(usize, usize)>]) -> bool {
        let rows: usize = files.iter().flat_map(|file| &file.series).map(|share| share.rows.len()).sum();
        let times = (self.to_come as f64 / rows.max(1) as f64).min(MOST as f64);
        let mut growing: Vec<_> =
            self.series.iter_mut().zip(shares).flat_map(|(target, shares)| target.growing(files, shares)).collect();
        let size = growing.iter().map(|(_, room)| room.most).sum();
        parallel::share(parallel::threads(size), growing.drain(..), |(column, room)| {
            column.make_room(room.most, (room.likely as f64 * times) as usize);
        });
        let count = |target: &SeriesBuilder, shares: &Vec<_>| vec![vec![0_usize; shares.len()]; target.columns.len()];
        let mut found: Vec<_> = self.series.iter().zip(shares).map(|(target, shares)| count(target, shares)).collect();
        let mut tasks = Vec::new();
        for ((target, shares), found) in self.series.iter_mut().zip(shares).zip(&mut found) {
            target.tasks(files, shares, found, &mut tasks);
        }
        tasks.sort_by_key(|task| task.file); // one file's bytes are still in the caches for the next column
        let size = tasks.iter().map(ReadTask::size).sum();
        let failed = Mutex::new(false);
        parallel::share(parallel::threads(size), tasks.into_iter(), |task| {
            if task.run().is_err() {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = true;
            }
        });
        if failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return false;
        }
        for ((target, shares), found) in self.series.iter_mut().zip(shares).zip(&found) {
            target.take(files, shares, found);
        }
        self.to_come = self.to_come.saturating_sub(rows);
        true
    }
}

impl SeriesBuilder {
    fn new(like: PackedSeries, kinds: Vec<(ParquetKind, usize)>, of: Series) -> Self {
        let place = |(kind, _): &(ParquetKind, usize)| match kind {
            ParquetKind::Float => ColumnBuffer::Floats(Growing::default()),
            ParquetKind::Int | ParquetKind::Time => ColumnBuffer::Integers(Growing::default()),
            ParquetKind::List => ColumnBuffer::Lists(Growing::default(), Growing::default()),
        };
        let columns = kinds.iter().map(place).collect();
        Self { like, kinds, of, times: Growing::default(), columns }
    }

    /// Every column, with the capacity it needs for some parts of files.
    fn growing<'a>(&'a mut self, files: &[Open], shares: &[(usize, usize)]) -> Vec<(&'a mut dyn Reserve, Capacity)> {
        let share = |&(file, number): &(usize, usize)| &files[file].series[number];
        let rows = Capacity::of(shares.iter().map(|one| share(one).rows.len()).sum());
        let mut growing: Vec<(&'a mut dyn Reserve, Capacity)> = vec![(&mut self.times, rows)];
        for (column, place) in self.columns.iter_mut().enumerate() {
            match place {
                ColumnBuffer::Floats(values) => growing.push((values, rows)),
                ColumnBuffer::Integers(values) => growing.push((values, rows)),
                ColumnBuffer::Lists(ends, values) => {
                    growing.push((ends, rows));
                    let most = shares.iter().map(|one| share(one).room_of(column)).sum();
                    let likely = shares.iter().map(|one| {
                        let (share, all) = (share(one), files[one.0].values.rows().max(1));
                        (share.room_of(column) as f64 * share.rows.len() as f64 / all as f64) as usize
                    });
                    growing.push((values, Capacity { most, likely: likely.sum() }));
                }
            }
        }
        growing
    }

    /// The tasks for some parts of files, once there is capacity.
    fn tasks<'a>(
        &'a mut self,
        files: &'a [Open],
        shares: &[(usize, usize)],
        found: &'a mut [Vec<usize>],
        tasks: &mut Vec<ReadTask<'a>>,
    ) {
        let all: Vec<(usize, &SeriesRange)> =
            shares.iter().map(|&(file, number)| (file, &files[file].series[number])).collect();
        let rows: usize = all.iter().map(|(_, share)| share.rows.len()).sum();
        let mut room = self.times.room(rows);
        for (_, share) in &all {
            let (own, rest) = room.split_at_mut(share.rows.len());
            own.copy_from_slice(&share.times);
            room = rest;
        }
        for (column, (place, found)) in self.columns.iter_mut().zip(found).enumerate() {
            let mut task = |file: usize, share: &'a SeriesRange, out| {
                let (values, leaves) = (&files[file].values, &share.columns[column][..]);
                tasks.push(ReadTask { file, values, leaves, rows: share.rows.clone(), out });
            };
            match place {
                ColumnBuffer::Floats(values) => {
                    let mut room = values.room(rows);
                    for &(file, share) in &all {
                        task(
                            file,
                            share,
                            OutputSlice::Floats(room.split_off_mut(..share.rows.len()).unwrap_or_default()),
                        );
                    }
                }
                ColumnBuffer::Integers(values) => {
                    let mut room = values.room(rows);
                    for &(file, share) in &all {
                        task(
                            file,
                            share,
                            OutputSlice::Integers(room.split_off_mut(..share.rows.len()).unwrap_or_default()),
                        );
                    }
                }
                ColumnBuffer::Lists(ends, values) => {
                    let lists: usize = all.iter().map(|(_, share)| share.room_of(column)).sum();
                    let mut room = values.room(lists);
                    let mut end_room = ends.room(rows);
                    for (&(file, share), found) in all.iter().zip(found) {
                        let ends = end_room.split_off_mut(..share.rows.len()).unwrap_or_default();
                        let values = room.split_off_mut(..share.room_of(column)).unwrap_or_default();
                        task(file, share, OutputSlice::Lists { ends, values, found });
                    }
                }
            }
        }
    }

    /// Commits the values that the tasks have written.
    fn take(&mut self, files: &[Open], shares: &[(usize, usize)], found: &[Vec<usize>]) {
        let share = |&(file, number): &(usize, usize)| &files[file].series[number];
        let rows = shares.iter().map(|one| share(one).rows.len()).sum();
        self.times.fill(rows);
        for (column, (place, found)) in self.columns.iter_mut().zip(found).enumerate() {
            match place {
                ColumnBuffer::Floats(values) => values.fill(rows),
                ColumnBuffer::Integers(values) => values.fill(rows),
                ColumnBuffer::Lists(ends, values) => {
                    let (before, base) = (ends.len(), values.len());
                    ends.fill(rows);
                    let mut ends = &mut ends.filled_mut()[before..];
                    let (mut slot, mut done) = (0, 0);
                    for (one, found) in shares.iter().zip(found) {
                        // Empty lists had room for a value.
                        if slot != done {
                            values.move_within(slot..slot + found, done);
                        }
                        let own = ends.split_off_mut(..share(one).rows.len()).unwrap_or_default();
                        for end in own {
                            *end += (base + done) as i64;
                        }
                        (slot, done) = (slot + share(one).room_of(column), done + found);
                    }
                    values.fill(done);
                }
            }
        }
    }

    fn finish(self) -> Series {
        let column = |(place, (kind, _))| match (place, kind) {
            (ColumnBuffer::Floats(values), _) => Column::Float(values.finish()),
            (ColumnBuffer::Integers(values), ParquetKind::Time) => Column::Time(values.finish()),
            (ColumnBuffer::Integers(values), _) => Column::Int(values.finish()),
            (ColumnBuffer::Lists(ends, values), _) => {
                let offsets = [0].into_iter().chain(ends.finish()).collect();
                Column::List(List { offsets, values: values.finish() })
            }
        };
        let names = self.like.columns.into_iter().map(|(name, _)| name.into());
        let columns = names.zip(self.columns.into_iter().zip(self.kinds).map(column)).collect();
        Series { timestamps: self.times.finish(), columns, ..self.of }
    }
}

/// Columns of any kind.
trait Reserve: Send {
    fn make_room(&mut self, more: usize, expected: usize);
}

impl<T: Copy + Default + Send> Reserve for Growing<T> {
    fn make_room(&mut self, more: usize, expected: usize) {
        self.reserve(more, expected);
    }
}

impl SeriesRange {
    /// Most values of a column's lists.
    fn room_of(&self, column: usize) -> usize {
        let leaves = &self.columns[column];
        leaves[0].values * leaves.len()
    }
}

impl Open {
    /// Whether the number of values in the window is only known after reading, so that no other file can follow before.
    pub(super) fn has_cut_lists(&self) -> bool {
        let cut = |share: &SeriesRange| share.is_cut || self.series.len() > 1;
        let lists = |share: &SeriesRange| share.columns.iter().any(|leaves| leaves[0].kind == ParquetKind::List);
        self.series.iter().any(|share| cut(share) && lists(share))
    }
}

impl ReadTask<'_> {
    fn size(&self) -> usize {
        match &self.out {
            OutputSlice::Integers(values) => values.len(),
            OutputSlice::Floats(values) | OutputSlice::Lists { values, .. } => values.len(),
        }
    }

    fn run(self) -> Result<(), String> {
        let Self { values: file, leaves, rows, out, .. } = self;
        match out {
            OutputSlice::Floats(values) => file.floats(&leaves[0], rows, values),
            OutputSlice::Integers(values) => file.integers(&leaves[0], rows, values),
            OutputSlice::Lists { ends, values, found } => {
                *found = file.lists(leaves, rows, ends, values)?;
                Ok(())
            }
        }
    }
}

/// The complete identity, with unknown fields in order of their names.
fn identity(series: &Series) -> (SeriesId, Shape) {
    let mut id = SeriesId::clone(&series.id);
    id.extra.sort_unstable();
    (id, series.shape)
}
