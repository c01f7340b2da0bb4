//! Members that share a gate, a server and the network between them, on virtual time.
//!
//! Each member has one request at the head of its queue, as a client has, and asks when its timer fires or a response has
//! come to it. Nothing tells it what others do.

mod failures;
mod requests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use fastrand::Rng;
use http::HeaderMap;
use talentdata_core::gate::{Endpoint, GateSettings, Requester, SharedGate, Ticket, Turn};

use super::team::{Findings, Part, Plan, Team, Work};
use crate::network::Network;
use crate::referee::Referee;
use crate::scenario::Others;
use crate::server::Verdict;

/// A request is given up after this long.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Timers fire up to this much late,
const SLOP: Duration = Duration::from_millis(1);
/// and some of them by this much.
const LATE: (f64, Duration) = (0.01, Duration::from_millis(10));
/// Part of the operations whose time is up to a millisecond older than that of the one before.
const STALE: f64 = 0.1;
/// Of a member that says nothing for so long, no response is expected any more.
const SILENT: Duration = Duration::from_secs(2);
/// A killed member is followed by another after this long.
const SUCCESSION: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begin(usize),
    Leave(usize),
    Call(usize),
    Wake(usize, u64),
    Receive(usize),
    GiveUp(usize),
    Arrive(usize),
    Answer(usize),
    Kill,
    Other,
}

struct Member {
    plan: Plan,
    present: bool,
    /// Since when its calls wait; of a scan, only the head of the queue.
    queue: VecDeque<Duration>,
    /// Requests of all members until its head began to wait.
    sends_before: u64,
    /// When the gate was last told anything by it.
    heard: Duration,
    /// Its requests that the referee counts as unanswered.
    unanswered: usize,
    wake: u64,
}

struct Request {
    member: usize,
    ticket: Ticket,
    verdict: Option<Verdict>,
    headers: HeaderMap,
    settled: bool,
    /// The referee still counts it as unanswered.
    counted: bool,
}

pub(crate) struct World {
    team: Team,
    network: Network,
    /// Of the rewriting, which must change nothing else.
    rewriting: Rng,
    gate: SharedGate,
    members: Vec<Member>,
    now: Duration,
    /// The latest time that the gate was told.
    told: Duration,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    sequence: u64,
    requests: Vec<Request>,
    referee: Referee,
    findings: Findings,
}

impl World {
    pub(crate) fn new(team: Team) -> Self {
        let scenario = &team.scenario;
        let settings = GateSettings {
            seed: scenario.seed,
            ..GateSettings::default()
        };
        let gate = SharedGate::new(settings, Duration::ZERO);
        Self {
            network: Network::new(scenario.clone()),
            findings: Findings {
                parts: Vec::new(),
                refused: 0,
                asks: 0,
                others_asked: 0,
                others_served: 0,
                bytes: 0,
                sends: 0,
                lost: 0,
                mode: gate.mode(),
            },
            gate,
            members: Vec::new(),
            rewriting: Rng::with_seed(scenario.seed),
            now: Duration::ZERO,
            told: Duration::ZERO,
            events: BinaryHeap::new(),
            sequence: 0,
            requests: Vec::new(),
            referee: Referee::new(scenario.clone()),
            team,
        }
    }

    pub(crate) fn run(mut self) -> Findings {
        for plan in self.team.members.clone() {
            self.add(plan);
        }
        if self.team.scenario.others != Others::None {
            self.push(self.team.scenario.others_during.0, Event::Other);
        }
        if let Some(every) = self.team.killed_every {
            self.push(every, Event::Kill);
        }
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > self.team.scenario.until {
                break;
            }
            self.now = at;
            match self.stopped_until(event) {
                Some(until) => self.push(until, event),
                None => self.handle(event),
            }
        }
        self.findings.mode = self.gate.mode();
        self.findings
    }

    fn push(&mut self, at: Duration, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    fn add(&mut self, plan: Plan) {
        let index = self.members.len();
        self.members.push(Member {
            plan,
            present: false,
            queue: VecDeque::new(),
            sends_before: 0,
            heard: Duration::ZERO,
            unanswered: 0,
            wake: 0,
        });
        self.findings.parts.push(Part::default());
        self.push(plan.during.0, Event::Begin(index));
        self.push(plan.during.1, Event::Leave(index));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Begin(member) => self.begin(member),
            Event::Leave(member) => self.leave(member),
            Event::Call(member) => self.call(member),
            Event::Wake(member, number) if number == self.members[member].wake => self.pump(member),
            Event::Wake(..) => {}
            Event::Receive(index) => self.receive(index),
            Event::GiveUp(index) => self.give_up(index),
            Event::Arrive(index) => self.arrive(index),
            Event::Answer(index) => self.answer(index),
            Event::Kill => self.kill(),
            Event::Other => self.other(),
        }
    }

    fn begin(&mut self, member: usize) {
        self.members[member].present = true;
        match self.members[member].plan.work {
            Work::Scan => self.want(member),
            Work::Calls(_) => self.next_call(member),
        }
    }

    /// A request comes to the queue of a member.
    fn want(&mut self, member: usize) {
        let sends = self.findings.sends;
        let waiting = &mut self.members[member];
        waiting.queue.push_back(self.now);
        if waiting.queue.len() == 1 {
            waiting.sends_before = sends;
            self.pump(member);
        }
    }

    fn call(&mut self, member: usize) {
        if self.members[member].present {
            self.want(member);
            self.next_call(member);
        }
    }

    fn next_call(&mut self, member: usize) {
        if let Work::Calls(rate) = self.members[member].plan.work {
            let wait = -self.network.rng.f64().max(1e-9).ln() / rate;
            self.push(
                self.now + Duration::from_secs_f64(wait),
                Event::Call(member),
            );
        }
    }

    /// The time that an operation of a member carries: some have waited for others.
    fn clock(&mut self, member: usize) -> Duration {
        let stale = match self.network.rng.f64() < STALE {
            true => SLOP.mul_f64(self.network.rng.f64()),
            false => Duration::ZERO,
        };
        let now = self.now.saturating_sub(stale);
        self.told = self.told.max(now);
        assert!(self.gate.used() <= self.told, "no time of its own");
        self.members[member].heard = self.told;
        for silent in 0..self.members.len() {
            let Member {
                heard, unanswered, ..
            } = self.members[silent];
            if unanswered > 0 && heard + SILENT < self.told {
                self.forget(silent);
            }
        }
        now
    }

    /// Writes the state down and reads it, now and then, as processes do each time.
    fn rewrite(&mut self) {
        if self.rewriting.f64() < self.team.rewritten {
            let bytes = postcard::to_stdvec(&self.gate).expect("a state can be written");
            self.findings.bytes = self.findings.bytes.max(bytes.len());
            self.gate = postcard::from_bytes(&bytes).expect("and be read");
        }
    }

    /// Sends as long as the gate lets.
    fn pump(&mut self, member: usize) {
        while !self.members[member].queue.is_empty() {
            let now = self.clock(member);
            let plan = self.members[member].plan;
            let requester = Requester {
                id: id(member),
                process: member as u32,
                name: "member",
                share: plan.share,
            };
            self.findings.asks += 1;
            let turn = self.gate.take(now, &requester, plan.class, Endpoint::Api);
            self.rewrite();
            match turn {
                Turn::Now(ticket) if self.network.rng.f64() < self.team.scenario.unused => {
                    let now = self.clock(member);
                    self.gate.unsend(now, id(member), ticket);
                }
                Turn::Now(ticket) => self.send(member, ticket),
                Turn::Wait { again, .. } => {
                    self.referee.waits_until(self.told, again);
                    let late = match self.network.rng.f64() < LATE.0 {
                        true => LATE.1,
                        false => SLOP.mul_f64(self.network.rng.f64()),
                    };
                    self.members[member].wake += 1;
                    let number = self.members[member].wake;
                    self.push(again.max(self.now) + late, Event::Wake(member, number));
                    return;
                }
            }
        }
    }
}

fn id(member: usize) -> u64 {
    member as u64 + 1
}
