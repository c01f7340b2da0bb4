//! Turns the records of a scan, or records in memory, into Arrow record batches.

use super::batch::BatchBuilder;
use super::check::Checker;
use super::sample::Sample;
use super::schema::{NewFieldPolicy, TableOptions};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use talentdata_core::scan::{Receipt, Scan, SchemaDifferences, Unproven};
use talentdata_core::types::ListName;
use talentdata_core::{RawRecord, Result};

/// A converter of records into batches of one schema.
/// Records that were received before an error are returned before it, in a batch that may be small.
pub(super) struct Batches {
    sample: Sample,
    rows: usize,
    /// None until the columns are decided.
    builder: Option<BatchBuilder>,
    on_new: NewFieldPolicy,
    /// Compares the records with their columns; `None` until these are decided.
    checker: Option<Checker>,
    /// The end of the records; an error stays until it has been returned.
    end: Option<Result<()>>,
}

impl Batches {
    pub(super) fn new(resource: ListName, table: &TableOptions) -> Self {
        Batches {
            sample: Sample::new(resource, table),
            rows: table.batch_rows,
            builder: None,
            on_new: table.on_new,
            checker: Checker::given(table),
            end: table.check(resource).err().map(Err),
        }
    }

    /// Takes records, an error, or the end. After an error or the end there are no more records.
    pub(super) fn add<T: IntoIterator<Item = RawRecord>>(&mut self, read: Option<Result<T>>) {
        match read {
            Some(Ok(records)) => self.sample.add(records),
            Some(Err(error)) => self.end = Some(Err(error)),
            None => self.end = Some(Ok(())),
        }
    }

    /// Returns the builder; `None` if the columns need more records.
    pub(super) fn builder(&mut self) -> Result<Option<&mut BatchBuilder>> {
        if self.builder.is_none() {
            let schema = match &mut self.end {
                None => self.sample.schema(),
                Some(end) => {
                    if self.sample.held() == 0 {
                        std::mem::replace(end, Ok(()))?;
                    }
                    Some(self.sample.decide())
                }
            };
            if let Some(schema) = schema {
                let checker = || Checker::new(Arc::clone(&schema), self.on_new);
                self.checker.get_or_insert_with(checker);
                self.builder = Some(BatchBuilder::new(schema, self.rows));
            }
        }
        Ok(self.builder.as_mut())
    }

    /// Returns the next batch; pending if it needs more records.
    pub(super) fn next(&mut self) -> Poll<Option<Result<RecordBatch>>> {
        if let Err(error) = self.builder() {
            return Poll::Ready(Some(Err(error)));
        }
        let (Some(builder), Some(checker)) = (&mut self.builder, &mut self.checker) else {
            return Poll::Pending;
        };
        while let Some(record) = self.sample.next() {
            if let Err(error) = checker.before_row(&record) {
                self.end = Some(Err(error));
                self.sample.take();
                break;
            }
            if let Some(batch) = builder.append(&record, Some(checker)) {
                return Poll::Ready(Some(batch));
            }
        }
        match &mut self.end {
            None => Poll::Pending,
            Some(_) if builder.len() > 0 => Poll::Ready(Some(builder.finish())),
            Some(end) => {
                checker.log(self.sample.resource().name());
                Poll::Ready(std::mem::replace(end, Ok(())).err().map(Err))
            }
        }
    }

    /// Returns the number of records that were received and not yet returned.
    fn held(&self) -> usize {
        self.sample.held() + self.builder.as_ref().map_or(0, BatchBuilder::len)
    }
}

/// The record batches of a list in order, as a `Stream` of `Result<RecordBatch>`.
/// All batches have the same schema, which is given or inferred from the first
/// [`TableSchema::SAMPLE`](super::TableSchema::SAMPLE) records (fewer if they are large). Records that were received
/// before an error are returned before it, in a batch that may be small.
///
/// A list whose completeness is not proven ends with the error `Incomplete`, unless
/// [`ScanOptions::unproven`](talentdata_core::ScanOptions::unproven) says otherwise. The receipt stays available.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = settings.build()?;
/// use talentdata_columns::arrow::{BatchScan, TableOptions};
///
/// let mut batches = BatchScan::new(client.contacts().list(), TableOptions::default());
/// let mut rows = 0;
/// while let Some(batch) = batches.next().await {
///     rows += batch?.num_rows();
/// }
/// assert_eq!(rows, 250);
/// batches.receipt().require_proven()?;
/// # Ok(())
/// # }
/// ```
pub struct BatchScan {
    scan: Scan,
    batches: Batches,
    /// The action at the end of a list that is not proven complete. `None` after the end, or if the caller decides.
    unproven: Option<Unproven>,
}

impl BatchScan {
    /// Turns the remaining records of a scan into batches.
    pub fn new<T>(scan: Scan<T>, mut table: TableOptions) -> Self {
        let mut scan = scan.into_raw();
        table.altered = scan.altered().clone();
        BatchScan {
            batches: Batches::new(scan.resource(), &table),
            unproven: Some(scan.take_unproven().unwrap_or(Unproven::Fail)),
            scan,
        }
    }

    /// Leaves it to the caller to act on the receipt at the end of the list.
    pub(crate) fn not_concluded(self) -> Self {
        BatchScan {
            unproven: None,
            ..self
        }
    }

    /// Returns the schema of all batches. Waits for the first pages.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// use talentdata_columns::arrow::{BatchScan, TableOptions};
    ///
    /// let mut batches = BatchScan::new(client.contacts().list(), TableOptions::default());
    /// let schema = batches.schema().await?;
    /// assert_eq!(schema.field(0).name(), "id");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of the scan, if it failed before its first record; `InvalidArgument` for a schema of another list.
    pub async fn schema(&mut self) -> Result<SchemaRef> {
        loop {
            if let Some(builder) = self.batches.builder()? {
                return Ok(builder.schema());
            }
            self.page().await;
        }
    }

    /// Returns the next batch; `None` at the end of the list.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the next records unchanged, instead of batches; `None` at the end of the list.
    pub(crate) async fn next_records(&mut self) -> Option<Result<VecDeque<RawRecord>>> {
        self.batches.checker = None;
        loop {
            let records = self.batches.sample.take();
            if !records.is_empty() {
                return Some(Ok(records));
            }
            if let Some(end) = &mut self.batches.end {
                return std::mem::replace(end, Ok(())).err().map(Err);
            }
            self.page().await;
        }
    }

    /// Returns the receipt so far. It is final once the scan has ended.
    ///
    /// `records` counts the rows of the returned batches, and the records that were taken from the scan before.
    pub fn receipt(&self) -> Receipt {
        let mut receipt = self.scan.receipt().without(self.batches.held());
        receipt.schema = self.batches.checker.as_ref().map(Checker::differences);
        receipt
    }

    /// Acts on the receipt at the end of the list.
    fn conclude(&mut self) -> Result<()> {
        let list = self.scan.resource().name();
        let warn = |warning| tracing::warn!(list, "{warning}");
        let end = self.unproven.take();
        end.map_or(Ok(()), |unproven| {
            unproven.conclude(&self.receipt(), Unproven::ADVICE, warn)
        })
    }

    async fn page(&mut self) {
        std::future::poll_fn(|context| self.poll_page(context)).await;
    }

    fn poll_page(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let page = ready!(self.scan.poll_batch(context));
        self.batches
            .add(page.map(|page| page.map(|page| page.records)));
        Poll::Ready(())
    }
}

/// Omits the received records, which may be confidential.
impl std::fmt::Debug for BatchScan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BatchScan")
            .field("scan", &self.scan)
            .finish_non_exhaustive()
    }
}

impl Stream for BatchScan {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Poll::Ready(batch) = self.batches.next() {
                if matches!(batch, Some(Err(_))) {
                    self.unproven = None;
                }
                return Poll::Ready(batch.or_else(|| self.conclude().err().map(Err)));
            }
            ready!(self.poll_page(context));
        }
    }
}

/// An iterator that turns records in memory into Arrow record batches. It ends after an error.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use talentdata_columns::arrow::{RecordBatches, TableOptions};
/// use talentdata_core::{ListName, RawRecord};
///
/// let records = RawRecord::parse_all(&[r#"{"id":"p-1"}"#, r#"{"id":"p-2","open":true}"#])?;
/// let records = records.into_iter().map(Ok);
/// let batches = RecordBatches::new(ListName::Pools, &TableOptions::default(), records)?;
/// let rows: Vec<usize> = batches.map(|batch| batch.map(|batch| batch.num_rows())).collect::<Result<_, _>>()?;
/// assert_eq!(rows, [2]);
/// # Ok(())
/// # }
/// ```
pub struct RecordBatches {
    records: Box<dyn Iterator<Item = Result<RawRecord>> + Send>,
    batches: Batches,
    schema: SchemaRef,
}

impl RecordBatches {
    /// Creates the iterator. Reads the first records if no schema is given.
    ///
    /// # Errors
    /// The error of the records, if it comes before the first record; `InvalidArgument` for a schema of another list.
    pub fn new(
        resource: ListName,
        table: &TableOptions,
        records: impl Iterator<Item = Result<RawRecord>> + Send + 'static,
    ) -> Result<Self> {
        let mut records: Box<dyn Iterator<Item = _> + Send> = Box::new(records);
        let mut batches = Batches::new(resource, table);
        let schema = loop {
            match batches.builder()? {
                Some(builder) => break builder.schema(),
                None => batches.add(records.next().map(|record| record.map(Some))),
            }
        };
        Ok(RecordBatches {
            records,
            batches,
            schema,
        })
    }

    /// Adds an entry to the metadata of the schema of all batches.
    pub fn with_metadata(mut self, name: &str, value: String) -> Self {
        let mut schema = self.schema.as_ref().clone();
        schema.metadata.insert(name.to_owned(), value);
        self.schema = schema.into();
        self
    }

    /// Returns the schema of all batches.
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// Returns the differences so far between the records and their columns.
    pub fn differences(&self) -> SchemaDifferences {
        let checker = self.batches.checker.as_ref();
        checker.map(Checker::differences).unwrap_or_default()
    }
}

/// Omits the records, which may be confidential.
impl std::fmt::Debug for RecordBatches {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RecordBatches")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Poll::Ready(batch) = self.batches.next() {
                return batch;
            }
            let record = self.records.next();
            self.batches.add(record.map(|record| record.map(Some)));
        }
    }
}
