//! Parquet's columns → those of tables, from the format's levels. Levels that lie are errors.

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::schema::types::Type;

use super::parquet_schema::{NO_FIELDS, Parquet, ValueKind, value_kind};
use super::table::Table;
use crate::columns::{Column, List, NO_TIME, Name, Rows};

/// Values that are decoded at once: they stay in the processor's caches until they are in their place.
const STRIPE: usize = 1 << 12;
/// Most values that memory is asked for beforehand: what a damaged footer claims must not be what is allocated.
const MOST: usize = 1 << 18;

/// The columns that `wanted` names, of some groups of rows.
pub(super) fn read_columns(file: &dyn FileReader, wanted: impl Fn(&str) -> bool, groups: &[usize]) -> Parquet<Table> {
    let rows = groups.iter().map(|&group| file.metadata().row_group(group).num_rows());
    let rows = usize::try_from(rows.sum::<i64>()).map_err(|_| misfit())?;
    let (columns, mut table, mut leaf) = (Columns { file, groups }, Table::new(), 0);
    for field in file.metadata().file_metadata().schema_descr().root_schema().get_fields() {
        if !wanted(field.name()) {
            leaf += leaves(field);
            continue;
        }
        let (column, _) = columns.read(field, &Path::default(), &mut leaf)?;
        if column.len() != rows {
            return Err(misfit());
        }
        table.push((field.name().to_owned(), column));
    }
    Ok(table)
}

fn leaves(field: &Type) -> usize {
    if field.is_primitive() { 1 } else { field.get_fields().iter().map(|inner| leaves(inner)).sum() }
}

fn unknown(name: &str) -> ParquetError {
    ParquetError::General(format!("column {name} is of a type that this package does not write"))
}

pub(super) fn misfit() -> ParquetError {
    ParquetError::General("its columns are not as long as it says".to_owned())
}

/// What stands around a value.
#[derive(Clone, Default)]
struct Path {
    /// Definition level from which on the value is there.
    definition: i16,
    /// For each list, from the outermost in, the definition level from which on it has a value.
    lists: Vec<i16>,
}

impl Path {
    /// With one more step; `None` for one that repeats.
    fn with(&self, step: &Type) -> Option<Self> {
        let optional = match step.get_basic_info().repetition() {
            Repetition::REQUIRED => 0,
            Repetition::OPTIONAL => 1,
            Repetition::REPEATED => return None,
        };
        Some(Self { definition: self.definition + optional, lists: self.lists.clone() })
    }

    /// With one more list.
    fn repeated(mut self) -> Self {
        self.definition += 1;
        self.lists.push(self.definition);
        self
    }
}

/// The offsets of the lists around values, from the outermost in.
type Offsets = Vec<Vec<i64>>;

struct Columns<'a> {
    file: &'a dyn FileReader,
    groups: &'a [usize],
}

impl Columns<'_> {
    /// A field's column, and the offsets of the lists around it. `leaf` counts the columns that Parquet stores.
    fn read(&self, field: &Type, around: &Path, leaf: &mut usize) -> Parquet<(Column, Offsets)> {
        let path = around.with(field).ok_or_else(|| unknown(field.name()))?;
        if field.is_primitive() {
            return self.leaf(&path, leaf);
        }
        let element = element(field).ok_or_else(|| unknown(field.name()))?;
        let path = path.repeated().with(element).ok_or_else(|| unknown(field.name()))?;
        Ok(if element.is_primitive() {
            let (values, mut around) = self.leaf(&path, leaf)?;
            let Column::Float(values) = values else { return Err(unknown(field.name())) };
            (Column::List(List { offsets: around.pop().ok_or_else(misfit)?, values }), around)
        } else if is_list(element) {
            return Err(unknown(field.name()));
        } else {
            let (columns, mut around) = self.records(element, &path, leaf)?;
            (Column::Rows(Rows { offsets: around.pop().ok_or_else(misfit)?, columns }), around)
        })
    }

    /// The columns of records in a list, and the offsets that all of them tell.
    fn records(&self, record: &Type, path: &Path, leaf: &mut usize) -> Parquet<(Vec<(Name, Column)>, Offsets)> {
        let (mut columns, mut known) = (Vec::new(), None);
        for field in record.get_fields() {
            let (column, around) = self.read(field, path, leaf)?;
            let count = around.last().and_then(|offsets| offsets.last());
            if count != Some(&(column.len() as i64)) || known.as_ref().is_some_and(|known| *known != around) {
                return Err(misfit());
            }
            known = Some(around);
            if field.name() != NO_FIELDS {
                columns.push((field.name().to_owned().into(), column));
            }
        }
        Ok((columns, known.ok_or_else(misfit)?))
    }

    /// The values of the next column that Parquet stores.
    fn leaf(&self, path: &Path, leaf: &mut usize) -> Parquet<(Column, Offsets)> {
        let about = self.file.metadata().file_metadata().schema_descr().column(*leaf);
        let kind = value_kind(&about).ok_or_else(|| unknown(about.name()))?;
        if about.max_def_level() != path.definition || about.max_rep_level() as usize != path.lists.len() {
            return Err(misfit());
        }
        let mut lists = Lists::new(&path.lists);
        let column = match kind {
            ValueKind::Float => Column::Float(self.numbers::<DoubleType>(*leaf, path, f64::NAN, &mut lists)?),
            ValueKind::Int => Column::Int(self.numbers::<Int64Type>(*leaf, path, 0, &mut lists)?),
            ValueKind::Time => Column::Time(self.numbers::<Int64Type>(*leaf, path, NO_TIME, &mut lists)?),
            ValueKind::Text => Column::Text(self.texts(*leaf, path, &mut lists)?),
        };
        *leaf += 1;
        Ok((column, lists.finish()?))
    }

    fn numbers<T: DataType<T: Copy>>(
        &self,
        leaf: usize,
        path: &Path,
        missing: T::T,
        lists: &mut Lists,
    ) -> Parquet<Vec<T::T>> {
        let mut out = Vec::with_capacity(self.values(leaf).min(MOST));
        self.stripes::<T>(leaf, path, lists, |values, levels| {
            if levels.is_empty() || values.len() == levels.len() {
                out.extend_from_slice(values);
            } else {
                let mut values = values.iter().copied();
                out.extend(
                    places(levels, path).map(|found| if found { values.next() } else { None }.unwrap_or(missing)),
                );
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn texts(&self, leaf: usize, path: &Path, lists: &mut Lists) -> Parquet<Vec<Option<String>>> {
        let mut out = Vec::with_capacity(self.values(leaf).min(MOST));
        self.stripes::<ByteArrayType>(leaf, path, lists, |values, levels| {
            let mut texts = values.iter().map(|text| text.as_utf8().map(str::to_owned));
            if levels.is_empty() || values.len() == levels.len() {
                texts.try_for_each(|text| text.map(|text| out.push(Some(text))))
            } else {
                places(levels, path).try_for_each(|found| {
                    out.push(if found { texts.next().transpose()? } else { None });
                    Ok(())
                })
            }
        })?;
        Ok(out)
    }

    /// Values that the footer tells of, those of empty lists as well.
    fn values(&self, leaf: usize) -> usize {
        let groups = self.groups.iter().map(|&group| self.file.metadata().row_group(group).column(leaf).num_values());
        usize::try_from(groups.fold(0, i64::saturating_add)).unwrap_or(0)
    }

    /// Reads a column some rows at a time: `take` gets values, and the definition levels where the path has any.
    fn stripes<T: DataType>(
        &self,
        leaf: usize,
        path: &Path,
        lists: &mut Lists,
        mut take: impl FnMut(&[T::T], &[i16]) -> Parquet<()>,
    ) -> Parquet<()> {
        let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        for &group in self.groups {
            let about = self.file.metadata().row_group(group);
            let mut left = usize::try_from(about.num_rows()).map_err(|_| misfit())?;
            let at_once = (STRIPE as i64).saturating_mul(about.num_rows()) / about.column(leaf).num_values().max(1);
            let at_once = at_once.clamp(1, STRIPE as i64) as usize;
            let mut column = get_typed_column_reader::<T>(self.file.get_row_group(group)?.get_column_reader(leaf)?);
            while left > 0 {
                values.clear();
                definitions.clear();
                repetitions.clear();
                let (found, repeated) = (path.definition > 0, !path.lists.is_empty());
                let (read, _, _) = column.read_records(
                    left.min(at_once),
                    found.then_some(&mut definitions),
                    repeated.then_some(&mut repetitions),
                    &mut values,
                )?;
                if read == 0 || read > left {
                    return Err(misfit());
                }
                lists.add(&definitions, &repetitions);
                take(&values, &definitions)?;
                left -= read;
            }
        }
        Ok(())
    }
}

/// Of the places for values that levels tell of, whether there is one.
fn places(levels: &[i16], path: &Path) -> impl Iterator<Item = bool> {
    let (within, there) = (path.lists.last().copied().unwrap_or(0), path.definition);
    levels.iter().filter(move |level| **level >= within).map(move |level| *level == there)
}

/// What a list holds, by the three levels that the format prescribes.
fn element(field: &Type) -> Option<&Type> {
    let [repeated] = field.get_fields() else { return None };
    let repeats = !repeated.is_primitive() && repeated.get_basic_info().repetition() == Repetition::REPEATED;
    match repeated.is_group().then(|| repeated.get_fields()) {
        Some([element]) if repeats && is_list(field) => Some(element),
        _ => None,
    }
}

fn is_list(field: &Type) -> bool {
    let about = field.get_basic_info();
    matches!(about.logical_type_ref(), Some(LogicalType::List)) || about.converted_type() == ConvertedType::LIST
}

/// Finds from levels where lists begin.
struct Lists<'a> {
    /// For each list the definition level from which on it has a value.
    levels: &'a [i16],
    /// For each list where each of it begins, counted in what it holds.
    starts: Offsets,
    /// How many rows there were, and how many of what each list holds.
    counts: Vec<i64>,
}

impl<'a> Lists<'a> {
    fn new(levels: &'a [i16]) -> Self {
        Self { levels, starts: vec![Vec::new(); levels.len()], counts: vec![0; levels.len() + 1] }
    }

    fn add(&mut self, definitions: &[i16], repetitions: &[i16]) {
        /// Levels of which most begin no list are looked at together.
        const TOGETHER: usize = 32;
        let ([starts], [level]) = (&mut self.starts[..], self.levels) else {
            for (definition, repetition) in definitions.iter().zip(repetitions) {
                self.add_one(*definition, *repetition);
            }
            return;
        };
        for (definitions, repetitions) in definitions.chunks(TOGETHER).zip(repetitions.chunks(TOGETHER)) {
            if repetitions.iter().map(|level| u32::from(*level == 0)).sum::<u32>() == 0 {
                self.counts[1] += definitions.len() as i64;
                continue;
            }
            for (definition, repetition) in definitions.iter().zip(repetitions) {
                if *repetition == 0 {
                    starts.push(self.counts[1]);
                }
                self.counts[1] += i64::from(definition >= level);
            }
        }
    }

    /// Something begins in the list of the repetition level, and with it the first of what is in the lists inside it.
    fn add_one(&mut self, definition: i16, repetition: i16) {
        let from = usize::try_from(repetition).unwrap_or(0).min(self.levels.len());
        self.counts[from] += 1;
        for (place, level) in self.levels.iter().enumerate().skip(from) {
            self.starts[place].push(self.counts[place + 1]);
            if definition < *level {
                break;
            }
            self.counts[place + 1] += 1;
        }
    }

    fn finish(mut self) -> Parquet<Offsets> {
        for (starts, count) in self.starts.iter_mut().zip(&self.counts[1..]) {
            starts.push(*count);
        }
        if self.starts.iter().all(|starts| starts[0] == 0) { Ok(self.starts) } else { Err(misfit()) }
    }
}
