//! Lists that change between page requests (section 8, pagination, rule 7), and services that sort badly, lag, repeat
//! records or report no length.

use crate::{Service, start, table, text_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use talentdata_sandbox::{Change, ListOrder, Logged, Options, Pages, Replicas, Total};

/// Starts a service with this many contacts, and no pools.
fn with(contacts: u64, set: impl FnOnce(&mut Options)) -> Service {
    let sizes = [("contacts", contacts), ("pools", 0)];
    start(|options| {
        options.faults = true;
        options.max_limit = Some(10_000);
        options.records = sizes.map(|(list, size)| (list.to_owned(), size)).into();
        set(options);
    })
}

fn page(service: &Service, limit: usize, offset: usize) -> Value {
    service.get(&format!("/v1/contacts?limit={limit}&offset={offset}"))
}

fn ids(page: &Value) -> Vec<String> {
    let records = page["contacts"].as_array().unwrap().iter();
    records.map(|record| record["id"].to_string()).collect()
}

#[test]
fn a_list_without_drift_can_be_changed_at_once() {
    let order = ListOrder::Updated;
    let service = with(30, |options| options.order = order);
    let before = ids(&page(&service, 100, 0));
    let change = |change: &str| service.ask("POST /__drift?list=contacts", change).status;
    assert_eq!(change(r#"{"delete_first": 3}"#), 200);
    assert_eq!(change(r#"{"update": 1}"#), 200);
    let after = ids(&page(&service, 100, 0));
    let kept = before[3..].iter().filter(|id| **id != after[26]);
    assert!(kept.eq(&after[..26]), "in their order before");
    service.change("contacts", Change::Shuffle).unwrap();
    assert_ne!(ids(&page(&service, 100, 0)), after);
    for (line, body) in table::<Vec<(String, Value)>>("changes") {
        let body = text_of(&body);
        assert_eq!(service.ask(&line, &body).status, 400, "{line} {body}");
    }
    service.change("x", Change::Shuffle).unwrap_err();
    service.changes("x", 0).unwrap_err();
}

/// Returns the list that results from the log, record by record.
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
fn a_list_changes_between_its_requests_as_the_log_says() {
    for order in ListOrder::ALL {
        let drift = "every=2,inserts=3,deletes=2,updates=5,seed=8";
        let service = with(300, |options| {
            options.order = order;
            options.drift = Some(drift.parse().unwrap());
        });
        let before = page(&service, 10_000, 0);
        for offset in 0..79 {
            page(&service, 10, offset);
            // Other lists have counts of their own.
            service.get("/v1/pools");
        }
        let after = page(&service, 10_000, 0);
        assert_eq!(after["pagination"]["total"], 340);
        let asked = |skip: usize| service.get(&format!("/__changes?list=contacts&skip={skip}"));
        let (all, last) = (asked(0), asked(399));
        let changes = all["changes"].as_array().unwrap();
        assert_eq!((changes.len(), &all["next"]), (400, &json!(400)), "{order}");
        let replay = replayed(&before, changes);
        assert_eq!(replay, replayed(&after, &[]), "{order}");
        if order == ListOrder::Stable {
            let [inserted, deleted] = ["insert", "delete"].map(|op| -> BTreeSet<String> {
                let of = changes.iter().filter(|change| change["op"] == op);
                of.map(|change| change["key"].to_string()).collect()
            });
            let (mut before, mut after) = (ids(&before), ids(&after));
            before.retain(|id| !deleted.contains(id));
            after.retain(|id| !inserted.contains(id));
            assert_eq!(before, after, "the others keep their order");
        }
        assert_eq!(last["changes"][0], changes[399]);
        let mut times = changes.iter().map(|one| one["at"].as_str().unwrap());
        assert!(times.clone().is_sorted());
        let form = "2026-01-01T00:00:00.000000Z";
        assert!(times.all(|at| at.len() == form.len() && at.starts_with("20")));
        let in_process = service.changes("contacts", 0).unwrap();
        let in_process: Vec<Value> = in_process.iter().map(Logged::to_json).collect();
        assert_eq!(&in_process, changes);
    }
}

fn pagination(total: u64, limit: u64, offset: u64, has_more: bool) -> Value {
    json!({"total": total, "limit": limit, "offset": offset, "hasMore": has_more})
}

#[test]
fn replicas_disagree_in_turn() {
    let service = with(300, |options| options.replicas = Some(Replicas::default()));
    for _ in 0..3 {
        let [one, other] = [(); 2].map(|()| page(&service, 100, 200));
        assert_eq!(one["pagination"], pagination(300, 100, 200, false));
        assert_eq!(other["pagination"], pagination(225, 25, 200, false));
        assert_eq!(ids(&one)[..25], ids(&other));
    }
}

#[test]
fn pagination_can_report_nothing_or_lie() {
    for (total, offset, expected) in [
        (Total::Exact, 100, pagination(300, 100, 100, true)),
        (Total::Exact, 900, pagination(300, 0, 900, false)),
        (Total::Zero, 100, pagination(0, 100, 100, true)),
        (Total::Zero, 200, pagination(0, 100, 200, false)),
        (Total::Unknown, 100, pagination(0, 100, 100, true)),
        (Total::Unknown, 900, pagination(0, 0, 900, true)),
    ] {
        let service = with(300, |options| options.total = total);
        let page = page(&service, 100, offset);
        assert_eq!(page["pagination"], expected, "{total} {offset}");
    }
    for (total, expected) in [
        (
            Total::Text,
            json!({"total": "300", "limit": "100", "offset": "200", "hasMore": "false"}),
        ),
        (
            Total::Null,
            json!({"total": null, "limit": 100, "offset": 200, "hasMore": false}),
        ),
        (Total::Absent, json!({"limit": 100, "offset": 200})),
        (Total::Nothing, Value::Null),
    ] {
        let service = with(300, |options| options.total = total);
        assert_eq!(page(&service, 100, 200)["pagination"], expected, "{total}");
    }
    let first = ids(&page(&with(300, |_| {}), 100, 0));
    for (pages, limit, told) in [
        (Pages::Rounded, 100, 99),
        (Pages::Told, 100, 0),
        (Pages::Fixed, 20, 99),
    ] {
        let service = with(300, |options| {
            options.pages = pages;
            options.max_limit = Some(100);
        });
        let other = page(&service, limit, 99);
        assert_eq!(
            other["pagination"],
            pagination(300, 100, told, true),
            "{pages}"
        );
        assert_eq!(ids(&other), first, "{pages}");
    }
    let service = with(300, |options| options.pages = Pages::Refused);
    assert_eq!(
        service
            .ask("GET /v1/contacts?limit=100&offset=99", "")
            .status,
        400
    );
    assert_eq!(
        ids(&page(&service, 99, 99)),
        ids(&page(&with(300, |_| {}), 99, 99))
    );

    let service = with(300, |options| options.ignore_offset = true);
    let other = page(&service, 100, 200);
    assert_eq!(other["pagination"], pagination(300, 100, 200, false));
    assert_eq!(ids(&other), ids(&page(&service, 100, 0)));

    let service = with(300, |options| options.later_max_limit = Some(50));
    let lengths = [0; 5].map(|offset| ids(&page(&service, 100, offset)).len());
    assert_eq!(lengths, [100, 100, 100, 50, 50]);

    let service = with(300, |options| options.warnings = true);
    let pools = service.get("/v1/pools");
    let members = pools.as_object().unwrap().values();
    let arrays = members.filter(|one| one.is_array());
    let warnings = pools["warnings"].as_array().unwrap();
    assert_eq!((arrays.count(), warnings.len()), (2, 1), "{pools}");
    let contacts = service.get("/v1/contacts?offset=900");
    assert!(contacts["contacts"] == json!([]) && contacts.get("warnings").is_none());
}
