//! A list that changes while it is exported, stopped and resumed: what stayed is there, once, in order.

use super::{Service, export, run, run_pages};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use talentdata_core::scan::Completeness;
use talentdata_sandbox::Drift;

#[tokio::test]
async fn what_stayed_all_the_time_is_there_once() {
    for seed in 0..8 {
        let drift = Drift {
            every_requests: 3,
            inserts: 2,
            deletes: 1,
            seed,
            ..Drift::default()
        };
        let service = Service::start_with(300, Some(drift));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.jsonl");
        for pages in [3, 1, 7] {
            run_pages(&export(&path), &service.client, pages)
                .await
                .unwrap_err();
        }
        let receipt = run(&export(&path), &service.client).await.unwrap();
        assert_eq!(
            receipt.completeness,
            Completeness::Proven,
            "seed {seed}: {receipt:?}"
        );
        let text = fs::read_to_string(&path).unwrap();
        let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].to_string();
        let written: Vec<String> = text.lines().map(id).collect();
        assert_eq!(receipt.records as usize, written.len());
        let distinct: HashSet<&String> = written.iter().collect();
        assert_eq!(distinct.len(), written.len(), "seed {seed}: repeated");
        let truth = service.ask("GET", "/__drift?list=contacts", &json!(null));
        let stayed = truth["stayed"].as_array().unwrap();
        assert!(stayed.len() > 100, "{}", stayed.len());
        for id in stayed {
            assert!(
                distinct.contains(&id.to_string()),
                "seed {seed}: {id} is lost"
            );
        }
    }
}
