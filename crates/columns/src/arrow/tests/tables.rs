//! Random tables: records that agree on most of their fields, and break every habit now and then.

use super::record;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use talentdata_core::RawRecord;

/// Records, and how many of them are looked at to decide the columns.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) records: Vec<RawRecord>,
    pub(crate) sample: usize,
}

/// Names as they are spelt in JSON, one a line; some are the same name, some are none that a column can have, and the
/// first is empty.
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
    vec((name(), 0..14_usize), 0..8).prop_flat_map(|fields| {
        let field = |(name, habit): (&'static str, usize)| {
            let value = prop_oneof![12 => habitual(habit), 1 => constant("null"), 1 => any_value()];
            weighted(0.8, value.prop_map(move |value| (name, value)))
        };
        let habits: Vec<_> = fields.into_iter().map(field).collect();
        let late = weighted(0.2, (name(), any_value()));
        let spaces = select(&[("", ""), (" ", " "), (" \n", "\r\n\t"), ("", "")][..]);
        let record = (habits, late, any::<bool>(), spaces).prop_map(
            |(habits, late, reverse, (before, behind))| {
                let mut members: Vec<_> = habits.into_iter().flatten().chain(late).collect();
                if reverse {
                    members.reverse();
                }
                record(object(&members, before, behind))
            },
        );
        (vec(record, 0..12), any::<prop::sample::Index>()).prop_map(|(records, sample)| Table {
            sample: sample.index(records.len() + 1),
            records,
        })
    })
}

/// The text of an object, with white space around the colons.
fn object(members: &[(&str, String)], before: &str, behind: &str) -> String {
    let member = |(name, value): &(&str, String)| format!("\"{name}\"{before}:{behind}{value}");
    let members: Vec<String> = members.iter().map(member).collect();
    format!("{{{}}}", members.join(&format!("{before},{behind}")))
}

fn array(items: &[String], space: &str) -> String {
    format!("[{}]", items.join(&format!("{space},")))
}

fn constant(text: &'static str) -> BoxedStrategy<String> {
    Just(text.to_owned()).boxed()
}

/// A value of one sort.
fn habitual(habit: usize) -> BoxedStrategy<String> {
    match habit {
        0 | 1 => text().boxed(),
        2 => integer().boxed(),
        3 => number().boxed(),
        4 => any::<bool>().prop_map(|value| value.to_string()).boxed(),
        5 => constant("null"),
        6 => any::<u64>().prop_map(|number| number.to_string()).boxed(),
        7 | 8 => date_time(habit - 7).boxed(),
        9 => date().prop_map(|date| format!("\"{date}\"")).boxed(),
        10 | 11 => nested(habit % 5, 3),
        12 => nested(habit % 5, 1),
        _ => any_value(),
    }
}

/// Arrays and objects that agree on most of what is in them.
fn nested(habit: usize, depth: usize) -> BoxedStrategy<String> {
    let leaf = match depth {
        0 => habitual(habit),
        _ => nested((habit + depth) % 5, depth - 1),
    };
    let item = prop_oneof![30 => leaf, 2 => constant("null"), 1 => any_value()].boxed();
    let space = prop_oneof![30 => Just(""), 1 => Just(" ")];
    if (habit + depth).is_multiple_of(2) {
        let items = (vec(item, 0..4), space);
        return items
            .prop_map(|(items, space)| array(&items, space))
            .boxed();
    }
    let member = |name: &'static str| {
        let value = item.clone().prop_map(move |value| (name, value));
        weighted(0.9, value)
    };
    let names = ["id", "b", r"b\\n", r"b\n"].map(member);
    let late = weighted(0.05, (name(), item.clone()));
    (names, late, prop::bool::weighted(0.05), space)
        .prop_map(|(members, late, reverse, space)| {
            let mut members: Vec<_> = members.into_iter().flatten().chain(late).collect();
            if reverse {
                members.reverse();
            }
            object(&members, "", space)
        })
        .boxed()
}

fn date() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => "(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
        1 => "0000-02-29|2000-02-29|9999-12-31",
        1 => "[0-9]{4}-[01][0-9]-[0-3][0-9]",
    ]
}

fn date_time(habit: usize) -> impl Strategy<Value = String> {
    let usual = [
        "T[01][0-9]:[0-5][0-9]:[0-5][0-9]Z",
        "T[01][0-9]:[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}(\\+00:00|-05:30)",
    ];
    let time = prop_oneof![
        20 => usual[habit],
        2 => "[Tt][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,12})?([Zz]|[+-][0-2][0-9]:[0-5][0-9])",
        1 => "T23:59:60(\\.5)?Z",
    ];
    (date(), time).prop_map(|(date, time)| format!("\"{date}{time}\""))
}

fn any_value() -> BoxedStrategy<String> {
    let leaf = prop_oneof!["null|true|false", text(), integer(), number()];
    let space = || select(&["", "", " ", "\n  ", "\r\n\t"][..]);
    let nested = leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            (vec(inner.clone(), 0..4), space()).prop_map(|(items, space)| array(&items, space)),
            (vec((name(), inner), 0..4), space())
                .prop_map(|(members, space)| object(&members, space, space)),
        ]
    });
    nested.boxed()
}

fn text() -> impl Strategy<Value = String> {
    let spelt = |text: String| serde_json::to_string(&text).unwrap();
    let escaped = |text: String| {
        let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
        format!("\"{}\"", units.collect::<String>())
    };
    let odd = [
        r#""""#,
        r#""\ud83d""#,
        r#""\udc00 \ud83d\ude00\/""#,
        "\"null\"",
    ];
    prop_oneof![
        any::<String>().prop_map(spelt),
        "[a,;\"'\\\\\n\r\t =+@-]{0,5}".prop_map(spelt),
        "\\PC{0,4}".prop_map(escaped),
        select(odd.to_vec()).prop_map(str::to_owned),
    ]
}

fn integer() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<i64>().prop_map(|number| number.to_string()),
        4 => "-?[0-9]",
        1 => any::<u64>().prop_map(|number| number.to_string()),
        1 => "-?[1-9][0-9]{18,42}",
    ]
}

fn number() -> impl Strategy<Value = String> {
    let finite = any::<f64>().prop_filter("JSON has no others", |number| number.is_finite());
    prop_oneof![
        finite.prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,3})\\.[0-9]{1,3}",
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?",
        "-?[0-9]",
    ]
}
