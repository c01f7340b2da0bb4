//! The core's client of a Python client, from its first use in this process until it is closed.

use crate::errors::raise;
use crate::exit;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use talentdata_core::process::Owned;
use talentdata_core::{Client, Config, Error, ErrorKind, Result};

/// What a client shares with its scans. It holds no Python object, so that no reference cycle goes through it.
pub(crate) struct Shared {
    config: Config,
    /// The client whose budget this one spends.
    origin: Option<Arc<Shared>>,
    state: Mutex<State>,
}

enum State {
    /// None until it is used in this process.
    Open(Option<Owned<Client>>),
    Closed,
}

impl Shared {
    pub(crate) fn new(config: Config, origin: Option<Arc<Shared>>) -> Self {
        Shared {
            config,
            origin,
            state: Mutex::new(State::Open(None)),
        }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.state(), State::Closed)
    }

    pub(crate) fn close(&self) {
        let open = std::mem::replace(&mut *self.state(), State::Closed);
        if let State::Open(Some(mut client)) = open
            && let Some(client) = client.take()
        {
            // Those that spend the budget of another keep that one alive.
            exit::leave(client, self.origin.is_none());
        }
    }

    /// The core's client; in a forked child, another one with the same settings.
    pub(crate) fn core(&self, py: Python<'_>) -> PyResult<Client> {
        self.open().map_err(|error| raise(py, &error))
    }

    /// The same. Nothing of Python runs while the state is locked: it might let another thread have the
    /// GIL, which would wait for the state.
    fn open(&self) -> Result<Client> {
        let mut state = self.state();
        let State::Open(slot) = &mut *state else {
            let message = "this client is closed; create a new one";
            return Err(Error::new(ErrorKind::Closed, message));
        };
        if let Some(client) = slot.as_ref().and_then(Owned::get) {
            return Ok(client.clone());
        }
        let client = match &self.origin {
            Some(origin) => origin.open()?.with_config(self.config.clone()),
            None => Client::new(self.config.clone()),
        }?;
        *slot = Some(Owned::new(client.clone()));
        Ok(client)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}
