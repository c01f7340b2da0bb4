//! One attempt: sends a request, reports the response to the gate, and reads the body within its bounds.

mod client;
mod connect;
mod decode;
mod failure;
mod proxy;

use crate::budget::{RateHeaders, RequestOutcome};
use crate::clock::{self, Time};
use crate::error::failure::{ATTEMPT_TIMEOUT, IDLE_TIMEOUT, TOO_LARGE};
use crate::error::{Error, Result};
use crate::request::page_memory::MemoryClaim;
use crate::request::queue::Permit;
use crate::request::retry::Deadline;
use crate::settings::Config;
use bytes::{Bytes, BytesMut};
use connect::Route;
pub(crate) use connect::Seen;
use decode::Decoder;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use proxy::ProxyAddress;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The largest body of an error or of a small response, decompressed, in bytes.
const SMALL_BODY: usize = 64 * 1024;
/// The largest body of a page, decompressed, in bytes.
const PAGE_BODY: usize = 64 * 1024 * 1024;
/// The capacity of a body is a multiple of this, so that freed memory fits the next body.
const CAPACITY_STEP: usize = 16 * 1024;

/// The HTTP client of one configuration.
pub(crate) struct Transport {
    http: client::HttpClient,
    attempt: Duration,
    idle: Duration,
    timeout: Duration,
    route: Arc<Route>,
}

/// A response of the service.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The limits that the headers name.
    pub(crate) limits: RateHeaders,
    pub(crate) body: Bytes,
}

/// One request and its outcome.
pub(crate) struct Exchange {
    pub(crate) response: Result<Response>,
    /// The time that a page waited for memory. It does not count against the deadline.
    pub(crate) waited_for_memory: Duration,
}

/// The time by which an attempt must be done, and the setting that limits it.
#[derive(Clone, Copy)]
struct Limit {
    until: Time,
    setting: &'static str,
    value: Duration,
}

impl Transport {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let (http, route) = client::build(config)?;
        Ok(Transport {
            http,
            attempt: config.attempt_timeout,
            idle: config.idle_timeout,
            timeout: config.timeout,
            route,
        })
    }

    /// Opens a connection to the service, and closes it again. Returns the steps that succeeded.
    pub(crate) async fn examine(&self, service: &str) -> (Seen, Result<()>) {
        let mut seen = Seen::default();
        let Ok(service) = service.parse() else {
            return (seen, Err(Error::config("base_url cannot be used")));
        };
        let opened = self.route.open(&service, &mut seen).await;
        (seen, opened.map(drop))
    }

    /// Returns the address of the proxy, if connections go through one.
    pub(crate) fn proxy(&self) -> Option<String> {
        self.route.proxy.as_ref().map(ProxyAddress::shown)
    }

    /// Sends one request and reads its response, regardless of the status, within the time of the call. A page waits
    /// for memory as it grows.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        mut permit: Permit,
        mut deadline: Deadline,
        claim: Option<&mut MemoryClaim>,
    ) -> Exchange {
        let limit = self.limit(deadline);
        let mut waited = Duration::ZERO;
        permit.outcome = Some(RequestOutcome::Lost);
        let received = async {
            let executed = async {
                let executed = self.http.request(request).await;
                if executed.as_ref().is_err_and(|error| error.is_connect()) {
                    permit.outcome = Some(RequestOutcome::Unsent);
                }
                executed.map_err(|error| failure::of(&self.route, &error))
            };
            let doing = "waiting for the first byte of the response from";
            let response = self.within(limit, doing, executed).await??;
            let (head, body) = response.into_parts();
            let (status, headers) = (head.status, head.headers);
            let limits = RateHeaders::read(&headers, SystemTime::now());
            let answered = RequestOutcome::Answered(status.as_u16(), limits.clone());
            permit.report(clock::now(), answered);
            let is_error = !status.is_success();
            let body = self
                .body(&headers, is_error, body, limit, &mut waited, claim)
                .await?;
            Ok(Response {
                status,
                headers,
                limits,
                body,
            })
        };
        let received: Result<Response> = received.await;
        deadline.extend(waited);
        // If the call ran out of time, it did not wait long enough to know whether the request failed.
        if received.as_ref().is_err_and(Error::is_outage) && clock::now() < deadline.time() {
            let sent = permit.outcome != Some(RequestOutcome::Unsent);
            permit.outcome = Some(RequestOutcome::Failed { sent });
        }
        Exchange {
            response: received,
            waited_for_memory: waited,
        }
    }

    /// Returns the time limit of an attempt that begins now.
    fn limit(&self, deadline: Deadline) -> Limit {
        let until = clock::now().saturating_add(self.attempt);
        if deadline.time() < until {
            Limit {
                until: deadline.time(),
                setting: "timeout",
                value: self.timeout,
            }
        } else {
            Limit {
                until,
                setting: "attempt_timeout",
                value: self.attempt,
            }
        }
    }

    /// Reads a body piece by piece, and claims memory for it as it grows. The body of an error may be incomplete.
    async fn body(
        &self,
        headers: &HeaderMap,
        is_error: bool,
        mut incoming: Incoming,
        mut limit: Limit,
        waited_for_memory: &mut Duration,
        mut claim: Option<&mut MemoryClaim>,
    ) -> Result<Bytes> {
        let most = if is_error || claim.is_none() {
            SMALL_BODY
        } else {
            PAGE_BODY
        };
        let mut decoder = Decoder::new(headers);
        let declared = incoming.size_hint().exact();
        let declared = declared.filter(|_| !is_error && decoder.is_identity());
        let declared = usize::try_from(declared.unwrap_or(0)).unwrap_or(usize::MAX);
        let mut body = BytesMut::new();
        let not_encoded = |error| failure::of_coding(&self.route.host, headers, &error);
        loop {
            let piece = match self.piece(&mut incoming, limit).await {
                Ok(Some(piece)) => piece,
                Err(error) if !is_error => return Err(error),
                Ok(None) if !is_error => {
                    decoder.finish().map_err(not_encoded)?;
                    return Ok(body.freeze());
                }
                _ => return Ok(body.freeze()),
            };
            for piece in piece.chunks(decoder.piece()) {
                let piece = match decoder.decode(piece) {
                    Ok(piece) => piece,
                    Err(_) if is_error => return Ok(body.freeze()),
                    Err(error) => return Err(not_encoded(error)),
                };
                let length = declared.max(body.len() + piece.len());
                if length > most && is_error {
                    return Ok(body.freeze());
                }
                if length > most {
                    let message = format!("the response is larger than {most} bytes decompressed");
                    return Err(Error::of(TOO_LARGE, message));
                }
                if length > body.capacity() {
                    let doubled = (2 * body.capacity()).min(most);
                    let room = length.max(doubled).next_multiple_of(CAPACITY_STEP);
                    if let Some(claim) = &mut claim {
                        // The wait for memory does not count.
                        let waited = claim.grow(room).await;
                        limit.until = limit.until.saturating_add(waited);
                        *waited_for_memory += waited;
                    }
                    body.reserve(room - body.len());
                }
                body.extend_from_slice(&piece);
            }
        }
    }

    /// Returns the next piece of a body; `None` at its end.
    async fn piece(&self, incoming: &mut Incoming, limit: Limit) -> Result<Option<Bytes>> {
        loop {
            let pause = clock::now().saturating_add(self.idle);
            let frame = incoming.frame();
            let frame = if pause < limit.until {
                let frame = tokio::time::timeout_at(clock::instant(pause), frame).await;
                frame.map_err(|_| {
                    let (host, idle) = (&self.route.host, self.idle.as_secs_f64());
                    let message = format!(
                        "the response of {host} paused for longer than {idle} s (idle_timeout)"
                    );
                    Error::of(IDLE_TIMEOUT, message)
                })?
            } else {
                self.within(limit, "reading the response of", frame).await?
            };
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| failure::of(&self.route, &error))?;
            // Trailers are not needed.
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
    }

    /// Runs a step, and ends it if the attempt takes too long.
    async fn within<T>(
        &self,
        limit: Limit,
        doing: &str,
        step: impl Future<Output = T>,
    ) -> Result<T> {
        let done = tokio::time::timeout_at(clock::instant(limit.until), step).await;
        done.map_err(|_| {
            let Limit { setting, value, .. } = limit;
            let (host, value) = (&self.route.host, value.as_secs_f64());
            let message = format!("timed out {doing} {host}: {setting} is {value} s");
            Error::of(ATTEMPT_TIMEOUT, message)
        })
    }
}

#[cfg(test)]
impl Response {
    /// Returns a response with status 200 and this body.
    pub(crate) fn of_json(body: impl Into<Bytes>) -> Self {
        Response {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            limits: RateHeaders::default(),
            body: body.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Admission, Endpoint, PriorityClass, Ticket};
    use crate::budget::{Budget, SharingStatus};
    use crate::request::queue::AdmissionQueue;
    use crate::request::retry::RetryState;
    use crate::settings::Builder;
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};
    use std::thread::ThreadId;

    /// Records the outcomes of the requests.
    struct Recorder {
        told: Arc<Mutex<Vec<&'static str>>>,
        /// The thread of the runtime.
        runtime: ThreadId,
    }

    impl Budget for Recorder {
        fn take(
            &self,
            now: Time,
            _class: PriorityClass,
            _endpoint: Endpoint,
        ) -> std::result::Result<Admission, String> {
            // Other tasks run while the budget is asked.
            assert_ne!(std::thread::current().id(), self.runtime);
            let ticket = Ticket {
                id: 1,
                sent: now,
                endpoint: Endpoint::Api,
            };
            Ok(Admission::Admitted(ticket))
        }

        fn report(&self, _now: Time, _ticket: Ticket, outcome: RequestOutcome) {
            self.told.lock().unwrap().push(match outcome {
                RequestOutcome::Unsent => "unsent",
                RequestOutcome::Failed { sent: true } => "failed",
                RequestOutcome::Failed { sent: false } => "not connected",
                RequestOutcome::Lost => "lost",
                RequestOutcome::Answered(..) => "answered",
            });
        }

        fn status(&self) -> &SharingStatus {
            panic!("nobody asks")
        }
    }

    /// Returns the reports that the budget receives for a request to this address, which has this much time left.
    async fn told(base_url: &str, left: Duration) -> Vec<&'static str> {
        let mut builder = Builder::default();
        builder.base_url(base_url);
        builder.attempt_timeout(Duration::from_secs(2));
        builder.connect_timeout(Duration::from_secs(1));
        let config = builder.config().unwrap();
        let told = Arc::default();
        let recorder = Recorder {
            told: Arc::clone(&told),
            runtime: std::thread::current().id(),
        };
        let queue = AdmissionQueue::new(Box::new(recorder), Arc::default(), None);
        let mut state = RetryState::new(&config, false, clock::now());
        let mut deadline = Deadline::of_call(clock::now(), config.timeout);
        let permit = queue.admit(
            PriorityClass::Single,
            Endpoint::Api,
            &mut state,
            &mut deadline,
        );
        let permit = permit.await.unwrap();
        let deadline = Deadline::of_call(clock::now(), left);
        let transport = Transport::new(&config).unwrap();
        let request = Request::get(base_url).body(Full::default()).unwrap();
        let sent = transport.send(request, permit, deadline, None);
        assert!(sent.await.response.is_err());
        told.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn the_budget_learns_whether_a_failed_request_was_sent() {
        use std::io::{Read, Write};
        const LONG: Duration = Duration::from_secs(60);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        assert_eq!(told(&base_url, LONG).await, ["not connected"]);
        let plain = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = plain.local_addr().unwrap();
        std::thread::spawn(move || {
            let answers: [&[u8]; 6] = [
                b"HTTP/1.1 400 no TLS here\r\n\r\n",
                b"",
                b"HTTP/1.1 200 x\r\ncontent-length: 9\r\n\r\n",
                b"HTTP/1.1 ",
                b"HTTP/1.1 ",
                b"",
            ];
            let mut held = Vec::new();
            for (index, answer) in answers.into_iter().enumerate() {
                let (mut socket, _) = plain.accept().unwrap();
                let _ = socket.read(&mut [0; 4096]);
                let _ = socket.write_all(answer);
                // The last connections go silent.
                held.extend((index >= 3).then_some(socket));
            }
            std::thread::sleep(LONG);
        });
        let (plain, tls) = (format!("http://{address}"), format!("https://{address}"));
        // A server that does not speak TLS will not speak it to others either.
        assert_eq!(told(&tls, LONG).await, ["unsent"]);
        assert_eq!(told(&plain, LONG).await, ["failed"]);
        assert_eq!(told(&plain, LONG).await, ["answered", "failed"]);
        assert_eq!(told(&plain, LONG).await, ["failed"]);
        // The caller has no more time.
        assert_eq!(told(&plain, Duration::from_millis(50)).await, ["lost"]);
        // Without the end of the handshake, there is no connection.
        assert_eq!(told(&tls, LONG).await, ["not connected"]);
    }
}
