//! The records of a scan, one after the other, as Python iterates over them.

use crate::record::RawRecord;
use crate::runtime::block;
use crate::shared::Shared;
use crate::verb::run;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{PyTraverseError, PyVisit, intern};
use std::sync::Arc;
use talentdata_columns::session::{Session, Use};

/// An iterator over a scan. Several loops and threads may share it: each record comes to one of them.
///
/// It is no generator, which an exception would end: whoever was interrupted goes on with the next record.
#[pyclass(frozen, generic, module = "talentdata._talentdata")]
pub(crate) struct Records {
    // Dropped before its client.
    pub(crate) session: Arc<Session>,
    pub(crate) client: Arc<Shared>,
    pub(crate) usage: Use,
    /// The class of a record.
    pub(crate) model: Py<PyType>,
    /// Called after each page, and closed at the end.
    pub(crate) progress: Option<Py<PyAny>>,
    /// Whether it waits for more; else it pauses there, and goes on behind what `fill` has brought.
    pub(crate) waits: bool,
}

#[pymethods]
impl Records {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    // One by one, because what is taken together is lost together when Ctrl-C comes in between.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            if let Some(record) = self.session.take(self.usage) {
                let record = RawRecord::from(record);
                return self.model.bind(py).call1((record,)).map(Some);
            }
            if !self.waits || !self.wait(py)? {
                return Ok(None);
            }
        }
    }

    /// An awaitable that waits until there are records to take; false at the end of the list.
    fn fill(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (client, session) = (self.client.core(py)?, Arc::clone(&self.session));
        let usage = self.usage;
        run(py, true, async move { session.fill(&client, usage).await })
    }

    // There is no `__clear__`: these references never change, so no cycle is made of them alone.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.model)?;
        visit.call(self.progress.as_ref())
    }
}

impl Records {
    fn wait(&self, py: Python<'_>) -> PyResult<bool> {
        let client = self.client.core(py)?;
        let more = block(py, self.session.fill(&client, self.usage))?;
        // A caller such as `list` may run no Python between two pages.
        py.check_signals()?;
        if let Some(progress) = &self.progress {
            progress.call0(py)?;
            if !more {
                progress.call_method0(py, intern!(py, "close"))?;
            }
        }
        Ok(more)
    }
}
