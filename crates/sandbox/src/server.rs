//! HTTP/1.1 over loopback, on threads of its own: accepts connections and passes requests to the service.

use crate::admin::{administer, refusal, set_faults};
use crate::clock::lock;
use crate::faults::{ConnectionFailure, end, play, wait};
use crate::http::{Answer, Received};
use crate::options::{Change, Options};
use crate::service::{Service, Stats};
use crate::spec::ServiceSpec;
use crate::state::Logged;
use ::http::{Request, Response};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{fmt, io, thread};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// Serves until the runtime ends.
async fn serve(listener: TcpListener, service: Arc<Service>) {
    let mut connection = 0;
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // Most likely no file descriptors are left. Other connections may release some.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        connection += 1;
        tokio::spawn(converse(socket, connection, Arc::clone(&service)));
    }
}

async fn converse(mut socket: TcpStream, connection: u64, service: Arc<Service>) -> io::Result<()> {
    let faults = service.faults.as_ref();
    let fault = faults.and_then(|faults| lock(faults).accepted());
    if let Some(how) = fault {
        // The socket is dropped in either case.
        return end(&mut socket, how).await;
    }
    // Without this option, small responses wait for more bytes.
    socket.set_nodelay(true)?;
    // A fault takes over the connection with a handle of its own.
    let socket = socket.into_std()?;
    let spare = Arc::new(socket.try_clone()?);
    let io = TokioIo::new(TcpStream::from_std(socket)?);
    let respond = service_fn(|request| {
        let (service, spare) = (Arc::clone(&service), Arc::clone(&spare));
        respond(request, connection, service, spare)
    });
    let conversation = http1::Builder::new().serve_connection(io, respond);
    // This fails if the client goes away, which is allowed, or if a fault took over the connection.
    let _ = conversation.await;
    Ok(())
}

async fn respond(
    request: Request<Incoming>,
    connection: u64,
    service: Arc<Service>,
    spare: Arc<std::net::TcpStream>,
) -> Result<Response<Full<Bytes>>, ConnectionFailure> {
    let answer = answer(request, connection, &service, &spare).await?;
    Ok(answer.map(Full::new))
}

async fn answer(
    request: Request<Incoming>,
    connection: u64,
    service: &Service,
    spare: &std::net::TcpStream,
) -> Result<Answer, ConnectionFailure> {
    if service.faults.is_some() && request.uri().path().starts_with("/__") {
        let port = spare.local_addr()?.port();
        if let Some(refusal) = refusal(request.headers(), port) {
            return Ok(refusal);
        }
    }
    let request = Received::read(request, connection).await?;
    if let Some(answer) = administer(service, &request) {
        return Ok(answer);
    }
    let one_way = service.options.latency / 2;
    wait(one_way).await;
    let answer = service.answer(&request);
    let fault = service.fault(&request);
    wait(one_way).await;
    match fault {
        None => Ok(answer),
        Some(reply) => play(&reply, answer, spare).await,
    }
}

/// The service on a port of 127.0.0.1, served by threads of its own until it is dropped.
///
/// Nothing here is async. The sandbox can be started and dropped inside and outside an async runtime. Dropping it ends
/// all connections, and returns when the threads have ended.
pub struct Sandbox {
    base_url: String,
    service: Arc<Service>,
    runtime: Option<Runtime>,
}

/// The number of threads: enough for the fastest client, and few enough for a test machine.
const WORKERS: usize = 2;

impl Sandbox {
    /// Starts the service. It only ever listens on 127.0.0.1.
    ///
    /// # Errors
    ///
    /// If the port is in use, if the system grants no threads or random bytes, or if `options.records` names an unknown
    /// list.
    pub fn start(options: Options) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let service = Arc::new(Service::new(ServiceSpec::embedded(), options)?);
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("talentdata-sandbox")
            .enable_all()
            .build()?;
        let listener = {
            let _within = runtime.enter();
            TcpListener::from_std(listener)?
        };
        runtime.spawn(serve(listener, Arc::clone(&service)));
        Ok(Self {
            base_url: format!("http://{address}"),
            service,
            runtime: Some(runtime),
        })
    }

    /// Returns `http://127.0.0.1:PORT`, without a slash at the end. The paths of the service are appended to it.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the only client ID that is accepted. It is random for each start.
    pub fn client_id(&self) -> &str {
        &self.service.credentials.client_id
    }

    /// Returns the secret of this client ID. It is random for each start.
    pub fn client_secret(&self) -> &str {
        &self.service.credentials.client_secret
    }

    /// Replaces the current rules with the rules of a fault script, like `POST /__faults`.
    ///
    /// # Errors
    ///
    /// If the sandbox was started without faults, or if a rule is wrong. The current rules then stay in force.
    pub fn set_faults(&self, script: &str) -> io::Result<()> {
        set_faults(&self.service, script.as_bytes())
            .map_err(|message| io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    /// Changes a list immediately, for example between two runs of a program that resumes.
    ///
    /// # Errors
    ///
    /// If there is no such list, or it is too large for the change.
    pub fn change(&self, list: &str, change: Change) -> io::Result<()> {
        self.service.list(list)?.state().change(change)
    }

    /// Returns the real changes of a list since the start, in order, without the first `skip`. Moves are not included.
    ///
    /// # Errors
    ///
    /// If there is no such list.
    pub fn changes(&self, list: &str, skip: usize) -> io::Result<Vec<Logged>> {
        Ok(self.service.list(list)?.changes(skip))
    }

    /// Returns the statistics until now.
    pub fn stats(&self) -> Stats {
        self.service.stats()
    }
}

/// The credentials are not shown, because they do not belong in a log even here.
impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Sandbox");
        let shown = shown.field("base_url", &self.base_url);
        shown.finish_non_exhaustive()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A runtime must not be dropped within another one.
            let (sender, receiver) = channel::<Runtime>();
            match thread::Builder::new().spawn(move || drop(receiver.recv())) {
                Ok(ended) => {
                    let _ = sender.send(runtime);
                    let _ = ended.join();
                }
                // Without another thread nothing can wait for its end.
                Err(_) => runtime.shutdown_background(),
            }
        }
    }
}
