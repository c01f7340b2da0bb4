//! A scan whose records come as Arrow record batches.

use super::batch::BatchBuilder;
use super::check::Checker;
use super::infer::Seen;
use super::options::TableOptions;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use talentdata_core::RawRecord;
use talentdata_core::scan::{Receipt, Scan};
use talentdata_core::{Error, Result};

/// The record batches of a list, in order; a `Stream` of `Result<RecordBatch>`.
///
/// All batches have the same schema: the one that was given, else one decided from the first
/// [`TableSchema::SAMPLE`] records, or fewer that are large. What was received before an error comes before it,
/// in a batch that may be small.
pub struct BatchScan {
    scan: Scan,
    table: TableOptions,
    rows: usize,
    /// None until the columns are decided.
    builder: Option<BatchBuilder>,
    /// Compares the records with the schema that was given.
    checker: Option<Checker>,
    waiting: VecDeque<RawRecord>,
    sample: Vec<RawRecord>,
    seen: Seen,
    error: Option<Error>,
    ended: bool,
}

impl BatchScan {
    /// The records of a scan that were not yet taken, in record batches of `rows` rows; of fewer where they are large.
    pub fn new<T>(scan: Scan<T>, table: TableOptions, rows: usize) -> Self {
        BatchScan {
            checker: Checker::new(&table),
            scan: scan.into_raw(),
            table,
            rows,
            builder: None,
            waiting: VecDeque::new(),
            sample: Vec::new(),
            seen: Seen::default(),
            error: None,
            ended: false,
        }
    }

    /// The schema of all batches; waits for the first pages.
    ///
    /// # Errors
    /// That of the scan, when it failed before its first record.
    pub async fn schema(&mut self) -> Result<SchemaRef> {
        std::future::poll_fn(|context| self.poll_builder(context).map_ok(|b| b.schema())).await
    }

    /// The next batch; `None` at the end of the list.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// What has been done so far; final once the scan has ended.
    ///
    /// `records` counts the rows of the batches that the caller was given, and what was taken as records before.
    pub fn receipt(&self) -> Receipt {
        let rows = self.builder.as_ref().map_or(0, BatchBuilder::len);
        let held = self.sample.len() + self.waiting.len() + rows;
        let mut receipt = self.scan.receipt().without(held);
        receipt.schema = self.checker.as_ref().map(Checker::differences);
        receipt
    }

    /// Whether more records are needed to decide the columns.
    fn is_undecided(&self) -> bool {
        self.builder.is_none() && self.table.schema.is_none() && !self.seen.is_enough()
    }

    /// The builder, made as soon as there are enough records to decide the columns.
    fn poll_builder(&mut self, context: &mut Context<'_>) -> Poll<Result<&mut BatchBuilder>> {
        while self.is_undecided() && !self.ended {
            match ready!(self.poll_page(context)) {
                Some(page) => {
                    page.iter().for_each(|record| self.seen.add(record));
                    self.sample.extend(page);
                }
                None if self.sample.is_empty() => {
                    if let Some(error) = self.error.take() {
                        return Poll::Ready(Err(error));
                    }
                }
                None => {}
            }
        }
        let (sample, rows) = (&mut self.sample, self.rows);
        let (resource, table) = (self.scan.resource(), &self.table);
        let waiting = &mut self.waiting;
        let builder = match &mut self.builder {
            Some(builder) => builder,
            none => {
                let sample = std::mem::take(sample);
                let schema = table.schema_of(resource, &sample)?;
                *waiting = sample.into();
                none.insert(BatchBuilder::new(&schema, rows))
            }
        };
        Poll::Ready(Ok(builder))
    }

    /// The next records; none once the scan has ended, for which an error is kept.
    fn poll_page(&mut self, context: &mut Context<'_>) -> Poll<Option<VecDeque<RawRecord>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match ready!(self.scan.poll_records(context)) {
            Some(Ok(page)) => return Poll::Ready(Some(page)),
            Some(Err(error)) => self.error = Some(error),
            None => {}
        }
        self.ended = true;
        Poll::Ready(None)
    }
}

impl Stream for BatchScan {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Err(error) = ready!(this.poll_builder(context)) {
            return Poll::Ready(Some(Err(error)));
        }
        loop {
            if let Some(builder) = &mut this.builder {
                while let Some(record) = this.waiting.pop_front() {
                    let checked = this.checker.as_mut().map(|checker| checker.check(&record));
                    if let Some(Err(error)) = checked {
                        (this.error, this.ended) = (Some(error), true);
                        this.waiting.clear();
                        break;
                    }
                    builder.append(&record);
                    if builder.is_full() {
                        return Poll::Ready(Some(builder.finish()));
                    }
                }
                if this.ended {
                    return Poll::Ready(match builder.is_empty() {
                        true => this.error.take().map(Err),
                        false => Some(builder.finish()),
                    });
                }
            }
            if let Some(page) = ready!(this.poll_page(context)) {
                this.waiting = page;
            }
        }
    }
}
