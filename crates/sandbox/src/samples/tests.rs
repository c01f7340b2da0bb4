//! What every sample record has to be: valid, unique, the same each time, and varied.

use std::collections::{BTreeSet, HashSet};

use super::*;
use crate::list::lists;

/// The lists that there are, and one that there may be.
fn all() -> impl Iterator<Item = &'static str> {
    let known = lists().iter().map(|list| list.name.as_str());
    known.chain(["ja_levels"])
}

fn record(list: &str, seed: u64, number: u64) -> String {
    let mut out = Vec::new();
    let mut object = Object::new(&mut out);
    object.member("id", |out| {
        id_form(list).write(key(list, seed), number, out)
    });
    Sample::new(list, "levels", seed, number, 0).write_members(&mut object);
    object.end();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_record_is_a_json_object_that_is_the_same_each_time() {
    for list in all() {
        for number in 0..default_size(list) {
            let text = record(list, 7, number);
            let parsed: Value =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
            assert!(parsed.is_object());
            assert_eq!(text, record(list, 7, number));
        }
        assert_ne!(record(list, 7, 3), record(list, 8, 3), "{list}");
    }
}

fn id(list: &str, number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    id_form(list).write(key(list, 7), number, &mut out);
    out
}

#[test]
fn ids_are_unique_and_strings_except_those_of_tasks() {
    for list in all() {
        let mut seen = HashSet::new();
        for number in (0..5000).chain(1_000_000_000..1_000_005_000) {
            let id = id(list, number);
            assert_eq!(id[0] == b'"', list != "ja_tasks");
            assert!(seen.insert(id), "{list} {number}");
        }
    }
}

#[test]
fn some_fields_come_only_in_some_records_and_some_only_late() {
    for list in all() {
        let size = default_size(list);
        let keys = |number| {
            let parsed: Value = serde_json::from_str(&record(list, 0, number)).unwrap();
            let keys: BTreeSet<String> = parsed.as_object().unwrap().keys().cloned().collect();
            keys
        };
        let early: BTreeSet<String> = (0..size / 2).flat_map(keys).collect();
        let late = keys(size - 1);
        assert!(late.difference(&early).count() > 0, "{list}");
    }
}

#[test]
fn contacts_hold_what_breaks_careless_clients() {
    let all: String = (0..2500)
        .map(|number| record("contacts", 0, number))
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

/// The records of a list, read.
fn parsed(name: &str) -> Vec<Value> {
    let text = |number| record(name, 7, number);
    (0..default_size(name))
        .map(|number| serde_json::from_str(&text(number)).unwrap())
        .collect()
}

#[test]
fn what_refers_to_other_lists_is_found_there() {
    let known = |name: &str, label: &str| -> HashSet<(String, String)> {
        let pair = |record: &Value| (record["id"].to_string(), record[label].to_string());
        parsed(name).iter().map(pair).collect()
    };
    let skills = known("ja_skills", "name");
    let departments = known("ja_departments", "name");
    let roles = known("ja_roles", "title");
    let pair = |record: &Value| (record["id"].to_string(), record["name"].to_string());
    let roles: HashSet<String> = roles.into_iter().map(|(id, _)| id).collect();
    let role = |id: &Value| roles.contains(&id.to_string());
    for (list, member) in [("vacancies", "requiredSkills"), ("ja_roles", "skills")] {
        let mut found = 0;
        for record in parsed(list) {
            for skill in record[member].as_array().unwrap() {
                assert!(skills.contains(&pair(skill)), "{skill}");
                found += 1;
            }
        }
        assert!(found > 40, "{list}");
    }
    for record in parsed("ja_roles") {
        assert!(
            departments.contains(&pair(&record["department"])),
            "{record}"
        );
    }
    for record in parsed("ja_departments") {
        let parent = &record["parent"];
        assert!(
            parent.is_null() || departments.contains(&pair(parent)),
            "{record}"
        );
        assert!(role(&record["headRoleId"]), "{record}");
    }
    for list in ["vacancies", "ja_tasks"] {
        assert!(
            parsed(list).iter().all(|record| role(&record["roleId"])),
            "{list}"
        );
    }
    for (list, member) in [("ja_tasks", "precededBy"), ("taxonomy_skills", "broader")] {
        let records = parsed(list);
        let ids: HashSet<String> = records
            .iter()
            .map(|record| record["id"].to_string())
            .collect();
        let named = records.iter().filter_map(|record| record.get(member));
        assert!(
            named
                .filter(|id| !id.is_null())
                .all(|id| ids.contains(&id.to_string())),
            "{list}"
        );
    }
}

#[test]
fn times_are_in_an_order_that_can_be() {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    for contact in parsed("contacts") {
        let (created, updated) = (text(&contact["createdAt"]), text(&contact["updatedAt"]));
        assert!(updated.is_none() || updated > created, "{contact}");
    }
    for vacancy in parsed("vacancies") {
        let (published, starts) = (text(&vacancy["publishedAt"]), text(&vacancy["startDate"]));
        let closes = text(&vacancy["closesAt"]).or_else(|| published.clone());
        assert!(
            published <= closes && closes <= starts.map(|day| day + "T24"),
            "{vacancy}"
        );
    }
}

#[test]
fn every_list_has_samples_of_its_own_and_numbers_keep_their_spelling() {
    // Those that the document may gain have records by their schemas.
    let known = "contacts vacancies pools ja_skills ja_roles ja_tasks ja_departments taxonomy_skills taxonomy_roles";
    for list in known.split(' ') {
        assert!(are_there(list), "{list}");
    }
    let all = |list: &str| -> String { (0..200).map(|number| record(list, 7, number)).collect() };
    for (list, spelt) in [
        ("ja_roles", "-1.50E-3"),
        ("ja_departments", "123456789012345678901234567890"),
        ("contacts", r"\u00e9\ud83d\ude80"),
        ("contacts", r"q1\/q2"),
    ] {
        assert!(all(list).contains(spelt), "{list} {spelt}");
    }
}

#[test]
fn moments_are_written_as_rfc_3339_prescribes() {
    for (seconds, text) in [
        (FIRST_DAY * DAY, "2019-01-01T00:00:00Z"),
        (1_709_251_199, "2024-02-29T23:59:59Z"),
        (1_735_689_599, "2024-12-31T23:59:59Z"),
    ] {
        assert_eq!(moment(seconds), text);
    }
    let now = Duration::from_micros(1_709_251_199_000_045);
    assert_eq!(moment_text(now), "2024-02-29T23:59:59.000045Z");
}
