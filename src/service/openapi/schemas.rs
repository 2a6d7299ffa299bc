//! Schemas of answers. Those of points come from the table of data types; those of records from a full sample of each,
//! written as a struct literal, so that a field added to a record has to be added here to compile.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::samples as sample;
use crate::protocol::analytics::ANALYTICS;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::identity::ID_FIELDS;
use crate::protocol::{DiscoveryList, ErrorBody, Field, FieldKind, LISTS, Shape, TPO_WRAPPER};

/// A reference to a schema of the document.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Every schema by its name.
pub(super) fn all() -> Value {
    let mut schemas = Map::new();
    schemas.insert("Timestamp".to_owned(), timestamp());
    for row in &DATA_TYPES {
        schemas.insert(row.name.to_owned(), payload(row.fields));
    }
    schemas.insert("SeriesId".to_owned(), {
        let fields = ID_FIELDS.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" })));
        object(fields.collect())
    });
    schemas.insert("Points".to_owned(), points());
    for row in &LISTS {
        let items = if row.list == DiscoveryList::BlockSizes { "number" } else { "string" };
        schemas.insert(row.key.to_owned(), json!({ "type": "array", "items": { "type": items } }));
    }
    schemas.insert("MarketsPage".to_owned(), of(&sample::markets()));
    schemas.insert("Usage".to_owned(), of(&sample::usage()));
    let analytics = of(&sample::analytics());
    for row in &ANALYTICS {
        schemas.insert(row.answer_key.to_owned(), analytics["properties"][row.answer_key].clone());
    }
    let mut error = of(&ErrorBody::rate_limited("too many requests: try again in 12 s", 12));
    error["required"] = json!(["error", "message"]);
    schemas.insert("Error".to_owned(), error);
    Value::Object(schemas)
}

/// An object with these properties and no others: the service sends no other fields.
#[allow(clippy::needless_pass_by_value)] // it goes into the value that is made
pub(super) fn object(properties: Map<String, Value>) -> Value {
    let properties = Value::Object(properties);
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn timestamp() -> Value {
    json!({
        "type": "object",
        "description": "seconds since the Unix epoch, and nanoseconds, left out when 0",
        "properties": { "s": { "type": "integer" }, "ns": { "type": "integer", "minimum": 0, "maximum": 999_999_999 } },
        "additionalProperties": false,
    })
}

/// The payload of one point. Every field may be absent, because zeros are omitted.
fn payload(fields: &[Field]) -> Value {
    let kind = |kind: FieldKind| match kind {
        FieldKind::Number | FieldKind::Price | FieldKind::Optional => json!({ "type": "number" }),
        FieldKind::Time | FieldKind::OptionalTime => reference("Timestamp"),
        FieldKind::Text => json!({ "type": "string" }),
        FieldKind::List => json!({ "type": "array", "items": { "type": "number" } }),
        FieldKind::Rows(fields) => json!({ "type": "array", "items": payload(fields) }),
    };
    object(fields.iter().map(|field| (field.wire.to_owned(), kind(field.kind))).collect())
}

fn points() -> Value {
    let payloads: Vec<Value> = DATA_TYPES
        .iter()
        .map(|row| match row.shape {
            Shape::Tpo => json!({
                "type": "object", "properties": { TPO_WRAPPER: reference(row.name) }, "required": [TPO_WRAPPER],
                "additionalProperties": false,
            }),
            _ => reference(row.name),
        })
        .collect();
    json!({
        "type": "object",
        "properties": { "series": { "type": "array", "items": {
            "type": "object",
            "properties": {
                "id": reference("SeriesId"),
                "points": { "type": "array", "items": {
                    "type": "object", "properties": { "Point": { "anyOf": payloads } }, "required": ["Point"],
                    "additionalProperties": false,
                } },
                "flat_points": { "type": "array", "items": { "type": "number" } },
            },
            "additionalProperties": false,
        } } },
        "additionalProperties": false,
    })
}

/// The schema of a record, from a sample that has every field.
fn of(sample: &impl Serialize) -> Value {
    describe(&serde_json::to_value(sample).unwrap_or_default())
}

fn describe(value: &Value) -> Value {
    match value {
        Value::Object(fields) if fields.contains_key("s") => reference("Timestamp"),
        Value::Object(fields) => object(fields.iter().map(|(name, field)| (name.clone(), describe(field))).collect()),
        Value::Array(items) => {
            json!({ "type": "array", "items": items.first().map_or_else(|| json!({}), describe) })
        }
        Value::String(_) => json!({ "type": "string" }),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(number) if number.is_f64() => json!({ "type": "number" }),
        Value::Number(_) => json!({ "type": "integer" }),
        Value::Null => json!({}),
    }
}
