//! Lists that change between page requests (section 8, pagination, rule 7).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use talentdata_sandbox::{Change, Drift, Logged, Options, Order, Sandbox};

use crate::support::{get, post, send, token, unlimited};

fn drifting(every_requests: u32) -> Sandbox {
    unlimited(Options {
        faults: true,
        max_limit: Some(10_000),
        records: BTreeMap::from([("contacts".to_owned(), 1000)]),
        drift: Some(Drift {
            every_requests,
            inserts: 20,
            deletes: 15,
            seed: 3,
            ..Drift::default()
        }),
        ..Options::default()
    })
}

fn page(sandbox: &Sandbox, token: &str, limit: usize, offset: usize) -> Value {
    let path = format!("/v1/contacts?limit={limit}&offset={offset}");
    get(sandbox, &path, token).json()
}

fn ids(body: &Value) -> Vec<String> {
    let records = body["contacts"].as_array().unwrap().iter();
    records.map(|record| record["id"].to_string()).collect()
}

fn told(sandbox: &Sandbox, what: &str) -> Vec<String> {
    let body = send(sandbox, "GET", "/__drift?list=contacts", &[], "").json();
    let ids = body[what].as_array().unwrap().iter();
    ids.map(Value::to_string).collect()
}

#[test]
fn a_list_changes_between_requests_and_tells_how() {
    let sandbox = drifting(2);
    let token = token(&sandbox);
    let before = ids(&page(&sandbox, &token, 10_000, 0));
    page(&sandbox, &token, 10, 500);
    let body = page(&sandbox, &token, 10_000, 0);
    let after = ids(&body);
    assert_eq!(body["pagination"]["total"], 1005);
    assert_eq!(after.len(), 1005);

    let (stayed, came, went) = ["stayed", "came", "went"]
        .map(|what| told(&sandbox, what))
        .into();
    assert_eq!((came.len(), went.len()), (20, 15));
    let kept = |ids: &[String]| -> Vec<String> {
        ids.iter()
            .filter(|id| stayed.contains(id))
            .cloned()
            .collect()
    };
    assert_eq!(kept(&before), stayed, "in their order before");
    assert_eq!(kept(&after), stayed, "and after");
    let after: BTreeSet<&String> = after.iter().collect();
    let new = came.iter().filter(|id| !went.contains(id));
    assert_eq!(after, stayed.iter().chain(new).collect());

    send(&sandbox, "DELETE", "/__drift", &[], "");
    assert_eq!(ids(&page(&sandbox, &token, 10_000, 0)), before);
    assert!(told(&sandbox, "came").is_empty());
}

#[test]
fn a_scan_that_trusts_the_offset_loses_and_repeats_records() {
    let sandbox = drifting(1);
    let token = token(&sandbox);
    let mut seen = Vec::new();
    loop {
        let body = page(&sandbox, &token, 100, seen.len());
        seen.extend(ids(&body));
        if body["pagination"]["hasMore"] == false {
            break;
        }
    }
    let distinct: BTreeSet<&String> = seen.iter().collect();
    assert!(distinct.len() < seen.len(), "repeated");
    let stayed = told(&sandbox, "stayed");
    assert!(stayed.iter().any(|id| !distinct.contains(id)), "lost");
}

#[test]
fn other_lists_keep_their_own_count() {
    let sandbox = drifting(1);
    let token = token(&sandbox);
    get(&sandbox, "/v1/pools", &token);
    assert_eq!(page(&sandbox, &token, 1, 0)["pagination"]["total"], 1000);
    assert_eq!(page(&sandbox, &token, 1, 0)["pagination"]["total"], 1005);
}

#[test]
fn a_still_list_can_be_changed_at_once() {
    let sandbox = unlimited(Options {
        faults: true,
        records: BTreeMap::from([("contacts".to_owned(), 30)]),
        order: Order::Updated,
        ..Options::default()
    });
    let token = token(&sandbox);
    let before = ids(&page(&sandbox, &token, 100, 0));
    assert_eq!(told(&sandbox, "stayed"), before);
    let change = |change: &Value| post(&sandbox, "/__drift?list=contacts", change).status;
    assert_eq!(change(&json!({"delete_first": 3})), 200);
    assert_eq!(change(&json!({"update_first": 1})), 200);
    let moved = [&before[4..], &before[3..4]].concat();
    assert_eq!(ids(&page(&sandbox, &token, 100, 0)), moved);
    assert_eq!(told(&sandbox, "stayed"), moved);
    assert_eq!(told(&sandbox, "went"), &before[..3]);
    assert_eq!(told(&sandbox, "moved"), &before[3..4]);
    sandbox.change("contacts", Change::Reverse).unwrap();
    let reversed: Vec<String> = moved.into_iter().rev().collect();
    assert_eq!(ids(&page(&sandbox, &token, 100, 0)), reversed);
    for (path, body) in [
        ("/__drift?list=contacts", json!({"rename": 1})),
        ("/__drift?list=contacts", json!({"move": u64::MAX})),
        ("/__drift?list=x", json!("reverse")),
    ] {
        assert_eq!(post(&sandbox, path, &body).status, 400, "{path} {body}");
    }
    sandbox.change("x", Change::Shuffle).unwrap_err();
}

/// The list that the log leads to, record by record.
fn replayed(before: &Value, changes: &[Value]) -> BTreeMap<String, Value> {
    let records = before["contacts"].as_array().unwrap().iter();
    let mut list: BTreeMap<String, Value> = records
        .map(|record| (record["id"].to_string(), record.clone()))
        .collect();
    for change in changes {
        let key = change["key"].to_string();
        let known = match change["op"].as_str() {
            Some("delete") => list.remove(&key),
            _ => list.insert(key.clone(), change["record"].clone()),
        };
        assert_eq!(known.is_none(), change["op"] == "insert", "{change}");
        if change["op"] == "update" {
            assert_ne!(known.as_ref(), Some(&change["record"]), "{key}");
        }
    }
    list
}

#[test]
fn the_log_leads_from_the_list_before_to_the_list_after() {
    for order in Order::ALL {
        let sandbox = unlimited(Options {
            faults: true,
            max_limit: Some(10_000),
            records: BTreeMap::from([("contacts".to_owned(), 300)]),
            order,
            drift: Some(Drift {
                inserts: 3,
                deletes: 2,
                updates: 5,
                times: 40,
                seed: 8,
                ..Drift::default()
            }),
            ..Options::default()
        });
        let token = token(&sandbox);
        let before = page(&sandbox, &token, 10_000, 0);
        for offset in 0..50 {
            page(&sandbox, &token, 10, offset);
        }
        let after = replayed(&page(&sandbox, &token, 10_000, 0), &[]);
        let asked = |skip: usize| {
            let path = format!("/__changes?list=contacts&skip={skip}");
            send(&sandbox, "GET", &path, &[], "").json()
        };
        let (told, last) = (asked(0), asked(399));
        let changes = told["changes"].as_array().unwrap();
        assert_eq!(
            (changes.len(), &told["next"]),
            (400, &400.into()),
            "{order}"
        );
        assert_eq!(replayed(&before, changes), after, "{order}");
        assert_eq!(last["changes"][0], changes[399]);
        let times: Vec<&str> = changes
            .iter()
            .map(|one| one["at"].as_str().unwrap())
            .collect();
        assert!(
            times.is_sorted() && times[0].starts_with("20"),
            "{}",
            times[0]
        );
        let in_process = sandbox.changes("contacts", 0).unwrap();
        assert!(
            in_process
                .iter()
                .map(Logged::to_json)
                .eq(changes.iter().cloned())
        );
    }
    let sandbox = unlimited(Options {
        faults: true,
        ..Options::default()
    });
    for path in ["/__changes?list=x", "/__changes?list=pools&skip=a"] {
        assert_eq!(send(&sandbox, "GET", path, &[], "").status, 400, "{path}");
    }
    sandbox.changes("x", 0).unwrap_err();
}

#[test]
fn asking_how_a_list_changed_needs_the_name_of_a_list() {
    let sandbox = drifting(1);
    let path = "/__drift?list=x";
    assert_eq!(send(&sandbox, "GET", path, &[], "").status, 400);
}
