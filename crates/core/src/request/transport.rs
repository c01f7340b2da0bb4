//! One attempt: sends a request, tells the gate of the response, reads the body within its bounds.

mod body;
mod connect;
mod failure;

use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::RateHeaders;
use crate::request::memory::Claim;
use crate::request::queue::Permit;
use crate::settings::Config;
use body::{Body, Stop};
use bytes::Bytes;
use connect::Connector;
pub(crate) use connect::system_tls;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, USER_AGENT};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// The largest body of an error or of a small response, decompressed, in bytes.
pub(crate) const SMALL_BODY: usize = 64 * 1024;
/// The largest body of a page, decompressed, in bytes.
pub(crate) const PAGE_BODY: usize = 64 * 1024 * 1024;

/// More interim responses (status 1xx) than this are refused: nothing else would end them.
const MOST_INTERIM: usize = 16;
/// Connections that are not used are closed after this long.
const IDLE_CONNECTION: Duration = Duration::from_secs(90);

/// A request as it is sent.
pub(crate) type Request = http::Request<Full<Bytes>>;

/// The HTTP client of one configuration. No other is built anywhere.
pub(crate) struct Transport {
    http: Client<Connector, Full<Bytes>>,
    attempt: Duration,
    idle: Duration,
    /// The service as errors name it, with the proxy that all connections to it go through.
    host: String,
    last: Mutex<Option<(StatusCode, Arc<HeaderMap>)>>,
}

/// Status and headers of a response, for whoever looks into what the service said.
#[derive(Clone, Debug)]
pub struct LastResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
}

/// What the service answered.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: Arc<HeaderMap>,
    pub(crate) limits: RateHeaders,
    pub(crate) body: Bytes,
}

/// What one attempt may take.
pub(crate) struct Bounds<'a> {
    /// The largest body, decompressed, in bytes.
    pub(crate) body: usize,
    /// The time left of the call.
    pub(crate) time: Duration,
    /// The memory of a page.
    pub(crate) claim: Option<&'a mut Claim>,
}

impl Transport {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        // It follows no redirect, which would carry the secret of the token request to another origin, and repeats
        // nothing that may have been sent: retries are ours, so that each one passes the gate and is counted.
        let connector = Connector::new(config)?;
        let host = config.base_url.to_string();
        let proxy = host.parse().ok().and_then(|uri| connector.proxy(&uri));
        let http = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTION)
            .build(connector);
        Ok(Transport {
            http,
            attempt: config.attempt_timeout,
            idle: config.idle_timeout,
            host: match proxy {
                Some(proxy) => format!("{host} through the proxy {proxy}"),
                None => host,
            },
            last: Mutex::default(),
        })
    }

    /// Sends one request and reads its response, whatever the status; `answered` is told the status as soon as it is
    /// known, which a body may follow much later.
    pub(crate) async fn send(
        &self,
        request: Request,
        mut permit: Permit,
        bounds: Bounds<'_>,
        answered: impl FnOnce(StatusCode),
    ) -> Result<Response> {
        let mut until = clock::now().saturating_add(self.attempt.min(bounds.time));
        permit.sent();
        let sent = self.within(until, self.head(request)).await;
        let response = match sent.and_then(|response| response) {
            Ok(response) => response,
            Err(error) => {
                permit.failed(error.kind() != ErrorKind::Connect);
                return Err(error);
            }
        };
        let (mut head, mut incoming) = response.into_parts();
        let status = head.status;
        let limits = RateHeaders::read(&head.headers, SystemTime::now());
        permit.answered(clock::now(), status.as_u16(), &limits);
        answered(status);
        let declared = declared_length(&head.headers);
        let gzip = is_gzip(&head.headers);
        if gzip {
            head.headers.remove(CONTENT_ENCODING);
            head.headers.remove(CONTENT_LENGTH);
        }
        let headers = Arc::new(head.headers);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((status, Arc::clone(&headers)));
        let most = if status.is_success() {
            bounds.body
        } else {
            SMALL_BODY
        };
        let too_large = || {
            let message = format!("the response is larger than {most} bytes decompressed");
            Error::new(ErrorKind::TooLarge, message).with_status(status.as_u16())
        };
        if status.is_success() && !gzip && declared > most as u64 {
            return Err(too_large());
        }
        let likely = if gzip {
            0
        } else {
            declared.min(most as u64) as usize
        };
        let waiting = clock::now();
        let mut body = Body::new(likely, most, gzip, bounds.claim).await;
        // Waiting for memory is no fault of the service.
        until = until.saturating_add(clock::now().saturating_sub(waiting));
        let outcome = loop {
            let Some(piece) = self.within(until, self.piece(&mut incoming)).await?? else {
                break body.finish().await;
            };
            let waiting = clock::now();
            if let Err(stop) = body.push(&piece).await {
                break match stop {
                    // Of an error, what has come is enough.
                    Stop::TooLarge if !status.is_success() => Ok(body.so_far()),
                    stop => Err(stop),
                };
            }
            until = until.saturating_add(clock::now().saturating_sub(waiting));
        };
        let body = outcome.map_err(|stop| match stop {
            Stop::TooLarge => too_large(),
            Stop::Gzip(error) => failure::broken_gzip(&self.host, &error),
        })?;
        Ok(Response {
            status,
            headers,
            limits,
            body,
        })
    }

    /// Sends a request, and waits for the head of its response.
    async fn head(&self, mut request: Request) -> Result<http::Response<Incoming>> {
        let headers = request.headers_mut();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let agent = concat!("talentdata/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        let (interim, too_many) = (AtomicUsize::new(0), Arc::new(Notify::new()));
        let tell = Arc::clone(&too_many);
        hyper::ext::on_informational(&mut request, move |_| {
            if interim.fetch_add(1, Ordering::Relaxed) == MOST_INTERIM {
                tell.notify_one();
            }
        });
        tokio::select! {
            response = self.http.request(request) => {
                response.map_err(|error| failure::no_response(&self.host, &error))
            }
            () = too_many.notified() => {
                let message = format!(
                    "{} sent more than {MOST_INTERIM} interim responses (status 1xx) instead of a response",
                    self.host
                );
                Err(Error::new(ErrorKind::TooLarge, message))
            }
        }
    }

    /// The next piece of a body; none at its end.
    async fn piece(&self, body: &mut Incoming) -> Result<Option<Bytes>> {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| failure::broken_body(&self.host, &error))?;
            // What is no data is trailers, which say nothing that is used.
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// Ends a step when nothing comes for too long, or the attempt takes too long.
    async fn within<T>(&self, until: Time, step: impl Future<Output = T>) -> Result<T> {
        let left = until.saturating_sub(clock::now());
        let limited = tokio::time::timeout(self.idle.min(left), step).await;
        limited.map_err(|_| {
            let host = &self.host;
            let message = match left <= self.idle {
                true => format!(
                    "no complete response from {host} within {} s",
                    self.attempt.as_secs_f64()
                ),
                false => format!("timed out waiting for {host}"),
            };
            Error::new(ErrorKind::Timeout, message)
        })
    }

    pub(crate) fn last(&self) -> Option<LastResponse> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map(|(status, headers)| LastResponse {
            status: *status,
            headers: HeaderMap::clone(headers),
        })
    }
}

/// The length of the body by its header; 0 where it does not say.
fn declared_length(headers: &HeaderMap) -> u64 {
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    length.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn is_gzip(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    let is_it = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"gzip");
    codings.next().is_some_and(is_it) && codings.next().is_none()
}

#[cfg(test)]
impl Response {
    /// A response with status 200 and this body, which was received before.
    pub(crate) fn of_json(body: impl Into<Bytes>) -> Self {
        Response {
            status: StatusCode::OK,
            headers: Arc::default(),
            limits: RateHeaders::default(),
            body: body.into(),
        }
    }
}
