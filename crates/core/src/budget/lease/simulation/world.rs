//! One run: events in the order of time.

mod members;
mod questions;
mod requests;

use super::scenario::{LIMIT, Outcome, Scenario};
use super::server::{Quirk, Server, Verdict};
use crate::budget::lease::state::State;
use crate::budget::lease::{Ask, Member, Micros, Reply};
use crate::gate::{GateSettings, Lane, Ticket};
use fastrand::Rng;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;
use talentdata_sandbox::limit::ResetRounding;

/// A question without a reply is given up after this long.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Sigma of the lognormal latency of each way.
const JITTER: f64 = 0.3;

#[derive(Debug, Clone, PartialEq)]
enum Event {
    Begin(usize),
    Wake(usize, u64),
    AskDue(usize, u64),
    AskArrives(usize, u64, Ask),
    ReplyArrives(usize, u64, Reply),
    AskFails(usize, u64),
    Arrives(usize),
    Responds(usize),
    Call(usize),
    Neighbour,
    Kill,
    StandStill(usize),
}

struct Client {
    member: Option<Member>,
    lane: Lane,
    /// When the single calls that wait came.
    calls: VecDeque<Duration>,
    wake: u64,
    ask: u64,
    question: u64,
    stopped: bool,
    /// It stands still until then, and finds what has happened meanwhile.
    still: Duration,
}

struct Request {
    client: usize,
    life: u64,
    ticket: Ticket,
    verdict: Option<Verdict>,
}

pub(super) struct World {
    scenario: Scenario,
    rng: Rng,
    now: Duration,
    epoch: Duration,
    server: Server,
    state: State,
    clients: Vec<Client>,
    lives: Vec<u64>,
    requests: Vec<Request>,
    granted: VecDeque<Micros>,
    shown: u32,
    events: BinaryHeap<Reverse<(Duration, u64, usize)>>,
    bodies: Vec<Option<Event>>,
    outcome: Outcome,
}

impl World {
    pub(super) fn new(scenario: Scenario) -> Self {
        let mut rng = Rng::with_seed(scenario.seed);
        let server = Server::new(
            scenario.policy,
            ResetRounding::Up,
            Quirk::None,
            (LIMIT, Duration::from_secs(1)),
            rng.u64(..),
        );
        let all = scenario.scans + scenario.callers;
        World {
            epoch: Duration::from_secs_f64(1.7e9) + Duration::from_micros(rng.u64(0..1_000_000)),
            now: Duration::ZERO,
            server,
            state: State::default(),
            clients: Vec::new(),
            lives: vec![0; all],
            requests: Vec::new(),
            granted: VecDeque::new(),
            shown: LIMIT,
            events: BinaryHeap::new(),
            bodies: Vec::new(),
            outcome: Outcome::default(),
            rng,
            scenario,
        }
    }

    pub(super) fn run(mut self) -> Outcome {
        for index in 0..self.lives.len() {
            let lane = match index {
                _ if index >= self.scenario.scans => Lane::Single,
                _ if index < self.scenario.background => Lane::Background,
                _ => Lane::Scan,
            };
            self.clients.push(Client {
                member: None,
                lane,
                calls: VecDeque::new(),
                wake: 0,
                ask: 0,
                question: 0,
                stopped: false,
                still: Duration::ZERO,
            });
            let at = self.scenario.apart * index as u32;
            self.push(at, Event::Begin(index));
            if self.scenario.stands_still.is_some() {
                self.push(at, Event::StandStill(index));
            }
        }
        if let Some(every) = self.scenario.killed {
            self.push(every, Event::Kill);
        }
        if self.scenario.neighbour > 0.0 {
            self.push(Duration::from_secs(5), Event::Neighbour);
        }
        while let Some(Reverse((at, _, body))) = self.events.pop() {
            if at > self.scenario.until {
                break;
            }
            self.now = at;
            if let Some(event) = self.bodies[body].take() {
                self.handle(event);
            }
        }
        self.outcome
    }

    fn push(&mut self, at: Duration, event: Event) {
        let number = self.bodies.len();
        self.bodies.push(Some(event));
        self.events
            .push(Reverse((at.max(self.now), number as u64, number)));
    }

    fn handle(&mut self, event: Event) {
        if let Some(index) = self.handler(&event)
            && self.now < self.clients[index].still
        {
            self.push(self.clients[index].still, event);
            return;
        }
        match event {
            Event::Begin(index) => {
                let settings = GateSettings {
                    seed: self.rng.u64(..),
                    ..GateSettings::default()
                };
                let member = Member::new(self.rng.u64(..), settings, self.scenario.on_lost);
                self.clients[index].member = Some(member);
                if self.clients[index].lane == Lane::Single {
                    self.push(self.now, Event::Call(index));
                }
                self.pump(index);
            }
            Event::Wake(index, number) if number == self.clients[index].wake => self.pump(index),
            Event::AskDue(index, number) if number == self.clients[index].ask => self.ask(index),
            Event::Wake(..) | Event::AskDue(..) => {}
            Event::AskArrives(index, question, ask) => self.reserve(index, question, &ask),
            Event::ReplyArrives(index, question, reply) => {
                if question == self.clients[index].question {
                    self.clients[index].question += 1;
                    let now = self.now;
                    if let Some(member) = &mut self.clients[index].member {
                        member.received(now, &reply);
                    }
                    self.pump(index);
                }
            }
            Event::AskFails(index, question) => {
                if question == self.clients[index].question {
                    self.clients[index].question += 1;
                    let now = self.now;
                    if let Some(member) = &mut self.clients[index].member {
                        member.failed(now);
                    }
                    self.pump(index);
                }
            }
            Event::Arrives(index) => self.arrives(index),
            Event::Responds(index) => self.responds(index),
            Event::Call(index) => {
                self.clients[index].calls.push_back(self.now);
                let wait = -self.rng.f64().max(1e-9).ln() / self.scenario.calls;
                self.push(self.now + Duration::from_secs_f64(wait), Event::Call(index));
                self.pump(index);
            }
            Event::Neighbour => {
                let verdict = self.server.decide(self.epoch + self.now);
                self.outcome.neighbour.0 += 1;
                self.outcome.neighbour.1 += u64::from(verdict.decision.admitted);
                let wait = Duration::from_secs_f64(1.0 / self.scenario.neighbour);
                self.push(self.now + wait, Event::Neighbour);
            }
            Event::Kill => {
                let index = self.rng.usize(0..self.scenario.scans);
                self.lives[index] += 1;
                self.clients[index].member = None;
                self.clients[index].question += 1;
                self.push(self.now + Duration::from_millis(200), Event::Begin(index));
                if let Some(every) = self.scenario.killed {
                    self.push(self.now + every, Event::Kill);
                }
            }
            Event::StandStill(index) => {
                if let Some((every, longest)) = self.scenario.stands_still {
                    let long = longest.mul_f64(self.rng.f64());
                    self.clients[index].still = self.now + long;
                    let wait = every.mul_f64(-self.rng.f64().max(1e-9).ln());
                    self.push(self.now + long + wait, Event::StandStill(index));
                }
            }
        }
    }

    fn late(&mut self) -> Duration {
        self.scenario.late.mul_f64(self.rng.f64())
    }

    fn one_way(&mut self, round_trip: Duration) -> Duration {
        let (u, v) = (self.rng.f64().max(1e-12), self.rng.f64());
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        (round_trip / 2).mul_f64((JITTER * normal).exp())
    }
}
