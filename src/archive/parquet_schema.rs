//! Tables as Parquet's schema has them: doubles, whole numbers, lists and records are required, times and texts optional. Lists
//! are Parquet's own (`LIST`), so that every reader sees them as lists.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescriptor, Type, TypePtr};

use super::table::Table;
use crate::columns::Column;

pub(super) type Parquet<T> = Result<T, ParquetError>;

/// Stands for the fields of records that never had any: Parquet has no group without fields.
pub(super) const NO_FIELDS: &str = "nothing";
/// What Parquet calls the values of a list.
pub(super) const ELEMENT: &str = "element";
/// What Parquet calls the group that repeats in a list.
pub(super) const LIST: &str = "list";
/// The whole schema's name.
const ROOT: &str = "points";

/// What the values of a file's column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Float,
    Int,
    Time,
    Text,
}

/// What the values of a file's column are; `None` for a type that files of this package do not have.
pub(super) fn value_kind(column: &ColumnDescriptor) -> Option<ValueKind> {
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    match (column.physical_type(), logical) {
        (Physical::DOUBLE, None) if converted == ConvertedType::NONE => Some(ValueKind::Float),
        (Physical::INT64, None) if converted == ConvertedType::NONE => Some(ValueKind::Int),
        (Physical::INT64, Some(LogicalType::Timestamp(of))) if of.unit == TimeUnit::NANOS => Some(ValueKind::Time),
        (Physical::BYTE_ARRAY, Some(LogicalType::String)) => Some(ValueKind::Text),
        (Physical::BYTE_ARRAY, None) if converted == ConvertedType::UTF8 => Some(ValueKind::Text),
        _ => None,
    }
}

/// The columns of a table, without its rows.
pub(super) fn schema(table: &Table) -> Parquet<TypePtr> {
    let fields = table.iter().map(|(name, column)| field(name, column)).collect::<Parquet<_>>()?;
    Type::group_type_builder(ROOT).with_fields(fields).build().map(Arc::new)
}

fn field(name: &str, column: &Column) -> Parquet<TypePtr> {
    let plain = |physical, repetition, logical| {
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        field.with_logical_type(logical).build().map(Arc::new)
    };
    match column {
        Column::Float(_) => plain(Physical::DOUBLE, Repetition::REQUIRED, None),
        Column::Int(_) => plain(Physical::INT64, Repetition::REQUIRED, None),
        Column::Time(_) => {
            plain(Physical::INT64, Repetition::OPTIONAL, Some(LogicalType::timestamp(true, TimeUnit::NANOS)))
        }
        Column::Text(_) | Column::Raw(_) => {
            plain(Physical::BYTE_ARRAY, Repetition::OPTIONAL, Some(LogicalType::String))
        }
        Column::List(_) => list(name, field(ELEMENT, &Column::Float(Vec::new()))?),
        Column::Rows(rows) if rows.columns.is_empty() => {
            list(name, record(vec![field(NO_FIELDS, &Column::Int(Vec::new()))?])?)
        }
        Column::Rows(rows) => {
            let fields = rows.columns.iter().map(|(name, column)| field(name, column));
            list(name, record(fields.collect::<Parquet<_>>()?)?)
        }
    }
}

fn record(fields: Vec<TypePtr>) -> Parquet<TypePtr> {
    let group = Type::group_type_builder(ELEMENT).with_repetition(Repetition::REQUIRED);
    group.with_fields(fields).build().map(Arc::new)
}

/// The three levels that the format prescribes for lists.
fn list(name: &str, element: TypePtr) -> Parquet<TypePtr> {
    let repeated = Type::group_type_builder(LIST).with_repetition(Repetition::REPEATED).with_fields(vec![element]);
    let group = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED);
    let group = group.with_logical_type(Some(LogicalType::List)).with_fields(vec![Arc::new(repeated.build()?)]);
    group.build().map(Arc::new)
}
