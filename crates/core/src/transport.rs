//! One attempt: sends a request, tells the gate of the answer, reads the body within its bounds.

use crate::clock;
use crate::config::Config;
use crate::error::{Again, Error, ErrorKind, Result};
use crate::gate::RateHeaders;
use crate::turnstile::Permit;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use rustls_platform_verifier::BuilderVerifierExt;
use std::error::Error as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The largest body of an error or of a small answer, decompressed, in bytes.
pub(crate) const SMALL_BODY: usize = 64 * 1024;
/// The largest body of a page, decompressed, in bytes.
pub(crate) const PAGE_BODY: usize = 64 * 1024 * 1024;

/// Bodies have room for a multiple of this, so that the room of one that is gone fits the next.
const ROOM: usize = 16 * 1024;

/// The HTTP client of one configuration. No other is built anywhere.
pub(crate) struct Transport {
    http: reqwest::Client,
    attempt: Duration,
    host: String,
    last: Mutex<Option<(StatusCode, Arc<HeaderMap>)>>,
}

/// Status and headers of an answer, for whoever looks into what the service said.
#[derive(Clone, Debug)]
pub struct LastResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
}

/// What the service answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: Arc<HeaderMap>,
    pub(crate) limits: RateHeaders,
    pub(crate) body: Bytes,
}

impl Transport {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("talentdata/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls(config)?)
            // A redirect of the token request would carry the secret in its body to another origin.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(config.timeouts.connect)
            .read_timeout(config.timeouts.idle)
            // Retries are ours, so that each one passes the gate and is counted.
            .retry(reqwest::retry::never())
            .tcp_nodelay(true);
        if config.base_url.is_loopback() {
            // A proxy from the environment would be shown the secret in clear.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|_| {
            Error::new(
                ErrorKind::Config,
                "the HTTP client cannot be set up; check the proxy variables of the environment",
            )
        })?;
        let host = config.base_url.to_string();
        Ok(Transport {
            http,
            attempt: config.timeouts.attempt,
            host,
            last: Mutex::default(),
        })
    }

    /// Sends one request and reads its answer, whatever the status.
    pub(crate) async fn send(
        &self,
        request: reqwest::Request,
        permit: Permit,
        most: usize,
    ) -> Result<Answer> {
        match tokio::time::timeout(self.attempt, self.exchange(request, permit, most)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::new(
                ErrorKind::Timeout,
                format!(
                    "no complete answer from {} within {} s",
                    self.host,
                    self.attempt.as_secs_f64()
                ),
            )),
        }
    }

    async fn exchange(
        &self,
        request: reqwest::Request,
        mut permit: Permit,
        most: usize,
    ) -> Result<Answer> {
        permit.sent();
        let mut response = self
            .http
            .execute(request)
            .await
            .map_err(|error| self.failure(&error))?;
        let status = response.status();
        let limits = RateHeaders::read(response.headers(), SystemTime::now());
        permit.answered(clock::now(), status.as_u16(), &limits);
        let headers = Arc::new(std::mem::take(response.headers_mut()));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((status, Arc::clone(&headers)));
        let most = if status.is_success() {
            most
        } else {
            SMALL_BODY
        };
        let declared = response.content_length().unwrap_or(0);
        if status.is_success() && declared > most as u64 {
            return Err(too_large(most).with_status(status.as_u16()));
        }
        let likely = declared.min(most as u64) as usize;
        let mut body = BytesMut::with_capacity(likely.next_multiple_of(ROOM));
        // Piece by piece, because only the decompressed size can be trusted.
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| self.failure(&error))?
        {
            if body.len() + piece.len() > most {
                if status.is_success() {
                    return Err(too_large(most).with_status(status.as_u16()));
                }
                break;
            }
            body.extend_from_slice(&piece);
        }
        Ok(Answer {
            status,
            headers,
            limits,
            body: body.freeze(),
        })
    }

    pub(crate) fn last(&self) -> Option<LastResponse> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map(|(status, headers)| LastResponse {
            status: *status,
            headers: HeaderMap::clone(headers),
        })
    }

    /// Says in our own words what went wrong; the library's would show the query string.
    fn failure(&self, error: &reqwest::Error) -> Error {
        let host = &self.host;
        let cause = deepest_cause(error);
        let says = |needle: &str| cause.to_lowercase().contains(needle);
        let (kind, message) = if error.is_timeout() {
            let what = if error.is_connect() {
                "no connection to"
            } else {
                "no sign of life from"
            };
            (
                ErrorKind::Timeout,
                format!("{what} {host} within the deadline"),
            )
        } else if says("certificate")
            || says("tls")
            || says("handshake")
            || says("invalidcontenttype")
        {
            (
                ErrorKind::Tls,
                format!("{host} cannot be trusted or does not speak TLS: {cause}"),
            )
        } else if error.is_connect() {
            (
                ErrorKind::Connect,
                format!("cannot connect to {host}: {cause}"),
            )
        } else if error.is_decode() && !is_lost_connection(error) {
            (
                ErrorKind::Decode,
                format!("the answer of {host} cannot be decompressed: {cause}"),
            )
        } else {
            (
                ErrorKind::Transport,
                format!("lost the connection to {host}: {cause}"),
            )
        };
        let again = if kind.is_retryable() {
            Again::Yes
        } else {
            Again::Never
        };
        Error::new(kind, message).with_again(again)
    }
}

/// TLS as the operating system trusts it. The loopback client needs none, not even certificates.
fn tls(config: &Config) -> Result<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: rustls::Error| {
        Error::new(
            ErrorKind::Tls,
            format!("the system's certificates cannot be used: {error}"),
        )
    };
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    if config.base_url.is_loopback() {
        let none = rustls::RootCertStore::empty();
        return Ok(builder.with_root_certificates(none).with_no_client_auth());
    }
    Ok(builder
        .with_platform_verifier()
        .map_err(failed)?
        .with_no_client_auth())
}

fn too_large(most: usize) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!("the answer is larger than {most} bytes decompressed"),
    )
}

/// The last in the chain of causes: the one that says what happened.
fn deepest_cause(error: &reqwest::Error) -> String {
    let mut cause: Option<&dyn std::error::Error> = error.source();
    let mut text = String::from("no reason given");
    while let Some(one) = cause {
        text = one.to_string();
        cause = one.source();
    }
    text
}

/// Whether an error while reading a body is a lost connection, which the library calls "decode".
fn is_lost_connection(error: &reqwest::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = error.source();
    while let Some(one) = cause {
        if one
            .to_string()
            .contains("end of file before message length reached")
        {
            return true;
        }
        if let Some(io) = one.downcast_ref::<std::io::Error>() {
            use std::io::ErrorKind::{
                ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof,
            };
            let lost = [
                ConnectionAborted,
                ConnectionReset,
                NotConnected,
                UnexpectedEof,
            ];
            if lost.contains(&io.kind()) {
                return true;
            }
        }
        cause = one.source();
    }
    false
}

#[cfg(test)]
impl Answer {
    /// An answer with status 200 and this body.
    pub(crate) fn of_json(body: impl Into<String>) -> Self {
        Answer {
            status: StatusCode::OK,
            headers: Arc::default(),
            limits: RateHeaders::default(),
            body: body.into().into(),
        }
    }
}
