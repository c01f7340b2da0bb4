//! A running sandbox, as its owner holds it.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::changes::Logged;
use crate::drift::Change;
use crate::faults;
use crate::options::Options;
use crate::server;
use crate::service::Service;
use crate::spec::Spec;
use crate::stats::Stats;

/// The service on a port of 127.0.0.1, served by threads of its own until it is dropped.
///
/// Nothing here is async: it can be started and dropped with and without an async runtime around it. Dropping ends
/// all connections, and returns when the threads have ended.
pub struct Sandbox {
    base_url: String,
    service: Arc<Service>,
    /// Dropped to stop.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Enough for the fastest client, and few enough for a test machine.
const WORKERS: usize = 2;

impl Sandbox {
    /// Starts the service. It only ever listens on 127.0.0.1.
    ///
    /// # Errors
    ///
    /// When the port is taken, when threads or random bytes cannot be had, or when `options.records` names a list
    /// that there is not.
    pub fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let service = Arc::new(Service::new(Spec::embedded(), options)?);
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("talentdata-sandbox".into())
            .spawn({
                let service = Arc::clone(&service);
                // The runtime lives and ends on this thread, because it must not be dropped within another one.
                move || match prepare(listener) {
                    Ok((runtime, listener)) => {
                        let _ = ready.send(Ok(()));
                        runtime.block_on(async {
                            tokio::select! {
                                _ = stopped => {}
                                never = server::serve(listener, service) => match never {},
                            }
                        });
                    }
                    Err(error) => {
                        let _ = ready.send(Err(error));
                    }
                }
            })?;
        let ended = |_| io::Error::other("the sandbox's thread ended");
        started.recv().map_err(ended)??;
        Ok(Self {
            base_url: format!("http://{address}"),
            service,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end; the paths of the service go after it.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The only client id that is accepted, another one for each start.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.service.credentials.client_id
    }

    /// The secret that goes with it, random for each start.
    #[must_use]
    pub fn client_secret(&self) -> &str {
        &self.service.credentials.client_secret
    }

    /// Takes the rules of a fault script, in place of those before, as `POST /__faults` does.
    ///
    /// # Errors
    ///
    /// When it was started without faults, or when a rule is wrong; the rules before stay in force then.
    pub fn set_faults(&self, script: &str) -> io::Result<()> {
        faults::set(&self.service, script.as_bytes())
            .map_err(|message| io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    /// Changes a list at once, such as between two runs of a program that resumes.
    ///
    /// # Errors
    ///
    /// When there is no such list, or it is too large for the change.
    pub fn change(&self, list: &str, change: Change) -> io::Result<()> {
        let list = self.service.contents.named(list)?;
        list.with(|state| state.change(change))
    }

    /// What has really happened to a list since the start, in order, but for the first `skip` changes; moves are none.
    ///
    /// # Errors
    ///
    /// When there is no such list.
    pub fn changes(&self, list: &str, skip: usize) -> io::Result<Vec<Logged>> {
        Ok(self.service.contents.named(list)?.changes(skip))
    }

    /// What was seen until now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.service.stats()
    }
}

/// Without the credentials, which do not belong in a log even here.
impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Sandbox");
        fields
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic in there was reported on standard error when it happened.
            let _ = thread.join();
        }
    }
}

fn prepare(listener: TcpListener) -> io::Result<(Runtime, tokio::net::TcpListener)> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("talentdata-sandbox")
        .enable_all()
        .build()?;
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    Ok((runtime, listener))
}
