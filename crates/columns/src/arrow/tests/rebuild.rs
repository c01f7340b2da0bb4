//! The way back: a row becomes the fields of the record that it was made of.

use crate::arrow::{Empty, RecordBatch};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float64Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, TimeUnit};
use chrono::{DateTime, FixedOffset, NaiveDate};
use talentdata_core::RawRecord;
use talentdata_core::json::{self, decoded};

/// Names and values, sorted by name; those of the same name in their order. A value is told by its JSON
/// text, to the last white space, a string within it by its own text, and a number by its value.
pub(crate) type Fields = Vec<(String, String)>;

/// A cell: its column's name, what an empty one means, and the value.
pub(crate) type Cell = (String, Empty, Option<String>);

pub(crate) fn fields(record: &RawRecord) -> Fields {
    sorted(members(record.as_str()))
}

fn members(object: &str) -> Fields {
    let name = |raw: &str| json::text(raw).map_or_else(|| raw.to_owned(), |name| name.into_owned());
    json::members(object)
        .into_iter()
        .map(|(raw_name, raw)| (name(raw_name), spelt_json(raw)))
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
    let mut rest = raw;
    let mut said = String::new();
    while let Some(at) = rest.find('"') {
        let length = string_length(&rest[at..]);
        let string = &rest[at..at + length];
        said += &spelt_numbers(&rest[..at]);
        // A lone surrogate is no text.
        said += &decoded(string).map_or_else(|| string.to_owned(), |text| spelt(&text));
        rest = &rest[at + length..];
    }
    said + &spelt_numbers(rest)
}

/// JSON text without strings, each number in it as its digits and the place of the point.
fn spelt_numbers(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
    let mut said = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit() || letter == '-') {
        said += &rest[..at];
        let number = &rest[at..];
        let number = &number[..number
            .find(|letter| !is_part(letter))
            .unwrap_or(number.len())];
        rest = &rest[at + number.len()..];
        said += &spelt_number(number);
    }
    said + rest
}

/// A number as its digits and the place of the point; a fraction of up to 17 digits as the double that it reads as.
fn spelt_number(text: &str) -> String {
    let plain = digits_of(text);
    let double: f64 = text.parse().unwrap();
    let is_fraction = text.contains(['.', 'e', 'E']);
    let length = plain.trim_start_matches(['<', '-']).find('e').unwrap_or(1);
    match is_fraction && double.is_normal() && length <= 17 {
        true => digits_of(&double.to_string()),
        false => plain,
    }
}

fn digits_of(number: &str) -> String {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let point = exponent.parse::<i64>().unwrap() - fraction.len() as i64;
    let point = point + digits.len() as i64 - digits.trim_end_matches('0').len() as i64;
    match digits.trim_matches('0') {
        "" => "<0>".to_owned(),
        digits if whole.starts_with('-') => format!("<-{digits}e{point}>"),
        digits => format!("<{digits}e{point}>"),
    }
}

/// The length of the string at the beginning, with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.unwrap() + 2
}

/// The rules written above `crate::arrow`.
pub(crate) fn row(cells: impl IntoIterator<Item = Cell>, extra: Option<&str>) -> Fields {
    let mut noted = members(extra.unwrap_or("{}"));
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
                let value = (!array.is_null(at)).then(|| value(field, array, at));
                (field.name().clone(), empty(field), value)
            });
            row(cells, (!extra.is_null(at)).then(|| extra.value(at)))
        })
        .collect()
}

fn metadata<'a>(field: &'a Field, key: &str) -> Option<&'a str> {
    field.metadata().get(key).map(String::as_str)
}

fn empty(field: &Field) -> Empty {
    match metadata(field, "talentdata:empty") {
        Some("null") => Empty::Null,
        _ => Empty::Absent,
    }
}

fn value(field: &Field, array: &ArrayRef, at: usize) -> String {
    let is_json = metadata(field, "talentdata:content") == Some("json");
    match array.data_type() {
        DataType::Utf8 if is_json => spelt_json(array.as_string::<i32>().value(at)),
        DataType::Utf8 => spelt(array.as_string::<i32>().value(at)),
        DataType::Int64 => spelt_numbers(&array.as_primitive::<Int64Type>().value(at).to_string()),
        DataType::UInt64 => {
            spelt_numbers(&array.as_primitive::<UInt64Type>().value(at).to_string())
        }
        DataType::Float64 => {
            spelt_numbers(&array.as_primitive::<Float64Type>().value(at).to_string())
        }
        DataType::Boolean => array.as_boolean().value(at).to_string(),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(at);
            spelt(&NaiveDate::from_epoch_days(days).unwrap().to_string())
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(at);
            spelt(&date_time(field, i128::from(micros) * 1000))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = array.as_primitive::<TimestampNanosecondType>().value(at);
            spelt(&date_time(field, nanos.into()))
        }
        DataType::List(item) => {
            let items = array.as_list::<i32>().value(at);
            let item = |at| match items.is_null(at) {
                true => "null".to_owned(),
                false => value(item, &items, at),
            };
            let items: Vec<String> = (0..items.len()).map(item).collect();
            format!("[{}]", items.join(","))
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let member = |(field, column): (&std::sync::Arc<Field>, &ArrayRef)| {
                let text = match (column.is_null(at), empty(field)) {
                    (false, _) => value(field, column, at),
                    (true, Empty::Null) => "null".to_owned(),
                    (true, Empty::Absent) => return None,
                };
                Some(format!("{}:{text}", spelt(field.name())))
            };
            let members: Vec<String> = columns.filter_map(member).collect();
            format!("{{{}}}", members.join(","))
        }
        other => panic!("{other} is no type of a column"),
    }
}

fn date_time(field: &Field, nanos: i128) -> String {
    let offset = metadata(field, "talentdata:offset").unwrap();
    let digits = metadata(field, "talentdata:fraction").unwrap();
    let digits: usize = digits.parse().unwrap();
    let ahead = offset.parse::<FixedOffset>();
    let ahead = ahead.map_or(0, |ahead| ahead.local_minus_utc());
    let second = i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap() + i64::from(ahead);
    let local = DateTime::from_timestamp(second, 0).unwrap();
    let fraction = &format!("{:09}", nanos.rem_euclid(1_000_000_000))[..digits];
    let point = if digits > 0 { "." } else { "" };
    format!(
        "{}{point}{fraction}{offset}",
        local.format("%Y-%m-%dT%H:%M:%S")
    )
}
