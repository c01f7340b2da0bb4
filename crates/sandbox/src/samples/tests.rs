//! The properties of every sample record: valid, unique, the same each time, and varied.

use super::*;
use crate::spec::lists;
use std::collections::{HashMap, HashSet};

fn record(list: &str, seed: u64, number: u64) -> String {
    let mut out = Vec::new();
    object(&mut out, |object| {
        object.member("id", |out| {
            id_form(list).write(key(list, seed), number, out)
        });
        SampleRecord::new(list, seed, number, 0).write_members(object);
    });
    String::from_utf8(out).unwrap()
}

/// Returns all records of a list, parsed.
fn parsed(list: &str) -> Vec<Value> {
    let records = (0..default_size(list)).map(|number| record(list, 7, number));
    let read = |text: String| serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    records.map(read).collect()
}

#[test]
fn every_record_is_the_same_each_time_and_some_have_late_members() {
    // Other lists that the API description may gain have records from their schemas, or these.
    let known = "contacts vacancies pools ja_skills ja_roles ja_tasks ja_departments taxonomy_skills taxonomy_roles";
    assert!(known.split(' ').all(|list| members_of(list).is_some()));
    let lists = lists().iter().map(|list| list.name.as_str());
    for list in lists.chain(["ja_levels"]) {
        let all = parsed(list);
        let (early, late) = (&all[..all.len() / 2], &all[all.len() - 1]);
        let mut names = late.as_object().unwrap().keys();
        let new = names.any(|name| early.iter().all(|record| record.get(name).is_none()));
        assert!(new, "{list}");
        assert_eq!(record(list, 7, 3), record(list, 7, 3));
        assert_ne!(record(list, 7, 3), record(list, 8, 3), "{list}");
        let mut seen = HashSet::new();
        for number in (0..5000).chain(1_000_000_000..1_000_005_000) {
            let mut id = Vec::new();
            id_form(list).write(key(list, 7), number, &mut id);
            assert_eq!(id[0] == b'"', list != "ja_tasks");
            assert!(seen.insert(id), "{list} {number}");
        }
    }
}

#[test]
fn records_contain_text_that_breaks_careless_clients() {
    for (list, texts) in [
        ("contacts", "é Ш Ψ ل क 渡 𠮷 김 📞 null externalRef"),
        ("contacts", r#"\" \n \u00e9\ud83d\ude80 q1\/q2"#),
        ("ja_roles", "-1.50E-3"),
        ("ja_departments", "123456789012345678901234567890"),
    ] {
        let all = (0..default_size(list)).map(|number| record(list, 7, number));
        let all: String = all.collect();
        for text in texts.split(' ') {
            assert!(all.contains(text), "{list} {text}");
        }
    }
    for contact in parsed("contacts") {
        let (name, domain) = contact["email"].as_str().unwrap().split_once('@').unwrap();
        let reserved = ["example.com", "example.org", "example.net"].contains(&domain);
        assert!(name.is_ascii() && reserved, "{contact}");
    }
}

#[test]
fn references_to_other_lists_can_be_resolved() {
    for (list, member, other, named) in [
        ("vacancies", "requiredSkills", "ja_skills", true),
        ("ja_roles", "skills", "ja_skills", true),
        ("ja_roles", "department", "ja_departments", true),
        ("ja_departments", "parent", "ja_departments", true),
        ("vacancies", "roleId", "ja_roles", false),
        ("ja_tasks", "roleId", "ja_roles", false),
        ("ja_departments", "headRoleId", "ja_roles", false),
        ("ja_tasks", "precededBy", "ja_tasks", false),
        ("taxonomy_skills", "broader", "taxonomy_skills", false),
    ] {
        let known = parsed(other).into_iter();
        let known: HashMap<_, _> = known.map(|one| (one["id"].to_string(), one)).collect();
        let mut count = 0;
        for record in parsed(list) {
            let referring = match &record[member] {
                Value::Array(all) => all.as_slice(),
                Value::Null => &[],
                one => std::slice::from_ref(one),
            };
            count += referring.len();
            let found = referring.iter().all(|one| {
                let id = if named { &one["id"] } else { one };
                let found = known.get(&id.to_string());
                found.is_some_and(|it| !named || it["name"] == one["name"])
            });
            assert!(found, "{list} {member}");
        }
        assert!(count > 40, "{list} {member}");
    }
}

#[test]
fn times_are_in_a_plausible_order_and_in_the_form_of_rfc_3339() {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    for contact in parsed("contacts") {
        let (created, updated) = (text(&contact["createdAt"]), text(&contact["updatedAt"]));
        assert!(updated.is_none() || updated > created, "{contact}");
    }
    for vacancy in parsed("vacancies") {
        let (published, starts) = (text(&vacancy["publishedAt"]), text(&vacancy["startDate"]));
        let closes = text(&vacancy["closesAt"]).or_else(|| published.clone());
        let starts = starts.map(|day| day + "T24");
        assert!(published <= closes && closes <= starts, "{vacancy}");
    }
    for (seconds, text) in [
        (FIRST_DAY * DAY, "2019-01-01T00:00:00Z"),
        (1_709_251_199, "2024-02-29T23:59:59Z"),
    ] {
        assert_eq!(moment(seconds), text);
    }
    let now = Duration::from_micros(1_709_251_199_000_045);
    assert_eq!(moment_text(now), "2024-02-29T23:59:59.000045Z");
}
