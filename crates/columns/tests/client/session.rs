//! A session: shared by tasks, given up and gone on with, handed from records to columns, and stopped.

use crate::start;
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use talentdata_columns::arrow::TableOptions;
use talentdata_columns::session::{Hints, Session, Use};
use talentdata_core::scan::Completeness;
use talentdata_core::types::Resource;
use talentdata_core::{Client, ErrorKind, ScanOptions};
use talentdata_sandbox::{Options, Sandbox, limit::Policy};

fn session(records: u64) -> (Sandbox, Client, Arc<Session>) {
    let (sandbox, client) = start(Options {
        policy: Policy::Unlimited,
        records: [("contacts".to_owned(), records)].into(),
        ..Options::default()
    });
    let options = ScanOptions::default();
    let session = Session::new(
        Resource::Contacts,
        options,
        TableOptions::default(),
        100,
        Hints::PLAIN,
    );
    (sandbox, client, Arc::new(session))
}

/// All records that this reader gets; it gives up every wait once before it waits to the end.
async fn read(session: &Session, client: &Client, usage: Use) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        while let Some(record) = session.take(usage) {
            all.push(record.as_str().to_owned());
        }
        give_up(session.fill(client, usage));
        if !session.fill(client, usage).await.unwrap() {
            return all;
        }
    }
}

/// Waits a moment that is too short for anything.
fn give_up(wait: impl Future) {
    let mut context = Context::from_waker(Waker::noop());
    let _ = pin!(wait).poll(&mut context);
}

#[tokio::test]
async fn tasks_share_the_records_and_a_wait_that_is_given_up_loses_none() {
    let (_sandbox, client, session) = session(2000);
    let usage = session.records();
    let readers = [(); 4].map(|()| {
        let (client, session) = (client.clone(), Arc::clone(&session));
        tokio::spawn(async move { read(&session, &client, usage).await })
    });
    let mut all = Vec::new();
    for reader in readers {
        all.extend(reader.await.unwrap());
    }
    assert_eq!(all.len(), 2000);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 2000);
    let receipt = session.receipt();
    assert_eq!(receipt.records, 2000);
    assert_eq!(receipt.completeness, Completeness::Proven);
}

#[tokio::test]
async fn nothing_is_handed_out_once_it_was_closed() {
    let (sandbox, client, session) = session(250);
    let usage = session.records();
    assert_eq!(sandbox.stats().requests, 0);
    session.fill(&client, usage).await.unwrap();
    session.take(usage).unwrap();
    session.close();
    assert!(session.take(usage).is_none());
    for usage in [usage, Use::Table, session.stream()] {
        let error = session.fill(&client, usage).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.message().contains("the scan was stopped"), "{error}");
    }
    let receipt = session.receipt();
    assert_eq!(receipt.records, 1);
    assert_eq!(receipt.completeness, Completeness::Unfinished);
}
