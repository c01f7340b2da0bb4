//! The sources of rows: the service through a client, or a mirror.

use crate::metadata::AnswerReader;
use crate::options::{DriverOptions, ScanSettings};
use crate::sql::ListQuery;
use adbc_core::CancelHandle;
use arrow_array::RecordBatchReader;
use arrow_schema::SchemaRef;
use std::sync::{Arc, Mutex};
use talentdata_columns::arrow::{BatchReader, EXTRA, RecordBatch};
use talentdata_columns::blocking::BlockingScan;
use talentdata_columns::internal::SchemaMemory;
use talentdata_core::blocking::Client;
use talentdata_core::internal::process::lock;
use talentdata_core::types::{ListName, Stop};
use talentdata_core::{Error, ErrorKind, Result};
use talentdata_mirror::Mirror;
use talentdata_mirror::internal::JobOptions;

/// The service or a mirror. Clones share the client and the columns that it remembers.
#[derive(Clone, Debug)]
pub(crate) enum RowSource {
    Service(Client, Arc<SchemaMemory>),
    Mirror(Mirror),
}

/// The handle by which another thread cancels the result of a statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningQuery(Arc<Mutex<Stop>>);

impl RowSource {
    /// Opens the source that the options name. Sends no request.
    ///
    /// # Errors
    /// `Config`, naming the setting; `Path` if the file is not a mirror.
    pub(crate) fn open(options: &DriverOptions) -> Result<Self> {
        Ok(match &options.mirror {
            Some(path) => RowSource::Mirror(Mirror::open(path)?),
            None => RowSource::Service(options.client()?, Arc::default()),
        })
    }

    /// Returns the lists that the source contains.
    pub(crate) fn lists(&self) -> Result<Vec<ListName>> {
        match self {
            RowSource::Service(..) => Ok(ListName::ALL.to_vec()),
            RowSource::Mirror(mirror) => mirror.resources(),
        }
    }

    /// Returns the columns of a list: the given ones, the remembered ones, or the columns of its first records.
    pub(crate) fn schema(&self, list: ListName, scan: &ScanSettings) -> Result<SchemaRef> {
        let job = &scan.job;
        match self {
            RowSource::Service(client, schemas) => {
                let fits = |name: &String| name == list.name();
                let given = job.table.schema.as_ref();
                if let Some(given) = given.filter(|given| given.resource.as_ref().is_none_or(fits))
                {
                    return Ok(given.to_arrow());
                }
                let (schemas, options, columns) =
                    (Arc::clone(schemas), job.scan.clone(), job.table.columns);
                let schema = client.run(move |client| async move {
                    schemas.get_or_read(&client, list, &options, columns).await
                })?;
                Ok(schema.to_arrow())
            }
            RowSource::Mirror(mirror) => {
                scan.check_mirror()?;
                let rows = mirror.records(list, None)?;
                Ok(rows.into_batches(job.table.clone())?.schema())
            }
        }
    }

    /// Returns the number of records of a list, which may change while it is read: the service's total or an estimate
    /// from a few requests, or the number that the last sync read.
    pub(crate) fn count(&self, list: ListName) -> Result<u64> {
        match self {
            RowSource::Service(client, _) => {
                let plan =
                    client.run(move |client| async move { client.resource(list).plan().await });
                Ok(plan?.records)
            }
            RowSource::Mirror(mirror) => {
                let syncs = mirror.history(list)?;
                Ok(syncs.last().map_or(0, |last| last.records))
            }
        }
    }

    /// Returns the columns of the result of a query.
    pub(crate) fn schema_of(&self, query: &ListQuery, scan: &ScanSettings) -> Result<SchemaRef> {
        let mut scan = scan.clone();
        keep_only(query, &mut scan.job);
        let schema = self.schema(query.list, &scan)?;
        Ok(ColumnSelection::new(query, &schema)?.schema)
    }

    /// Returns the rows of a query as they arrive. A list of the service that is not proven complete ends with an
    /// error, unless the options say otherwise.
    pub(crate) fn read(
        &self,
        query: &ListQuery,
        scan: &ScanSettings,
        running: &RunningQuery,
    ) -> Result<AnswerReader> {
        let mut job = scan.job.clone();
        let limit = query.limit.into_iter().chain(job.scan.limit).min();
        match self {
            RowSource::Service(client, schemas) => {
                keep_only(query, &mut job);
                job.scan.limit = limit;
                let (list, options, columns) = (query.list, job.scan.clone(), job.table.columns);
                let is_given = job.table.schema.is_some();
                job.table.known = schemas.get(list, &options, columns);
                let batches = BlockingScan::new(client, list, job.scan, job.table)?;
                running.begin(batches.stop_handle());
                let mut batches = batches.batches()?;
                // The first rows of a limited query must not decide the columns of all later readers.
                if !is_given && limit.is_none() {
                    schemas.note(list, &options, columns, &batches.schema())?;
                }
                let schema = batches.schema();
                Ok(ColumnSelection::new(query, &schema)?.reader(move || batches.next_batch()))
            }
            RowSource::Mirror(mirror) => {
                scan.check_mirror()?;
                let rows = mirror.records(query.list, None)?;
                let mut batches = rows.into_batches(job.table)?;
                let stop = Stop::default();
                running.begin(stop.clone());
                let mut left = usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
                let selection = ColumnSelection::new(query, &batches.schema())?;
                Ok(selection.reader(move || {
                    if stop.is_stopped() {
                        return Err(Error::new(ErrorKind::Cancelled, "the query was cancelled"));
                    }
                    let next = if left == 0 {
                        None
                    } else {
                        batches.next().transpose()?
                    };
                    let next = next.map(|batch| batch.slice(0, left.min(batch.num_rows())));
                    left -= next.as_ref().map_or(0, RecordBatch::num_rows);
                    Ok(next)
                }))
            }
        }
    }
}

/// Keeps only the fields that a query names. All others are removed before a record is delivered.
fn keep_only(query: &ListQuery, job: &mut JobOptions) {
    let scan = &mut job.scan;
    let Some(names) = query
        .columns
        .as_ref()
        .filter(|_| scan.fields.is_empty() && scan.drop.is_empty())
    else {
        return;
    };
    // The extra column holds all other fields.
    if names.iter().any(|name| name == EXTRA) {
        return;
    }
    // A name that begins like a JSON pointer is written as one.
    let field = |name: &String| {
        if name.starts_with('/') {
            format!("/{}", name.replace('~', "~0").replace('/', "~1"))
        } else {
            name.clone()
        }
    };
    scan.fields = names.iter().map(field).collect();
}

/// The columns of a result.
struct ColumnSelection {
    schema: SchemaRef,
    /// The places of the columns in the batches that are read; `None` for all columns.
    places: Option<Vec<usize>>,
}

impl ColumnSelection {
    /// Finds the columns of a query.
    ///
    /// # Errors
    /// `InvalidArgument` if a name is not the name of a column.
    fn new(query: &ListQuery, schema: &SchemaRef) -> Result<Self> {
        let Some(names) = &query.columns else {
            return Ok(ColumnSelection {
                schema: SchemaRef::clone(schema),
                places: None,
            });
        };
        let place = |name: &String| {
            schema.index_of(name).map_err(|_| {
                let list = query.list;
                Error::invalid(format!(
                    "sql: {list} has no column {name:?}; SELECT * FROM {list} LIMIT 1 shows its columns"
                ))
            })
        };
        let places = names.iter().map(place).collect::<Result<Vec<usize>>>()?;
        let schema = schema.project(&places);
        Ok(ColumnSelection {
            schema: Arc::new(schema.map_err(|error| Error::defect(&error.to_string()))?),
            places: Some(places),
        })
    }

    /// Returns a reader of these columns of the batches that `next` returns.
    fn reader(
        self,
        mut next: impl FnMut() -> Result<Option<RecordBatch>> + Send + 'static,
    ) -> AnswerReader {
        let ColumnSelection { schema, places } = self;
        let reader = BatchReader::new(schema, move || {
            let batch = next()?.map(|batch| match &places {
                Some(places) => batch.project(places),
                None => Ok(batch),
            });
            batch
                .transpose()
                .map_err(|error| Error::defect(&error.to_string()))
        });
        Box::new(reader.for_c())
    }
}

impl RunningQuery {
    /// Sets the result that [`try_cancel`](CancelHandle::try_cancel) stops.
    fn begin(&self, stop: Stop) {
        *lock(&self.0) = stop;
    }
}

impl CancelHandle for RunningQuery {
    fn try_cancel(&self) -> adbc_core::error::Result<()> {
        lock(&self.0).stop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_keeps_only_the_fields_that_a_query_names() {
        let fields = |sql: &str, job: &JobOptions| {
            let mut job = job.clone();
            keep_only(&ListQuery::parse(sql).unwrap(), &mut job);
            job.scan.fields
        };
        let job = JobOptions::default();
        assert_eq!(fields("SELECT email, id FROM pools", &job), ["email", "id"]);
        assert_eq!(fields("SELECT \"/a~b\" FROM pools", &job), ["/~1a~0b"]);
        for sql in ["SELECT * FROM pools", "SELECT id, _extra FROM pools"] {
            assert_eq!(fields(sql, &job), [""; 0], "{sql}");
        }
        // Options that already choose the fields are not changed.
        let mut job = JobOptions::default();
        job.scan.drop = vec!["email".to_owned()];
        assert_eq!(fields("SELECT id FROM pools", &job), [""; 0]);
    }
}
