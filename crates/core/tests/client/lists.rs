//! Lists, page by page and as scans.

use crate::start;
use std::collections::HashSet;
use std::time::Duration;
use talentdata_core::scan::{Completeness, ScanOptions};
use talentdata_core::types::Resource;
use talentdata_core::{Client, ErrorKind};
use talentdata_sandbox::{Options, Sandbox, limit::Policy};

#[tokio::test]
async fn every_list_arrives_once_and_in_order() {
    let sizes = Resource::ALL.map(|resource| (resource.name().to_owned(), 80));
    let (sandbox, client) = start(Options {
        records: sizes.into(),
        policy: Policy::Unlimited,
        max_limit: Some(37),
        ..Options::default()
    });
    for resource in Resource::ALL {
        let mut scan = client.resource(resource).list();
        let mut ids = Vec::new();
        while let Some(record) = scan.next().await {
            let record: serde_json::Value = record.unwrap().to().unwrap();
            ids.push(record["id"].to_string());
        }
        let receipt = scan.receipt();
        assert_eq!(receipt.completeness, Completeness::Proven, "{resource}");
        assert_eq!(Some(ids.len() as i64), receipt.total_last, "{resource}");
        let mut serial = Vec::new();
        while serial.len() < ids.len() {
            let page = client
                .resource(resource)
                .page(Some(37), serial.len() as u64)
                .await
                .unwrap();
            serial.extend(
                page.records
                    .iter()
                    .map(|record| record.to::<serde_json::Value>().unwrap()["id"].to_string()),
            );
        }
        assert_eq!(ids, serial, "{resource}");
        assert_eq!(
            ids.iter().collect::<HashSet<_>>().len(),
            ids.len(),
            "{resource}"
        );
    }
    assert_eq!(sandbox.stats().token_posts, 1);
}

#[tokio::test]
async fn an_impossible_page_size_is_refused_before_anything_is_sent() {
    let (sandbox, client) = start(Options::default());
    for page_size in [0, 101] {
        let options = ScanOptions {
            page_size: Some(page_size),
            ..ScanOptions::default()
        };
        let mut scan = client.contacts().scan(options);
        let error = scan.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("page_size"), "{error}");
        assert!(scan.next().await.is_none());
    }
    assert_eq!(sandbox.stats().token_posts, 0);
}

#[tokio::test]
async fn pages_that_wait_for_their_turn_are_not_out_of_time() {
    let sandbox = Sandbox::start(Options {
        records: [("pools".to_owned(), 1500)].into(),
        ..Options::default()
    })
    .unwrap();
    // Eight pages a second, which are asked for at once: the last one waits for two seconds.
    let client = Client::builder()
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret())
        .share(0.2)
        .timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let mut scan = client.pools().list();
    while let Some(record) = scan.next().await {
        record.unwrap();
    }
    assert_eq!(scan.receipt().records, 1500);
}
