//! A server, its other clients, and the way there and back, on virtual time.

use std::time::{Duration, SystemTime};

use fastrand::Rng;
use http::HeaderMap;

use crate::scenario::{LIMIT, Others, Scenario};
use crate::server::{Quirk, Server, Verdict, WINDOW};

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
