//! The service: passes complete requests through limit, route and token to their responses, without any network.

use crate::clock::{lock, now};
use crate::faults::FaultReply;
use crate::http::{Answer, Received, failure, gzip, set, unauthorized};
use crate::inspect;
use crate::limit::Limiter;
use crate::options::Options;
use crate::records::ListRecords;
use crate::request_log::{Faults, scrubbed};
use crate::samples::{hash, samples};
use crate::spec::{Bearer, RouteMatch, ServiceSpec};
use crate::token::{Credentials, TOKEN_OPERATION, issue, version_check};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Mutex;
use std::time::Instant;

/// The whole state of a sandbox.
pub(crate) struct Service {
    pub(crate) spec: &'static ServiceSpec,
    pub(crate) options: Options,
    pub(crate) credentials: Credentials,
    lists: Vec<ListRecords>,
    started: Instant,
    state: Mutex<ServiceState>,
    /// Present only with `options.faults`.
    pub(crate) faults: Option<Mutex<Faults>>,
}

struct ServiceState {
    limiter: Limiter,
    stats: Stats,
    /// The valid tokens, and the times at which they expire.
    tokens: HashMap<String, Instant>,
}

impl Service {
    /// Creates the service. It is an error if `options.records` names an unknown list.
    pub(crate) fn new(spec: &'static ServiceSpec, options: Options) -> io::Result<Self> {
        let Options {
            policy,
            limit,
            window,
            rounding,
            ..
        } = options;
        let lists = spec.lists.iter();
        let service = Self {
            credentials: Credentials::random()?,
            lists: lists
                .map(|list| ListRecords::new(spec, list, &options))
                .collect::<io::Result<_>>()?,
            faults: options.faults.then(Mutex::default),
            spec,
            started: Instant::now(),
            state: Mutex::new(ServiceState {
                limiter: Limiter::new(policy, limit, window, rounding),
                stats: Stats::default(),
                tokens: HashMap::new(),
            }),
            options,
        };
        let mut names = service.options.records.keys();
        names.try_for_each(|name| service.list(name).map(drop))?;
        Ok(service)
    }

    /// Returns the list with this name.
    ///
    /// # Errors
    ///
    /// If there is no such list.
    pub(crate) fn list(&self, name: &str) -> io::Result<&ListRecords> {
        let mut lists = self.lists.iter();
        let found = lists.find(|records| records.list.name == name);
        found.ok_or_else(|| {
            let names = self.spec.lists.iter().map(|list| list.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            let message = format!("there is no list `{name}`, only {names}");
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })
    }

    fn list_at(&self, path: &str) -> Option<&ListRecords> {
        let mut lists = self.lists.iter();
        lists.find(|records| records.list.path == path)
    }

    pub(crate) fn stats(&self) -> Stats {
        lock(&self.state).stats.clone()
    }

    /// Logs the request, and returns the fault for its response.
    pub(crate) fn fault(&self, request: &Received) -> Option<FaultReply> {
        let faults = self.faults.as_ref()?;
        let state = lock(&self.state);
        let secrets = || state.tokens.keys().chain([&self.credentials.client_secret]);
        let scrub = |text: &str| scrubbed(text, secrets());
        lock(faults).received(request, scrub, self.started.elapsed())
    }

    /// Answers a request. Every response has the three headers of section 8.
    pub(crate) fn answer(&self, request: &Received) -> Answer {
        let at_path = self.spec.find(&request.path);
        let (admitted, headers) = self.admit(request, &at_path);
        let served = if admitted {
            self.serve(&at_path, request)
        } else {
            Err(failure(429, "rate_limited", "the rate limit is reached"))
        };
        let mut answer = served.unwrap_or_else(|refusal| refusal);
        for (name, value) in headers {
            set(&mut answer, name, &value);
        }
        let compressed = self.options.gzip && request.accepts_gzip() && !answer.body().is_empty();
        if compressed && gzip(&mut answer).is_err() {
            return failure(500, "internal", "the response could not be compressed");
        }
        answer
    }

    /// Counts a request, and decides whether it is served.
    fn admit(
        &self,
        request: &Received,
        at_path: &[RouteMatch<'_>],
    ) -> (bool, [(&'static str, String); 3]) {
        let template = at_path.first().map(|found| found.operation.path.as_str());
        let token =
            of_method(at_path, request).filter(|found| found.operation.id == TOKEN_OPERATION);
        let ServiceState { limiter, stats, .. } = &mut *lock(&self.state);
        let decision = limiter.decide(now());
        stats.requests += 1;
        stats.token_posts += u64::from(token.is_some());
        stats.limited += u64::from(!decision.admitted);
        let path = template.unwrap_or("other").to_owned();
        *stats.requests_by_path.entry(path).or_default() += 1;
        (decision.admitted, limiter.headers(&decision))
    }

    fn serve(&self, at_path: &[RouteMatch<'_>], request: &Received) -> Result<Answer, Answer> {
        if at_path.is_empty() {
            let message = "there is nothing at this path";
            return Err(failure(404, "not_found", message));
        }
        let Some(found) = of_method(at_path, request) else {
            let methods = at_path.iter().map(|found| found.operation.method.as_str());
            let methods = methods.collect::<Vec<_>>().join(", ");
            let message = format!("this path supports {methods} only");
            let mut refusal = failure(405, "method_not_allowed", &message);
            set(&mut refusal, "allow", &methods);
            return Err(refusal);
        };
        let (operation, schemas) = (found.operation, &self.spec.schemas);
        self.check_bearer(operation.bearer, request)?;
        let list = self.list_at(&operation.path);
        let list = list.filter(|_| operation.method == "GET");
        inspect::parameters(schemas, found, request, list.is_some())?;
        let body = inspect::body(schemas, operation.request.as_ref(), request)?;
        match list {
            Some(records) => records.page(&self.options, request),
            None => self.run(found, request, body.as_ref()),
        }
    }

    /// Answers an operation that is not a list: four of them by hand, single records of the lists, and all others from
    /// the API description alone.
    fn run(
        &self,
        found: &RouteMatch<'_>,
        request: &Received,
        body: Option<&Value>,
    ) -> Result<Answer, Answer> {
        let (schemas, seed, path) = (&self.spec.schemas, self.options.seed, &request.path);
        let success = &found.operation.success;
        let given = body.unwrap_or(&Value::Null);
        let answer = match found.operation.id.as_str() {
            TOKEN_OPERATION => {
                let known = &mut lock(&self.state).tokens;
                issue(given, &self.credentials, &self.options, known)?
            }
            "getTokenPermissions" => samples()["permissions"].clone(),
            "getVersion" => samples()["version"].clone(),
            "checkVersion" => version_check(given),
            _ => match self.record(found) {
                None => return Ok(inspect::made(schemas, found, path, body, seed)),
                Some((list, id)) => {
                    let record = list.record(id);
                    let message = "the list has no record with this id";
                    let record = record.ok_or_else(|| failure(404, "not_found", message))?;
                    inspect::under_its_name(schemas, success, record)
                }
            },
        };
        Ok(inspect::fitted(schemas, success, answer, seed ^ hash(path)))
    }

    /// Returns the list and the `id` if an operation reads a single record: its path is that of a list with one
    /// parameter after it.
    fn record<'a>(&self, found: &'a RouteMatch<'_>) -> Option<(&ListRecords, &'a str)> {
        let (path, last) = found.operation.path.rsplit_once('/')?;
        let [(name, id)] = found.parameters.as_slice() else {
            return None;
        };
        let list = self.list_at(path)?;
        let shows =
            found.operation.method == "GET" && found.operation.success.content_type.is_some();
        (shows && last == format!("{{{name}}}")).then_some((list, id))
    }

    fn check_bearer(&self, bearer: Bearer, request: &Received) -> Result<(), Answer> {
        let token = match (bearer, request.bearer()) {
            (Bearer::Never, _) | (Bearer::Optional, None) => return Ok(()),
            (Bearer::Always, None) => return Err(unauthorized("a token is required")),
            (_, Some(token)) => token,
        };
        match lock(&self.state).tokens.get(token) {
            Some(expiry) if *expiry > Instant::now() => Ok(()),
            _ => Err(unauthorized("the token is invalid or has expired")),
        }
    }
}

/// Returns the operation at a path for the method of the request.
fn of_method<'a, 'b>(
    at_path: &'a [RouteMatch<'b>],
    request: &Received,
) -> Option<&'a RouteMatch<'b>> {
    let method = request.method.as_str();
    at_path
        .iter()
        .find(|found| found.operation.method == method)
}

/// The statistics of a sandbox since its start. Requests to `/__` paths are not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// All requests, including refused ones.
    pub requests: u64,
    /// Requests for a token (`POST /v1/oauth/token`), including refused ones.
    pub token_posts: u64,
    /// Requests that got the status 429.
    pub limited: u64,
    /// Requests by path, or by its template if it has parameters (`/v1/contacts/{id}`). Unknown paths are counted
    /// together as `other`.
    pub requests_by_path: BTreeMap<String, u64>,
}
