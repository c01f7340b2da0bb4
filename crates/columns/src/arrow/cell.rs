//! Reads values as their columns hold them, and reports whether the column returns the same value.
//!
//! A number is the same in any notation if none of its digits is lost. Any other value must return as the same text.

use super::object::Object;
use super::schema::{Column, ColumnKind, Timestamp, Unit};
use super::time::{DateTime, full_date};
use arrow_array::ArrowPrimitiveType;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, ListBuilder, PrimitiveBuilder, StringBuilder, StructBuilder,
};
use arrow_array::types::{
    Date32Type, Float64Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType,
    UInt64Type,
};
use std::any::Any;
use std::borrow::Cow;
use talentdata_core::internal::json::{self, decimal, decoded, whole};

/// Appends a cell to the column of this kind: the value, the nearest value, or an empty cell. Returns whether the value
/// can be read back from the column; an absent value can.
pub(super) fn append(
    builder: &mut dyn ArrayBuilder,
    kind: &ColumnKind,
    value: Option<&str>,
) -> bool {
    let builder = builder.as_any_mut();
    match kind {
        ColumnKind::Text => append_text(builder, value, decoded),
        ColumnKind::Json => append_text(builder, value, |value| Some(Cow::Borrowed(value))),
        ColumnKind::Boolean => {
            let held = value.and_then(boolean);
            if let Some(builder) = builder.downcast_mut::<BooleanBuilder>() {
                builder.append_option(held);
            }
            held.is_some() == value.is_some()
        }
        ColumnKind::Integer => append_native::<Int64Type>(builder, value, exactly),
        ColumnKind::Unsigned => append_native::<UInt64Type>(builder, value, exactly),
        ColumnKind::Number => append_native::<Float64Type>(builder, value, |value| {
            number(value).map(|number| (number, is_same(value, number)))
        }),
        ColumnKind::Date => append_native::<Date32Type>(builder, value, |value| {
            full_date(&decoded(value)?).map(|day| (day, true))
        }),
        ColumnKind::Timestamp(column) => {
            let instant = |value: &str| instant(column, value);
            match column.unit {
                Unit::Micros => append_native::<TimestampMicrosecondType>(builder, value, instant),
                Unit::Nanos => append_native::<TimestampNanosecondType>(builder, value, instant),
            }
        }
        ColumnKind::List { items } => append_list(builder, items, value),
        ColumnKind::Struct { fields } => append_struct(builder, fields, value),
    }
}

/// Returns the text of a value in a text format, as the service wrote it; `None` if the column cannot hold it.
pub(crate) fn text<'a>(kind: &ColumnKind, value: &'a str) -> Option<Cow<'a, str>> {
    let is_held = match kind {
        ColumnKind::Text => return decoded(value),
        ColumnKind::Timestamp(_) => {
            return decoded(value).filter(|text| DateTime::read(text).is_some());
        }
        ColumnKind::Date => return decoded(value).filter(|text| full_date(text).is_some()),
        ColumnKind::Boolean => boolean(value).is_some(),
        ColumnKind::Integer => exactly::<i64>(value).is_some(),
        ColumnKind::Unsigned => exactly::<u64>(value).is_some(),
        ColumnKind::Number => number(value).is_some(),
        ColumnKind::Json | ColumnKind::List { .. } | ColumnKind::Struct { .. } => true,
    };
    is_held.then_some(Cow::Borrowed(value))
}

/// Returns whether a column holds the value or the nearest one. Parts of lists and structs are not examined.
pub(super) fn is_held(kind: &ColumnKind, value: &str) -> bool {
    match kind {
        ColumnKind::Timestamp(column) => instant(column, value).is_some(),
        ColumnKind::List { .. } => value.starts_with('['),
        ColumnKind::Struct { .. } => value.starts_with('{'),
        _ => text(kind, value).is_some(),
    }
}

fn boolean(value: &str) -> Option<bool> {
    value.parse().ok()
}

/// Reads an integer in any notation.
fn exactly<T: TryFrom<i128>>(value: &str) -> Option<(T, bool)> {
    T::try_from(whole(value)?).ok().map(|number| (number, true))
}

fn number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Returns the instant in the column's unit, and whether the column's notation gives the same text. Digits that the
/// unit cannot hold are cut off. A leap second becomes the second after it, as in POSIX.
fn instant(column: &Timestamp, value: &str) -> Option<(i64, bool)> {
    let text = decoded(value)?;
    let found = DateTime::read(&text)?;
    let instant = match column.unit {
        Unit::Micros => Some(found.micros()),
        Unit::Nanos => found.nanos(),
    };
    let exact = found.plain
        && found.digits == usize::from(column.fraction)
        && found.offset == column.offset;
    instant.map(|instant| (instant, exact))
}

fn append_text<'a>(
    builder: &mut dyn Any,
    value: Option<&'a str>,
    read: impl Fn(&'a str) -> Option<Cow<'a, str>>,
) -> bool {
    let held = value.and_then(read);
    if let Some(builder) = builder.downcast_mut::<StringBuilder>() {
        builder.append_option(held.as_deref());
    }
    held.is_some() == value.is_some()
}

fn append_native<T: ArrowPrimitiveType>(
    builder: &mut dyn Any,
    value: Option<&str>,
    read: impl Fn(&str) -> Option<(T::Native, bool)>,
) -> bool {
    let held = value.and_then(read);
    if let Some(builder) = builder.downcast_mut::<PrimitiveBuilder<T>>() {
        builder.append_option(held.map(|(native, _)| native));
    }
    held.map_or(value.is_none(), |(_, exact)| exact)
}

fn append_list(builder: &mut dyn Any, items: &ColumnKind, value: Option<&str>) -> bool {
    let Some(builder) = builder.downcast_mut::<ListBuilder<Box<dyn ArrayBuilder>>>() else {
        return false;
    };
    let Some(array) = value.filter(|value| value.starts_with('[')) else {
        builder.append_null();
        return value.is_none();
    };
    // The two brackets, and a comma before each item but the first.
    let (mut exact, mut length, mut comma) = (true, 2, 0);
    json::each_item(array, |item| {
        let value = Some(item).filter(|item| *item != "null");
        exact &= append(&mut **builder.values(), items, value);
        length += item.len() + comma;
        comma = 1;
    });
    builder.append(true);
    exact && length == array.len()
}

fn append_struct(builder: &mut dyn Any, fields: &[Column], value: Option<&str>) -> bool {
    let Some(builder) = builder.downcast_mut::<StructBuilder>() else {
        return false;
    };
    let object = value.filter(|value| value.starts_with('{'));
    builder.append(object.is_some());
    let members = builder.field_builders_mut();
    let Some(text) = object else {
        for (member, field) in members.iter_mut().zip(fields) {
            append(&mut **member, &field.kind, None);
        }
        return value.is_none();
    };
    let object = Object::of_value(fields, text);
    let rest = object.hold(fields, |at, value| {
        append(&mut *members[at], &fields[at].kind, value)
    });
    object.is_whole(&rest)
}

/// Returns whether `number`, which was read from `text`, keeps all of its digits. Integers must be exact. For a
/// fraction, a double has 17 digits.
fn is_same(text: &str, number: f64) -> bool {
    let is_fraction = text.contains(['.', 'e', 'E']);
    // Doubles distinguish all numbers of up to 15 digits.
    let is_short = text.len() <= 15 && !text.contains(['e', 'E']);
    is_short
        || decimal(text).is_some_and(|value| {
            is_fraction && number.is_normal() && value.1.len() <= 17
                || Some(value) == decimal(&number.to_string())
        })
}

#[cfg(test)]
mod tests {
    use super::is_same;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_the_same_as_what_rust_displays(bits: u64, zeros in 0..20_usize) {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                let point = if number.to_string().contains('.') { "" } else { "." };
                let text = format!("{number}{point}{}", "0".repeat(zeros + 1));
                prop_assert!(is_same(&text, number), "{}", text);
                let text = format!("{number:e}");
                prop_assert!(is_same(&text, number), "{}", text);
                let text = format!("{number}{point}{}1", "0".repeat(zeros + 20));
                prop_assert!(!is_same(&text, number), "{}", text);
            }
        }
    }
}
