//! Services that sort badly, lag, repeat or tell nothing: what their answers look like.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use talentdata_sandbox::{Ids, Options, Order, Replicas, Sandbox, Total};

use crate::support::{get, token, unlimited};

/// With 300 contacts, and no pools.
fn odd(options: Options) -> (Sandbox, String) {
    let sizes = [("contacts", 300), ("pools", 0)];
    let sandbox = unlimited(Options {
        records: sizes.map(|(list, size)| (list.to_owned(), size)).into(),
        ..options
    });
    let token = token(&sandbox);
    (sandbox, token)
}

fn contacts((sandbox, token): &(Sandbox, String), offset: u64) -> Value {
    let path = format!("/v1/contacts?limit=100&offset={offset}");
    get(sandbox, &path, token).json()
}

fn ids(page: &Value) -> Vec<String> {
    let records = page["contacts"].as_array().unwrap().iter();
    records.map(|record| record["id"].to_string()).collect()
}

fn pagination(total: u64, limit: u64, offset: u64, has_more: bool) -> Value {
    json!({"total": total, "limit": limit, "offset": offset, "hasMore": has_more})
}

#[test]
fn only_ties_and_no_order_at_all_change_a_list_that_rests() {
    for order in Order::ALL {
        let service = odd(Options {
            order,
            ..Options::default()
        });
        let pages: Vec<_> = (0..4).map(|_| ids(&contacts(&service, 100))).collect();
        let distinct: BTreeSet<&Vec<String>> = pages.iter().collect();
        let all: BTreeSet<&String> = pages.iter().flatten().collect();
        let (orders, records) = match order {
            Order::Ties => (4, 100..=122),
            Order::Random => (4, 200..=300),
            _ => (1, 100..=100),
        };
        assert_eq!(distinct.len(), orders, "{order}");
        assert!(records.contains(&all.len()), "{order} {}", all.len());
    }
}

#[test]
fn replicas_take_turns_and_disagree() {
    let service = odd(Options {
        replicas: Some(Replicas::default()),
        ..Options::default()
    });
    let [full, lagging] = [0, 0].map(|_| contacts(&service, 200));
    assert_eq!(full["pagination"], pagination(300, 100, 200, false));
    assert_eq!(lagging["pagination"], pagination(225, 25, 200, false));
    assert_eq!(ids(&full)[..25], ids(&lagging));
}

#[test]
fn random_replicas_are_those_of_the_seed() {
    let turns = |seed| -> Vec<u64> {
        let service = odd(Options {
            seed,
            replicas: Some(Replicas {
                random: true,
                ..Replicas::default()
            }),
            ..Options::default()
        });
        let totals = (0..20).map(|_| contacts(&service, 0)["pagination"]["total"].clone());
        totals.map(|total| total.as_u64().unwrap()).collect()
    };
    assert_eq!(turns(1), turns(1));
    assert_ne!(turns(1), turns(2));
    assert!(turns(1).contains(&225) && turns(1).contains(&300));
}

#[test]
fn pagination_can_tell_nothing_or_lie() {
    for (total, offset, told) in [
        (Total::Exact, 100, pagination(300, 100, 100, true)),
        (Total::Exact, 900, pagination(300, 0, 900, false)),
        (Total::Zero, 100, pagination(0, 100, 100, true)),
        (Total::Zero, 200, pagination(0, 100, 200, false)),
        (Total::Unknown, 100, pagination(0, 100, 100, true)),
        (Total::Unknown, 900, pagination(0, 0, 900, true)),
    ] {
        let service = odd(Options {
            total,
            ..Options::default()
        });
        let page = contacts(&service, offset);
        assert_eq!(page["pagination"], told, "{total} {offset}");
    }
    let service = odd(Options {
        ignore_offset: true,
        ..Options::default()
    });
    let page = contacts(&service, 200);
    assert_eq!(page["pagination"], pagination(300, 100, 200, false));
    assert_eq!(ids(&page), ids(&contacts(&service, 0)));
}

#[test]
fn warnings_stand_beside_no_records() {
    let (sandbox, token) = odd(Options {
        warnings: true,
        ..Options::default()
    });
    let arrays = |path: &str| -> BTreeMap<String, usize> {
        let page = get(&sandbox, path, &token).json();
        let members = page.as_object().unwrap().clone().into_iter();
        let lengths = members.filter_map(|(name, value)| Some((name, value.as_array()?.len())));
        lengths.collect()
    };
    let pools = arrays("/v1/pools");
    assert_eq!((pools.len(), pools["warnings"]), (2, 1), "{pools:?}");
    let contacts = BTreeMap::from([("contacts".to_owned(), 0)]);
    assert_eq!(arrays("/v1/contacts?offset=900"), contacts);
}

#[test]
fn records_may_lack_an_id_or_share_it() {
    for ids in Ids::ALL {
        let service = odd(Options {
            ids,
            ..Options::default()
        });
        let all: Vec<Value> = [0, 100, 200]
            .iter()
            .flat_map(|offset| {
                contacts(&service, *offset)["contacts"]
                    .as_array()
                    .unwrap()
                    .clone()
            })
            .collect();
        let with_id = all.iter().filter(|record| record.get("id").is_some());
        let distinct: BTreeSet<String> =
            all.iter().map(|record| record["id"].to_string()).collect();
        let again = contacts(&service, 0)["contacts"] == json!(all[..100]);
        let expected = match ids {
            Ids::Unique | Ids::Numeric | Ids::Colliding => (300, 300, true),
            Ids::Repeated => (300, 299, true),
            Ids::None | Ids::Equal => (0, 1, true),
            Ids::Volatile => (0, 1, false),
        };
        assert_eq!((with_id.count(), distinct.len(), again), expected, "{ids}");
    }
}
