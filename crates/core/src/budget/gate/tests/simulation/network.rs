//! A server, its other clients and the network, on virtual time: the sandbox's policies, and the quirks of gateways
//! that count in other ways.

use std::time::{Duration, SystemTime};

use fastrand::Rng;
use http::{HeaderMap, HeaderName, HeaderValue};
use talentdata_sandbox::limit::{Decision, Limiter};

use super::{LIMIT, Others, Scenario, WINDOW};

/// A way in which a server departs from the plain policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Quirk {
    None,
    /// `remaining` is read when the response is written, not when the request is decided on.
    ReadsLate,
    /// A clock window whose count increases only after the response.
    CountsLate,
    /// Each node has its own counter for the whole limit, and requests are distributed among the nodes at random.
    Nodes(usize),
    /// A sliding log in which refused requests count as well.
    CountsRefused,
    /// No rate headers but `Retry-After: 1` on a refusal.
    OnlyRetryAfter,
    /// No rate headers at all.
    Silent,
    /// No rate headers, and the status 503 for a refusal.
    Unavailable,
    /// The server fails, without rate headers.
    Down,
    /// Headers with wrong values.
    Lies,
    /// Headers that are not numbers.
    Garbage,
}

pub(super) struct Network {
    scenario: Scenario,
    /// The random numbers of a run, except for those of the server.
    pub(super) rng: Rng,
    server: Rng,
    nodes: Vec<Limiter>,
    /// The requests that count, if the quirk counts on its own.
    counted: Vec<Duration>,
    /// The time on the server's clock at which the run begins.
    epoch: Duration,
    burst_left: u32,
}

impl Network {
    pub(super) fn new(scenario: Scenario) -> Self {
        let mut rng = Rng::with_seed(scenario.seed);
        Self {
            server: Rng::with_seed(rng.u64(..)),
            nodes: nodes(&scenario),
            counted: Vec::new(),
            epoch: Duration::from_secs_f64(1.7e9) + Duration::from_micros(rng.u64(0..1_000_000)),
            rng,
            burst_left: 0,
            scenario,
        }
    }

    /// Decides about an arriving request. Returns the decision, and the processing time of the server.
    pub(super) fn arrive(&mut self, now: Duration) -> (Decision, Duration) {
        let decision = self.decide(now);
        let took = -self.rng.f64().max(1e-9).ln() * self.scenario.processing.as_secs_f64();
        (decision, Duration::from_secs_f64(took))
    }

    fn decide(&mut self, now: Duration) -> Decision {
        if let Some((_, policy, limit)) = self.scenario.change.take_if(|(at, ..)| now >= *at) {
            (self.scenario.policy, self.scenario.limit) = (policy, (limit, WINDOW));
            (self.nodes, self.counted) = (nodes(&self.scenario), Vec::new());
        }
        let now = self.epoch + now;
        let node = self.server.usize(0..self.nodes.len());
        match self.scenario.quirk {
            Quirk::CountsLate => {
                self.counted.retain(|at| at.as_secs() == now.as_secs());
                let into = Duration::from_nanos(now.subsec_nanos().into());
                self.by_count(WINDOW - into)
            }
            Quirk::CountsRefused => {
                self.counted.retain(|at| *at + WINDOW > now);
                let oldest = self.counted.first().copied().unwrap_or(now);
                let decision = self.by_count(oldest + WINDOW - now);
                self.counted.push(now);
                decision
            }
            _ => self.nodes[node].decide(now),
        }
    }

    fn by_count(&self, reset: Duration) -> Decision {
        let left = self.scenario.limit.0;
        let left = left.saturating_sub(self.counted.len() as u32);
        Decision {
            admitted: left > 0,
            remaining: left.saturating_sub(1),
            reset,
        }
    }

    /// Returns the headers of a response that is written now.
    pub(super) fn answer(&mut self, now: Duration, mut decision: Decision) -> HeaderMap {
        match self.scenario.quirk {
            Quirk::ReadsLate => {
                let probe = self.nodes[0].clone().decide(self.epoch + now);
                decision.remaining = probe.remaining + u32::from(probe.admitted);
                decision.reset = probe.reset;
            }
            Quirk::CountsLate if decision.admitted => self.counted.push(self.epoch + now),
            Quirk::Silent | Quirk::Unavailable | Quirk::Down => return HeaderMap::new(),
            Quirk::OnlyRetryAfter if decision.admitted => return HeaderMap::new(),
            Quirk::OnlyRetryAfter => return map([("retry-after", "1".to_owned())]),
            Quirk::Lies => return self.lies(),
            Quirk::Garbage => return self.garbage(),
            _ => {}
        }
        map(self.nodes[0].headers(&decision))
    }

    fn lies(&mut self) -> HeaderMap {
        let rng = &mut self.server;
        let reset = [0.0, 0.2, 1.0, 3.0, 1e9][rng.usize(0..5)];
        let limit = [40, 40, 40, 10_000, 7, 0][rng.usize(0..6)];
        let remaining = rng.u32(0..60).saturating_sub(10);
        let mut all = vec![
            ("x-ratelimit-limit", format!("{limit};w=1")),
            ("x-ratelimit-remaining", remaining.to_string()),
            ("x-ratelimit-reset", reset.to_string()),
            ("retry-after", rng.u8(0..3).to_string()),
        ];
        all.retain(|_| rng.f64() < 0.7);
        map(all)
    }

    fn garbage(&mut self) -> HeaderMap {
        let names = [
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
            "retry-after",
        ];
        let values = "|-|NaN|-3|1e3|0x28|\u{ff14}\u{ff10}|99999999999999999999999|;w=|5, 2";
        let values: Vec<&str> = values.split('|').collect();
        let any = |name| (name, values[self.server.usize(0..values.len())].to_owned());
        map(names.map(any))
    }

    /// Returns the status of the response to a request.
    pub(super) fn status(&self, decision: Decision) -> u16 {
        match self.scenario.quirk {
            Quirk::Down => 500,
            _ if decision.admitted => 200,
            Quirk::Unavailable => 503,
            _ => 429,
        }
    }

    /// Returns the time of day on the server.
    pub(super) fn wall(&self, now: Duration) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.epoch + now
    }

    /// Handles a request of another client. Returns whether it is served, and the time until the next one.
    pub(super) fn other(&mut self, now: Duration) -> Option<(bool, Duration)> {
        if now > self.scenario.others_during.1 {
            return None;
        }
        let served = self.decide(now).admitted;
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

    /// Returns whether a request or response in transit is lost.
    pub(super) fn vanishes(&mut self, now: Duration) -> bool {
        let (from, to) = self.scenario.outage;
        (from <= now && now < to) || self.rng.f64() < self.scenario.loss
    }

    pub(super) fn one_way(&mut self) -> Duration {
        let (u, v) = (self.rng.f64().max(1e-12), self.rng.f64());
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        (self.scenario.round_trip / 2).mul_f64((self.scenario.jitter * normal).exp())
    }
}

fn nodes(scenario: &Scenario) -> Vec<Limiter> {
    let (limit, window) = scenario.limit;
    let count = match scenario.quirk {
        Quirk::Nodes(count) => count,
        _ => 1,
    };
    vec![Limiter::new(scenario.policy, limit, window, scenario.rounding); count]
}

fn map(headers: impl IntoIterator<Item = (&'static str, String)>) -> HeaderMap {
    let header = |(name, value): (&'static str, String)| {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("no control characters");
        (HeaderName::from_static(name), value)
    };
    headers.into_iter().map(header).collect()
}
