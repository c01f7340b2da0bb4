//! What a buffer hands out, to whom, and what it advises whoever it refuses.

use super::buffer::{Buffer, Hints, Use};
use talentdata_core::ErrorKind;
use talentdata_core::RawRecord;
use talentdata_core::scan::{Completeness, Receipt};

const HINTS: Hints = Hints {
    stopped: "closed",
    restart: "again()",
    share_or: "share() or ",
    resume_or: "resume() or ",
    keep_or: "keep() or ",
};

fn buffer(records: usize) -> Buffer {
    let received = Receipt {
        records: records as u64,
        completeness: Completeness::Proven,
        ..Receipt::default()
    };
    let mut buffer = Buffer::new(HINTS, received);
    let record = |_| RawRecord::parse("{\"id\":\"1\"}").unwrap();
    buffer.records = (0..records).map(record).collect();
    buffer
}

#[test]
fn the_first_use_keeps_the_scan() {
    let mut buffer = buffer(2);
    let (first, second) = (Use::Records(0), Use::Records(1));
    assert!(buffer.take(first).is_none());
    buffer.claim(first).unwrap();
    assert!(buffer.take(second).is_none() && buffer.take(first).is_some());
    buffer.claim(first).unwrap();
    for other in [second, Use::Table, Use::Stream(0)] {
        let error = buffer.claim(other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn the_receipt_counts_what_was_handed_out() {
    let mut buffer = buffer(3);
    buffer.claim(Use::Records(0)).unwrap();
    for taken in 0..3 {
        let receipt = buffer.receipt();
        assert_eq!(receipt.records, taken);
        assert_eq!(receipt.completeness, Completeness::Unfinished);
        buffer.take(Use::Records(0)).unwrap();
    }
    assert_eq!(buffer.receipt().completeness, Completeness::Proven);
    let mut cleared = self::buffer(3);
    cleared.clear();
    assert_eq!(cleared.receipt().records, 0);
    assert_eq!(cleared.receipt().completeness, Completeness::Unfinished);
}

#[test]
fn refusals_say_what_to_do_instead() {
    for (usage, end, advice) in [
        (Use::Records(0), None, "share() or again()"),
        (Use::Records(0), Some(true), "keep() or again()"),
        (Use::Table, None, "resume() or again()"),
        (Use::Table, Some(true), "resume() or again()"),
        (Use::Stream(0), None, "keep() or again()"),
        (Use::Stream(0), Some(true), "keep() or again()"),
        (Use::Stream(0), Some(false), "has failed; again()"),
    ] {
        let mut buffer = buffer(0);
        buffer.claim(usage).unwrap();
        end.into_iter().for_each(|well| buffer.end(well));
        let error = buffer.claim(Use::Stream(9)).unwrap_err();
        assert!(error.message().ends_with(advice), "{usage:?}: {error}");
        // Whoever has it goes on, unless there is nothing more to come.
        assert_eq!(buffer.claim(usage).is_ok(), end != Some(false));
    }
}

#[test]
fn a_table_is_given_once_and_only_when_it_is_complete() {
    let mut buffer = buffer(0);
    buffer.claim(Use::Table).unwrap();
    assert!(buffer.table().is_err());
    buffer.schema = Some(std::sync::Arc::new(arrow_schema::Schema::empty()));
    buffer.end(true);
    assert!(buffer.table().is_ok() && buffer.table().is_ok());
    buffer.give_table();
    let error = buffer.table().unwrap_err();
    assert!(error.message().contains("has ended"), "{error}");
}
