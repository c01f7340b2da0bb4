//! Random tables: records that agree on most of their fields, and break every habit now and then.

use super::record;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use talentdata_core::RawRecord;

/// Records, and how many of them are looked at to decide the columns.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) records: Vec<RawRecord>,
    pub(crate) sample: usize,
}

/// Names as they are spelt in JSON; some are the same name, some are none that a column can have.
const NAMES: &[&str] = &[
    "id",
    "firstName",
    "email",
    "a",
    "b",
    "score",
    r"\u0061",
    "_extra",
    "_absent",
    r"\u005fabsent",
    "",
    "é",
    r"\u00e9",
    r"back\\slash",
    r"b\n",
    r"b\\n",
    r#"a \"quoted\", name"#,
    "with.dot",
    r"nul\u0000",
    r"half\ud800",
    "=1+1",
];

pub(crate) fn table() -> impl Strategy<Value = Table> {
    vec((select(NAMES), 0..14_usize), 0..8).prop_flat_map(|fields| {
        let field = |(name, habit): (&'static str, usize)| {
            let value = prop_oneof![12 => habitual(habit), 1 => Just("null".to_owned()).boxed(), 1 => any_value()];
            prop::option::weighted(0.8, value.prop_map(move |value| (name, value)))
        };
        let habits: Vec<_> = fields.into_iter().map(field).collect();
        let late = prop::option::weighted(0.2, (select(NAMES), any_value()));
        let members = (habits, late, any::<bool>(), 0..4_usize);
        let record = members.prop_map(|(members, late, reverse, style)| {
            let mut members: Vec<_> = members.into_iter().flatten().chain(late).collect();
            if reverse {
                members.reverse();
            }
            write(&members, style)
        });
        (vec(record, 0..12), any::<prop::sample::Index>()).prop_map(|(records, sample)| Table {
            sample: sample.index(records.len() + 1),
            records,
        })
    })
}

fn write(members: &[(&str, String)], style: usize) -> RawRecord {
    let (colon, comma) = [(":", ","), (": ", ", "), (" :\n", "\r\n,\t"), (":", ",")][style];
    let members: Vec<String> = members
        .iter()
        .map(|(name, value)| format!("\"{name}\"{colon}{value}"))
        .collect();
    record(format!("{{{}}}", members.join(comma)))
}

/// A value of one sort.
fn habitual(habit: usize) -> BoxedStrategy<String> {
    match habit {
        0 | 1 => text().boxed(),
        2 => integer().boxed(),
        3 => number().boxed(),
        4 => select(&["true", "false"][..])
            .prop_map(str::to_owned)
            .boxed(),
        5 => Just("null".to_owned()).boxed(),
        6 => any::<u64>().prop_map(|number| number.to_string()).boxed(),
        7 => date_time(0).boxed(),
        8 => date_time(1).boxed(),
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
    let item = prop_oneof![30 => leaf, 2 => Just("null".to_owned()).boxed(), 1 => any_value()];
    let item = item.boxed();
    let space = || prop_oneof![30 => Just(""), 1 => Just(" ")];
    if (habit + depth).is_multiple_of(2) {
        let items = (vec(item, 0..4), space());
        return items
            .prop_map(|(items, space)| format!("[{}]", items.join(&format!("{space},"))))
            .boxed();
    }
    let member = |name: &'static str| {
        let present = prop::option::weighted(0.9, item.clone());
        present.prop_map(move |value| value.map(|value| (name, value)))
    };
    let names = [NAMES[habit % NAMES.len()], "b", r"b\\n", r"b\n"];
    let late = prop::option::weighted(0.05, (select(NAMES), item.clone()));
    let members = (names.map(member), late, prop::bool::weighted(0.05), space());
    members
        .prop_map(|(members, late, reverse, space)| {
            let mut members: Vec<_> = members.into_iter().flatten().chain(late).collect();
            if reverse {
                members.reverse();
            }
            let member = |(name, value)| format!("\"{name}\":{space}{value}");
            let members: Vec<String> = members.into_iter().map(member).collect();
            format!("{{{}}}", members.join(","))
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
    let leaf = prop_oneof![
        Just("null".to_owned()),
        select(&["true", "false"][..]).prop_map(str::to_owned),
        text(),
        integer(),
        number(),
    ];
    let nested = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            (vec(inner.clone(), 0..4), space()).prop_map(|(items, space)| format!(
                "[{space}{}]",
                items.join(&format!("{space},"))
            )),
            (vec((select(NAMES), inner), 0..4), space()).prop_map(|(members, space)| {
                let member = |(name, value)| format!("{space}\"{name}\":{space}{value}");
                let members: Vec<String> = members.into_iter().map(member).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    });
    nested.boxed()
}

fn space() -> impl Strategy<Value = &'static str> {
    select(&["", "", " ", "\n  ", "\r\n\t"][..])
}

fn text() -> impl Strategy<Value = String> {
    let spelt = |text: String| serde_json::to_string(&text).unwrap();
    let escaped = |text: String| {
        let units: String = text
            .encode_utf16()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect();
        format!("\"{units}\"")
    };
    prop_oneof![
        any::<String>().prop_map(spelt),
        "[a,;\"'\\\\\n\r\t =+@-]{0,5}".prop_map(spelt),
        "\\PC{0,4}".prop_map(escaped),
        select(
            &[
                r#""""#,
                r#""\ud83d""#,
                r#""\udc00 \ud83d\ude00\/""#,
                "\"null\""
            ][..]
        )
        .prop_map(str::to_owned),
    ]
}

fn integer() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<i64>().prop_map(|number| number.to_string()),
        4 => (-9..10_i8).prop_map(|number| number.to_string()),
        1 => any::<u64>().prop_map(|number| number.to_string()),
        1 => "-?[1-9][0-9]{18,42}",
        1 => Just("-0".to_owned()),
    ]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<f64>()
            .prop_filter("JSON has no others", |number| number.is_finite())
            .prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,3})\\.[0-9]{1,3}",
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?",
        (-9..10_i8).prop_map(|number| number.to_string()),
    ]
}
