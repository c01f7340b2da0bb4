//! Pages of any size become batches, even if an error ends the list.

use super::record;
use crate::arrow::stream::Batches;
use crate::arrow::{RecordBatch, SchemaRef, TableOptions, TableSchema};
use std::task::Poll;
use std::vec::IntoIter;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

fn page(from: usize, to: usize) -> Result<Vec<RawRecord>> {
    let record = |number| record(format!("{{\"id\":\"{number}\",\"at\":{number}}}"));
    Ok((from..to).map(record).collect())
}

fn failed() -> Result<Vec<RawRecord>> {
    Err(Error::new(ErrorKind::Server, "the service failed"))
}

/// The batches of these pages.
struct Reader(Batches, IntoIter<Result<Vec<RawRecord>>>);

impl Reader {
    fn new(pages: Vec<Result<Vec<RawRecord>>>, rows: usize) -> Self {
        let batches = Batches::new(
            ListName::Contacts,
            &TableOptions::default().with_batch_rows(rows),
        );
        Reader(batches, pages.into_iter())
    }

    fn schema(&mut self) -> Result<SchemaRef> {
        loop {
            match self.0.builder()? {
                Some(builder) => return Ok(builder.schema()),
                None => self.0.add(self.1.next()),
            }
        }
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next() {
                Poll::Ready(batch) => return batch,
                Poll::Pending => self.0.add(self.1.next()),
            }
        }
    }
}

/// Returns the rows of the batches, and the error at the end.
fn run(pages: Vec<Result<Vec<RawRecord>>>, rows: usize) -> (Vec<usize>, Option<ErrorKind>) {
    let (mut sizes, mut failed) = (Vec::new(), None);
    for batch in Reader::new(pages, rows) {
        assert_eq!(failed, None);
        match batch {
            Ok(batch) => sizes.push(batch.num_rows()),
            Err(error) => failed = Some(error.kind()),
        }
    }
    (sizes, failed)
}

#[test]
fn pages_are_regrouped_and_records_before_an_error_are_returned_before_it() {
    let most = TableSchema::SAMPLE;
    let pages = || vec![page(0, 3), page(3, most + 3), page(most + 3, most + 7)];
    let large = |_| record(format!("{{\"note\":\"{}\"}}", "x".repeat(7 << 20)));
    let server = Some(ErrorKind::Server);
    for (pages, rows, sizes, error) in [
        (pages(), 500, &[500, 500, 7][..], None),
        (pages(), 2000, &[1007], None),
        (vec![page(0, 2)], 0, &[1, 1], None),
        (vec![], 10, &[], None),
        (vec![failed()], 10, &[], server),
        (vec![page(0, 3), failed()], 10, &[3], server),
        (vec![page(0, 1500), failed()], 1000, &[1000, 500], server),
        // Large records make smaller batches.
        (vec![Ok((0..4).map(large).collect())], 100, &[3, 1], None),
    ] {
        assert_eq!(run(pages, rows), (sizes.to_vec(), error));
    }
}

#[test]
fn the_schema_is_known_before_the_first_batch_and_for_an_empty_list() {
    let mut scan = Reader::new(vec![page(0, 3)], 10);
    let schema = scan.schema().unwrap();
    assert_eq!(schema.fields().len(), 6);
    assert_eq!(scan.next().unwrap().unwrap().schema(), schema);
    let mut empty = Reader::new(vec![], 10);
    assert_eq!(empty.schema().unwrap().fields().len(), 5);
    let mut broken = Reader::new(vec![failed()], 10);
    assert_eq!(broken.schema().unwrap_err().kind(), ErrorKind::Server);
    assert!(broken.next().is_none());
}
