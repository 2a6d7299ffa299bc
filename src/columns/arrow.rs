//! Columns as Arrow arrays. Numbers, times and offsets keep their memory; texts and truth values are laid out anew, as
//! Arrow holds them otherwise.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int64Array, LargeListArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray, TimestampNanosecondArray, new_null_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};

use super::column::NO_TIME;

/// The time zone of every time.
pub const UTC: &str = "UTC";

/// Metadata of a schema.
pub type SchemaMetadata = std::collections::HashMap<String, String>;

/// Unix nanoseconds as times in UTC; [`NO_TIME`] is null.
pub fn times(values: ScalarBuffer<i64>) -> ArrayRef {
    let nulls = nulls_where(&values, |time| time == NO_TIME);
    Arc::new(TimestampNanosecondArray::new(values, nulls).with_timezone(UTC))
}

/// Doubles; NaN stays NaN and is no null.
pub fn doubles(values: ScalarBuffer<f64>) -> ArrayRef {
    Arc::new(Float64Array::new(values, None))
}

/// Whole numbers.
pub fn integers(values: ScalarBuffer<i64>) -> ArrayRef {
    Arc::new(Int64Array::new(values, None))
}

/// Codes with the names of the codes from 0 up; a code below 0 is null.
///
/// # Errors
/// A code has no name.
pub fn categories<K>(codes: ScalarBuffer<K::Native>, names: StringArray) -> Result<ArrayRef, ArrowError>
where
    K: arrow_array::types::ArrowDictionaryKeyType,
{
    let nulls = nulls_where(&codes, |code| code < K::Native::default());
    Ok(Arc::new(DictionaryArray::<K>::try_new(PrimitiveArray::new(codes, nulls), Arc::new(names))?))
}

/// One text, or null, in each of so many rows; with names to choose from, as a code of them.
///
/// # Errors
/// The text is none of the names.
pub fn repeated(text: Option<&str>, names: Option<Vec<String>>, rows: usize) -> Result<ArrayRef, ArrowError> {
    let Some(names) = names else {
        return Ok(match text {
            // Offsets of texts have 32 bits.
            Some(text) if text.len().saturating_mul(rows) > i32::MAX as usize => {
                return Err(ArrowError::InvalidArgumentError(format!("{rows} rows are too many for one text")));
            }
            Some(text) => Arc::new(StringArray::new_repeated(text, rows)),
            None => Arc::new(StringArray::new_null(rows)),
        });
    };
    let code = match text {
        None => -1,
        Some(text) => names.iter().position(|name| name == text).map_or(i32::MAX, |place| place as i32),
    };
    categories::<Int32Type>(vec![code; rows].into(), StringArray::from(names))
}

/// Lists of values: row `i` is `values[offsets[i]..offsets[i + 1]]`.
///
/// # Errors
/// The offsets do not ascend, or reach beyond the values.
pub fn lists(offsets: ScalarBuffer<i64>, values: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let ascend = offsets.first().is_some_and(|first| *first >= 0) && offsets.is_sorted();
    if !ascend {
        return Err(ArrowError::InvalidArgumentError("the offsets of lists do not ascend".to_owned()));
    }
    let element = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Ok(Arc::new(LargeListArray::try_new(element, OffsetBuffer::new(offsets), values, None)?))
}

/// Records of so many rows from their fields.
///
/// # Errors
/// The fields are of other lengths.
pub fn structs(fields: Vec<(String, ArrayRef)>, rows: usize) -> Result<ArrayRef, ArrowError> {
    let (names, arrays): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    Ok(Arc::new(StructArray::try_new_with_length(fields_of(names, &arrays), arrays, None, rows)?))
}

/// Named columns as one batch.
///
/// # Errors
/// The columns are of different lengths.
pub fn batch(columns: Vec<(String, ArrayRef)>, metadata: SchemaMetadata) -> Result<RecordBatch, ArrowError> {
    let (names, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let rows = arrays.first().map_or(0, Array::len);
    let schema = Schema::new_with_metadata(fields_of(names, &arrays), metadata);
    with_rows(Arc::new(schema), arrays, rows)
}

/// Batches of different columns as batches of all of them, in the order in which they first come; a column that a batch
/// lacks is null in it. Nothing is copied.
///
/// # Errors
/// A column is of one kind here and of another there.
pub fn stack(parts: &[RecordBatch], metadata: SchemaMetadata) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
    let mut fields: Vec<Arc<Field>> = Vec::new();
    for field in parts.iter().flat_map(|part| part.schema_ref().fields()) {
        match fields.iter().find(|known| known.name() == field.name()) {
            None => fields.push(Arc::clone(field)),
            Some(known) if known.data_type() == field.data_type() => {}
            Some(known) => {
                return Err(ArrowError::SchemaError(format!(
                    "column {} is {} in one and {} in another",
                    field.name(),
                    known.data_type(),
                    field.data_type()
                )));
            }
        }
    }
    let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields, metadata));
    let whole = |part: &RecordBatch| {
        let column = |field: &Arc<Field>| match part.column_by_name(field.name()) {
            Some(column) => Arc::clone(column),
            None => new_null_array(field.data_type(), part.num_rows()),
        };
        with_rows(Arc::clone(&schema), schema.fields().iter().map(column).collect(), part.num_rows())
    };
    let batches = parts.iter().map(whole).collect::<Result<_, _>>()?;
    Ok((schema, batches))
}

/// Whether data of the first schema can be cast to the second: the same names, and kinds of the same family.
///
/// # Errors
/// It cannot; the message says why.
pub fn can_become(own: &Schema, wanted: &Schema) -> Result<(), ArrowError> {
    fields_can_become(own.fields(), wanted.fields())
}

fn fields_can_become(own: &Fields, wanted: &Fields) -> Result<(), ArrowError> {
    let names = |fields: &Fields| fields.iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    if names(own) != names(wanted) {
        let (own, wanted) = (names(own).join(", "), names(wanted).join(", "));
        return Err(ArrowError::SchemaError(format!("the columns are {own}, not {wanted}")));
    }
    own.iter().zip(wanted).try_for_each(|(own, wanted)| type_can_become(own, wanted))
}

fn type_can_become(own: &Field, wanted: &Field) -> Result<(), ArrowError> {
    use DataType::{
        Dictionary, FixedSizeList, LargeList, LargeListView, LargeUtf8, List, ListView, RunEndEncoded, Struct,
        Timestamp, Utf8, Utf8View,
    };
    /// The values of a column that stores them as codes or as runs.
    fn plain(kind: &DataType) -> &DataType {
        match kind {
            Dictionary(_, values) => plain(values),
            RunEndEncoded(_, values) => plain(values.data_type()),
            other => other,
        }
    }
    fn element(kind: &DataType) -> Option<&Field> {
        match kind {
            List(inner) | LargeList(inner) | ListView(inner) | LargeListView(inner) | FixedSizeList(inner, _) => {
                Some(inner)
            }
            _ => None,
        }
    }
    let (from, to) = (plain(own.data_type()), plain(wanted.data_type()));
    if let (Some(from), Some(to)) = (element(from), element(to)) {
        return type_can_become(from, to);
    }
    if let (Struct(from), Struct(to)) = (from, to) {
        return fields_can_become(from, to);
    }
    let text = |kind: &DataType| matches!(kind, Utf8 | LargeUtf8 | Utf8View);
    let fits = from == to
        || (text(from) && text(to))
        || (from.is_numeric() && to.is_numeric())
        || matches!((from, to), (Timestamp(..), Timestamp(..)));
    if fits {
        return Ok(());
    }
    let (name, from, to) = (own.name(), own.data_type(), wanted.data_type());
    Err(ArrowError::SchemaError(format!("column {name} is {from} and cannot be cast to {to}")))
}

fn fields_of(names: Vec<String>, arrays: &[ArrayRef]) -> Fields {
    names.into_iter().zip(arrays).map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect()
}

/// A batch that knows its length without columns as well.
fn with_rows(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new_with_options(schema, columns, &RecordBatchOptions::new().with_row_count(Some(rows)))
}

/// Nulls where a value is none; `None` when every value is one.
fn nulls_where<T: ArrowNativeType>(values: &ScalarBuffer<T>, missing: impl Fn(T) -> bool) -> Option<NullBuffer> {
    if !values.iter().any(|value| missing(*value)) {
        return None;
    }
    Some(NullBuffer::new(BooleanBuffer::collect_bool(values.len(), |row| !missing(values[row]))))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int8Type, TimestampNanosecondType};

    use super::*;

    #[test]
    fn times_keep_their_memory_and_absent_ones_are_null() {
        let values = ScalarBuffer::from(vec![5, NO_TIME, -1]);
        let at = values.as_ptr();
        let array = times(values);
        let array = array.as_primitive::<TimestampNanosecondType>();
        assert_eq!(array.values().as_ptr(), at);
        assert_eq!(array.iter().collect::<Vec<_>>(), [Some(5), None, Some(-1)]);
        assert_eq!(array.timezone(), Some("UTC"));
        assert_eq!(times(vec![1].into()).nulls(), None);
    }

    #[test]
    fn doubles_that_are_not_a_number_are_no_null() {
        assert_eq!(doubles(vec![f64::NAN, 1.0].into()).null_count(), 0);
    }

    #[test]
    fn offsets_that_lie_are_refused() {
        let lists = |offsets: Vec<i64>| lists(offsets.into(), doubles(vec![1.0, 2.0].into()));
        assert_eq!(lists(vec![0, 2, 2]).unwrap().len(), 2);
        for wrong in [vec![], vec![0, 3], vec![1, 0], vec![-1, 1]] {
            assert!(lists(wrong.clone()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_code_below_zero_is_null_and_one_without_a_name_refused() {
        let names = || StringArray::from(vec!["bid", "ask"]);
        let sides = categories::<Int8Type>(vec![1, -1, 0].into(), names()).unwrap();
        assert_eq!((sides.len(), sides.null_count()), (3, 1));
        assert!(categories::<Int8Type>(vec![2].into(), names()).is_err());
        assert!(repeated(Some("c"), Some(vec!["a".to_owned()]), 1).is_err());
    }

    #[test]
    fn batches_of_different_columns_are_stacked() {
        let one = |name: &str, array| batch(vec![(name.to_owned(), array)], SchemaMetadata::new()).unwrap();
        let (left, right) = (one("a", doubles(vec![1.0].into())), one("b", integers(vec![2, 3].into())));
        let (schema, batches) = stack(&[left.clone(), right], SchemaMetadata::new()).unwrap();
        assert_eq!(schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((batches[0].column(1).null_count(), batches[1].column(0).null_count()), (1, 2));
        let problem = stack(&[left, one("a", integers(vec![1].into()))], SchemaMetadata::new()).unwrap_err();
        assert!(problem.to_string().contains("column a is Float64 in one and Int64 in another"), "{problem}");
    }

    #[test]
    fn a_schema_that_does_not_fit_is_refused() {
        let schema = |kind: DataType| Schema::new(vec![Field::new("a", kind, true)]);
        let codes = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        let list = |kind: DataType| DataType::List(Arc::new(Field::new_list_field(kind, true)));
        let fits = |own: DataType, wanted: DataType| can_become(&schema(own), &schema(wanted)).is_ok();
        assert!(fits(codes, DataType::LargeUtf8) && fits(DataType::Float64, DataType::Float32));
        assert!(fits(list(DataType::Int32), DataType::new_large_list(DataType::Int64, true)));
        assert!(!fits(DataType::Float64, DataType::Utf8) && !fits(list(DataType::Utf8), list(DataType::Int64)));
        assert!(can_become(&schema(DataType::Utf8), &Schema::empty()).is_err());
    }
}
