//! A client, a server and the network between them, on virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use http::HeaderMap;
use talentdata_core::gate::{Gate, GateSettings, RateHeaders, Ready, Ticket};

use crate::referee::Referee;
use crate::scenario::{LIMIT, Others, Outcome, Scenario};
use crate::server::{Quirk, Server, Verdict};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Wake(u64),
    Arrive(usize),
    Answer(usize),
    Receive(usize),
    GiveUp(usize),
    Other,
}

struct Request {
    ticket: Ticket,
    verdict: Option<Verdict>,
    headers: HeaderMap,
    settled: bool,
}

pub(crate) struct World {
    scenario: Scenario,
    rng: Rng,
    server: Server,
    changed: bool,
    /// Where in the second, and when in history, the run begins on the server's clock.
    epoch: Duration,
    gate: Gate,
    now: Duration,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    sequence: u64,
    wake: u64,
    requests: Vec<Request>,
    referee: Referee,
    burst_left: u32,
    outcome: Outcome,
}

/// A request is given up after this long.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Part of the waits during which the gate is asked once more.
const ASK_AGAIN: f64 = 0.2;
/// Timers fire up to this much late.
const SLOP: f64 = 0.001;

impl World {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let mut rng = Rng::with_seed(scenario.seed);
        let Scenario {
            policy,
            rounding,
            quirk,
            ..
        } = scenario;
        let gate = Gate::new(GateSettings {
            share: scenario.share,
            seed: scenario.seed,
            ..GateSettings::default()
        });
        Self {
            server: Server::new(policy, rounding, quirk, LIMIT, rng.u64(..)),
            changed: false,
            epoch: Duration::from_secs_f64(1.7e9) + Duration::from_micros(rng.u64(0..1_000_000)),
            outcome: Outcome {
                elapsed: Duration::ZERO,
                arrivals: Vec::new(),
                refused: 0,
                others_asked: 0,
                others_served: 0,
                stats: gate.stats(),
            },
            gate,
            rng,
            now: Duration::ZERO,
            events: BinaryHeap::new(),
            sequence: 0,
            wake: 0,
            requests: Vec::new(),
            referee: Referee::new(scenario.clone()),
            burst_left: 0,
            scenario,
        }
    }

    pub(crate) fn run(mut self) -> Outcome {
        if self.scenario.others != Others::None {
            self.push(self.scenario.others_during.0, Event::Other);
        }
        self.pump();
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > self.scenario.until {
                self.now = self.scenario.until;
                break;
            }
            self.now = at;
            self.handle(event);
            if self.outcome.arrivals.len() as u64 >= self.scenario.pages {
                break;
            }
        }
        self.outcome.elapsed = self.now;
        self.outcome.stats = self.gate.stats();
        self.outcome
    }

    fn push(&mut self, at: Duration, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Wake(number) if number == self.wake => self.pump(),
            Event::Wake(_) => {}
            Event::Arrive(index) => self.arrive(index),
            Event::Answer(index) => self.answer(index),
            Event::Receive(index) => self.receive(index),
            Event::GiveUp(index) => self.give_up(index),
            Event::Other => self.other(),
        }
    }

    /// Sends as long as the gate lets.
    fn pump(&mut self) {
        loop {
            let wanted = self.outcome.arrivals.len() as u64 + self.referee.in_flight() as u64;
            if wanted >= self.scenario.pages {
                return;
            }
            match self.gate.ready(self.now) {
                Ready::Now if self.rng.f64() < self.scenario.unused => {
                    let ticket = self.gate.send(self.now);
                    self.gate.unsend(ticket);
                }
                Ready::Now => self.send(),
                Ready::At(at) => {
                    self.referee.waits_until(self.now, at);
                    if self.rng.f64() < ASK_AGAIN {
                        self.ask_again(at);
                    }
                    self.wake += 1;
                    let late = Duration::from_secs_f64(self.rng.f64() * SLOP);
                    self.push(at + late, Event::Wake(self.wake));
                    return;
                }
                Ready::AfterResponse => {
                    self.referee.waits_for_a_response();
                    return;
                }
            }
        }
    }

    fn ask_again(&mut self, at: Duration) {
        let between = self.now + (at - self.now).mul_f64(self.rng.f64());
        match self.gate.ready(between) {
            Ready::Now => self.referee.waits_on(at, between),
            Ready::At(again) => self.referee.waits_on(at, again),
            Ready::AfterResponse => self.referee.waits_for_a_response(),
        }
    }

    fn send(&mut self) {
        let now = self.now;
        self.referee.sends(now);
        let index = self.requests.len();
        self.requests.push(Request {
            ticket: self.gate.send(now),
            verdict: None,
            headers: HeaderMap::new(),
            settled: false,
        });
        self.push(now + TIMEOUT, Event::GiveUp(index));
        let at = now + self.one_way();
        if !self.vanishes() {
            self.push(at, Event::Arrive(index));
        }
    }

    fn arrive(&mut self, index: usize) {
        let at = self.epoch + self.now;
        let verdict = self.server().decide(at);
        self.requests[index].verdict = Some(verdict);
        let took = -self.rng.f64().max(1e-9).ln() * self.scenario.processing.as_secs_f64();
        self.push(
            self.now + Duration::from_secs_f64(took),
            Event::Answer(index),
        );
    }

    fn answer(&mut self, index: usize) {
        let verdict = self.requests[index].verdict.expect("decided on before");
        let at = self.epoch + self.now;
        self.requests[index].headers = self.server().headers(verdict, at);
        let at = self.now + self.one_way();
        if !self.vanishes() {
            self.push(at, Event::Receive(index));
        }
    }

    fn receive(&mut self, index: usize) {
        if std::mem::replace(&mut self.requests[index].settled, true) {
            return;
        }
        let request = &self.requests[index];
        let admitted = request
            .verdict
            .expect("decided on before")
            .decision
            .admitted;
        let status = match self.scenario.quirk {
            _ if admitted => 200,
            Quirk::Unavailable => 503,
            _ => 429,
        };
        let wall = SystemTime::UNIX_EPOCH + self.epoch + self.now;
        let headers = RateHeaders::read(&request.headers, wall);
        self.referee.receives(self.now, !admitted, &headers);
        self.outcome.refused += u64::from(!admitted);
        if admitted {
            self.outcome.arrivals.push(self.now);
        }
        self.gate
            .response(self.now, request.ticket, status, &headers);
        self.pump();
    }

    fn give_up(&mut self, index: usize) {
        if std::mem::replace(&mut self.requests[index].settled, true) {
            return;
        }
        self.referee.gives_up();
        self.gate.lost(self.now, self.requests[index].ticket);
        self.pump();
    }

    fn other(&mut self) {
        if self.now > self.scenario.others_during.1 {
            return;
        }
        let at = self.epoch + self.now;
        let served = self.server().decide(at).decision.admitted;
        self.outcome.others_asked += 1;
        self.outcome.others_served += u64::from(served);
        let random = -self.rng.f64().max(1e-9).ln();
        let wait = match self.scenario.others {
            Others::None => return,
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
        self.push(self.now + Duration::from_secs_f64(wait), Event::Other);
    }

    fn server(&mut self) -> &mut Server {
        if let Some((at, policy, limit)) = self.scenario.change
            && self.now >= at
            && !self.changed
        {
            self.changed = true;
            let Scenario {
                rounding,
                quirk,
                seed,
                ..
            } = self.scenario;
            self.server = Server::new(policy, rounding, quirk, limit, seed);
        }
        &mut self.server
    }

    fn vanishes(&mut self) -> bool {
        let (from, to) = self.scenario.outage;
        (from <= self.now && self.now < to) || self.rng.f64() < self.scenario.loss
    }

    fn one_way(&mut self) -> Duration {
        let (u, v) = (self.rng.f64().max(1e-12), self.rng.f64());
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        (self.scenario.round_trip / 2).mul_f64((self.scenario.jitter * normal).exp())
    }
}
