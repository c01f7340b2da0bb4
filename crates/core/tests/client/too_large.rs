//! Services that cannot send pages as large as documented, with different ways to say so; and services that do not
//! report the length of a list.

use crate::start;
use crate::stub::{Request, api, contacts, page, reply, serve, settings, token};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use talentdata_core::scan::{Basis, Completeness, Receipt, ScanOptions};
use talentdata_core::settings::Builder;
use talentdata_core::types::ListName;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_sandbox::{LargeLimits, Options, Total};

type Answer = (u16, &'static str, String);

/// Returns a client of a service that gives this answer to requests for pages of contacts, and the limits that were
/// requested.
fn client(
    change: impl FnOnce(&mut Builder),
    answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> (Client, Arc<Mutex<Vec<u64>>>) {
    let limits = Arc::default();
    let asked: Arc<Mutex<Vec<u64>>> = Arc::clone(&limits);
    let mut settings = settings(&serve(api(move |request| {
        asked.lock().unwrap().extend(request.number("limit"));
        answer(request)
    })));
    settings.paced(false);
    change(&mut settings);
    (settings.build().unwrap(), limits)
}

async fn read(client: &Client, options: ScanOptions) -> Result<Receipt, Error> {
    let mut scan = client.contacts().scan(options);
    while let Some(record) = scan.next().await {
        record?;
    }
    Ok(scan.receipt())
}

/// Returns the answers of services to a limit above 40.
fn refusals() -> Vec<(&'static str, Answer)> {
    let body = |text: &str| text.to_owned();
    vec![
        ("400 without a word", (400, "", body(""))),
        (
            "400 that names the limit",
            (400, "", body("limit must be between 1 and 40")),
        ),
        (
            "422 as FastAPI writes it",
            (
                422,
                "",
                body(
                    r#"{"detail":[{"loc":["query","limit"],"msg":"Input should be less than or equal to 40"}]}"#,
                ),
            ),
        ),
        ("413", (413, "", body("too large"))),
        ("500", (500, "", body(""))),
        ("502", (502, "", body("<html>Bad Gateway</html>"))),
        ("504", (504, "", body("upstream request timeout"))),
        (
            "200 and no success",
            (
                200,
                "",
                body(r#"{"success":false,"message":"limit too high"}"#),
            ),
        ),
    ]
}

#[tokio::test]
async fn a_list_whose_pages_are_all_too_large_is_read_in_smaller_pages() {
    for (name, refusal) in refusals() {
        let (client, limits) = client(
            |_| {},
            move |request| match request.number("limit") {
                Some(41..) => refusal.clone(),
                _ => (200, "", contacts(request, 730)),
            },
        );
        let receipt = read(&client, ScanOptions::default()).await.unwrap();
        assert_eq!(
            (receipt.records, receipt.basis),
            (730, Some(Basis::Counted)),
            "{name}"
        );
        let reduced = receipt.reduced_page_size.unwrap();
        assert!((25..=40).contains(&reduced), "{name}: {reduced}");
        let limits = limits.lock().unwrap().clone();
        let refused = limits.iter().filter(|limit| **limit > 40).count();
        assert!(refused <= 5, "{name}: {limits:?}");
        // The plan and a single page adapt in the same way.
        let plan = client.contacts().plan().await.unwrap();
        assert_eq!(plan.records, 730, "{name}");
        let page = client.contacts().page(Some(100), 50).await.unwrap();
        assert!((25..=40).contains(&page.records.len()), "{name}");
    }
}

#[tokio::test]
async fn a_page_that_takes_too_long_or_exceeds_bounds_is_read_in_parts() {
    let slow = serve(|request: &Request, socket: &mut std::net::TcpStream| {
        if request.asks_for_a_token() {
            return reply(socket, 200, "", token("t", 3600.0));
        }
        if request.number("limit") > Some(30) {
            // Wait until the client gives up.
            std::thread::sleep(Duration::from_secs(30));
            return;
        }
        reply(socket, 200, "", contacts(request, 130));
    });
    let mut slow = settings(&slow);
    slow.paced(false)
        .attempt_timeout(Duration::from_millis(300));
    let huge = |id: u64| format!(r#"{{"id":"{id}","firstName":"{}"}}"#, "x".repeat(1_500_000));
    let (huge, _) = client(
        |_| {},
        move |request| (200, "", page(request, "contacts", 130, 100, huge)),
    );
    for client in [slow.build().unwrap(), huge] {
        let mut scan = client.resource(ListName::Contacts).list();
        let mut records = 0;
        while let Some(record) = scan.next().await {
            record.unwrap();
            records += 1;
        }
        let receipt = scan.receipt();
        assert_eq!((records, receipt.completeness), (130, Completeness::Proven));
        assert!(receipt.reduced_page_size < Some(51), "{receipt:?}");
    }
}

#[tokio::test]
async fn one_region_of_large_records_is_read_in_parts_and_the_rest_in_whole_pages() {
    for (name, refusal) in refusals() {
        let (client, limits) = client(
            |_| {},
            move |request| {
                let offset = request.number("offset").unwrap();
                let limit = request.number("limit").unwrap();
                if limit > 12 && offset < 1_310 && offset + limit > 1_300 {
                    return refusal.clone();
                }
                (200, "", contacts(request, 5_000))
            },
        );
        let receipt = read(&client, ScanOptions::default()).await.unwrap();
        assert_eq!(
            (receipt.records, receipt.completeness),
            (5_000, Completeness::Proven),
            "{name}: {receipt:?}"
        );
        assert!(receipt.reduced_page_size < Some(13), "{name}");
        let limits = limits.lock().unwrap();
        assert!(
            limits.iter().filter(|limit| **limit >= 40).count() > 20,
            "{name}: {limits:?}"
        );
        assert!(limits.len() < 300, "{name}: {}", limits.len());
    }
}

#[tokio::test]
async fn a_refusal_with_another_cause_takes_few_requests_and_is_the_error() {
    let count = AtomicU64::new(0);
    let (client, limits) = client(
        |_| {},
        move |_| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            (400, "", format!("no {number}"))
        },
    );
    let error = read(&client, ScanOptions::default()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.status()),
        (ErrorKind::BadRequest, Some(400))
    );
    assert_eq!(error.body(), Some("no 0"));
    assert_eq!(*limits.lock().unwrap(), [100, 50, 25, 12, 6]);
}

#[tokio::test]
async fn a_page_size_of_the_caller_is_never_exceeded() {
    let (client, limits) = client(
        |_| {},
        |request| match request.number("limit") {
            Some(21..) => (413, "", String::new()),
            _ => (200, "", contacts(request, 3_000)),
        },
    );
    let options = ScanOptions::default().with_page_size(40);
    let receipt = read(&client, options).await.unwrap();
    assert_eq!(receipt.basis, Some(Basis::Counted));
    let limits = limits.lock().unwrap();
    let tried = limits.iter().filter(|limit| **limit > 20).count();
    assert!(
        limits.iter().all(|limit| *limit <= 40) && (2..6).contains(&tried),
        "{limits:?}"
    );
}

#[tokio::test]
async fn a_sandbox_that_refuses_large_limits_and_hides_totals_is_read_whole() {
    for total in [
        Total::Exact,
        Total::Text,
        Total::Null,
        Total::Absent,
        Total::Nothing,
    ] {
        for large_limits in LargeLimits::ALL {
            let (_sandbox, mut settings) = start(Options {
                max_limit: Some(50),
                large_limits,
                total,
                records: [("contacts".to_owned(), 730), ("pools".to_owned(), 260)].into(),
                ..Options::default()
            });
            let client = settings.paced(false).build().unwrap();
            let receipt = read(&client, ScanOptions::default()).await.unwrap();
            let is_told = matches!(total, Total::Exact | Total::Text);
            let basis = if is_told {
                Basis::Counted
            } else {
                Basis::Joined
            };
            assert_eq!(
                (receipt.records, receipt.basis),
                (730, Some(basis)),
                "{total} {large_limits}"
            );
            assert_eq!(receipt.total_last, is_told.then_some(730), "{total}");
            let plan = client.pools().plan().await.unwrap();
            assert_eq!(plan.records, 260, "{total} {large_limits}");
        }
    }
}

#[tokio::test]
async fn pagination_members_are_hints() {
    for (paging, basis) in [
        (
            r#""total":"250","limit":"100","offset":"0","hasMore":"true""#,
            None,
        ),
        (
            r#""total":130.0,"limit":1e2,"offset":OFFSET.0,"hasMore":MORE"#,
            Some(Basis::Counted),
        ),
        (r#""total":"130","offset":"OFFSET""#, Some(Basis::Counted)),
        (
            r#""total":null,"limit":null,"offset":null,"hasMore":"MORE""#,
            Some(Basis::Joined),
        ),
        (r#""total":-1,"hasMore":MORE"#, Some(Basis::Joined)),
        (r#""hasMore":NUMBER"#, Some(Basis::Joined)),
        (
            r#""total":{"value":130},"hasMore":"yes""#,
            Some(Basis::Joined),
        ),
        ("", Some(Basis::Joined)),
    ] {
        let (client, _) = client(
            |_| {},
            move |request| {
                let body = contacts(request, 130);
                let (records, _) = body.split_once(r#","pagination""#).unwrap();
                let more = body.contains(r#""hasMore":true"#);
                let offset = request.number("offset").unwrap();
                let paging = paging
                    .replace("OFFSET", &offset.to_string())
                    .replace("MORE", &more.to_string())
                    .replace("NUMBER", &u8::from(more).to_string());
                (200, "", format!(r#"{records},"pagination":{{{paging}}}}}"#))
            },
        );
        let read = read(&client, ScanOptions::default()).await;
        match basis {
            Some(_) => {
                let receipt = read.unwrap();
                assert_eq!((receipt.records, receipt.basis), (130, basis), "{paging}");
            }
            // The offset contradicts the requested one.
            None => assert_eq!(read.unwrap_err().kind(), ErrorKind::Paging),
        }
    }
    // There may be no such object at all.
    for without in ["null", "[]", "7"] {
        let (client, _) = client(
            |_| {},
            move |request| {
                let body = contacts(request, 130);
                let (records, _) = body.split_once(r#","pagination""#).unwrap();
                (200, "", format!(r#"{records},"pagination":{without}}}"#))
            },
        );
        let receipt = read(&client, ScanOptions::default()).await.unwrap();
        assert_eq!(
            (receipt.records, receipt.basis),
            (130, Some(Basis::Joined)),
            "{without}"
        );
    }
}

#[tokio::test]
async fn a_record_that_is_not_json_is_named_and_requested_twice() {
    let count = Arc::new(AtomicU64::new(0));
    let requests = Arc::clone(&count);
    let (client, _) = client(
        |_| {},
        move |request| {
            let body = contacts(request, 250);
            if request.number("offset") == Some(0) {
                return (200, "", body);
            }
            requests.fetch_add(1, Ordering::SeqCst);
            (
                200,
                "",
                body.replace(
                    r#""id":"117","firstName":"A""#,
                    r#""id":"117","firstName":NaN"#,
                ),
            )
        },
    );
    // No page is read ahead, so that the requests can be counted.
    let options = ScanOptions::default().with_limit(150).with_page_size(100);
    let error = read(&client, options).await.unwrap_err();
    let said =
        "contacts[18].firstName (offset 117, id \"117\") is not JSON: found NaN, at line 1 column";
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.message().starts_with(said), "{error}");
    assert_eq!((error.offset(), error.attempts()), (Some(99), 2), "{error}");
}
