//! The lists: parameters, pages and records (sections 2, 4 and 8).

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use talentdata_sandbox::{List, Options, Sandbox, lists};

use crate::support::{get, token, unlimited};

/// The records of a page: the one array in the response.
fn records(body: &Value) -> &Vec<Value> {
    let mut arrays = body
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_array);
    let records = arrays.next().unwrap();
    assert!(arrays.next().is_none());
    records
}

fn sized(name: &str, size: u64) -> Options {
    Options {
        records: BTreeMap::from([(name.to_owned(), size)]),
        ..Options::default()
    }
}

fn scan(sandbox: &Sandbox, list: &List, token: &str) -> Vec<Value> {
    let mut found = Vec::new();
    loop {
        let path = format!("{}?limit=90&offset={}", list.path, found.len());
        let body = get(sandbox, &path, token).json();
        found.extend(records(&body).iter().cloned());
        if body["pagination"]["hasMore"] == false {
            assert_eq!(body["pagination"]["total"], found.len());
            return found;
        }
    }
}

#[test]
fn a_scan_of_each_list_gives_as_many_different_records_as_the_list_holds() {
    let sandbox = unlimited(Options::default());
    let token = token(&sandbox);
    for list in lists() {
        let found = scan(&sandbox, list, &token);
        assert_eq!(found.len() as u64, list.default_size(), "{}", list.name);
        let ids: HashSet<String> = found
            .iter()
            .map(|record| record["id"].to_string())
            .collect();
        assert_eq!(ids.len(), found.len(), "{}", list.name);
    }
}

#[test]
fn contacts_are_as_documented() {
    let sandbox = unlimited(Options::default());
    let body = get(&sandbox, "/v1/contacts", &token(&sandbox)).json();
    assert_eq!(body["success"], true);
    let contacts = body["contacts"].as_array().unwrap();
    let list = lists().iter().find(|list| list.name == "contacts").unwrap();
    assert_eq!(contacts.len() as u64, list.default_limit);
    for contact in contacts {
        for field in ["id", "firstName", "lastName", "email"] {
            assert!(contact[field].is_string(), "{field} in {contact}");
        }
    }
}

#[test]
fn the_pagination_object_describes_the_page() {
    let sandbox = unlimited(Options {
        max_limit: Some(90),
        ..sized("contacts", 250)
    });
    let token = token(&sandbox);
    for (query, offset, returned, more) in [
        ("limit=90", 0, 90, true),
        ("limit=90&offset=160", 160, 90, false),
        ("limit=90&offset=159", 159, 90, true),
        ("limit=90&offset=200", 200, 50, false),
        ("limit=1&offset=249", 249, 1, false),
        ("limit=90&offset=250", 250, 0, false),
        ("limit=90&offset=18446744073709551615", u64::MAX, 0, false),
        ("limit=91", 0, 90, true),
        ("limit=18446744073709551615&offset=10", 10, 90, true),
        ("limit=7&limit=9", 0, 9, true),
        ("limit=%31%30", 0, 10, true),
    ] {
        let body = get(&sandbox, &format!("/v1/contacts?{query}"), &token).json();
        assert_eq!(records(&body).len(), returned, "{query}");
        let pagination = &body["pagination"];
        assert_eq!(pagination["total"], 250, "{query}");
        assert_eq!(pagination["limit"], returned, "{query}");
        assert_eq!(pagination["offset"], offset, "{query}");
        assert_eq!(pagination["hasMore"], more, "{query}");
    }
}

#[test]
fn parameters_that_are_no_counts_are_refused() {
    let sandbox = unlimited(Options::default());
    let token = token(&sandbox);
    for query in [
        "limit=0",
        "limit=-1",
        "limit=",
        "limit=1.5",
        "limit=%2B5",
        "offset=-1",
        "offset=x",
        "offset=18446744073709551616",
    ] {
        let reply = get(&sandbox, &format!("/v1/contacts?{query}"), &token);
        assert_eq!(reply.status, 400, "{query}");
    }
}

#[test]
fn every_list_has_its_own_default_and_greatest_page() {
    let records_of_each = lists().iter().map(|list| (list.name.clone(), 5000));
    let sandbox = unlimited(Options {
        records: records_of_each.collect(),
        ..Options::default()
    });
    let token = token(&sandbox);
    for list in lists() {
        let most = list.max_limit;
        for (query, count) in [
            (String::new(), list.default_limit),
            (format!("?limit={most}"), most),
            (format!("?limit={}", most + 1), most),
        ] {
            let path = format!("{}{query}", list.path);
            let body = get(&sandbox, &path, &token).json();
            assert_eq!(records(&body).len() as u64, count.min(5000), "{path}");
        }
    }
}

#[test]
fn the_greatest_page_can_be_made_smaller() {
    let sandbox = unlimited(Options {
        max_limit: Some(10),
        ..Options::default()
    });
    let token = token(&sandbox);
    for path in ["/v1/contacts", "/v1/contacts?limit=100"] {
        let body = get(&sandbox, path, &token).json();
        assert_eq!(records(&body).len(), 10);
    }
}

#[test]
fn records_depend_on_the_seed_and_not_on_the_page_or_the_size_of_the_list() {
    let body = |options: Options, query: &str| {
        let sandbox = unlimited(options);
        get(&sandbox, &format!("/v1/contacts?{query}"), &token(&sandbox)).json()
    };
    let one = body(Options::default(), "limit=100");
    let other = body(sized("contacts", 90_000), "limit=10&offset=50");
    assert_eq!(records(&one)[50..60], records(&other)[..]);
    let seeded = body(
        Options {
            seed: 1,
            ..Options::default()
        },
        "limit=100",
    );
    assert_ne!(records(&one)[0], records(&seeded)[0]);
}

/// Records are computed when they are asked for: a list larger than any memory is served at once, at both ends.
#[test]
fn the_size_of_a_list_costs_nothing() {
    let size = 1 << 60;
    let sandbox = unlimited(sized("pools", size));
    let token = token(&sandbox);
    for offset in [0, size / 2, size - 100] {
        let path = format!("/v1/pools?limit=100&offset={offset}");
        let body = get(&sandbox, &path, &token).json();
        assert_eq!(records(&body).len(), 100);
        assert_eq!(body["pagination"]["total"], size);
    }
}
