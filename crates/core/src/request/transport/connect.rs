//! Opens connections to the service in steps: name, address, proxy, TLS. Each step has an error of its own. All steps
//! together must end within `connect_timeout`.

use super::proxy::ProxyAddress;
use crate::error::failure::{
    CONNECT_TIMEOUT, NAME_UNAVAILABLE, NAME_UNKNOWN, NOT_REACHED, PROXY_LOST, PROXY_NOT_HTTP,
    PROXY_REFUSED, TLS_REFUSED,
};
use crate::error::{Error, Result, system_text};
use crate::process::lock;
use crate::request::sentence::sentence;
use crate::tls::{self, Peer};
use http::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tower_service::Service;

/// The interval after which an idle connection is probed (TCP keep-alive).
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Limits the bytes of a proxy's response.
const LONGEST_ANSWER: usize = 16 * 1024;
/// The time in which the page is read with which a proxy explains a refusal.
const PAGE_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens connections to one service.
#[derive(Clone)]
pub(super) struct Connector(pub(super) Arc<Route>);

/// The route to the service.
pub(super) struct Route {
    /// The service as errors name it, with the proxy on the way.
    pub(super) host: String,
    pub(super) proxy: Option<ProxyAddress>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) limit: Duration,
    pub(super) refusal: TlsRefusal,
}

/// The last reason for which the other end ended a TLS connection that was open. In TLS 1.3 it can arrive before the
/// request is sent, and the HTTP library then reports only that the connection was closed.
pub(super) type TlsRefusal = Arc<Mutex<Option<rustls::Error>>>;

/// The steps of a connection that succeeded.
#[derive(Default)]
pub(crate) struct Seen {
    /// The addresses of the host.
    pub(crate) name: Option<String>,
    /// The address that answered.
    pub(crate) address: Option<String>,
    /// True if the proxy connected to the service.
    pub(crate) proxy: bool,
    /// The issuer of the service's certificate.
    pub(crate) issuer: Option<String>,
}

/// The name of the service in messages about a handshake.
const THE_SERVICE: &str = "the service";

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, service: Uri) -> Self::Future {
        let route = Arc::clone(&self.0);
        Box::pin(async move {
            let opened = route.open(&service, &mut Seen::default()).await;
            opened.map(TokioIo::new)
        })
    }
}

impl Route {
    /// Opens a connection, and notes each step.
    pub(super) async fn open(&self, service: &Uri, seen: &mut Seen) -> Result<Stream> {
        let until = Instant::now() + self.limit;
        let mut stream = match &self.proxy {
            None => self.reach(until, service, seen).await?,
            Some(proxy) => {
                let mut stream = self.reach(until, &proxy.uri, seen).await?;
                if is_https(&proxy.uri) {
                    let whose = "the proxy";
                    stream = self.encrypt(until, stream, &proxy.uri, whose, seen).await?;
                }
                let asking = self.ask_proxy(&mut stream, service, proxy);
                self.in_time(until, "waiting for the proxy", asking)
                    .await??;
                seen.proxy = true;
                stream
            }
        };
        if is_https(service) {
            stream = self
                .encrypt(until, stream, service, THE_SERVICE, seen)
                .await?;
        }
        Ok(stream)
    }

    /// Runs a step, and ends it when the time for connecting is over.
    async fn in_time<T>(
        &self,
        until: Instant,
        step: &str,
        done: impl Future<Output = T>,
    ) -> Result<T> {
        tokio::time::timeout_at(until, done).await.map_err(|_| {
            let (host, limit) = (&self.host, self.limit.as_secs_f64());
            let message =
                format!("timed out connecting to {host}, {step}: connect_timeout is {limit} s");
            Error::of(CONNECT_TIMEOUT, message)
        })
    }

    /// Connects to the first address of a host that answers.
    async fn reach(&self, until: Instant, target: &Uri, seen: &mut Seen) -> Result<Stream> {
        let name = target.host().unwrap_or_default();
        let port = target
            .port_u16()
            .unwrap_or(if is_https(target) { 443 } else { 80 });
        let failed = || format!("cannot connect to {}", self.host);
        let looking_up = lookup(name, port);
        let step = format!("looking up the name {name}");
        let addresses = self.in_time(until, &step, looking_up).await?;
        let addresses = addresses.map_err(|error| {
            let reason = error.to_string();
            let reason = reason.rsplit(": ").next().unwrap_or_default();
            // The message of the C libraries for a name server that does not answer. It has no error number.
            let passes = ["emporary", "ry again"]
                .iter()
                .any(|it| reason.contains(it));
            let (failure, advice) = if passes {
                (
                    NAME_UNAVAILABLE,
                    "; is this machine connected to a network?",
                )
            } else {
                (NAME_UNKNOWN, "; check the spelling")
            };
            let what = format!("{}: the name {name} cannot be looked up", failed());
            Error::of(failure, format!("{what}: {reason}{advice}"))
        })?;
        let shown: Vec<String> = addresses.iter().map(|it| it.ip().to_string()).collect();
        seen.name = Some(format!("{name} is {}", shown.join(", ")));
        let mut tcp = HttpConnector::new_with_resolver(KnownAddresses(addresses));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        let connecting = tcp.call(target.clone());
        let connected = self.in_time(until, "waiting for its address to answer", connecting);
        let socket = connected.await?.map_err(|error| {
            let system = std::iter::successors(error.source(), |&cause| cause.source())
                .find_map(|cause| cause.downcast_ref::<io::Error>());
            let reason = system.map_or_else(String::new, system_text);
            let advice = match (&self.proxy, system.map(io::Error::kind)) {
                (Some(proxy), _) => format!("is it the proxy's address? Check {}", proxy.named()),
                (None, Some(io::ErrorKind::ConnectionRefused)) => {
                    "nothing accepts connections there; check base_url".into()
                }
                (None, _) => "check base_url and the network".into(),
            };
            Error::of(NOT_REACHED, format!("{}: {reason}; {advice}", failed()))
        })?;
        let socket = socket.into_inner();
        seen.address = socket.peer_addr().ok().map(|it| it.to_string());
        Ok(Stream {
            inner: Box::new(socket),
            refusal: TlsRefusal::default(),
        })
    }

    /// Asks the proxy to connect to the service.
    async fn ask_proxy(
        &self,
        stream: &mut Stream,
        service: &Uri,
        proxy: &ProxyAddress,
    ) -> Result<()> {
        let host = service.host().unwrap_or_default();
        let target = format!("{host}:{}", service.port_u16().unwrap_or(443));
        let credentials = proxy
            .credentials
            .as_ref()
            .map_or_else(String::new, |basic| {
                format!("Proxy-Authorization: Basic {}\r\n", basic.expose())
            });
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{credentials}\r\n");
        let mut answer = Vec::new();
        let exchange = async {
            stream.write_all(request.as_bytes()).await?;
            let is_complete = |answer: &[u8]| head_of(answer).is_some();
            read_until(stream, &mut answer, is_complete).await
        };
        let failed = format!("cannot connect to {}", self.host);
        let lost = exchange.await.err();
        let is_cut = head_of(&answer).is_none() && answer.len() <= LONGEST_ANSWER;
        if is_cut && (answer.starts_with(b"HTTP/") || b"HTTP/".starts_with(&answer)) {
            let reason =
                lost.map_or_else(String::new, |error| format!(": {}", system_text(&error)));
            let when = if answer.is_empty() {
                "without an answer"
            } else {
                "in the middle of its answer"
            };
            let message = format!("{failed}: the proxy ended the connection {when}{reason}");
            return Err(Error::of(PROXY_LOST, message));
        }
        let length = head_of(&answer).unwrap_or(answer.len());
        // Some proxies write their words in Latin-1.
        let head = String::from_utf8_lossy(&answer[..length]).into_owned();
        let Some((status, reason)) = head.lines().next().and_then(status_of) else {
            let message = format!(
                "{failed}: the server at this address is not an HTTP proxy; check scheme and port of {}",
                proxy.named()
            );
            return Err(Error::of(PROXY_NOT_HTTP, message));
        };
        let advice = match status {
            200..=299 => return Ok(()),
            401 | 407 if only_others(&head).is_some() => format!(
                "it accepts only {}, but this client knows only Basic; ask its administrator for that",
                only_others(&head).unwrap_or_default()
            ),
            401 | 407 if proxy.credentials.is_some() => format!(
                "it does not accept the user and the password in {}; correct them",
                proxy.named()
            ),
            401 | 407 => format!(
                "put a user and a password that it accepts into {}, as in http://USER:PASSWORD@HOST:PORT",
                proxy.named()
            ),
            403 => "its rules do not allow it; ask its administrator, or, if the service can be reached without the proxy, exclude it with NO_PROXY, or set proxy to none".into(),
            502..=504 => "it cannot reach the service; check base_url, or ask the administrator of the proxy".into(),
            _ => format!("check {}, or ask the administrator of the proxy", proxy.named()),
        };
        let size = headers(&head, "content-length").next();
        let size: Option<usize> = size.and_then(|size| size.parse().ok());
        let is_complete = |answer: &[u8]| size.is_some_and(|size| answer.len() - length >= size);
        let reading = read_until(stream, &mut answer, is_complete);
        // The part that arrives in time is shown.
        let _ = tokio::time::timeout(PAGE_TIMEOUT, reading).await;
        let is_plain = ["content-encoding", "transfer-encoding"]
            .iter()
            .all(|name| headers(&head, name).all(|coding| coding.eq_ignore_ascii_case("identity")));
        let page = answer.get(length..).filter(|_| is_plain);
        let said = sentence(page.unwrap_or_default())
            .map_or_else(String::new, |said| format!("; it says: {said}"));
        let message =
            format!("{failed}: the proxy refused with status {status}{reason}: {advice}{said}");
        Err(Error::of(PROXY_REFUSED, message))
    }

    async fn encrypt(
        &self,
        until: Instant,
        stream: Stream,
        target: &Uri,
        whose: &str,
        seen: &mut Seen,
    ) -> Result<Stream> {
        let name = target.host().unwrap_or_default().trim_matches(['[', ']']);
        let name = ServerName::try_from(name.to_owned()).map_err(|_| {
            let message = format!("{name} is not a valid name for a certificate");
            Error::of(TLS_REFUSED, message)
        })?;
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        let shaking = connector.connect(name, stream);
        let step = format!("in the TLS handshake with {whose}");
        let shaken = self.in_time(until, &step, shaking).await?;
        let knows_us = tls::has_identity(&self.tls);
        let peer = Peer {
            whose,
            knows_us,
            ca_file: self.ca_file.as_deref(),
        };
        let encrypted = shaken.map_err(|error| tls::failed(&self.host, peer, &error))?;
        if whose == THE_SERVICE {
            let certificates = encrypted.get_ref().1.peer_certificates();
            let issuer = certificates.and_then(|all| tls::issuer(all.first()?));
            seen.issuer = Some(issuer.unwrap_or_else(|| "an authority without a name".into()));
        }
        Ok(Stream {
            inner: Box::new(encrypted),
            refusal: Arc::clone(&self.refusal),
        })
    }
}

/// Reads until the answer is complete, the proxy ends it, or it is too long.
async fn read_until(
    stream: &mut Stream,
    answer: &mut Vec<u8>,
    is_complete: impl Fn(&[u8]) -> bool,
) -> io::Result<()> {
    while answer.len() <= LONGEST_ANSWER && !is_complete(answer) {
        answer.reserve(LONGEST_ANSWER);
        if stream.read_buf(answer).await? == 0 {
            break;
        }
    }
    Ok(())
}

/// Returns the values of a header.
fn headers<'a>(head: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let fields = fields.filter(move |(field, _)| field.eq_ignore_ascii_case(name));
    fields.map(|(_, value)| value.trim())
}

/// Returns the ways in which a proxy accepts a user, if Basic is not one of them.
fn only_others(head: &str) -> Option<String> {
    let ways = headers(head, "proxy-authenticate").filter_map(|way| way.split(' ').next());
    let ways: Vec<&str> = ways.collect();
    let has_basic = ways.iter().any(|way| way.eq_ignore_ascii_case("basic"));
    (!has_basic && !ways.is_empty()).then(|| ways.join(", "))
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

/// Returns the length of the head of a proxy's response, if it is complete. Some proxies end lines without a carriage
/// return.
fn head_of(answer: &[u8]) -> Option<usize> {
    let ends = |end: &[u8]| {
        answer
            .windows(end.len())
            .position(|it| it == end)
            .map(|at| at + end.len())
    };
    ends(b"\r\n\r\n").or_else(|| ends(b"\n\n"))
}

/// Returns the status and the reason in a status line.
fn status_of(line: &str) -> Option<(u16, String)> {
    let rest = line.strip_prefix("HTTP/1.")?.get(1..)?.trim_start();
    let (status, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let reason = match reason.trim() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    Some((status.trim().parse().ok()?, reason))
}

/// Returns the addresses of a host. The name `localhost` is never looked up, because plain http is only allowed to this
/// machine.
async fn lookup(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if name == "localhost" {
        return Ok(vec![
            (Ipv4Addr::LOCALHOST, port).into(),
            (Ipv6Addr::LOCALHOST, port).into(),
        ]);
    }
    let name = name.trim_matches(['[', ']']);
    Ok(tokio::net::lookup_host((name, port)).await?.collect())
}

/// Passes known addresses to the library, which tries several of them at once.
#[derive(Clone)]
struct KnownAddresses(Vec<SocketAddr>);

impl Service<Name> for KnownAddresses {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Infallible;
    type Future = std::future::Ready<std::result::Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Name) -> Self::Future {
        std::future::ready(Ok(std::mem::take(&mut self.0).into_iter()))
    }
}

/// A connection, encrypted or not.
pub(super) struct Stream {
    inner: Box<dyn Bytes>,
    refusal: TlsRefusal,
}

/// The operations of a connection.
trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(context, room);
        if let Poll::Ready(Err(error)) = &read
            && let Some(cause) = tls::tls_error(error)
        {
            *lock(&self.refusal) = Some(cause.clone());
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
