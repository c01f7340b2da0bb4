//! An async client and the runtime it lives on, as they stand in one process.

use super::Stop;
use crate::client::Client as AsyncClient;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::AbortOnDrop;
use crate::settings::Config;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// What the threads of a runtime run when they start.
pub(super) type ThreadStart = Arc<dyn Fn() + Send + Sync>;

/// A name lookup of the system cannot be interrupted; nobody waits longer for one at the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// What an engine is made from.
pub(super) struct Plan {
    pub(super) config: Config,
    pub(super) on_thread_start: Option<ThreadStart>,
}

/// A runtime and its client. After a fork the child makes another one: threads do not survive it,
/// and what they held must not be touched, not even to drop it.
pub(super) struct Engine {
    process: u32,
    /// Present until the drop.
    parts: Option<(AsyncClient, Runtime)>,
    /// What a forked child uses instead.
    child: OnceLock<Arc<Engine>>,
}

impl Engine {
    pub(super) fn new(plan: &Plan) -> Result<Arc<Self>> {
        let client = AsyncClient::new(plan.config.clone())?;
        let mut builder = Builder::new_multi_thread();
        builder
            .worker_threads(2)
            .thread_name("talentdata")
            .enable_all();
        if let Some(start) = plan.on_thread_start.clone() {
            builder.on_thread_start(move || start());
        }
        let runtime = builder.build().map_err(|error| {
            let message = format!("no threads for the client: {error}");
            Error::new(ErrorKind::Internal, message)
        })?;
        Ok(Arc::new(Engine {
            process: std::process::id(),
            parts: Some((client, runtime)),
            child: OnceLock::new(),
        }))
    }

    /// The engine of the process that asks.
    pub(super) fn here(self: &Arc<Self>, plan: &Plan) -> Result<Arc<Self>> {
        if !self.is_foreign() {
            return Ok(Arc::clone(self));
        }
        if let Some(child) = self.child.get() {
            return child.here(plan);
        }
        let made = Engine::new(plan)?;
        Ok(Arc::clone(self.child.get_or_init(|| made)))
    }

    /// Whether it was made before a fork, in the parent.
    pub(super) fn is_foreign(&self) -> bool {
        self.process != std::process::id()
    }

    /// Runs a verb to its end, or until `stop` is said.
    ///
    /// It runs on the engine's own threads, so that the calling thread sees none of its signals.
    pub(super) fn run<T, F>(
        &self,
        stop: &Stop,
        verb: impl FnOnce(AsyncClient) -> F,
    ) -> Result<Option<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (client, runtime) = self.parts()?;
        let mut task = AbortOnDrop(runtime.spawn(verb(client.clone())));
        self.wait(stop, &mut task.0)?
            .map(|done| {
                done.unwrap_or_else(|_| {
                    let message = "internal error: a call panicked; please report it";
                    Err(Error::new(ErrorKind::Internal, message))
                })
            })
            .transpose()
    }

    /// Waits for `future` on the calling thread; none when `stop` was said first.
    pub(super) fn wait<T>(
        &self,
        stop: &Stop,
        future: impl Future<Output = T>,
    ) -> Result<Option<T>> {
        let (_, runtime) = self.parts()?;
        if Handle::try_current().is_ok() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a blocking call was made from within an async runtime or from a log callback",
            ));
        }
        Ok(runtime.block_on(async {
            tokio::select! {
                biased;
                () = stop.stopped() => None,
                value = future => Some(value),
            }
        }))
    }

    pub(super) fn parts(&self) -> Result<&(AsyncClient, Runtime)> {
        let closed = || Error::new(ErrorKind::Closed, "the client was closed");
        self.parts.as_ref().ok_or_else(closed)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let Some((client, runtime)) = self.parts.take() else {
            return;
        };
        if self.is_foreign() {
            std::mem::forget((client, runtime));
        } else if Handle::try_current().is_ok() {
            // On one of its own threads, waiting for the end would be waiting for itself.
            drop(client);
            runtime.shutdown_background();
        } else {
            drop(client);
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        }
    }
}
