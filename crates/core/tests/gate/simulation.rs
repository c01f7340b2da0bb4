//! A client that sends as its gate lets, on virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use http::HeaderMap;
use talentdata_core::gate::{Gate, GateSettings, RateHeaders, Ready, Ticket};

use crate::network::Network;
use crate::referee::Referee;
use crate::scenario::{Others, Outcome, Scenario};
use crate::server::Verdict;

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
    network: Network,
    gate: Gate,
    now: Duration,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    sequence: u64,
    wake: u64,
    requests: Vec<Request>,
    referee: Referee,
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
        let gate = Gate::new(GateSettings {
            share: scenario.share,
            seed: scenario.seed,
            ..GateSettings::default()
        });
        Self {
            network: Network::new(scenario.clone()),
            outcome: Outcome {
                elapsed: Duration::ZERO,
                arrivals: Vec::new(),
                refused: 0,
                others_asked: 0,
                others_served: 0,
                stats: gate.stats(),
            },
            gate,
            now: Duration::ZERO,
            events: BinaryHeap::new(),
            sequence: 0,
            wake: 0,
            requests: Vec::new(),
            referee: Referee::new(scenario.clone()),
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
                Ready::Now if self.network.rng.f64() < self.scenario.unused => {
                    let ticket = self.gate.send(self.now);
                    self.gate.unsend(ticket);
                }
                Ready::Now => self.send(),
                Ready::At(at) => {
                    self.referee.waits_until(self.now, at);
                    if self.network.rng.f64() < ASK_AGAIN {
                        self.ask_again(at);
                    }
                    self.wake += 1;
                    let late = Duration::from_secs_f64(self.network.rng.f64() * SLOP);
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
        let between = self.now + (at - self.now).mul_f64(self.network.rng.f64());
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
        let at = now + self.network.one_way();
        if !self.network.vanishes(now) {
            self.push(at, Event::Arrive(index));
        }
    }

    fn arrive(&mut self, index: usize) {
        let (verdict, took) = self.network.arrive(self.now);
        self.requests[index].verdict = Some(verdict);
        self.push(self.now + took, Event::Answer(index));
    }

    fn answer(&mut self, index: usize) {
        let verdict = self.requests[index].verdict.expect("decided on before");
        self.requests[index].headers = self.network.answer(self.now, verdict);
        let at = self.now + self.network.one_way();
        if !self.network.vanishes(self.now) {
            self.push(at, Event::Receive(index));
        }
    }

    fn receive(&mut self, index: usize) {
        if std::mem::replace(&mut self.requests[index].settled, true) {
            return;
        }
        let request = &self.requests[index];
        let verdict = request.verdict.expect("decided on before");
        let admitted = verdict.decision.admitted;
        let status = self.network.status(verdict);
        let headers = RateHeaders::read(&request.headers, self.network.wall(self.now));
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
        if let Some((served, wait)) = self.network.other(self.now) {
            self.outcome.others_asked += 1;
            self.outcome.others_served += u64::from(served);
            self.push(self.now + wait, Event::Other);
        }
    }
}
