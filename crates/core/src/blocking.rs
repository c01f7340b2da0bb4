//! The same verbs for callers without an async runtime.

mod engine;
mod job;

pub use engine::Engine;
pub use job::{Job, Progress};

use crate::arguments::Arguments;
use crate::client::Client as AsyncClient;
use crate::error::{Error, ErrorKind, Result};
use crate::page::Page;
use crate::settings::Builder;
use crate::stop::Stop;
use engine::Plan;
use std::sync::Arc;
use talentdata_types::{Operation, Resource};

/// A client that blocks the calling thread; clones may be used from several threads.
///
/// It works on in a forked child, with threads and connections of the child's own.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    engine: Arc<Engine>,
    plan: Plan,
    closed: Stop,
}

impl Client {
    /// Settings to make a client from; pass them to [`Client::new`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Checks the settings and makes a client with a runtime of its own, without sending anything.
    ///
    /// # Errors
    /// `Config`, naming the setting; `Internal` when the system grants no threads.
    pub fn new(builder: &Builder) -> Result<Self> {
        Self::make(builder, None)
    }

    /// The same; each thread of the runtime first runs `start`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_thread_start(
        builder: &Builder,
        start: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::make(builder, Some(Arc::new(start)))
    }

    fn make(builder: &Builder, on_thread_start: Option<engine::ThreadStart>) -> Result<Self> {
        let plan = Plan {
            config: builder.config()?,
            on_thread_start,
        };
        Ok(Client(Arc::new(Shared {
            engine: Engine::new(&plan)?,
            plan,
            closed: Stop::default(),
        })))
    }

    /// Ends the calls under way in other threads, and all later ones, with `Closed`. Scans go on.
    pub fn close(&self) {
        self.0.closed.stop();
    }

    /// See [`AsyncClient::invoke`].
    ///
    /// # Errors
    /// As there.
    pub fn invoke(
        &self,
        operation: &'static Operation,
        arguments: Arguments,
    ) -> Result<Option<String>> {
        self.run(move |client| async move { client.invoke(operation, arguments).await })
    }

    /// One page of a list, as the service sent it; see [`List::page`](crate::List::page).
    ///
    /// # Errors
    /// As there.
    pub fn page(&self, resource: Resource, limit: Option<u64>, offset: u64) -> Result<Page> {
        self.page_with(resource, Arguments::default(), limit, offset)
    }

    /// One page of a list with these values of its parameters, such as filters.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn page_with(
        &self,
        resource: Resource,
        arguments: impl Into<Arguments>,
        limit: Option<u64>,
        offset: u64,
    ) -> Result<Page> {
        let arguments = arguments.into();
        self.run(move |client| async move {
            let list = client.resource(resource).with(arguments);
            list.page(limit, offset).await
        })
    }

    /// What a scan of a list will cost; see [`AsyncClient::plan`].
    ///
    /// # Errors
    /// As there.
    pub fn plan(&self, resource: Resource) -> Result<crate::Plan> {
        self.plan_with(resource, Arguments::default())
    }

    /// The same for a list with these values of its parameters, such as filters.
    ///
    /// # Errors
    /// As there.
    pub fn plan_with(
        &self,
        resource: Resource,
        arguments: impl Into<Arguments>,
    ) -> Result<crate::Plan> {
        let arguments = arguments.into();
        self.run(move |client| async move { client.plan_with(resource, arguments).await })
    }

    /// Runs a verb of the client to its end. It runs on the client's own threads, so that the calling thread sees none
    /// of its signals.
    ///
    /// # Errors
    /// Those of the verb; `Closed` after [`close`](Self::close), which also ends it.
    pub fn run<T, F>(&self, verb: impl FnOnce(AsyncClient) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let done = self.engine()?.run(&self.0.closed, verb)?;
        done.ok_or_else(closed)
    }

    /// The threads of this client in this process, and its async twin, for scans and jobs that outlive it.
    ///
    /// # Errors
    /// `Closed` after [`close`](Self::close).
    pub fn engine(&self) -> Result<Arc<Engine>> {
        if self.0.closed.is_stopped() {
            return Err(closed());
        }
        self.0.engine.here(&self.0.plan)
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the client was closed")
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Client")
            .field(&self.0.plan.config)
            .finish()
    }
}
