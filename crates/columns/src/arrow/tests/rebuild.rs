//! Rebuilds the fields of a record from its row.

use crate::arrow::{EmptyMeans, RecordBatch};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float64Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use chrono::{FixedOffset, NaiveDateTime};
use serde_json::value::RawValue;
use talentdata_core::RawRecord;
use talentdata_core::internal::json::{self, decimal, decoded};

/// Names and values, sorted by name. Values of the same name keep their order. A value is represented by its JSON text,
/// including white space, a string in it by its own text, and a number by its value.
pub(crate) type Fields = Vec<(String, String)>;

/// A cell: the name of its column, the meaning of an empty cell, and the value.
pub(crate) type Cell = (String, EmptyMeans, Option<String>);

pub(crate) fn fields(record: &RawRecord) -> Fields {
    sorted(members(record.as_str()))
}

fn members(object: &str) -> Fields {
    let name = |raw: &str| json::text(raw).map_or_else(|| raw.to_owned(), |name| name.into_owned());
    let members = json::members(object).into_iter();
    members
        .map(|(raw_name, raw)| (name(raw_name), spelt_json(raw)))
        .collect()
}

fn sorted(mut fields: Fields) -> Fields {
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
}

/// The rule that distinguishes strings from other values.
pub(crate) fn spelt(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Returns the value of a JSON text.
pub(crate) fn spelt_json(raw: &str) -> String {
    let (mut said, mut rest) = (String::new(), raw);
    while let Some(first) = rest.chars().next() {
        let scalar = || {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
            values.next().unwrap().unwrap().get()
        };
        let token = match first {
            '"' | '-' | '0'..='9' => scalar(),
            _ => &rest[..first.len_utf8()],
        };
        said += &match first {
            // A lone surrogate is no text.
            '"' => decoded(token).map_or_else(|| token.to_owned(), |text| spelt(&text)),
            '-' | '0'..='9' => spelt_number(token),
            _ => token.to_owned(),
        };
        rest = &rest[token.len()..];
    }
    said
}

/// Returns the decimal value of a number, or the nearest double for a fraction of up to 17 digits.
fn spelt_number(text: &str) -> String {
    let plain = decimal(text).unwrap();
    let double: f64 = text.parse().unwrap();
    let is_fraction = text.contains(['.', 'e', 'E']);
    let is_double = is_fraction && double.is_normal() && plain.1.len() <= 17;
    let value = is_double.then(|| decimal(&double.to_string()).unwrap());
    format!("<{:?}>", value.unwrap_or(plain))
}

/// Applies the rules in the documentation of `crate::arrow`.
pub(crate) fn row(cells: impl IntoIterator<Item = Cell>, extra: Option<&str>) -> Fields {
    let mut fields = members(extra.unwrap_or("{}"));
    let mut known: Vec<String> = Vec::new();
    if fields.first().is_some_and(|(name, _)| name == "_absent") {
        known = serde_json::from_str(&fields.remove(0).1).unwrap();
    }
    known.extend(fields.iter().map(|(name, _)| name.clone()));
    for (name, empty, value) in cells {
        let value = value.or((empty == EmptyMeans::Null).then(|| "null".to_owned()));
        if !known.contains(&name) {
            fields.extend(value.map(|value| (name, value)));
        }
    }
    sorted(fields)
}

pub(crate) fn batch_rows(batch: &RecordBatch) -> Vec<Fields> {
    let schema = batch.schema();
    let columns: Vec<_> = schema.fields().iter().zip(batch.columns()).collect();
    let (extra, columns) = columns.split_last().unwrap();
    let extra = extra.1.as_string::<i32>();
    let row = |at| {
        let cells = columns.iter().map(|(field, array)| {
            let value = (!array.is_null(at)).then(|| value(field, array, at));
            (field.name().clone(), empty(field), value)
        });
        row(cells, (!extra.is_null(at)).then(|| extra.value(at)))
    };
    (0..batch.num_rows()).map(row).collect()
}

fn metadata<'a>(field: &'a Field, key: &str) -> Option<&'a str> {
    field.metadata().get(key).map(String::as_str)
}

fn empty(field: &Field) -> EmptyMeans {
    match metadata(field, "talentdata:empty") {
        Some("null") => EmptyMeans::Null,
        _ => EmptyMeans::Absent,
    }
}

fn native<T: ArrowPrimitiveType>(array: &ArrayRef, at: usize) -> T::Native {
    array.as_primitive::<T>().value(at)
}

/// Returns the value of a cell that is not empty.
pub(crate) fn value(field: &Field, array: &ArrayRef, at: usize) -> String {
    let is_json = metadata(field, "talentdata:content") == Some("json");
    match array.data_type() {
        DataType::Utf8 if is_json => spelt_json(array.as_string::<i32>().value(at)),
        DataType::Utf8 => spelt(array.as_string::<i32>().value(at)),
        DataType::Int64 => spelt_number(&native::<Int64Type>(array, at).to_string()),
        DataType::UInt64 => spelt_number(&native::<UInt64Type>(array, at).to_string()),
        DataType::Float64 => spelt_number(&native::<Float64Type>(array, at).to_string()),
        DataType::Boolean => array.as_boolean().value(at).to_string(),
        DataType::Date32 => {
            let date = array.as_primitive::<Date32Type>().value_as_date(at);
            spelt(&date.unwrap().to_string())
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let instants = array.as_primitive::<TimestampMicrosecondType>();
            spelt(&date_time(field, instants.value_as_datetime(at).unwrap()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let instants = array.as_primitive::<TimestampNanosecondType>();
            spelt(&date_time(field, instants.value_as_datetime(at).unwrap()))
        }
        DataType::List(item) => {
            let items = array.as_list::<i32>().value(at);
            let item = |at| {
                if items.is_null(at) {
                    "null".to_owned()
                } else {
                    value(item, &items, at)
                }
            };
            let items: Vec<String> = (0..items.len()).map(item).collect();
            format!("[{}]", items.join(","))
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let member = |(field, column): (&FieldRef, &ArrayRef)| {
                let text = match (column.is_null(at), empty(field)) {
                    (false, _) => value(field, column, at),
                    (true, EmptyMeans::Null) => "null".to_owned(),
                    (true, EmptyMeans::Absent) => return None,
                };
                Some(format!("{}:{text}", spelt(field.name())))
            };
            let members: Vec<String> = columns.filter_map(member).collect();
            format!("{{{}}}", members.join(","))
        }
        other => panic!("{other} is not the type of a column"),
    }
}

fn date_time(field: &Field, utc: NaiveDateTime) -> String {
    let [offset, digits] =
        ["offset", "fraction"].map(|key| metadata(field, &format!("talentdata:{key}")).unwrap());
    let digits: usize = digits.parse().unwrap();
    let ahead = offset.parse().unwrap_or(FixedOffset::east_opt(0).unwrap());
    let local = (utc + ahead).format("%Y-%m-%dT%H:%M:%S");
    let fraction = &utc.format("%9f").to_string()[..digits];
    let point = if digits > 0 { "." } else { "" };
    format!("{local}{point}{fraction}{offset}")
}
