//! The way back: a row becomes the fields of the record that it was made of.

use crate::arrow::{Empty, RecordBatch};
use crate::fields::decoded;
use crate::json;
use crate::record::RawRecord;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Names and values, sorted by name; those of the same name in their order. A string is told by its
/// text, everything else by its JSON text, to the last digit and white space.
pub(crate) type Fields = Vec<(String, String)>;

/// A cell: its column's name, what an empty one means, and the value.
pub(crate) type Cell = (String, Empty, Option<String>);

pub(crate) fn fields(record: &RawRecord) -> Fields {
    sorted(members(record.as_bytes()))
}

fn members(object: &[u8]) -> Fields {
    let text = |raw: &[u8]| String::from_utf8(raw.to_vec()).unwrap();
    let name = |raw| json::text(raw).map_or_else(|| text(raw), |name| name.into_owned());
    let value = |raw| decoded(&text(raw)).map_or_else(|| text(raw), |value| spelt(&value));
    json::members(object)
        .map(|(raw_name, raw)| (name(raw_name), value(raw)))
        .collect()
}

fn sorted(mut fields: Fields) -> Fields {
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
}

/// How a string is told from other values.
pub(crate) fn spelt(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// What the JSON text of a value says.
pub(crate) fn spelt_json(raw: &str) -> String {
    decoded(raw).map_or_else(|| raw.to_owned(), |text| spelt(&text))
}

/// The rules written above `crate::arrow`.
pub(crate) fn row(cells: impl IntoIterator<Item = Cell>, extra: Option<&str>) -> Fields {
    let mut noted = members(extra.unwrap_or_default().as_bytes());
    let mut absent = Vec::new();
    if noted.first().is_some_and(|(name, _)| name == "_absent") {
        absent = serde_json::from_str(&noted.remove(0).1).unwrap();
    }
    let stands =
        |name: &String| !absent.contains(name) && noted.iter().all(|(other, _)| other != name);
    let mut fields = Fields::new();
    for (name, empty, value) in cells.into_iter().filter(|(name, ..)| stands(name)) {
        match (value, empty) {
            (Some(value), _) => fields.push((name, value)),
            (None, Empty::Null) => fields.push((name, "null".into())),
            (None, Empty::Absent) => {}
        }
    }
    fields.extend(noted);
    sorted(fields)
}

pub(crate) fn batch_rows(batch: &RecordBatch) -> Vec<Fields> {
    let schema = batch.schema();
    let columns: Vec<_> = schema.fields().iter().zip(batch.columns()).collect();
    let (extra, columns) = columns.split_last().unwrap();
    let extra = extra.1.as_string::<i32>();
    (0..batch.num_rows())
        .map(|at| {
            let cells = columns.iter().map(|(field, array)| {
                let metadata = |key| field.metadata().get(key).map(String::as_str);
                let empty = match metadata("talentdata:empty") {
                    Some("null") => Empty::Null,
                    _ => Empty::Absent,
                };
                let is_json = metadata("ARROW:extension:name") == Some("arrow.json");
                let value = (!array.is_null(at)).then(|| value(array, at, is_json));
                (field.name().clone(), empty, value)
            });
            row(cells, (!extra.is_null(at)).then(|| extra.value(at)))
        })
        .collect()
}

fn value(array: &ArrayRef, at: usize, is_json: bool) -> String {
    match array.data_type() {
        DataType::Utf8 if is_json => spelt_json(array.as_string::<i32>().value(at)),
        DataType::Utf8 => spelt(array.as_string::<i32>().value(at)),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).to_string(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).to_string(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(at).to_string(),
        DataType::Boolean => array.as_boolean().value(at).to_string(),
        other => panic!("{other} is no type of a column"),
    }
}
