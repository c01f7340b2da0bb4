//! An async client and the runtime it lives on, as they stand in one process.

use crate::client::Client as AsyncClient;
use crate::error::{Error, ErrorKind, Result};
use crate::process::Owned;
use crate::settings::Config;
use crate::stop::Stop;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

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
pub struct Engine {
    /// Present until the drop.
    parts: Owned<(AsyncClient, Runtime)>,
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
            parts: Owned::new((client, runtime)),
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
    pub fn is_foreign(&self) -> bool {
        self.parts.get().is_none()
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
        // It ends with this call.
        let mut task = JoinSet::new();
        task.spawn_on(verb(client.clone()), runtime.handle());
        let done = self.wait(async {
            tokio::select! {
                biased;
                () = stop.stopped() => None,
                done = task.join_next() => done,
            }
        })?;
        done.map(|done| done.unwrap_or_else(|_| Err(Error::panicked("a call"))))
            .transpose()
    }

    /// Waits for `future` on the calling thread.
    ///
    /// # Errors
    /// `InvalidArgument` within an async runtime; `Closed` in a forked child.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        let (_, runtime) = self.parts()?;
        if Handle::try_current().is_ok() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a blocking call was made from within an async runtime or from a log callback",
            ));
        }
        Ok(runtime.block_on(future))
    }

    /// The async client and its runtime.
    ///
    /// # Errors
    /// `Closed` in a forked child.
    pub fn parts(&self) -> Result<&(AsyncClient, Runtime)> {
        self.parts.get().ok_or_else(|| {
            let message =
                "it was made by the parent process, before a fork; create another one here";
            Error::new(ErrorKind::Closed, message)
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let Some((client, runtime)) = self.parts.take() else {
            return;
        };
        let closed = client.closed();
        drop(client);
        if Handle::try_current().is_ok() {
            // On one of its own threads, waiting for the end would be waiting for itself.
            runtime.shutdown_background();
        } else {
            runtime.block_on(closed);
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        }
    }
}
