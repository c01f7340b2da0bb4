//! A server, its other clients, and the way there and back, on virtual time: the sandbox's policies, and the oddities of
//! gateways that count in other ways.

use std::time::{Duration, SystemTime};

use fastrand::Rng;
use http::{HeaderMap, HeaderName, HeaderValue};
use talentdata_sandbox::limit::{Decision, Limiter, Policy, ResetRounding};

use super::{LIMIT, Others, Scenario, WINDOW};

pub(crate) struct Network {
    scenario: Scenario,
    /// All that is left to chance in a run.
    pub(crate) rng: Rng,
    server: Server,
    changed: bool,
    /// Where in the second, and when in history, the run begins on the server's clock.
    epoch: Duration,
    burst_left: u32,
}

impl Network {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let mut rng = Rng::with_seed(scenario.seed);
        let Scenario {
            policy,
            limit,
            rounding,
            quirk,
            ..
        } = scenario;
        Self {
            server: Server::new(policy, rounding, quirk, limit, rng.u64(..)),
            changed: false,
            epoch: Duration::from_secs_f64(1.7e9) + Duration::from_micros(rng.u64(0..1_000_000)),
            rng,
            burst_left: 0,
            scenario,
        }
    }

    /// A request arrives: how it is decided on, and how long the server then takes.
    pub(crate) fn arrive(&mut self, now: Duration) -> (Verdict, Duration) {
        let at = self.epoch + now;
        let verdict = self.server(now).decide(at);
        let took = -self.rng.f64().max(1e-9).ln() * self.scenario.processing.as_secs_f64();
        (verdict, Duration::from_secs_f64(took))
    }

    /// The headers of a response that is written now.
    pub(crate) fn answer(&mut self, now: Duration, verdict: Verdict) -> HeaderMap {
        let at = self.epoch + now;
        self.server(now).headers(verdict, at)
    }

    /// With which status the request was answered.
    pub(crate) fn status(&self, verdict: Verdict) -> u16 {
        match self.scenario.quirk {
            _ if verdict.decision.admitted => 200,
            Quirk::Unavailable => 503,
            _ => 429,
        }
    }

    /// The time of day on the server.
    pub(crate) fn wall(&self, now: Duration) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.epoch + now
    }

    /// Another client asks: whether it is served, and how long until the next one asks.
    pub(crate) fn other(&mut self, now: Duration) -> Option<(bool, Duration)> {
        if now > self.scenario.others_during.1 {
            return None;
        }
        let at = self.epoch + now;
        let served = self.server(now).decide(at).decision.admitted;
        let random = -self.rng.f64().max(1e-9).ln();
        let wait = match self.scenario.others {
            Others::None => return None,
            Others::Steady(rate) => 1.0 / rate,
            Others::Poisson(rate) => random / rate,
            Others::Bursty if self.burst_left == 0 => {
                self.burst_left = self.rng.u32(0..=LIMIT);
                2.0 * random
            }
            Others::Bursty => {
                self.burst_left -= 1;
                0.1 / f64::from(LIMIT)
            }
        };
        Some((served, Duration::from_secs_f64(wait)))
    }

    /// Whether what is on its way gets lost.
    pub(crate) fn vanishes(&mut self, now: Duration) -> bool {
        let (from, to) = self.scenario.outage;
        (from <= now && now < to) || self.rng.f64() < self.scenario.loss
    }

    pub(crate) fn one_way(&mut self) -> Duration {
        let (u, v) = (self.rng.f64().max(1e-12), self.rng.f64());
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        (self.scenario.round_trip / 2).mul_f64((self.scenario.jitter * normal).exp())
    }

    fn server(&mut self, now: Duration) -> &mut Server {
        if let Some((at, policy, limit)) = self.scenario.change
            && now >= at
            && !self.changed
        {
            self.changed = true;
            let Scenario {
                rounding,
                quirk,
                seed,
                ..
            } = self.scenario;
            self.server = Server::new(policy, rounding, quirk, (limit, WINDOW), seed);
        }
        &mut self.server
    }
}

/// How a server departs from the plain policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Quirk {
    None,
    /// `remaining` is read when the response is written, not when the request is decided on.
    ReadsLate,
    /// A clock window whose count goes up only after the response.
    CountsLate,
    /// Each node has its own counter of the whole limit, and requests are spread over them at random.
    Nodes(usize),
    /// A sliding log in which refused requests count as well.
    CountsRefused,
    /// No rate headers but `Retry-After: 1` on a refusal.
    OnlyRetryAfter,
    /// No rate headers at all.
    Silent,
    /// None, and 503 for a refusal.
    Unavailable,
    /// Headers that have nothing to do with the truth.
    Lies,
    /// Headers that are not numbers.
    Garbage,
}

/// A server and its company's counters.
struct Server {
    nodes: Vec<Limiter>,
    quirk: Quirk,
    rng: Rng,
    limit: (u32, Duration),
    rounding: ResetRounding,
    counted: Vec<Duration>,
}

/// The response to one request; the headers are made when it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verdict {
    pub(crate) decision: Decision,
    node: usize,
}

impl Server {
    fn new(
        policy: Policy,
        rounding: ResetRounding,
        quirk: Quirk,
        limit: (u32, Duration),
        seed: u64,
    ) -> Self {
        let count = match quirk {
            Quirk::Nodes(count) => count,
            _ => 1,
        };
        Self {
            nodes: vec![Limiter::new(policy, limit.0, limit.1, rounding); count],
            quirk,
            rng: Rng::with_seed(seed),
            limit,
            rounding,
            counted: Vec::new(),
        }
    }

    /// Decides on a request that arrives `now`.
    fn decide(&mut self, now: Duration) -> Verdict {
        let node = self.rng.usize(0..self.nodes.len());
        let decision = match self.quirk {
            Quirk::CountsLate => {
                let second = now.as_secs();
                self.counted.retain(|at| at.as_secs() == second);
                self.by_count(
                    WINDOW.saturating_sub(Duration::from_nanos(now.subsec_nanos().into())),
                )
            }
            Quirk::CountsRefused => {
                self.counted.retain(|at| *at + WINDOW > now);
                let oldest = self.counted.first().copied().unwrap_or(now);
                let decision = self.by_count(oldest + WINDOW - now);
                self.counted.push(now);
                decision
            }
            _ => self.nodes[node].decide(now),
        };
        Verdict { decision, node }
    }

    fn by_count(&self, reset: Duration) -> Decision {
        let left = self.limit.0.saturating_sub(self.counted.len() as u32);
        Decision {
            admitted: left > 0,
            remaining: left.saturating_sub(1),
            reset,
        }
    }

    /// Writes the headers of the response, `now`.
    fn headers(&mut self, verdict: Verdict, now: Duration) -> HeaderMap {
        let Verdict { mut decision, node } = verdict;
        match self.quirk {
            Quirk::ReadsLate => {
                let probe = self.nodes[node].clone().decide(now);
                decision.remaining = probe.remaining + u32::from(probe.admitted);
                decision.reset = probe.reset;
            }
            Quirk::CountsLate if decision.admitted => self.counted.push(now),
            Quirk::Silent | Quirk::Unavailable => return HeaderMap::new(),
            Quirk::OnlyRetryAfter => {
                let refused = (!decision.admitted).then_some(("retry-after", "1".to_owned()));
                return map(refused);
            }
            Quirk::Lies => return self.lies(),
            Quirk::Garbage => return self.garbage(),
            _ => {}
        }
        let shown = Limiter::new(Policy::Unlimited, self.limit.0, self.limit.1, self.rounding);
        map(shown.headers(&decision))
    }

    fn lies(&mut self) -> HeaderMap {
        let remaining = self.rng.u32(0..60).saturating_sub(10);
        let reset = [0.0, 0.2, 1.0, 3.0, 1e9][self.rng.usize(0..5)];
        let limit = [40, 40, 40, 10_000, 7, 0][self.rng.usize(0..6)];
        let all = [
            ("x-ratelimit-limit", format!("{limit};w=1")),
            ("x-ratelimit-remaining", remaining.to_string()),
            ("x-ratelimit-reset", reset.to_string()),
            ("retry-after", self.rng.u8(0..3).to_string()),
        ];
        let mut rng = self.rng.fork();
        map(all.into_iter().filter(|_| rng.f64() < 0.7))
    }

    fn garbage(&mut self) -> HeaderMap {
        let values = [
            "",
            "-",
            "NaN",
            "-3",
            "1e3",
            "0x28",
            "\u{ff14}\u{ff10}",
            "99999999999999999999999",
            ";w=",
            "5, 2",
        ];
        let names = [
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
            "retry-after",
        ];
        let mut rng = self.rng.fork();
        map(names.map(|name| (name, values[rng.usize(0..values.len())].to_owned())))
    }
}

fn map(headers: impl IntoIterator<Item = (&'static str, String)>) -> HeaderMap {
    headers
        .into_iter()
        .map(|(name, value)| {
            let value = HeaderValue::from_bytes(value.as_bytes()).expect("no control characters");
            (HeaderName::from_static(name), value)
        })
        .collect()
}
