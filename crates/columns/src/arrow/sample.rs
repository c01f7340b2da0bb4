//! The sample of records from which the columns of a list are inferred. Records wait here until there are enough of
//! them.

use super::schema::{ColumnTypes, TableOptions, TableSchema};
use std::collections::VecDeque;
use std::sync::Arc;
use talentdata_core::scan::AlteredFields;
use talentdata_core::types::ListName;
use talentdata_core::{List, RawRecord, Result, ScanOptions};

/// A queue of records. They wait until the columns are decided, and are passed on from then on.
pub(crate) struct Sample {
    resource: ListName,
    /// The types of columns that are inferred.
    columns: ColumnTypes,
    /// See [`TableOptions::altered`].
    altered: AlteredFields,
    /// The columns, after they were given or decided.
    schema: Option<Arc<TableSchema>>,
    seen: SampleSize,
    waiting: VecDeque<RawRecord>,
}

impl Sample {
    pub(crate) fn new(resource: ListName, options: &TableOptions) -> Self {
        Sample {
            resource,
            columns: options.columns,
            altered: options.altered.clone(),
            schema: options.columns_given().cloned(),
            seen: SampleSize::default(),
            waiting: VecDeque::new(),
        }
    }

    pub(crate) fn resource(&self) -> ListName {
        self.resource
    }

    pub(crate) fn add(&mut self, records: impl IntoIterator<Item = RawRecord>) {
        let seen = &mut self.seen;
        let records = records.into_iter().inspect(|record| seen.add(record));
        self.waiting.extend(records);
    }

    /// Returns the columns, if there are enough records to decide.
    pub(crate) fn schema(&mut self) -> Option<Arc<TableSchema>> {
        (self.schema.is_some() || self.seen.is_enough()).then(|| self.decide())
    }

    /// Decides the columns from the records so far, and returns them.
    pub(crate) fn decide(&mut self) -> Arc<TableSchema> {
        let decided = self.schema.get_or_insert_with(|| {
            let schema = TableSchema::infer(self.resource, &self.waiting, self.columns);
            Arc::new(schema.altered(&self.altered))
        });
        Arc::clone(decided)
    }

    /// Returns the next record that waits.
    pub(crate) fn next(&mut self) -> Option<RawRecord> {
        self.waiting.pop_front()
    }

    /// Returns all records that wait.
    pub(crate) fn take(&mut self) -> VecDeque<RawRecord> {
        std::mem::take(&mut self.waiting)
    }

    /// Returns the number of records that wait.
    pub(crate) fn held(&self) -> usize {
        self.waiting.len()
    }
}

/// The size of the sample. The columns depend on the first records only, not on the sizes of the pages.
#[derive(Default)]
pub(super) struct SampleSize {
    pub(super) records: usize,
    bytes: usize,
}

impl SampleSize {
    pub(super) fn add(&mut self, record: &RawRecord) {
        self.records += 1;
        self.bytes += record.as_bytes().len();
    }

    /// Returns whether the sample is large enough to decide; later records are not examined.
    pub(super) fn is_enough(&self) -> bool {
        self.records >= TableSchema::SAMPLE || self.bytes >= TableSchema::SAMPLE_BYTES
    }
}

impl TableSchema {
    /// The number of records from which the columns are decided.
    pub const SAMPLE: usize = 1000;

    /// The size in bytes of the records from which the columns are decided, if they are large.
    pub const SAMPLE_BYTES: usize = 16 * 1024 * 1024;

    /// Decides the columns that an export of a list would have, from its first records.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// use talentdata_columns::arrow::{ColumnTypes, TableSchema};
    ///
    /// let schema = TableSchema::of_list(&client.contacts(), ColumnTypes::Typed).await?;
    /// let names: Vec<&str> = schema.fields.iter().map(|column| column.name.as_str()).collect();
    /// assert_eq!(names[..4], ["id", "firstName", "lastName", "email"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of a scan.
    pub async fn of_list<T>(list: &List<T>, columns: ColumnTypes) -> Result<Self> {
        Self::of_scan(list, ScanOptions::default(), columns).await
    }

    /// Decides the columns that an export of a list would have with these options, from its first records.
    ///
    /// # Errors
    /// The errors of a scan.
    pub async fn of_scan<T>(
        list: &List<T>,
        options: ScanOptions,
        columns: ColumnTypes,
    ) -> Result<Self> {
        let mut scan = list.raw().scan(options.with_limit(Self::SAMPLE as u64));
        let mut options = TableOptions::default().with_columns(columns);
        options.altered = scan.altered().clone();
        let mut sample = Sample::new(list.resource(), &options);
        while sample.schema().is_none()
            && let Some(batch) = scan.next_batch().await
        {
            sample.add(batch?.records);
        }
        Ok(Arc::unwrap_or_clone(sample.decide()))
    }
}
