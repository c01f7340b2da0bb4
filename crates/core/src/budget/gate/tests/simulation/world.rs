//! Members that share a gate, a server and the network between them, on virtual time. The hard rules are checked, and a
//! run panics if one is broken.
//!
//! Each member has one request at the head of its queue, as a client has. It asks when its timer fires or a response
//! arrives for it. It does not see the requests of others.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::budget::gate::{
    Admission, Endpoint, MemberInfo, RateHeaders, RequestOutcome, SharedGate, Ticket,
};
use fastrand::Rng;
use http::HeaderMap;
use talentdata_sandbox::limit::Decision;

use super::network::Network;
use super::{Findings, LIMIT, Others, Part, Plan, SERVER, Scenario, WINDOW};

/// The time after which a request is abandoned.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The usual limit for the delay of timers.
const SLOP: Duration = Duration::from_millis(1);
/// The part of timers that are later, and their delay.
const LATE_TIMERS: (f64, Duration) = (0.01, Duration::from_millis(10));
/// The part of the operations whose time is up to a millisecond earlier than that of the operation before.
const STALE: f64 = 0.1;
/// The time without a message after which no response to a member is expected.
const SILENT: Duration = Duration::from_secs(2);
/// The time after which another member follows a killed one.
const SUCCESSION: Duration = Duration::from_secs(1);
/// The maximum number of unanswered requests before the first response, and later.
const MAX_IN_FLIGHT: (usize, usize) = (4, 128);

type Event = Box<dyn FnOnce(&mut World)>;

/// The state of a member. The scenario describes its requests.
#[derive(Default)]
struct Member {
    present: bool,
    /// The times since which its calls wait. For a scan, only that of the head of the queue.
    queue: VecDeque<Duration>,
    /// The number of requests of all members when its head began to wait.
    sends_before: u64,
    /// The last time at which it reported or asked anything.
    seen: Duration,
    wake: u64,
    /// The earliest time that the gate named to it since the last event.
    named: Duration,
}

pub(crate) struct World {
    scenario: Scenario,
    network: Network,
    /// The random numbers of the rewriting, which must not affect anything else.
    rewriting: Rng,
    gate: SharedGate,
    members: Vec<Member>,
    now: Duration,
    /// The latest time that was passed to the gate.
    latest: Duration,
    /// The events by their time and the order of their causes. An event that depends on a member does not happen
    /// without that member.
    events: BTreeMap<(Duration, u64), (Option<usize>, Event)>,
    sequence: u64,
    /// The requests whose end is not reported yet.
    requests: BTreeMap<u64, (usize, Ticket)>,
    /// The member and number of requests to which the gate expects a response. For a while, this includes those of a
    /// killed member.
    in_flight: Vec<(usize, u64)>,
    answered: bool,
    paused_until: Duration,
    /// The send times of the latest requests, as many as the limit.
    sent: VecDeque<Duration>,
    findings: Findings,
}

impl World {
    pub(crate) fn new(scenario: Scenario) -> Self {
        Self {
            network: Network::new(scenario.clone()),
            findings: Findings::default(),
            gate: SharedGate::new(LIMIT, true, Duration::ZERO),
            members: Vec::new(),
            rewriting: Rng::with_seed(scenario.seed),
            now: Duration::ZERO,
            latest: Duration::ZERO,
            events: BTreeMap::new(),
            sequence: 0,
            requests: BTreeMap::new(),
            in_flight: Vec::new(),
            answered: false,
            paused_until: Duration::ZERO,
            sent: VecDeque::new(),
            scenario,
        }
    }

    pub(crate) fn run(mut self) -> Findings {
        for plan in std::mem::take(&mut self.scenario.members) {
            self.add(plan);
        }
        if self.scenario.others != Others::None {
            self.push(self.scenario.others_during.0, None, World::other);
        }
        if let Some(every) = self.scenario.killed_every {
            self.push(every, None, World::kill);
        }
        while let Some(((at, _), (of, event))) = self.events.pop_first() {
            if at > self.scenario.until {
                break;
            }
            self.now = at;
            match self.scenario.stopped {
                Some((stopped, from, until)) if of == Some(stopped) && from <= at && at < until => {
                    self.push(until, of, event);
                }
                _ => event(&mut self),
            }
        }
        self.findings.mode = self.gate.mode();
        self.findings
    }

    fn insist(&self, holds: bool, rule: &str) {
        assert!(holds, "broken: {rule}, in {:?}", self.scenario);
    }

    fn push(&mut self, at: Duration, of: Option<usize>, event: impl FnOnce(&mut Self) + 'static) {
        self.sequence += 1;
        let event = (of, Box::new(event) as Event);
        self.events.insert((at, self.sequence), event);
    }

    fn add(&mut self, plan: Plan) {
        let index = self.members.len();
        self.members.push(Member::default());
        self.scenario.members.push(plan);
        self.findings.parts.push(Part::default());
        self.push(plan.during.0, Some(index), move |world| world.begin(index));
        self.push(plan.during.1, Some(index), move |world| world.leave(index));
    }

    fn begin(&mut self, member: usize) {
        self.members[member].present = true;
        match self.scenario.members[member].calls {
            None => self.want(member),
            Some(_) => self.next_call(member),
        }
    }

    /// Adds a request to the queue of a member.
    fn want(&mut self, member: usize) {
        let waiting = &mut self.members[member];
        waiting.queue.push_back(self.now);
        if waiting.queue.len() == 1 {
            waiting.sends_before = self.findings.sends;
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
        if let Some(rate) = self.scenario.members[member].calls {
            let wait = -self.network.rng.f64().max(1e-9).ln() / rate;
            let at = self.now + Duration::from_secs_f64(wait);
            self.push(at, Some(member), move |world| world.call(member));
        }
    }

    fn leave(&mut self, member: usize) {
        if self.silence(member) {
            let now = self.clock(member);
            self.gate.leave(now, id(member));
            self.in_flight.retain(|(other, _)| *other != member);
            self.happened();
        }
    }

    /// Kills a scan, which another one replaces.
    fn kill(&mut self) {
        let mut scans: Vec<usize> = (0..self.members.len()).collect();
        scans.retain(|member| {
            self.members[*member].present && self.scenario.members[*member].calls.is_none()
        });
        if let Some(victim) = self.network.rng.choice(scans) {
            self.silence(victim);
            let mut plan = self.scenario.members[victim];
            plan.during.0 = self.now + SUCCESSION;
            self.add(plan);
        }
        let every = self.scenario.killed_every.unwrap_or_default();
        self.push(self.now + every, None, World::kill);
    }

    /// Stops all sends and responses of a member. Returns whether it was active before.
    fn silence(&mut self, member: usize) -> bool {
        self.requests.retain(|_, (other, _)| *other != member);
        self.members[member].queue.clear();
        self.members[member].wake += 1;
        std::mem::take(&mut self.members[member].present)
    }

    /// Returns the time of an operation of a member. Some times are older, as for operations that waited for others.
    fn clock(&mut self, member: usize) -> Duration {
        let stale = if self.network.rng.f64() < STALE {
            SLOP.mul_f64(self.network.rng.f64())
        } else {
            Duration::ZERO
        };
        let now = self.now.saturating_sub(stale);
        self.latest = self.latest.max(now);
        self.insist(self.gate.last_used() <= self.latest, "no time of its own");
        self.members[member].seen = self.latest;
        let (members, before) = (&self.members, self.in_flight.len());
        self.in_flight
            .retain(|(member, _)| members[*member].seen + SILENT >= self.latest);
        if self.in_flight.len() < before {
            self.happened();
        }
        now
    }

    /// Records a change of the gate. Now and then its state is written and read, as processes do each time.
    fn happened(&mut self) {
        for member in &mut self.members {
            member.named = Duration::ZERO;
        }
        self.rewrite();
    }

    fn rewrite(&mut self) {
        if self.rewriting.f64() < self.scenario.rewritten {
            let bytes = postcard::to_stdvec(&self.gate).expect("a state can be written");
            self.findings.bytes = self.findings.bytes.max(bytes.len());
            self.gate = postcard::from_bytes(&bytes).expect("and be read");
        }
    }

    /// Sends requests while the gate admits them.
    fn pump(&mut self, member: usize) {
        while !self.members[member].queue.is_empty() {
            let now = self.clock(member);
            let plan = self.scenario.members[member];
            let requester = MemberInfo {
                id: id(member),
                process: member as u32,
                name: "member",
                share: plan.share,
            };
            self.findings.asks += 1;
            let turn = self.gate.take(now, &requester, plan.class, Endpoint::Api);
            let named = self.members[member].named;
            match turn {
                Admission::Admitted(ticket) => {
                    self.insist(self.latest >= named, "no earlier than named before");
                    self.happened();
                    if self.network.rng.f64() < self.scenario.unused {
                        let now = self.clock(member);
                        self.gate
                            .complete(now, id(member), ticket, &RequestOutcome::Unsent);
                        self.happened();
                    } else {
                        self.send(member, ticket);
                    }
                }
                Admission::Wait {
                    earliest, again, ..
                } => {
                    // While the gate waits for a response, it names no time except that of the share.
                    let is_named = earliest > self.latest && plan.share >= 1.0;
                    let holds = !is_named || earliest >= named;
                    self.insist(holds, "a time named is not taken back");
                    self.members[member].named = named.max(earliest);
                    self.rewrite();
                    self.insist(again > self.latest, "a wait ends in the future");
                    let late = if self.network.rng.f64() < LATE_TIMERS.0 {
                        LATE_TIMERS.1
                    } else {
                        SLOP.mul_f64(self.network.rng.f64())
                    };
                    self.members[member].wake += 1;
                    let number = self.members[member].wake;
                    self.push(again.max(self.now) + late, Some(member), move |world| {
                        if number == world.members[member].wake {
                            world.pump(member);
                        }
                    });
                    return;
                }
            }
        }
    }

    fn send(&mut self, member: usize, ticket: Ticket) {
        let now = self.latest;
        self.insist(now >= self.paused_until, "wait as the service says");
        if self.sent.len() == LIMIT as usize {
            let oldest = self.sent.pop_front().unwrap_or_default();
            self.insist(now >= oldest + WINDOW, "the limit in any window");
        }
        self.sent.push_back(now);
        self.findings.sends += 1;
        let sends = self.findings.sends;
        self.in_flight.push((member, sends));
        let (first, ever) = MAX_IN_FLIGHT;
        let max = if self.answered { ever } else { first };
        self.insist(self.in_flight.len() <= max, "few requests in flight");
        let waiting = &mut self.members[member];
        let overtaken = sends - 1 - waiting.sends_before;
        waiting.sends_before = sends;
        let since = waiting.queue.pop_front().unwrap_or(self.now);
        if self.scenario.members[member].calls.is_none() {
            waiting.queue.push_back(self.now);
        }
        let part = &mut self.findings.parts[member];
        part.waits.push(self.now - since);
        part.most_overtaken = part.most_overtaken.max(overtaken);
        self.requests.insert(sends, (member, ticket));
        let give_up = move |world: &mut Self| world.end(sends, None);
        self.push(self.now + TIMEOUT, Some(member), give_up);
        let at = self.now + self.network.one_way();
        if !self.network.vanishes(self.now) {
            self.push(at, Some(SERVER), move |world| world.arrive(member, sends));
        }
    }

    fn arrive(&mut self, member: usize, number: u64) {
        let (decision, took) = self.network.arrive(self.now);
        self.push(self.now + took, None, move |world| {
            let headers = world.network.answer(world.now, decision);
            let at = world.now + world.network.one_way();
            if !world.network.vanishes(world.now) {
                let receive = move |world: &mut Self| world.end(number, Some((decision, headers)));
                world.push(at, Some(member), receive);
            }
        });
    }

    /// Reports the response to a request, or that its member abandoned it. Does nothing if either happened before.
    fn end(&mut self, number: u64, response: Option<(Decision, HeaderMap)>) {
        let Some((member, ticket)) = self.requests.remove(&number) else {
            return;
        };
        let now = self.clock(member);
        self.in_flight.retain(|(_, other)| *other != number);
        let outcome = match response {
            Some((decision, headers)) => self.receive(member, decision, &headers),
            None => RequestOutcome::Lost,
        };
        self.findings.lost += u64::from(outcome == RequestOutcome::Lost);
        self.gate.complete(now, id(member), ticket, &outcome);
        self.happened();
        self.pump(member);
    }

    fn receive(
        &mut self,
        member: usize,
        decision: Decision,
        headers: &HeaderMap,
    ) -> RequestOutcome {
        let status = self.network.status(decision);
        let headers = RateHeaders::read(headers, self.network.wall(self.now));
        self.answered = true;
        if !decision.admitted || headers.remaining == Some(0) {
            let wait = headers.retry_after.or(headers.reset).unwrap_or_default();
            self.paused_until = self.paused_until.max(self.latest + wait);
        }
        self.findings.refused += u64::from(!decision.admitted);
        if status == 200 {
            self.findings.parts[member].served.push(self.now);
        }
        RequestOutcome::Answered(status, headers)
    }

    fn other(&mut self) {
        if let Some((served, wait)) = self.network.other(self.now) {
            self.findings.others_asked += 1;
            self.findings.others_served += u64::from(served);
            self.push(self.now + wait, None, World::other);
        }
    }
}

fn id(member: usize) -> u64 {
    member as u64 + 1
}
