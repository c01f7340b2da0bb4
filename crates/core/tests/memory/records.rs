//! What a scan keeps of each record that it has delivered: at most 100 bytes at the peak.

use super::child::{self, peak};
use talentdata_core::Client;
use talentdata_sandbox::{Options, Sandbox, limit::Policy};

const TEST: &str = "records::a_record_takes_at_most_a_hundred_bytes";
/// Enough that what a client takes in any case has been taken.
const FEW: u64 = 20_000;
const MANY: u64 = 220_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_takes_at_most_a_hundred_bytes() {
    if let Some(settings) = child::input::<[String; 3]>() {
        child::tell(&taken_by_a_scan(&settings).await);
    }
    let taken = |records: u64| {
        let sandbox = Sandbox::start(Options {
            records: [("pools".to_owned(), records)].into(),
            policy: Policy::Unlimited,
            ..Options::default()
        });
        let sandbox = sandbox.unwrap();
        let settings = [
            sandbox.base_url(),
            sandbox.client_id(),
            sandbox.client_secret(),
        ];
        child::run::<usize>(TEST, &settings)
    };
    let (few, many) = (taken(FEW), taken(MANY));
    let each = many.saturating_sub(few) as u64 / (MANY - FEW);
    println!("{each} bytes a record ({few} and {many} bytes)");
    assert!(
        each <= 100,
        "{each} bytes a record ({few} and {many} bytes)"
    );
}

/// The peak after a scan that keeps none of its records, in bytes.
async fn taken_by_a_scan([base_url, id, secret]: &[String; 3]) -> usize {
    let mut builder = Client::builder();
    builder.base_url(base_url).paced(false);
    let client = builder.client_id(id).client_secret(secret).build().unwrap();
    let mut scan = client.pools().raw().list();
    let mut records = 0;
    while let Some(batch) = scan.next_batch().await {
        records += batch.unwrap().records.len() as u64;
    }
    assert_eq!(scan.receipt().records, records);
    assert!(records >= FEW);
    peak()
}
