//! The service: takes complete requests through limit, route and token to their answers, without any network.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::answer::Answer;
use crate::contents::Contents;
use crate::credentials::Credentials;
use crate::data::Dice;
use crate::faults::{Book, Reply};
use crate::limit::Limiter;
use crate::options::Options;
use crate::page::{Asked, page};
use crate::request::Received;
use crate::routes::{Bearer, Operation, list};
use crate::stats::{Counter, Stats};
use crate::sync::lock;
use crate::token::{Tokens, issue, permissions, unauthorized};
use crate::version;

/// Everything that one sandbox knows.
pub(crate) struct Service {
    pub(crate) options: Options,
    pub(crate) credentials: Credentials,
    pub(crate) contents: Contents,
    /// The time at the start by the wall clock; from there the monotonic clock counts, so that time never goes back.
    epoch: Duration,
    started: Instant,
    state: Mutex<State>,
    /// Only with `options.faults`.
    pub(crate) book: Option<Mutex<Book>>,
}

struct State {
    limiter: Limiter,
    counter: Counter,
    tokens: Tokens,
    jitter: Dice,
}

impl Service {
    /// An error when `options.records` names a list that there is not.
    pub(crate) fn new(options: Options) -> io::Result<Self> {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let Options {
            policy,
            limit,
            window,
            rounding,
            seed,
            ..
        } = options;
        Ok(Self {
            credentials: Credentials::random()?,
            contents: Contents::new(&options)?,
            book: options.faults.then(Mutex::default),
            epoch: epoch.unwrap_or_default(),
            started: Instant::now(),
            state: Mutex::new(State {
                limiter: Limiter::new(policy, limit, window, rounding),
                counter: Counter::default(),
                tokens: Tokens::default(),
                jitter: Dice::new(seed),
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

    /// Logs the request, and finds what is to be done to its answer.
    pub(crate) fn fault(&self, request: &Received) -> Option<Arc<Reply>> {
        let book = self.book.as_ref()?;
        lock(book).received(request, self.started.elapsed())
    }

    /// Answers a request; the three headers of section 8 are on every answer.
    pub(crate) fn answer(&self, request: &Received) -> Answer {
        let operation = Operation::at(&request.path);
        let (admitted, headers) = self.admit(request, operation);
        let mut answer = match operation {
            _ if !admitted => Answer::error(429, "rate_limited", "the rate limit is reached"),
            Some(operation) => self
                .run(operation, request)
                .unwrap_or_else(|refusal| refusal),
            None => Answer::error(404, "not_found", "there is nothing at this path"),
        };
        for (name, value) in headers {
            answer = answer.with(name, value);
        }
        if self.options.gzip && request.accepts_gzip() && answer.gzip().is_err() {
            return Answer::error(500, "internal", "the answer could not be compressed");
        }
        answer
    }

    fn admit(
        &self,
        request: &Received,
        operation: Option<Operation>,
    ) -> (bool, [(&'static str, String); 3]) {
        let path = operation.map_or("other", |_| &request.path);
        let token_post =
            operation == Some(Operation::Token) && request.method == Operation::Token.method();
        let mut state = lock(&self.state);
        // Read under the lock, so that requests are counted in the order of their times.
        let now = self.epoch + self.started.elapsed();
        let decision = state.limiter.decide(now);
        state
            .counter
            .count(path, token_post, decision.admitted, now);
        (decision.admitted, state.limiter.headers(&decision))
    }

    fn run(&self, operation: Operation, request: &Received) -> Result<Answer, Answer> {
        let method = operation.method();
        if request.method != method {
            let message = format!("this path answers {method} only");
            let refusal = Answer::error(405, "method_not_allowed", &message);
            return Err(refusal.with("allow", method.to_string()));
        }
        self.check_bearer(operation.bearer(), request)?;
        Ok(match operation {
            Operation::Token => {
                let lifetime = self.options.token_lifetime;
                let (token, answer) = issue(request, &self.credentials, lifetime)?;
                lock(&self.state)
                    .tokens
                    .add(token, Instant::now(), lifetime);
                answer
            }
            Operation::Permissions => permissions(),
            Operation::Version => version::report(),
            Operation::VersionCheck => version::check(request),
            Operation::List(position) => {
                let list = list(position);
                let asked = Asked::read(request, list, self.options.max_limit)?;
                let slice = self.contents.page(position, asked);
                let records = self.contents.records(position);
                page(&self.options, &records, asked, &slice)
            }
        })
    }

    fn check_bearer(&self, bearer: Bearer, request: &Received) -> Result<(), Answer> {
        let token = match (bearer, request.bearer()) {
            (Bearer::Ignored, _) | (Bearer::Checked, None) => return Ok(()),
            (Bearer::Needed, None) => return Err(unauthorized("a token is needed")),
            (_, Some(token)) => token,
        };
        if lock(&self.state).tokens.valid(token, Instant::now()) {
            Ok(())
        } else {
            Err(unauthorized("the token is not valid, or no longer"))
        }
    }
}
