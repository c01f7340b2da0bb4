//! What every sample record has to be: valid, unique, the same each time, and varied.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::json::Object;
use crate::list::{List, lists};

const FUTURE: List = List {
    name: "ja_levels",
    path: "/v1/ja/levels",
    record_key: None,
    noun: "levels",
};

fn all() -> impl Iterator<Item = List> {
    lists().iter().copied().chain([FUTURE])
}

fn record(list: &List, seed: u64, number: u64) -> String {
    let mut out = Vec::new();
    let mut object = Object::new(&mut out);
    object.value("id", |out| {
        list.id_form().write(list.key(seed), number, out)
    });
    list.write_members(seed, number, &mut object);
    object.end();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_record_is_a_json_object_that_is_the_same_each_time() {
    for list in all() {
        for number in 0..list.default_size() {
            let text = record(&list, 7, number);
            let parsed: Value =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
            assert!(parsed.is_object());
            assert_eq!(text, record(&list, 7, number));
        }
        assert_ne!(record(&list, 7, 3), record(&list, 8, 3), "{}", list.name);
    }
}

#[test]
fn ids_are_unique_and_strings_except_those_of_tasks() {
    for list in all() {
        let mut seen = HashSet::new();
        for number in (0..5000).chain(1_000_000_000..1_000_005_000) {
            let id = list.id_form().written(list.key(7), number);
            assert_eq!(id[0] == b'"', list.name != "ja_tasks");
            assert!(seen.insert(id), "{} {number}", list.name);
        }
    }
}

#[test]
fn some_fields_come_only_in_some_records_and_some_only_late() {
    for list in all() {
        let size = list.default_size();
        let keys = |number| {
            let parsed: Value = serde_json::from_str(&record(&list, 0, number)).unwrap();
            let keys: BTreeSet<String> = parsed.as_object().unwrap().keys().cloned().collect();
            keys
        };
        let early: BTreeSet<String> = (0..size / 2).flat_map(keys).collect();
        let late = keys(size - 1);
        assert!(late.difference(&early).count() > 0, "{}", list.name);
    }
}

#[test]
fn contacts_hold_what_breaks_careless_clients() {
    let contacts = &lists()[0];
    let all: String = (0..2500)
        .map(|number| record(contacts, 0, number))
        .collect();
    for what in [
        "é",
        "Ш",
        "Ψ",
        "ل",
        "क",
        "渡",
        "𠮷",
        "김",
        "📞",
        r#"\""#,
        r"\n",
        "null",
        "externalRef",
    ] {
        assert!(all.contains(what), "{what}");
    }
    let addresses = all.split("\"email\":\"").skip(1);
    for address in addresses.filter_map(|rest| rest.split('"').next()) {
        assert!(address.is_ascii(), "{address}");
        let domain = address.split('@').nth(1).unwrap();
        assert!(
            ["example.com", "example.org", "example.net"].contains(&domain),
            "{address}"
        );
    }
}
