//! Answers that end too early, at every byte: never taken for a whole one.

use crate::{fault::post_rules, start};
use serde_json::json;
use std::sync::Arc;
use talentdata_core::{Client, ErrorKind};
use talentdata_sandbox::{Options, Sandbox, limit::Policy};

/// How the connection ends after so many bytes, and how the body's end is told.
const ENDS: [(&str, &str); 5] = [
    ("fin", "length"),
    ("rst", "length"),
    ("fin", "chunked"),
    ("rst", "chunked"),
    ("fin", "close"),
];

fn client(sandbox: &Sandbox) -> Client {
    Client::builder()
        .base_url(sandbox.base_url())
        .max_attempts(1)
        .build()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_cut_answer_is_accepted() {
    let body = json!({"version": "1", "apiStatus": "operational", "endpoints": {}}).to_string();
    let (sandbox, _) = start(Options {
        policy: Policy::Unlimited,
        faults: true,
        ..Options::default()
    });
    let sandbox = Arc::new(sandbox);
    let (mut cuts, mut accepted) = (0, 0);
    for (how, framing) in ENDS {
        for cut in 0.. {
            let reply = json!({"body": body, "how": how, "framing": framing, "cut_at_wire": cut});
            post_rules(
                sandbox.base_url(),
                &[json!({"match": {"path": "/v1/version"}, "reply": reply})],
            );
            // A client of its own, because one client would keep to 40 requests a second.
            let Err(error) = client(&sandbox).version().await else {
                // Nothing was cut any more.
                accepted += 1;
                break;
            };
            let expected = [ErrorKind::Transport, ErrorKind::Decode];
            assert!(
                expected.contains(&error.kind()),
                "{how} {framing} {cut}: {error:?}"
            );
            assert!(
                error.kind() == ErrorKind::Transport || framing == "close",
                "{how} {framing} {cut}: {error:?}"
            );
            cuts += 1;
        }
    }
    assert_eq!(accepted, ENDS.len());
    assert!(cuts > 1000, "{cuts} cuts");
}
