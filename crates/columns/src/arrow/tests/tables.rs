//! Random tables: records that agree on most of their fields, with exceptions.

use super::record;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use talentdata_core::RawRecord;

/// Records, and the number of them from which the columns are inferred.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) records: Vec<RawRecord>,
    pub(crate) sample: usize,
}

/// Names as they are escaped in JSON, one per line. Some are the same name, some cannot be the name of a column, and
/// the first is empty.
const NAMES: &str = r#"
id
firstName
email
a
b
score
\u0061
_extra
_absent
\u005fabsent
é
\u00e9
back\\slash
b\n
b\\n
a \"quoted\", name
with.dot
nul\u0000
half\ud800
=1+1"#;

fn name() -> impl Strategy<Value = &'static str> {
    select(NAMES.split('\n').collect::<Vec<_>>())
}

pub(crate) fn table() -> impl Strategy<Value = Table> {
    vec((name(), 0..20_usize), 0..8).prop_flat_map(|fields| {
        let field = |(name, habit): (&'static str, usize)| {
            let null = Just("null".to_owned());
            let value = prop_oneof![12 => habitual(habit), 1 => null, 1 => any_value()];
            weighted(0.8, (Just(name), value))
        };
        let habits: Vec<_> = fields.into_iter().map(field).collect();
        let late = weighted(0.2, (name(), any_value()));
        let spaces = select(&[("", ""), (" ", " "), (" \n", "\r\n\t"), ("", "")][..]);
        let record = (habits, late, any::<bool>(), spaces).prop_map(
            |(habits, late, reverse, (before, behind))| {
                let members = habits.into_iter().flatten().chain(late);
                record(object(members, reverse, before, behind))
            },
        );
        (vec(record, 0..12), any::<prop::sample::Index>()).prop_map(|(records, sample)| Table {
            sample: sample.index(records.len() + 1),
            records,
        })
    })
}

/// The text of an object, with white space around the colons.
fn object(
    members: impl IntoIterator<Item = (&'static str, String)>,
    reverse: bool,
    before: &str,
    behind: &str,
) -> String {
    let member = |(name, value)| format!("\"{name}\"{before}:{behind}{value}");
    let mut members: Vec<String> = members.into_iter().map(member).collect();
    if reverse {
        members.reverse();
    }
    format!("{{{}}}", members.join(&format!("{before},{behind}")))
}

fn array(items: &[String], space: &str) -> String {
    format!("[{}]", items.join(&format!("{space},")))
}

/// Sorts of values that most records have in a field. [`sorts`] adds five more.
const HABITS: [&str; 10] = [
    r#""([^"\\\p{C}]|\\[nrt"/\\]|\\u[0-9a-f]{4}|\\ud83d(\\ude00)?){0,5}""#,
    r#""([a,;'=+@ -]|\\[nrt"\\]){0,5}""#,
    "-?[0-9]|-?[1-9][0-9]{0,17}|-9223372036854775808",
    "[1-9][0-9]{0,17}|1[0-7][0-9]{18}|18446744073709551615",
    r"-?(0|[1-9][0-9]{0,3})\.[0-9]{1,3}|-?[0-9]|-?0\.[0-9]{16,17}",
    "true|false",
    "null",
    r#""(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])""#,
    r#""20[0-9]{2}-0[1-9]-1[0-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9]Z""#,
    r#""20[0-9]{2}-0[1-9]-1[0-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3}(\+00:00|-05:30)""#,
];

/// Values that do not fit a date-time column: not a text, not an instant, too many digits, a leap second.
const ODD: [&str; 5] = [
    r#"""|"null"|"\\ud83d"|"\\udc00 "|"\\udc00 \\ud83d\\ude00\\/""#,
    "-?[1-9][0-9]{18,42}",
    r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?",
    r#""[0-9]{4}-[01][0-9]-[0-3][0-9]([Tt][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,12})?([Zz]|[+-][0-2][0-9]:[0-5][0-9]))?""#,
    r#""(0000-02-29|2000-02-29|9999-12-31)(T23:59:60(\.5)?Z)?""#,
];

/// Returns strategies for values of one sort each, first those of [`HABITS`].
fn sorts() -> Vec<BoxedStrategy<String>> {
    let spelt = |text: String| serde_json::to_string(&text).unwrap();
    let escaped = |text: String| {
        let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
        format!("\"{}\"", units.collect::<String>())
    };
    let finite = any::<f64>().prop_filter("JSON has no others", |number| number.is_finite());
    let others = [
        any::<String>().prop_map(spelt).boxed(),
        "\\PC{0,4}".prop_map(escaped).boxed(),
        any::<i64>().prop_map(|number| number.to_string()).boxed(),
        any::<u64>().prop_map(|number| number.to_string()).boxed(),
        finite.prop_map(|number| number.to_string()).boxed(),
    ];
    let habits = HABITS.map(Strategy::boxed).into_iter().chain(others);
    habits.chain(ODD.map(Strategy::boxed)).collect()
}

/// A value of one sort.
fn habitual(habit: usize) -> BoxedStrategy<String> {
    match habit {
        0..15 => sorts().swap_remove(habit),
        15..18 => nested(habit, 1 + habit % 3),
        _ => any_value(),
    }
}

/// Arrays and objects that agree on most of what is in them.
fn nested(habit: usize, depth: usize) -> BoxedStrategy<String> {
    let leaf = match depth {
        0 => habitual(habit % 15),
        _ => nested(habit + 2, depth - 1),
    };
    let item = prop_oneof![30 => leaf, 2 => Just("null".to_owned()), 1 => any_value()].boxed();
    let space = prop_oneof![30 => Just(""), 1 => Just(" ")];
    if (habit + depth).is_multiple_of(2) {
        let items = (vec(item, 0..4), space);
        return items
            .prop_map(|(items, space)| array(&items, space))
            .boxed();
    }
    let member = |name: &'static str| weighted(0.9, (Just(name), item.clone()));
    let names = ["id", "b", r"b\\n", r"b\n"].map(member);
    let late = weighted(0.05, (name(), item.clone()));
    (names, late, prop::bool::weighted(0.05), space)
        .prop_map(|(members, late, reverse, space)| {
            let members = members.into_iter().flatten().chain(late);
            object(members, reverse, "", space)
        })
        .boxed()
}

fn any_value() -> BoxedStrategy<String> {
    let leaf = Union::new(sorts());
    let space = || select(&["", "", " ", "\n  ", "\r\n\t"][..]);
    let nested = leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            (vec(inner.clone(), 0..4), space()).prop_map(|(items, space)| array(&items, space)),
            (vec((name(), inner), 0..4), space())
                .prop_map(|(members, space)| object(members, false, space, space)),
        ]
    });
    nested.boxed()
}
