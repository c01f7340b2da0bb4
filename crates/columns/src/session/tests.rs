//! The records that a session returns, its readers, and the advice to readers that it refuses.

use super::{Buffer, End, ReadMode, Session, Wording};
use crate::arrow::TableOptions;
use crate::arrow::tests::fails;
use talentdata_core::scan::{Completeness, Unproven};
use talentdata_core::types::ListName;
use talentdata_core::{ErrorKind, RawRecord, ScanOptions};

const HINTS: Wording = Wording {
    stopped: "closed",
    restart: "again()",
    share_or: "share() or ",
    resume_or: "resume() or ",
    keep_or: "keep() or ",
    frame_or: "frame() or ",
    unproven: "accept()",
};

/// Returns a session that has received this number of records, and no more will come.
fn session(records: usize) -> Session {
    let (options, table) = (ScanOptions::default(), TableOptions::default());
    let session = Session::new(
        ListName::Contacts,
        options,
        table.with_batch_rows(10),
        HINTS,
    );
    {
        let mut buffer = session.buffer();
        buffer.received.records = records as u64;
        buffer.received.completeness = Completeness::Proven;
        let record = |_| RawRecord::parse("{\"id\":\"1\"}").unwrap();
        buffer.records = (0..records).map(record).collect();
    }
    session
}

fn is_at(session: &Session, records: u64, completeness: Completeness) {
    let receipt = session.receipt();
    assert_eq!(
        (receipt.records, receipt.completeness),
        (records, completeness)
    );
}

#[test]
fn the_first_reader_keeps_the_scan_and_the_receipt_counts_its_records() {
    let session = session(3);
    let (first, second) = (session.records(), session.records());
    assert!(session.take(first).is_none());
    session.claim(first).unwrap();
    for taken in 0..3 {
        is_at(&session, taken, Completeness::Unfinished);
        for other in [second, ReadMode::Table, session.stream()] {
            fails(session.claim(other), ErrorKind::InvalidArgument, "");
        }
        assert!(session.take(second).is_none() && session.take(first).is_some());
        session.claim(first).unwrap();
    }
    is_at(&session, 3, Completeness::Proven);
    let closed = self::session(3);
    closed.claim(first).unwrap();
    closed.take(first).unwrap();
    closed.close();
    assert!(closed.take(first).is_none());
    for mode in [first, ReadMode::Table, closed.stream()] {
        let words = "the scan was closed";
        fails(closed.claim(mode), ErrorKind::Cancelled, words);
    }
    is_at(&closed, 1, Completeness::Unfinished);
}

#[test]
fn refusals_say_what_to_do_instead() {
    for (mode, end, advice) in [
        (ReadMode::Records(0), None, "share() or again()"),
        (
            ReadMode::Records(0),
            Some(End::Received),
            "keep() or again()",
        ),
        (ReadMode::Table, None, "resume() or again()"),
        (ReadMode::Table, Some(End::Received), "resume() or again()"),
        (ReadMode::Stream(0), None, "keep() or again()"),
        (
            ReadMode::Stream(0),
            Some(End::Received),
            "keep() or again()",
        ),
        (
            ReadMode::Stream(0),
            Some(End::Failed),
            "has failed; again()",
        ),
    ] {
        let session = session(0);
        session.claim(mode).unwrap();
        session.buffer().end = end;
        let error = session.claim(ReadMode::Stream(9)).unwrap_err();
        assert!(error.message().ends_with(advice), "{mode:?}: {error}");
        // Another read in this mode may continue, unless the scan has failed.
        assert_eq!(session.claim(mode).is_ok(), end != Some(End::Failed));
    }
}

#[test]
fn a_table_is_given_once_and_only_when_it_is_complete() {
    let session = session(0);
    session.claim(ReadMode::Table).unwrap();
    assert!(session.table().is_err());
    session.buffer().schema = Some(std::sync::Arc::new(arrow_schema::Schema::empty()));
    session.buffer().end = Some(End::Received);
    assert!(session.table().is_ok() && session.table().is_ok());
    session.table_taken();
    fails(session.table(), ErrorKind::InvalidArgument, "has ended");
}

#[test]
fn an_unproven_list_ends_as_the_option_or_the_mode_says() {
    let (fail, warn, accept) = (Unproven::Fail, Unproven::Warn, Unproven::Accept);
    for (mode, by_default, advice) in [
        (ReadMode::Records(0), accept, ""),
        (ReadMode::Table, warn, "; accept()"),
        (ReadMode::Stream(0), fail, "; frame() or accept()"),
    ] {
        for (chosen, end, advice) in [
            (None, by_default, advice),
            (Some(fail), fail, "; accept()"),
            (Some(warn), warn, "; accept()"),
            (Some(accept), accept, ""),
        ] {
            let mut session = session(0);
            session.options.unproven = chosen;
            let mut buffer = Buffer::default();
            buffer.received.completeness = Completeness::NotProven;
            let outcome = session.conclude(&mut buffer, mode);
            assert_eq!(
                (outcome.is_err(), buffer.warning.is_some()),
                (end == fail, end == warn)
            );
            let failure = outcome.err().map(|error| error.message().to_owned());
            let said = failure.or(buffer.warning).unwrap_or_default();
            assert!(
                said.is_empty() == (end == accept) && said.ends_with(advice),
                "{said}"
            );
            assert_eq!(said.contains("frame()"), advice.contains("frame()"));
        }
    }
}
