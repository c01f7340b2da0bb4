//! Members that share a budget by the script on a real server, on the clock of the test: what they must achieve, and what must
//! hold whatever happens. With `--nocapture` every figure is printed next to its goal.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by cfg(test) alone")]

use super::member::Member;
use super::server::{Reply, SOURCE};
use super::test_server::Server;
use crate::budget::Take;
use crate::budget::sharing::Identity;
use crate::gate::{Endpoint, GateSettings, Outcome, PriorityClass, RateHeaders, Ticket};
use fastrand::Rng;
use redis::aio::MultiplexedConnection;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;
use talentdata_sandbox::limit::{Limiter, Policy, ResetRounding};

/// Where the script reads the clock; the test gives it the time instead.
const CLOCK: &str = r#"local clock = redis.call("TIME")
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1e6
"#;
const KEY: &str = "budget";
const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
/// One way to the service.
const TO_SERVICE: Duration = Duration::from_millis(10);
/// Members that are cut off do not reach the server meanwhile. A question that is not replied to is given up after a second.
const CUT_OFF: Range<Duration> = Duration::from_secs(20)..Duration::from_secs(40);
/// The service fails meanwhile, where there is an outage.
const OUTAGE: Range<Duration> = Duration::from_secs(10)..Duration::from_secs(30);

const POLICIES: [Policy; 5] = [
    Policy::ClockWindow,
    Policy::FirstRequestWindow,
    Policy::SlidingLog,
    Policy::SlidingCounter,
    Policy::TokenBucket,
];

/// What happens in a run, unless something else is said. Times are seconds, but for `one_way` to the server of the budget, which is
/// milliseconds. `callers` make single calls, one every four seconds each. A member that is stalled stands still for two seconds,
/// and knows nothing of it. A neighbour that shares no budget sends so many requests a second until half of the time.
const USUAL: &str = "limit 40 window 1 seconds 60 scans 10 background 0 callers 0 share 1 one_way 1 stalled_every 0 \
                     killed_every 0 lost_every 0 clock_set_by 0 cut_off 0 waits 0 outage 0 neighbour 0";

/// Scenarios, and what must be used of the budget in each under each policy, in percent of the limit; then the greatest part of
/// the requests that may be refused, and how far from their mean a scan may be served.
const GOALS: &str = "
one_way 0.5: 95.0 93.0 92.5 89.5 96.5: 0 0.03
one_way 2.5: 95.0 93.0 92.5 89.5 96.5: 0 0.03
one_way 10: 95.0 93.0 92.5 89.5 96.5: 0 0.03
scans 1: 95.0 93.0 92.5 90.0 96.5: 0 1
scans 1 one_way 20: 92.8 92.0 91.0 89.0 94.0: 0 1
scans 4 share 0.25: 95.0 92.5 91.5 91.5 96.5: 0 0.03
killed_every 5: 94.0 92.0 91.5 90.0 95.5: 0 9
stalled_every 3: 94.0 93.5 92.5 90.0 95.5: 0 0.15
lost_every 20: 92.0 91.0 90.0 86.0 95.0: 0.001 1
clock_set_by 10: 93.0 90.0 91.0 88.0 95.5: 0.001 1
clock_set_by -10: 93.0 90.0 91.0 88.0 95.5: 0.001 1
cut_off 10: 90.0 88.0 86.0 82.0 93.0: 0.01 1
cut_off 3: 80.0 80.0 80.0 80.0 80.0: 0.04 1
cut_off 3 waits 1: 92.0 90.0 90.0 88.0 94.0: 0 1";

/// The numbers of a scenario by their names.
#[derive(Clone)]
struct Scenario(HashMap<String, f64>);

impl Scenario {
    /// The usual one, but for this.
    fn with(text: &str) -> Self {
        let words: Vec<&str> = USUAL.split_whitespace().collect();
        let mut numbers = HashMap::new();
        for pair in words
            .chunks(2)
            .chain(text.split_whitespace().collect::<Vec<_>>().chunks(2))
        {
            assert!(words.contains(&pair[0]), "{text}");
            numbers.insert(pair[0].to_owned(), pair[1].parse().unwrap());
        }
        Scenario(numbers)
    }

    fn get(&self, name: &str) -> f64 {
        self.0[name]
    }

    fn count(&self, name: &str) -> usize {
        self.get(name) as usize
    }

    fn time(&self, name: &str) -> Duration {
        Duration::from_secs_f64(self.get(name))
    }
}

/// What came of it.
#[derive(Default)]
struct Run {
    /// When each member was served.
    served: BTreeMap<usize, Vec<Duration>>,
    sent: u64,
    sent_in_outage: u64,
    refused: u64,
    asks: u64,
    waits: Vec<Duration>,
}

impl Run {
    /// What was served, in percent of the usual limit.
    fn share(&self, seconds: Range<u64>) -> f64 {
        let span = Duration::from_secs(seconds.start)..Duration::from_secs(seconds.end);
        let served = self.served.values().flatten();
        let count = served.filter(|at| span.contains(at)).count();
        100.0 * count as f64 / (seconds.end - seconds.start) as f64 / 40.0
    }

    /// What the first members were served after ten seconds: the furthest from their mean, in parts of it.
    fn unfairness(&self, members: usize) -> f64 {
        let served = (0..members).map(|member| {
            let at = self.served.get(&member).into_iter().flatten();
            at.filter(|at| **at >= 10 * SECOND).count() as f64
        });
        let served: Vec<f64> = served.collect();
        let mean = served.iter().sum::<f64>() / members as f64;
        let off = served.iter().map(|served| (served / mean - 1.0).abs());
        off.fold(0.0, f64::max)
    }
}

enum Event {
    Wake(usize, u64),
    Call(usize),
    Question(usize, String),
    Reply(usize, String),
    NoReply(usize),
    Arrive(usize, Ticket),
    Respond(usize, Ticket, u16, RateHeaders),
    Kill,
    Stall,
    Lose,
    SetClock,
    Neighbour,
}

struct Actor {
    member: Member,
    class: PriorityClass,
    wants: bool,
    since: Duration,
    wake: u64,
    killed: bool,
    /// What happens to it meanwhile, happens then.
    stalled_until: Duration,
}

/// The script on the clock of the test.
fn script() -> redis::Script {
    let source = SOURCE.replace(CLOCK, "local now = tonumber(ARGV[2])\n");
    assert_ne!(source, SOURCE, "the script reads its clock otherwise");
    redis::Script::new(&source)
}

struct World {
    scenario: Scenario,
    connection: MultiplexedConnection,
    script: redis::Script,
    rng: Rng,
    limiter: Limiter,
    /// The clock of the server, and that of the service, when the run begins.
    epoch: f64,
    actors: Vec<Actor>,
    now: Duration,
    /// By the time when they happen, and their number.
    events: BTreeMap<(Duration, usize), Event>,
    count: usize,
    run: Run,
}

impl World {
    async fn run(server: &Server, scenario: &Scenario, policy: Policy, seed: u64) -> Run {
        server.command(&["DEL", KEY]).await;
        let mut rng = Rng::with_seed(seed);
        let (limit, window) = (scenario.count("limit") as u32, scenario.time("window"));
        let mut world = World {
            connection: server.connection().await,
            script: script(),
            limiter: Limiter::new(policy, limit, window, ResetRounding::Up),
            epoch: 1.7e9 + rng.f64(),
            rng,
            actors: Vec::new(),
            now: Duration::ZERO,
            events: BTreeMap::new(),
            count: 0,
            run: Run::default(),
            scenario: scenario.clone(),
        };
        world.begin();
        while let Some(((at, _), event)) = world.events.pop_first()
            && at <= scenario.time("seconds")
        {
            world.now = at;
            let member = match &event {
                Event::Wake(index, _)
                | Event::Call(index)
                | Event::Reply(index, _)
                | Event::NoReply(index)
                | Event::Respond(index, ..) => Some(*index),
                _ => None,
            };
            match member.map(|member| world.actors[member].stalled_until) {
                Some(until) if until > at => world.push(until - at, event),
                _ => world.handle(event).await,
            }
        }
        world.run
    }

    fn begin(&mut self) {
        let (scans, background) = (
            self.scenario.count("scans"),
            self.scenario.count("background"),
        );
        for index in 0..scans + background {
            let class = match index < scans {
                true => PriorityClass::Scan,
                false => PriorityClass::Background,
            };
            self.join(class, 20 * MS * index as u32);
        }
        for _ in 0..self.scenario.count("callers") {
            self.join(PriorityClass::Single, Duration::ZERO);
        }
        self.push_every("killed_every", Event::Kill);
        self.push_every("stalled_every", Event::Stall);
        self.push_every("lost_every", Event::Lose);
        if self.scenario.get("clock_set_by") != 0.0 {
            self.push(30 * SECOND, Event::SetClock);
        }
        if self.scenario.get("neighbour") > 0.0 {
            self.push(SECOND, Event::Neighbour);
        }
    }

    fn push(&mut self, after: Duration, event: Event) {
        self.count += 1;
        self.events.insert((self.now + after, self.count), event);
    }

    fn push_every(&mut self, name: &str, event: Event) {
        if self.scenario.get(name) > 0.0 {
            self.push(self.scenario.time(name), event);
        }
    }

    fn join(&mut self, class: PriorityClass, after: Duration) {
        let index = self.actors.len();
        let settings = GateSettings {
            share: self.scenario.get("share"),
            ..GateSettings::default()
        };
        // The goals are those of the very runs that these draws lead to.
        let (id, _) = (self.rng.u64(..), self.rng.u64(..));
        let identity = Identity {
            id,
            ..Identity::default()
        };
        let shares = self.scenario.get("waits") == 0.0;
        self.actors.push(Actor {
            member: Member::new(identity, settings, shares),
            class,
            wants: class != PriorityClass::Single,
            since: self.now + after,
            wake: 0,
            killed: false,
            stalled_until: Duration::ZERO,
        });
        match class {
            PriorityClass::Single => self.call_later(index),
            _ => self.push(after, Event::Wake(index, 0)),
        }
    }

    fn call_later(&mut self, index: usize) {
        let after = Duration::from_secs_f64(-4.0 * self.rng.f64().max(1e-9).ln());
        self.push(after, Event::Call(index));
    }

    /// A lognormal time around this one.
    fn about(&mut self, median: Duration) -> Duration {
        let (u, v) = (self.rng.f64().max(1e-12), self.rng.f64());
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        median.mul_f64((0.3 * normal).exp())
    }

    fn way_to_server(&mut self) -> Duration {
        self.about(self.scenario.time("one_way") / 1000)
    }

    async fn handle(&mut self, event: Event) {
        match event {
            Event::Wake(index, number) if number == self.actors[index].wake => self.pump(index),
            Event::Wake(..) => {}
            Event::Call(index) => {
                let actor = &mut self.actors[index];
                if !actor.wants {
                    (actor.wants, actor.since) = (true, self.now);
                }
                self.call_later(index);
                self.pump(index);
            }
            Event::Question(index, ask) => {
                let time = self.epoch + self.now.as_secs_f64();
                let mut call = self.script.key(KEY);
                call.arg(ask).arg(format!("{time:.6}"));
                let reply = call.invoke_async(&mut self.connection).await.unwrap();
                let way = self.way_to_server();
                self.push(way, Event::Reply(index, reply));
            }
            Event::Reply(index, reply) => {
                let reply = Reply::read(&reply).unwrap();
                self.actors[index].member.received(self.now, &reply);
                self.pump(index);
            }
            Event::NoReply(index) => {
                self.actors[index].member.unanswered(self.now, "cut off");
                self.pump(index);
            }
            Event::Arrive(index, ticket) => self.arrive(index, ticket),
            Event::Respond(index, ticket, status, headers) => {
                self.respond(index, ticket, status, &headers);
            }
            Event::Kill => {
                let alive = |index: &usize| !self.actors[*index].killed;
                let alive: Vec<usize> = (0..self.actors.len()).filter(alive).collect();
                let victim = *self.rng.choice(&alive).unwrap();
                self.actors[victim].killed = true;
                self.join(self.actors[victim].class, SECOND);
                self.push_every("killed_every", Event::Kill);
            }
            Event::Stall => {
                let victim = self.rng.usize(0..self.actors.len());
                self.actors[victim].stalled_until = self.now + 2 * SECOND;
                self.push_every("stalled_every", Event::Stall);
            }
            Event::Lose => {
                let mut delete = redis::cmd("DEL");
                let deleted = delete.arg(KEY).query_async(&mut self.connection).await;
                let () = deleted.unwrap();
                self.push_every("lost_every", Event::Lose);
            }
            Event::SetClock => self.epoch += self.scenario.get("clock_set_by"),
            Event::Neighbour => {
                self.limiter.decide(self.service_time());
                if self.now < self.scenario.time("seconds") / 2 {
                    let rate = self.scenario.get("neighbour");
                    self.push(SECOND.div_f64(rate), Event::Neighbour);
                }
            }
        }
    }

    fn ask_if_due(&mut self, index: usize) {
        let member = &mut self.actors[index].member;
        if member.ask_at(self.now).is_none_or(|at| at > self.now) {
            return;
        }
        let ask = member.ask(self.now);
        self.run.asks += 1;
        if index < self.scenario.count("cut_off") && CUT_OFF.contains(&self.now) {
            return self.push(SECOND, Event::NoReply(index));
        }
        let way = self.way_to_server();
        let ask = serde_json::to_string(&ask).unwrap();
        self.push(way, Event::Question(index, ask));
    }

    /// Sends as long as the member may.
    fn pump(&mut self, index: usize) {
        while !self.actors[index].killed {
            let now = self.now;
            let actor = &mut self.actors[index];
            if !actor.wants {
                return self.ask_if_due(index);
            }
            let take = actor.member.take(now, actor.class, Endpoint::Api);
            self.ask_if_due(index);
            match take {
                Take::Now(ticket) => self.send(index, ticket),
                Take::Wait { again, .. } | Take::Outage { again, .. } => {
                    assert!(again > now, "a wait ends in the future");
                    // Timers fire a little late.
                    let late = MS.mul_f64(self.rng.f64());
                    let actor = &mut self.actors[index];
                    actor.wake += 1;
                    let wake = Event::Wake(index, actor.wake);
                    return self.push(again - now + late, wake);
                }
                Take::AfterChange | Take::Unreachable(_) => return,
            }
        }
    }

    fn is_down(&self) -> bool {
        self.scenario.get("outage") > 0.0 && OUTAGE.contains(&self.now)
    }

    fn send(&mut self, index: usize, ticket: Ticket) {
        let now = self.now;
        let actor = &mut self.actors[index];
        if actor.class == PriorityClass::Single {
            self.run.waits.push(now - actor.since);
            actor.wants = false;
        }
        self.run.sent += 1;
        self.run.sent_in_outage += u64::from(self.is_down());
        let way = self.about(TO_SERVICE);
        self.push(way, Event::Arrive(index, ticket));
    }

    fn service_time(&self) -> Duration {
        // It does not follow the clock of the budget's server.
        Duration::from_secs_f64(1.7e9 + 0.4) + self.now
    }

    fn arrive(&mut self, index: usize, ticket: Ticket) {
        let way = self.about(TO_SERVICE);
        if self.is_down() {
            let none = RateHeaders::default();
            return self.push(way, Event::Respond(index, ticket, 500, none));
        }
        let decision = self.limiter.decide(self.service_time());
        let headers = RateHeaders {
            limit: Some(self.scenario.count("limit") as u32),
            window: Some(self.scenario.time("window")),
            remaining: Some(decision.remaining.into()),
            reset: Some(Duration::from_secs(
                decision.reset.as_millis().div_ceil(1000) as u64,
            )),
            reset_is_integer: true,
            retry_after: None,
        };
        let status = if decision.admitted { 200 } else { 429 };
        self.push(way, Event::Respond(index, ticket, status, headers));
    }

    fn respond(&mut self, index: usize, ticket: Ticket, status: u16, headers: &RateHeaders) {
        let actor = &mut self.actors[index];
        if actor.killed {
            return;
        }
        let outcome = Outcome::Answered(status, headers.clone());
        actor.member.report(self.now, ticket, &outcome);
        match status {
            200 => self.run.served.entry(index).or_default().push(self.now),
            429 => self.run.refused += 1,
            _ => {}
        }
        if status != 200 && actor.class == PriorityClass::Single {
            actor.wants = true;
        }
        self.pump(index);
    }
}

/// The runs of a scenario under each policy; prints a row of a table for each, and fails if a goal was missed.
async fn reach(
    server: &Server,
    text: &str,
    goals: [f64; 5],
    max_refused: f64,
    max_unfair: f64,
) -> Vec<Run> {
    let scenario = Scenario::with(text);
    let (mut runs, mut missed) = (Vec::new(), Vec::new());
    for (policy, goal) in POLICIES.into_iter().zip(goals) {
        let run = World::run(server, &scenario, policy, 1).await;
        let share = run.share(0..scenario.count("seconds") as u64);
        let (unfair, refused) = (run.unfairness(scenario.count("scans")), run.refused);
        let row = format!(
            "{text:24} {policy:22} {share:5.1} % (goal {goal:4.1} %), {refused} refused, {unfair:.2} of the mean, {} asks",
            run.asks
        );
        println!("{row}");
        let is_calm = refused as f64 <= max_refused * run.sent as f64;
        if share < goal || !is_calm || unfair > max_unfair {
            missed.push(row);
        }
        runs.push(run);
    }
    assert!(missed.is_empty(), "{missed:#?}");
    runs
}

/// Every second of the goals, so that two tests do half of the work each.
async fn reach_every_second(first: usize) {
    let server = Server::valkey(&[]).await;
    for row in GOALS.trim().lines().skip(first).step_by(2) {
        let [text, goals, limits] = row.split(':').collect::<Vec<_>>().try_into().unwrap();
        let numbers = |text: &str| {
            text.split_whitespace()
                .map(|it| it.parse().unwrap())
                .collect()
        };
        let (goals, limits): (Vec<f64>, Vec<f64>) = (numbers(goals), numbers(limits));
        reach(
            &server,
            text,
            goals.try_into().unwrap(),
            limits[0],
            limits[1],
        )
        .await;
    }
}

#[tokio::test]
async fn goals_of_ten_scans_and_of_one() {
    reach_every_second(0).await;
}

#[tokio::test]
async fn goals_of_ten_scans_whatever_fails() {
    reach_every_second(1).await;
}

/// Where nothing is paused, a single call waits for a quarter of a second at most, or little more where none came before it.
/// The background takes what is left. A neighbour that does not share is made way for, and what it leaves is taken.
#[tokio::test]
async fn goals_beside_others() {
    let server = Server::valkey(&[]).await;
    let goals = [94.5, 92.5, 92.0, 90.0, 96.0];
    for mut run in reach(&server, "callers 4 seconds 120", goals, 0.0, 1.0).await {
        run.waits.sort();
        let waits = [50, 95, 99].map(|percent| run.waits[run.waits.len() * percent / 100]);
        println!("single calls wait {waits:.0?} at p50, p95, p99");
        assert!(waits[0] <= 150 * MS && waits[1] <= 270 * MS);
    }
    for run in reach(&server, "scans 3 background 1", goals, 0.0, 1.0).await {
        let part = run.served[&3].len() as f64 / run.served[&0].len() as f64;
        assert!((0.005..0.3).contains(&part), "{part}");
    }
    for run in reach(&server, "scans 1 share 0.25", [24.0; 5], 0.0, 1.0).await {
        assert!(run.share(10..60) <= 25.0);
    }
    let goals = [70.0, 68.0, 66.0, 66.0, 80.0];
    for run in reach(&server, "neighbour 10 seconds 120", goals, 0.02, 1.0).await {
        assert!(run.share(90..120) >= 85.0);
    }
}

/// 300 requests in 20 s: nothing is refused, and almost all of them are used.
#[tokio::test]
async fn a_limit_of_a_longer_window_is_obeyed() {
    let server = Server::valkey(&[]).await;
    let scenario = Scenario::with("limit 300 window 20 scans 4");
    for policy in [Policy::ClockWindow, Policy::FirstRequestWindow] {
        let run = World::run(&server, &scenario, policy, 1).await;
        println!("300 in 20 s, {policy}: {} sent", run.sent);
        assert_eq!(run.refused, 0, "{policy}");
        assert!((800..=1300).contains(&run.sent), "{policy}: {}", run.sent);
    }
}

/// However many members share the budget, few requests are sent while the service is down, and all go on when it is not.
#[tokio::test]
async fn an_outage_is_probed_by_one_request_at_a_time() {
    let server = Server::valkey(&[]).await;
    for members in [1, 4, 10] {
        let scenario = Scenario::with(&format!("outage 1 scans {members}"));
        for seed in 0..10 {
            let run = World::run(&server, &scenario, Policy::TokenBucket, seed).await;
            let (sent, after) = (run.sent_in_outage, run.share(40..60));
            println!("{members} members: {sent} sent into 20 s of outage; then {after:.0} %");
            assert!(sent <= 12, "{members} members: {sent}");
            assert!(after > 90.0, "{members} members: {after}");
        }
    }
}

/// Whatever somebody writes to the key is replaced, and holds nobody up for longer than a window.
#[tokio::test]
async fn a_value_that_was_damaged_or_forged_is_replaced() {
    let one = Scenario::with("scans 1");
    for server in Server::both().await {
        let whole = World::run(&server, &one, Policy::TokenBucket, 1).await;
        assert!(whole.sent > 1000);
        let mut connection = server.connection().await;
        let mut read = redis::cmd("GET");
        let good: String = read.arg(KEY).query_async(&mut connection).await.unwrap();
        let good: Value = serde_json::from_str(&good).unwrap();
        let mut texts: Vec<String> = [
            r#"not JSON"#,
            "[]",
            "7",
            "{}",
            r#"{"state":7,"members":"x"}"#,
            r#"{"state":{"next":1e300},"members":[{"seen":1700000065,"place":0,"wanted":0}]}"#,
            r#"{"state":{"rate":1e400},"members":{"one":7}}"#,
        ]
        .map(str::to_owned)
        .to_vec();
        let (_, member) = good["members"].as_object().unwrap().iter().next().unwrap();
        for (part, whole) in [("/state", &good["state"]), ("/members/one", member)] {
            for name in whole.as_object().unwrap().keys() {
                for value in r#"-1e18 1e18 0 null "x" [] -5 1700086000"#.split(' ') {
                    let mut changed = good.clone();
                    changed["members"]["one"] = member.clone();
                    changed.pointer_mut(part).unwrap()[name] = serde_json::from_str(value).unwrap();
                    texts.push(changed.to_string());
                }
            }
        }
        for text in texts {
            server.command(&["SET", KEY, &text]).await;
            let now = 1.7e9 + 65.0;
            let mut member = Member::new(Identity::default(), GateSettings::default(), true);
            let _ = member.take(SECOND, PriorityClass::Scan, Endpoint::Api);
            let ask = serde_json::to_string(&member.ask(SECOND)).unwrap();
            let script = script();
            let mut call = script.key(KEY);
            let asked = call
                .arg(ask)
                .arg(now)
                .invoke_async::<String>(&mut connection);
            let reply = asked
                .await
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            let reply = Reply::read(&reply).unwrap_or_else(|reason| panic!("{text}: {reason}"));
            let at = match reply.moments > 0 {
                true => reply.first,
                false => reply.again,
            };
            // An outage is probed within 8 s; a member with its turn behind others waits as long as their turns take.
            assert!(at <= now + 8.1, "{text}: {reply:?}");
            assert!(reply.pause <= now + 1.0, "{text}: {reply:?}");
        }
        server.command(&["DEL", KEY]).await;
        server.command(&["HSET", KEY, "a", "hash"]).await;
        let run = World::run(&server, &one, Policy::TokenBucket, 1).await;
        assert!(run.share(0..60) > 90.0);
    }
}
