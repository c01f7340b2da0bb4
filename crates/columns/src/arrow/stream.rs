//! Pages of records as Arrow record batches: of a scan, and of records that are at hand.

use super::batch::BatchBuilder;
use super::check::Checker;
use super::sample::Sample;
use super::schema::TableOptions;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use talentdata_core::scan::{Receipt, Scan};
use talentdata_core::types::Resource;
use talentdata_core::{Error, RawRecord, Result};

/// Turns pages into batches of one schema; whoever has the pages brings them.
///
/// What was received before an error comes before it, in a batch that may be small.
struct Batches {
    /// What is wrong with the options, until it has been reported.
    sample: Result<Sample<Vec<RawRecord>>>,
    rows: usize,
    /// None until the columns are decided.
    builder: Option<BatchBuilder>,
    /// Compares the records with the schema that was given.
    checker: Option<Checker>,
    page: VecDeque<RawRecord>,
    error: Option<Error>,
    ended: bool,
}

/// What batches need, or give.
enum Next {
    Page,
    Batch(Result<RecordBatch>),
    End,
}

impl Batches {
    fn new(resource: Resource, table: &TableOptions, rows: usize) -> Self {
        Batches {
            sample: Sample::new(resource, table),
            rows,
            builder: None,
            checker: Checker::new(table),
            page: VecDeque::new(),
            error: None,
            ended: false,
        }
    }

    fn add(&mut self, page: Option<Result<Vec<RawRecord>>>) {
        match (page, &mut self.sample) {
            (Some(Ok(page)), Ok(sample)) => sample.add(page),
            (Some(Ok(_)), Err(_)) => {}
            (Some(Err(error)), _) => self.end(Some(error)),
            (None, _) => self.end(None),
        }
    }

    fn end(&mut self, error: Option<Error>) {
        (self.error, self.ended) = (error, true);
    }

    /// The builder; none where it takes more pages to decide the columns.
    fn builder(&mut self) -> Result<Option<&mut BatchBuilder>> {
        let sample = self.sample.as_mut().map_err(|error| error.clone())?;
        if self.builder.is_none() {
            let schema = match self.ended {
                true if sample.held() == 0 && self.error.is_some() => {
                    return self.error.take().map_or(Ok(None), Err);
                }
                true => Some(sample.decide()),
                false => sample.schema(),
            };
            self.builder = schema.map(|schema| BatchBuilder::new(schema, self.rows));
        }
        Ok(self.builder.as_mut())
    }

    fn next(&mut self) -> Next {
        if self.ended && self.error.is_none() && self.held() == 0 {
            return Next::End;
        }
        let is_ready = self.builder().map(|builder| builder.is_some());
        match is_ready {
            Err(error) => {
                self.end(None);
                return Next::Batch(Err(error));
            }
            Ok(false) => return Next::Page,
            Ok(true) => {}
        }
        let (Some(builder), Ok(sample)) = (&mut self.builder, &mut self.sample) else {
            return Next::End;
        };
        loop {
            while let Some(record) = self.page.pop_front() {
                let checked = self.checker.as_mut().map(|checker| checker.check(&record));
                if let Some(Err(error)) = checked {
                    (self.error, self.ended) = (Some(error), true);
                    self.page.clear();
                    sample.clear();
                    break;
                }
                builder.append(&record);
                if builder.is_full() {
                    return Next::Batch(builder.finish());
                }
            }
            match sample.next() {
                Some(page) => self.page = page.into(),
                None if !self.ended => return Next::Page,
                None if !builder.is_empty() => return Next::Batch(builder.finish()),
                None => return self.error.take().map_or(Next::End, |e| Next::Batch(Err(e))),
            }
        }
    }

    /// Records received and not yet given.
    fn held(&self) -> usize {
        let rows = self.builder.as_ref().map_or(0, BatchBuilder::len);
        self.sample.as_ref().map_or(0, Sample::held) + self.page.len() + rows
    }
}

/// The record batches of a list, in order; a `Stream` of `Result<RecordBatch>`.
///
/// All batches have the same schema: the one that was given, else one decided from the first
/// [`TableSchema::SAMPLE`](super::TableSchema::SAMPLE) records, or fewer that are large. What was received before an error
/// comes before it, in a batch that may be small.
pub struct BatchScan {
    scan: Scan,
    batches: Batches,
}

impl BatchScan {
    /// The records of a scan that were not yet taken, in record batches of `rows` rows; of fewer where they are large.
    pub fn new<T>(scan: Scan<T>, table: TableOptions, rows: usize) -> Self {
        BatchScan {
            batches: Batches::new(scan.resource(), &table, rows),
            scan: scan.into_raw(),
        }
    }

    /// The schema of all batches; waits for the first pages.
    ///
    /// # Errors
    /// That of the scan, when it failed before its first record; `InvalidArgument` for a schema of another list.
    pub async fn schema(&mut self) -> Result<SchemaRef> {
        std::future::poll_fn(|context| {
            loop {
                if let Some(builder) = self.batches.builder()? {
                    return Poll::Ready(Ok(builder.schema()));
                }
                ready!(self.poll_page(context));
            }
        })
        .await
    }

    /// The next batch; `None` at the end of the list.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// What has been done so far; final once the scan has ended.
    ///
    /// `records` counts the rows of the batches that the caller was given, and what was taken as records before.
    pub fn receipt(&self) -> Receipt {
        let mut receipt = self.scan.receipt().without(self.batches.held());
        receipt.schema = self.batches.checker.as_ref().map(Checker::differences);
        receipt
    }

    fn poll_page(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let page = ready!(self.scan.poll_records(context));
        self.batches.add(page.map(|page| page.map(Vec::from)));
        Poll::Ready(())
    }
}

impl Stream for BatchScan {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match self.batches.next() {
                Next::Page => ready!(self.poll_page(context)),
                Next::Batch(batch) => return Poll::Ready(Some(batch)),
                Next::End => return Poll::Ready(None),
            }
        }
    }
}

/// Records that are at hand as Arrow record batches. After an error there are no more.
pub struct RecordBatches {
    records: Box<dyn Iterator<Item = Result<RawRecord>> + Send>,
    batches: Batches,
    schema: SchemaRef,
}

impl RecordBatches {
    /// How many records are brought at once.
    const PAGE: usize = 256;

    /// Record batches of `rows` rows; of fewer where they are large. Reads the first records where no schema is given.
    ///
    /// # Errors
    /// That of the records, where it comes before the first of them; `InvalidArgument` for a schema of another list.
    pub fn new(
        resource: Resource,
        table: &TableOptions,
        rows: usize,
        records: impl Iterator<Item = Result<RawRecord>> + Send + 'static,
    ) -> Result<Self> {
        let mut records: Box<dyn Iterator<Item = _> + Send> = Box::new(records);
        let mut batches = Batches::new(resource, table, rows);
        let schema = loop {
            match batches.builder()? {
                Some(builder) => break builder.schema(),
                None => Self::read(&mut batches, &mut records),
            }
        };
        Ok(RecordBatches {
            records,
            batches,
            schema,
        })
    }

    /// The schema of all batches.
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn read(batches: &mut Batches, records: &mut dyn Iterator<Item = Result<RawRecord>>) {
        let mut page = Vec::new();
        let mut end = None;
        while page.len() < Self::PAGE && end.is_none() {
            match records.next() {
                Some(Ok(record)) => page.push(record),
                other => end = Some(other.map(|error| error.map(|_| Vec::new()))),
            }
        }
        batches.add(Some(Ok(page)));
        end.into_iter().for_each(|end| batches.add(end));
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.batches.next() {
                Next::Page => Self::read(&mut self.batches, &mut self.records),
                Next::Batch(batch) => return Some(batch),
                Next::End => return None,
            }
        }
    }
}
