//! The service as one client reaches it: sends each call, checks the response, and sends the call again if that can
//! help.

use super::auth::{Auth, Token, read_token, refusal};
use super::call::Call;
use super::page_memory::{PAGE_MEMORY_BYTES, PageMemory};
use super::page_size::Smaller;
use super::queue::{AdmissionQueue, Permit};
use super::retry::{Deadline, RetryState};
use super::sentence::without_tokens;
use super::transport::{Response, Seen, Transport};
use crate::arguments::Arguments;
use crate::budget::BudgetStats;
use crate::budget::{Endpoint, PriorityClass};
use crate::clock;
use crate::error::{Error, ErrorKind, Result, Scrubber};
use crate::settings::{Config, ErrorBodies, Priority};
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request};
use http_body_util::Full;
use std::sync::Arc;
use talentdata_types::{CREATE_TOKEN, Method, Secret, TokenRequest, TokenUse};
use url::Url;

/// The client's name in the header `User-Agent`.
const USER_AGENT_NAME: &str = concat!("talentdata/", env!("CARGO_PKG_VERSION"));

/// The statuses of redirects that are followed.
const FOLLOWED: [u16; 5] = [301, 302, 303, 307, 308];
/// The maximum number of redirects in a row.
const MAX_REDIRECTS: u32 = 5;

/// The connections, the token, the queue for the budget and the memory that all clones of a client share.
pub(crate) struct Service {
    pub(crate) config: Config,
    pub(crate) queue: Arc<AdmissionQueue>,
    pub(crate) memory: PageMemory,
    transport: Transport,
    auth: Auth,
}

impl Service {
    /// Prepares calls with these settings that wait in this queue. Nothing is sent.
    ///
    /// # Errors
    /// `Config` or `Tls` if the system's certificates or proxy settings cannot be used.
    pub(crate) fn new(config: Config, queue: Arc<AdmissionQueue>) -> Result<Self> {
        Ok(Service {
            transport: Transport::new(&config)?,
            queue,
            auth: Auth::new(&config),
            memory: PageMemory::new(PAGE_MEMORY_BYTES),
            config,
        })
    }

    /// Opens a connection to the service, and closes it again. Returns the steps that succeeded.
    pub(crate) async fn examine(&self) -> (Seen, Result<()>) {
        let service = self.config.base_url.to_string();
        self.transport.examine(&service).await
    }

    /// Returns the address of the proxy, if connections go through one.
    pub(crate) fn proxy(&self) -> Option<String> {
        self.transport.proxy()
    }

    /// Returns the state of the request budget that the client shares with others.
    pub(crate) fn budget(&self) -> BudgetStats {
        self.queue.budget.status().stats()
    }

    /// Sends a call until it succeeds, cannot succeed, or reaches its deadline. `read` turns the response into the
    /// result.
    pub(crate) async fn call<T>(
        &self,
        call: &mut Call,
        read: impl Fn(&Response) -> Result<T>,
    ) -> Result<T> {
        let (config, operation) = (&self.config, call.operation.id);
        let is_scan = call.is_scan();
        let now = clock::now();
        let mut state = RetryState::new(config, is_scan, now);
        let mut deadline = if is_scan {
            Deadline::of_page(now, config.timeout)
        } else {
            Deadline::of_call(now, config.timeout)
        };
        let attempts = async {
            loop {
                let attempt = self.attempt(call, &read, &mut state, &mut deadline);
                let mut error = match attempt.await {
                    Ok(value) => {
                        let (troubles, now) = (&self.queue.troubles, clock::now());
                        troubles.succeeded(now, state.sent, call, state.trouble, state.attempts);
                        return Ok(value);
                    }
                    Err(error) => error,
                };
                let (client, offset) = (config.client_id.as_deref(), call.offset);
                let (reason, status) = (error.kind().name(), error.status());
                let now = clock::now();
                // A failed request for a token says nothing about the page.
                let size = call.size.as_mut().filter(|_| error.operation().is_none());
                if let Some(size) = size {
                    let failures = self.queue.own_failures();
                    size.is_late = failures.is_some_and(|it| state.is_late(now, &it));
                    let smaller = size.failed(&error);
                    if smaller != Smaller::No {
                        let limit = size.limit;
                        tracing::debug!(
                            operation,
                            offset,
                            reason,
                            status,
                            limit,
                            client,
                            "asking for a smaller page"
                        );
                        state.restart_for_smaller_page(now);
                        // A redirect contains the old size.
                        call.redirected = None;
                    }
                    match (smaller, size.refusal.take()) {
                        (Smaller::AtOnce, refusal) => {
                            size.refusal = refusal;
                            continue;
                        }
                        (Smaller::Later, _) => {}
                        // No smaller page arrives either, so the first refusal is the most useful error.
                        (Smaller::No, refusal) => error = refusal.unwrap_or(error),
                    }
                }
                let is_fault = state.is_fault(&error);
                let failures = self.queue.record_failure(now, is_fault);
                if let Some(failures) = failures.0.filter(|_| is_fault) {
                    self.queue.troubles.failing(now, &failures, Some(&error));
                }
                let wait = state.failed(now, deadline, error, failures)?;
                tracing::debug!(
                    operation,
                    reason,
                    status,
                    offset,
                    attempt = state.attempts,
                    seconds = wait.as_secs_f64(),
                    client,
                    "retrying"
                );
                if !wait.is_zero() {
                    call.count(|stats| stats.backed_off += wait);
                    tokio::time::sleep(wait).await;
                }
            }
        };
        // A page of a scan waits for the pages before it. Its timeout must not count that time.
        let outcome = if is_scan {
            Ok(attempts.await)
        } else {
            tokio::time::timeout(config.timeout, attempts).await
        };
        let outcome = outcome.unwrap_or_else(|_| Err(state.out_of_time()));
        outcome.map_err(|error| {
            let error = state.describe(error).with_operation(operation);
            // A scan logs once why it ends.
            if is_scan {
                error
            } else {
                error.logged(config.client_id.as_deref(), None)
            }
        })
    }

    /// Waits for the turn of the call, and sends it once. First requests a token if the call needs one.
    async fn attempt<T>(
        &self,
        call: &mut Call,
        read: impl Fn(&Response) -> Result<T>,
        state: &mut RetryState<'_>,
        deadline: &mut Deadline,
    ) -> Result<T> {
        if let Some(size) = &mut call.size {
            size.adapt();
        }
        let asked = clock::now();
        let was_refused = std::mem::take(&mut state.is_refused);
        let queues_with_scans = state.is_scan && !was_refused;
        let head = self.queue.enter(queues_with_scans).await;
        if queues_with_scans {
            deadline.extend(clock::now().saturating_sub(asked));
        }
        let token = match call.operation.token {
            TokenUse::Never => None,
            TokenUse::WhenThereIsOne if self.config.require_credentials().is_err() => None,
            _ => {
                let fetch = self.fetch_token(state, deadline);
                Some(self.auth.token(asked, fetch).await?)
            }
        };
        let token = token.as_deref();
        let class = match self.config.priority {
            Priority::Normal if state.is_scan => PriorityClass::Scan,
            Priority::Background if state.is_scan => PriorityClass::Background,
            _ => PriorityClass::Single,
        };
        let asked_at = clock::now();
        let permit = self
            .queue
            .admit(class, Endpoint::Api, state, deadline)
            .await?;
        state.sends(clock::now());
        let waited = state.sent.saturating_sub(asked_at);
        call.count(|stats| {
            stats.requests += 1;
            stats.retries += u64::from(state.attempts > 1);
            stats.waited += waited;
        });
        // While this request tries a token, no other request is sent.
        let trial = token.is_some_and(Token::is_to_be_tried).then_some(head);
        let redirects = call.redirects;
        let outcome = self.send(call, token, permit, deadline, state.attempts, read);
        let outcome = outcome.await;
        drop(trial);
        let mut error = match outcome {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        match (error.status(), token) {
            (Some(429), _) => call.count(|stats| stats.rate_limited += 1),
            (Some(401), Some(token)) => {
                if state.retry_with_new_token(token.is_new()) {
                    return Err(error);
                }
                let meaning = self.auth.refused(token, self.config.token_cache);
                error = error
                    .with_meaning(&meaning)
                    .sanitize(&self.scrubber(Some(token)));
            }
            (Some(300..=399), _) if call.redirects > redirects => {
                // The next request goes there at once, in place of this one.
                state.is_refused = true;
                return Err(error);
            }
            _ => {}
        }
        // Without a connection nothing was sent, and requests beyond the rate limit are not carried out. Any other
        // request may have been carried out, and a repeat could do it twice.
        let untouched = [ErrorKind::Connect, ErrorKind::Tls, ErrorKind::RateLimited];
        state.is_final |= !call.operation.idempotent && !untouched.contains(&error.kind());
        Err(error)
    }

    /// Returns a scrubber that knows the secrets of a request with this token.
    fn scrubber(&self, token: Option<&Token>) -> Scrubber {
        let client_secret = self.config.client_secret.as_ref();
        let known = client_secret.map_or_else(Vec::new, |it| it.known());
        let token_secret = token.map(|token| &token.issued.secret);
        Scrubber::new(known.iter().chain(token_secret))
    }

    /// Sends one request and reads its response. Errors are safe to show.
    async fn send<T>(
        &self,
        call: &mut Call,
        token: Option<&Token>,
        permit: Permit,
        deadline: &mut Deadline,
        attempt: u32,
        read: impl Fn(&Response) -> Result<T>,
    ) -> Result<T> {
        let (request, began) = (self.request(call, token)?, clock::now());
        let claim = call.claim.as_mut();
        let exchange = self.transport.send(request, permit, *deadline, claim).await;
        // The wait for memory does not count.
        deadline.extend(exchange.waited_for_memory);
        let scrubber = self.scrubber(token);
        // The library's message about a connection may quote the server.
        let response = exchange
            .response
            .map_err(|error| error.sanitize(&scrubber))?;
        let (operation, status) = (call.operation.id, response.status.as_u16());
        let request_id = response.header("x-request-id");
        tracing::debug!(
            operation,
            status,
            bytes = response.body.len(),
            offset = call.offset,
            attempt,
            request_id = request_id.and_then(|id| scrubber.request_id(id)),
            seconds = clock::now().saturating_sub(began).as_secs_f64(),
            client = self.config.client_id.as_deref(),
            "received a response"
        );
        if let Some(token) = token {
            token.answered(response.status);
        }
        let outcome = match response.error_of_status() {
            Some(error) if error.kind() == ErrorKind::Redirect => {
                Err(self.redirect(call, &response, error))
            }
            Some(error) => Err(error),
            None => read(&response),
        };
        outcome.map_err(|error| {
            let said = response.service_sentence(&error);
            // A response of the token endpoint may contain a token, regardless of its status.
            let shows_body = operation != CREATE_TOKEN.id
                && self.config.error_bodies == ErrorBodies::Excerpt
                && !call.hides_records;
            let said = match self.config.error_bodies {
                ErrorBodies::None => String::new(),
                ErrorBodies::Excerpt if shows_body => said,
                ErrorBodies::Excerpt => without_tokens(&said),
            };
            let body = shows_body.then(|| scrubber.snippet(&response.body));
            let id = response.header("x-request-id").map(str::to_owned);
            let error = error
                .with_service_sentence(said)
                .with_response(status, id, body.flatten())
                .with_date(response.header("date"));
            error.sanitize(&scrubber)
        })
    }

    /// Handles a redirect. A GET request follows it within the origin, and the error says so. Any other call ends with
    /// an error. So credentials and requests that change something only go to the address that the user chose.
    fn redirect(&self, call: &mut Call, response: &Response, error: Error) -> Error {
        let from = call.redirected.take().unwrap_or_else(|| self.url(call));
        let Some(location) = response.headers.get("location") else {
            return error.with_message("the service redirects, but does not say where to");
        };
        // The standard wants ASCII, and services also write UTF-8.
        let location = String::from_utf8_lossy(location.as_bytes());
        let target = Some(&location).filter(|it| !it.contains(char::REPLACEMENT_CHARACTER));
        let target = target.and_then(|location| from.join(location).ok());
        let Some(mut to) = target.filter(Url::has_host) else {
            let shown = location.split(['?', '#']).next().unwrap_or_default();
            return error.with_message(format!(
                "the service redirects to an address that cannot be used: Location is \"{}\"",
                shown.escape_debug()
            ));
        };
        let (path, method) = (to.path().to_owned(), call.operation.method);
        let why = if (from.scheme(), to.scheme()) == ("https", "http") {
            let origin = to.origin().ascii_serialization();
            format!(
                "{origin}{path}, which is not encrypted and is refused; ask the operator of the service"
            )
        } else if to.origin() != from.origin() {
            let origin = to.origin().ascii_serialization();
            format!(
                "{origin}{path}, where no credential is sent; if the service has moved there, set base_url to {origin}"
            )
        } else if method != Method::Get {
            format!(
                "{path}, which only GET requests follow; if a part of the path is missing in base_url, add it"
            )
        } else if to.query().is_none() && from.query().is_some() {
            format!("{path} without the parameters of the request, which is not followed")
        } else if !FOLLOWED.contains(&response.status.as_u16()) {
            format!("{path} with a status that is not followed")
        } else if call.redirects == MAX_REDIRECTS {
            format!("{path}, and has done so {MAX_REDIRECTS} times before")
        } else {
            to.set_fragment(None);
            call.redirects += 1;
            call.redirected = Some(to);
            path
        };
        error.with_message(format!("the service redirects to {why}"))
    }

    /// Requests a token, at the place in the queue of the call that needs it. If the service refuses the secret, and
    /// the source of the secret now has another one, the token is requested once more.
    async fn fetch_token(
        &self,
        state: &mut RetryState<'_>,
        deadline: &mut Deadline,
    ) -> Result<Token> {
        let (_, credential) = self.config.credentials()?;
        let secret = credential.current();
        let refusal = match self.request_token(&secret, state, deadline).await {
            Err(error) if error.kind() == ErrorKind::Auth => error,
            outcome => return outcome,
        };
        match credential.renewed(&secret).await {
            Ok(Some(secret)) => {
                tracing::info!("the service refused the client secret; trying the new one");
                self.request_token(&secret, state, deadline).await
            }
            Ok(None) => Err(refusal),
            Err(unread) => {
                let message = format!(
                    "{}; the secret could not be read again: {}",
                    refusal.message(),
                    unread.message()
                );
                Err(refusal.with_message(message).sanitize(&self.scrubber(None)))
            }
        }
    }

    /// Requests a token once.
    async fn request_token(
        &self,
        secret: &Secret,
        state: &mut RetryState<'_>,
        deadline: &mut Deadline,
    ) -> Result<Token> {
        let (client_id, _) = self.config.credentials()?;
        let request = TokenRequest {
            client_id: client_id.to_owned(),
            client_secret: secret.clone(),
        };
        let mut call = Call::new(CREATE_TOKEN, Arguments::default().with_body(request)?)?;
        let (class, queue) = (PriorityClass::Single, &self.queue);
        let permit = queue.admit(class, Endpoint::Token, state, deadline).await?;
        state.token_requests += 1;
        let read = |response: &Response| read_token(response, clock::now());
        let attempt = state.token_requests;
        let token = self
            .send(&mut call, None, permit, deadline, attempt, read)
            .await;
        token.map_err(|error| {
            let error = refusal(error).with_operation(CREATE_TOKEN.id);
            error.with_attempts(state.token_requests)
        })
    }

    /// Builds the request of a call.
    fn request(&self, call: &Call, token: Option<&Token>) -> Result<Request<Full<Bytes>>> {
        let parts = &call.parts;
        let mut request = Request::new(Full::from(parts.body.clone().unwrap_or_default()));
        *request.method_mut() = call.operation.method.as_str().parse().unwrap_or_default();
        let url = match &call.redirected {
            Some(url) => url.clone(),
            None => self.url(call),
        };
        let unusable = |what| Error::invalid(format!("{what} cannot be sent"));
        *request.uri_mut() = url.as_str().parse().map_err(|_| unusable("the address"))?;
        let headers = request.headers_mut();
        headers.extend(parts.headers.clone());
        headers.insert(ACCEPT, HeaderValue::from_static(call.operation.accept));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_NAME));
        if let (Some(_), Some(of)) = (&parts.body, &call.operation.body) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(of.media_type));
        }
        if let Some(token) = token {
            let bearer = format!("Bearer {}", token.issued.secret.expose());
            let mut bearer: HeaderValue = bearer.parse().map_err(|_| unusable("the token"))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(request)
    }

    /// Returns the address of a call.
    fn url(&self, call: &Call) -> Url {
        let mut url = self.config.base_url.at(&call.parts.path);
        for (name, value) in &call.parts.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        if let Some(size) = &call.size {
            let limit = size.limit.to_string();
            url.query_pairs_mut().append_pair("limit", &limit);
        }
        if !call.parts.encoded.is_empty() {
            let encoded = call.parts.encoded.iter().map(String::as_str);
            let query = url.query().into_iter().chain(encoded);
            let query = query.collect::<Vec<_>>().join("&");
            url.set_query(Some(&query));
        }
        url
    }
}
