//! A scan at work: pages are fetched ahead, and handed to Python a page at a time.

use crate::client::{BaseClient, json, parse};
use crate::errors::{error, raise};
use crate::options::count;
use crate::process::Owned;
use crate::record::RawRecord;
use crate::verb::run;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use talentdata_core::scan::{Consistency, Receipt};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind, Result, Scan, ScanOptions};

/// What `Scan` and `AsyncScan` are made of.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawScan {
    client: Py<BaseClient>,
    inner: Arc<Inner>,
    /// The process that began to read; 0 before.
    process: AtomicU32,
}

struct Inner {
    resource: Resource,
    options: ScanOptions,
    /// Held while a page is waited for.
    state: tokio::sync::Mutex<State>,
    /// The records that Python has not yet taken.
    records: Mutex<Vec<RawRecord>>,
    receipt: Mutex<Receipt>,
}

enum State {
    /// Nothing was asked for yet.
    New,
    Records(Owned<Scan>),
    Ended,
    Closed,
}

impl Inner {
    /// Waits until there are records to take; false at the end of the list.
    ///
    /// Whoever stops waiting loses nothing: what came meanwhile is there to be taken.
    async fn fill(&self, client: Client) -> Result<bool> {
        let mut state = self.state.lock().await;
        if !lock(&self.records).is_empty() {
            return Ok(true);
        }
        if matches!(*state, State::New) {
            let scan = client.resource(self.resource).scan(self.options.clone());
            *state = State::Records(Owned::new(scan));
        }
        let scan = match &mut *state {
            State::Records(scan) => scan.get_mut().ok_or_else(elsewhere)?,
            State::New | State::Ended => return Err(ended()),
            State::Closed => return Err(closed()),
        };
        let batch = scan.next_batch().await;
        *lock(&self.receipt) = scan.receipt();
        match batch {
            Some(Ok(batch)) => {
                let records = batch.records.into_iter();
                *lock(&self.records) = records
                    .map(|record| RawRecord(record.into_bytes()))
                    .collect();
                Ok(true)
            }
            Some(Err(error)) => {
                *state = State::Ended;
                Err(error)
            }
            None => {
                *state = State::Ended;
                Ok(false)
            }
        }
    }
}

#[pymethods]
impl RawScan {
    #[new]
    fn new(
        client: Py<BaseClient>,
        resource: &str,
        page_size: Option<&Bound<'_, PyAny>>,
        consistency: &str,
        py: Python<'_>,
    ) -> PyResult<Self> {
        client.get().core(py)?;
        let resource = parse(py, resource)?;
        let consistency = match consistency {
            "complete" => Consistency::Complete,
            "fast" => Consistency::Fast,
            _ => {
                let message = "consistency: it is not one of: complete, fast";
                return Err(error(py, ErrorKind::InvalidArgument, message));
            }
        };
        let page_size = page_size.map(|size| count("page_size", size)).transpose()?;
        Ok(RawScan {
            client,
            inner: Arc::new(Inner {
                resource,
                options: ScanOptions {
                    consistency,
                    page_size,
                    ..ScanOptions::default()
                },
                state: tokio::sync::Mutex::new(State::New),
                records: Mutex::default(),
                receipt: Mutex::new(Receipt {
                    resource: resource.name().to_owned(),
                    ..Receipt::default()
                }),
            }),
            process: AtomicU32::new(0),
        })
    }

    fn fill(&self, py: Python<'_>, awaited: bool) -> PyResult<Py<PyAny>> {
        let client = self.client.get().core(py)?;
        self.claim(py)?;
        let inner = Arc::clone(&self.inner);
        run(py, awaited, async move { inner.fill(client).await })
    }

    fn take(&self) -> Vec<RawRecord> {
        std::mem::take(&mut *lock(&self.inner.records))
    }

    fn receipt(&self, py: Python<'_>) -> PyResult<RawRecord> {
        json(&*lock(&self.inner.receipt)).map_err(|error| raise(py, &error))
    }

    /// Records delivered, and the service's total where it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        let receipt = lock(&self.inner.receipt);
        (receipt.records, receipt.total_first)
    }

    fn close(&self) {
        // A page that is just being waited for ends with its waiter.
        if let Ok(mut state) = self.inner.state.try_lock() {
            *state = State::Closed;
            lock(&self.inner.records).clear();
        }
    }
}

impl RawScan {
    /// Refuses a scan that another process reads: its connections and threads are there.
    fn claim(&self, py: Python<'_>) -> PyResult<()> {
        let ours = std::process::id();
        let owner = self
            .process
            .compare_exchange(0, ours, Ordering::Relaxed, Ordering::Relaxed);
        match owner {
            Err(owner) if owner != ours => Err(raise(py, &elsewhere())),
            _ => Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn elsewhere() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the scan belongs to the process that began it; begin another one here",
    )
}

fn ended() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the scan has ended and was read; begin another one with list()",
    )
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the scan was closed before")
}
