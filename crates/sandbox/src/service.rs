//! The service: takes complete requests through limit, route and token to their answers, without any network.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::Value;

use crate::answer::Answer;
use crate::clock::Clock;
use crate::contents::Contents;
use crate::credentials::Credentials;
use crate::data::Rng;
use crate::faults::{Book, Reply};
use crate::inspect;
use crate::limit::Limiter;
use crate::list::{List, lists};
use crate::options::Options;
use crate::page::{Asked, page};
use crate::request::Received;
use crate::respond;
use crate::spec::{Bearer, Found, Operation, find, spec};
use crate::stats::{Counter, Stats};
use crate::sync::lock;
use crate::token::{CREATE_TOKEN, Issued, issue, permissions, unauthorized};
use crate::version;

/// Everything that one sandbox knows.
pub(crate) struct Service {
    pub(crate) options: Options,
    pub(crate) credentials: Credentials,
    pub(crate) contents: Contents,
    clock: Clock,
    state: Mutex<State>,
    /// Only with `options.faults`.
    pub(crate) book: Option<Mutex<Book>>,
}

struct State {
    limiter: Limiter,
    counter: Counter,
    tokens: Issued,
    jitter: Rng,
}

impl Service {
    /// An error when `options.records` names a list that there is not.
    pub(crate) fn new(options: Options) -> io::Result<Self> {
        let clock = Clock::start();
        let Options {
            policy,
            limit,
            window,
            rounding,
            seed,
            tokens,
            ..
        } = options;
        Ok(Self {
            credentials: Credentials::random()?,
            contents: Contents::new(&options, clock)?,
            book: options.faults.then(Mutex::default),
            clock,
            state: Mutex::new(State {
                limiter: Limiter::new(policy, limit, window, rounding),
                counter: Counter::default(),
                tokens: Issued::new(tokens),
                jitter: Rng::new(seed),
            }),
            options,
        })
    }

    pub(crate) fn stats(&self) -> Stats {
        lock(&self.state).counter.stats.clone()
    }

    /// Half of the time that a round trip takes: once for the way here and once for the way back.
    pub(crate) fn one_way(&self) -> Duration {
        let Options {
            latency, jitter, ..
        } = self.options;
        let most = u64::try_from(jitter.as_nanos()).unwrap_or(u64::MAX);
        let chosen = match most {
            0 => 0,
            most => lock(&self.state).jitter.below(most),
        };
        latency.saturating_add(Duration::from_nanos(chosen)) / 2
    }

    /// Logs the request, and finds what is to be done to its response.
    pub(crate) fn fault(&self, request: &Received) -> Option<Arc<Reply>> {
        let book = self.book.as_ref()?;
        lock(book).received(request, self.clock.elapsed())
    }

    /// Answers a request; the three headers of section 8 are on every response.
    pub(crate) fn answer(&self, request: &Received) -> Answer {
        let at_path = find(&request.path);
        let (admitted, headers) = self.admit(request, &at_path);
        let mut answer = match admitted {
            false => Answer::error(429, "rate_limited", "the rate limit is reached"),
            true => self
                .serve(&at_path, request)
                .unwrap_or_else(|refusal| refusal),
        };
        for (name, value) in headers {
            answer = answer.with(name, value);
        }
        let compressed = self.options.gzip && request.accepts_gzip() && !answer.body.is_empty();
        if compressed && answer.gzip().is_err() {
            return Answer::error(500, "internal", "the response could not be compressed");
        }
        answer
    }

    fn admit(
        &self,
        request: &Received,
        at_path: &[Found<'_>],
    ) -> (bool, [(&'static str, String); 3]) {
        let template = at_path.first().map(|found| found.operation.path.as_str());
        let token_post =
            of_method(at_path, request).is_some_and(|one| one.operation.is(CREATE_TOKEN));
        let mut state = lock(&self.state);
        // Read under the lock, so that requests are counted in the order of their times.
        let now = self.clock.now();
        let decision = state.limiter.decide(now);
        state.counter.count(
            template.unwrap_or("other"),
            token_post,
            decision.admitted,
            now,
        );
        (decision.admitted, state.limiter.headers(&decision))
    }

    fn serve(&self, at_path: &[Found<'_>], request: &Received) -> Result<Answer, Answer> {
        if at_path.is_empty() {
            let message = "there is nothing at this path";
            return Err(Answer::error(404, "not_found", message));
        }
        let Some(found) = of_method(at_path, request) else {
            let methods = at_path.iter().map(|found| found.operation.method.as_str());
            let methods = methods.collect::<Vec<_>>().join(", ");
            let message = format!("this path supports {methods} only");
            let refusal = Answer::error(405, "method_not_allowed", &message);
            return Err(refusal.with("allow", methods));
        };
        let operation = found.operation;
        self.check_bearer(operation.bearer, request)?;
        let list = lists().iter().position(|list| is_list(list, operation));
        let paging: &[&str] = if list.is_some() {
            &["limit", "offset"]
        } else {
            &[]
        };
        inspect::parameters(&spec().schemas, found, request, paging)?;
        let body = inspect::body(&spec().schemas, operation.request.as_ref(), request)?;
        match list {
            Some(position) => {
                let asked = Asked::read(request, self.contents.plan(position))?;
                let slice = self.contents.page(position, asked);
                let records = self.contents.records(position);
                Ok(page(&self.options, &records, asked, &slice))
            }
            None => self.run(found, request, body.as_ref()),
        }
    }

    /// Answers an operation that is no list.
    fn run(
        &self,
        found: &Found<'_>,
        request: &Received,
        body: Option<&Value>,
    ) -> Result<Answer, Answer> {
        let (schemas, seed) = (&spec().schemas, self.options.seed);
        let none = Value::Null;
        let answer = match found.operation.id.as_deref() {
            Some(CREATE_TOKEN) => {
                let lifetime = self.options.token_lifetime;
                let body = body.unwrap_or(&none);
                let (token, answer) = issue(body, &self.credentials, lifetime)?;
                lock(&self.state)
                    .tokens
                    .add(token, Instant::now(), lifetime);
                answer
            }
            Some("getTokenPermissions") => permissions(),
            Some("getVersion") => version::report(),
            Some("checkVersion") => version::check(body.unwrap_or(&none)),
            _ => return self.follow_document(found, request, body),
        };
        Ok(respond::fitted(
            schemas,
            &found.operation.success,
            answer,
            seed,
        ))
    }

    /// Answers by the document alone, but for single records of the lists.
    fn follow_document(
        &self,
        found: &Found<'_>,
        request: &Received,
        body: Option<&Value>,
    ) -> Result<Answer, Answer> {
        let (schemas, seed, path) = (&spec().schemas, self.options.seed, &request.path);
        let made = || respond::made(schemas, found, path, body, seed);
        let Some((position, id)) = record(found) else {
            return Ok(made());
        };
        match request.method {
            Method::GET if found.operation.success.content_type().is_some() => {
                let Some(record) = self.contents.record(position, id) else {
                    let message = "the list has no record with this id";
                    return Err(Answer::error(404, "not_found", message));
                };
                Ok(respond::of_record(schemas, found, path, record, seed))
            }
            Method::DELETE => {
                self.contents.delete(position, id);
                Ok(made())
            }
            _ => Ok(made()),
        }
    }

    fn check_bearer(&self, bearer: Bearer, request: &Received) -> Result<(), Answer> {
        let token = match (bearer, request.bearer()) {
            (Bearer::Never, _) | (Bearer::Optional, None) => return Ok(()),
            (Bearer::Always, None) => return Err(unauthorized("a token is required")),
            (_, Some(token)) => token,
        };
        if lock(&self.state).tokens.valid(token, Instant::now()) {
            Ok(())
        } else {
            Err(unauthorized("the token is invalid or has expired"))
        }
    }
}

/// Of the operations at a path, the one for the method of the request.
fn of_method<'a, 'b>(at_path: &'a [Found<'b>], request: &Received) -> Option<&'a Found<'b>> {
    let method = request.method.as_str();
    at_path
        .iter()
        .find(|found| found.operation.method == method)
}

fn is_list(list: &List, operation: &Operation) -> bool {
    operation.method == "GET" && operation.path == list.path
}

/// The list and the `id` where a path is that of a list with one parameter behind it.
fn record<'a>(found: &'a Found<'_>) -> Option<(usize, &'a str)> {
    let (path, last) = found.operation.path.rsplit_once('/')?;
    let position = lists().iter().position(|list| list.path == path)?;
    let [(name, id)] = found.parameters.as_slice() else {
        return None;
    };
    (last == format!("{{{name}}}")).then_some((position, id))
}
