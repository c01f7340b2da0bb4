//! Members that share a budget by the script on a real server, on the clock of the test: the goals that they must
//! reach, and invariants that must hold even if something fails. With `--nocapture`, every figure is printed next to
//! its goal.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by cfg(test) alone")]

use super::member::RedisMember;
use super::server::{Reply, SOURCE};
use super::test_server::{PROGRAMS, Server};
use crate::budget::gate::{
    Admission, Endpoint, PriorityClass, RateHeaders, RequestOutcome, Ticket,
};
use crate::budget::membership::MemberIdentity;
use fastrand::Rng;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use talentdata_sandbox::limit::{Limiter, Policy, ResetRounding};

/// The line of the script that reads the clock. The test replaces it with its own time.
const CLOCK: &str = r#"local clock = redis.call("TIME")
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1e6
"#;
const KEY: &str = "budget";
const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
/// The latency of one direction to the service.
const TO_SERVICE: Duration = Duration::from_millis(10);

const POLICIES: [Policy; 5] = [
    Policy::ClockWindow,
    Policy::FirstRequestWindow,
    Policy::SlidingLog,
    Policy::SlidingCounter,
    Policy::TokenBucket,
];

/// Numbers by their names.
type Numbers = BTreeMap<String, f64>;

/// The content of `scenarios.json`: the usual numbers of a run, from which rows may differ, and the rows by the tests
/// that use them.
///
/// Times are in seconds, except for `one_way`, the latency to the server of the budget, which is in milliseconds.
/// `callers` make single calls, each of them one every four seconds. A stalled member does nothing for two seconds, and
/// does not notice. The first members are disconnected from the server from 20 s to 40 s. In an outage, the service
/// fails from 10 s to 30 s. A neighbour that does not share the budget sends requests at regular intervals during the
/// first half of the time. The last two numbers limit the part of the requests that may be refused, and the relative
/// deviation of a scan from the mean.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenarios {
    usual: Numbers,
    rows: HashMap<String, Vec<Row>>,
}

/// A scenario and the required results.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The disturbances of this run.
    scenario: Numbers,
    /// The least use of the budget under each policy, in percent of the limit; null if there is no goal.
    goals: [Option<f64>; 5],
    /// The minimum and the maximum of other figures, by their names in [`judge`].
    #[serde(default)]
    within: BTreeMap<String, [f64; 2]>,
}

fn scenarios() -> Scenarios {
    serde_json::from_str(include_str!("simulation/scenarios.json")).unwrap()
}

/// The numbers of a scenario by their names.
#[derive(Clone)]
struct Scenario(Numbers);

impl Scenario {
    /// Returns the usual scenario with these changes.
    fn with(numbers: &Numbers) -> Self {
        let mut all = scenarios().usual;
        let size = all.len();
        all.extend(numbers.clone());
        assert_eq!(all.len(), size, "{numbers:?}");
        Scenario(all)
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

/// The result of a run.
#[derive(Default)]
struct Run {
    /// The times at which each member was served.
    served: BTreeMap<usize, Vec<Duration>>,
    sent: u64,
    sent_in_outage: u64,
    refused: u64,
    waits: Vec<Duration>,
    /// The number of members that the server knows at the end.
    members: usize,
}

impl Run {
    /// Returns the number of served requests of a member between these seconds.
    fn count(&self, member: usize, from: u64, to: u64) -> f64 {
        let at = self.served.get(&member).into_iter().flatten();
        at.filter(|at| (from..to).contains(&at.as_secs())).count() as f64
    }

    /// Returns the served requests, in percent of the usual limit.
    fn share(&self, from: u64, to: u64) -> f64 {
        let members = self.served.keys();
        let served: f64 = members.map(|member| self.count(*member, from, to)).sum();
        served * 100.0 / (to - from) as f64 / 40.0
    }

    /// Returns the largest relative deviation of the first members from their mean, after ten seconds.
    fn unfairness(&self, members: usize) -> f64 {
        let served = (0..members).map(|member| self.count(member, 10, u64::MAX));
        let mean = served.clone().sum::<f64>() / members as f64;
        let unfair = served.map(|served| (served / mean - 1.0).abs());
        unfair.fold(0.0, f64::max)
    }
}

struct Actor {
    member: RedisMember,
    class: PriorityClass,
    /// The time since which it wants to send.
    wants: Option<Duration>,
    wake: u64,
    killed: bool,
    /// The time until which it is stalled. All its events in the meantime happen then.
    stalled_until: Duration,
}

/// An event, and the member that it affects.
type Event = (Option<usize>, Box<dyn FnOnce(&mut World)>);

struct World {
    scenario: Scenario,
    connection: redis::Connection,
    script: redis::Script,
    rng: Rng,
    limiter: Limiter,
    /// The clock of the server when the run begins.
    epoch: f64,
    actors: Vec<Actor>,
    now: Duration,
    /// The events by their time and number.
    events: BTreeMap<(Duration, usize), Event>,
    count: usize,
    run: Run,
}

/// Returns the script, on the clock of the test.
fn script() -> redis::Script {
    let source = SOURCE.replace(CLOCK, "local now = tonumber(ARGV[2])\n");
    assert_ne!(source, SOURCE, "the script reads its clock in another way");
    redis::Script::new(&source)
}

impl World {
    fn run(server: &Server, scenario: &Scenario, policy: Policy, seed: u64) -> Run {
        let () = server.run(&["DEL", KEY]);
        let mut rng = Rng::with_seed(seed);
        let (limit, window) = (scenario.count("limit") as u32, scenario.time("window"));
        let mut world = World {
            connection: server.connection(),
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
        while let Some(((at, _), (member, event))) = world.events.pop_first()
            && at <= scenario.time("seconds")
        {
            world.now = at;
            match member.map(|member| world.actors[member].stalled_until) {
                Some(until) if until > at => world.push(until - at, member, event),
                _ => event(&mut world),
            }
        }
        let kept: Option<String> = server.run(&["GET", KEY]);
        let kept: Value = serde_json::from_str(&kept.unwrap_or_default()).unwrap_or_default();
        world.run.members = kept["members"]
            .as_object()
            .map_or(0, |members| members.len());
        world.run
    }

    fn begin(&mut self) {
        let scans = self.scenario.count("scans");
        for index in 0..scans + self.scenario.count("background") {
            let class = if index < scans {
                PriorityClass::Scan
            } else {
                PriorityClass::Background
            };
            self.join(class, 20 * MS * index as u32);
        }
        for _ in 0..self.scenario.count("callers") {
            self.join(PriorityClass::Single, Duration::ZERO);
        }
        self.every("killed_every", |world| {
            let alive = |index: &usize| !world.actors[*index].killed;
            let alive: Vec<usize> = (0..world.actors.len()).filter(alive).collect();
            let victim = *world.rng.choice(&alive).unwrap();
            world.actors[victim].killed = true;
            world.join(world.actors[victim].class, SECOND);
        });
        self.every("stalled_every", |world| {
            let victim = world.rng.usize(0..world.actors.len());
            world.actors[victim].stalled_until = world.now + 2 * SECOND;
        });
        self.every("lost_every", |world| {
            let deleted = redis::cmd("DEL").arg(KEY).query(&mut world.connection);
            let () = deleted.unwrap();
        });
        self.every("neighbour_every", |world| {
            if world.now < world.scenario.time("seconds") / 2 {
                world.limiter.decide(world.service_time());
            }
        });
        self.push(30 * SECOND, None, |world| {
            world.epoch += world.scenario.get("clock_set_by");
        });
    }

    fn push(
        &mut self,
        after: Duration,
        member: Option<usize>,
        event: impl FnOnce(&mut World) + 'static,
    ) {
        self.count += 1;
        let at = (self.now + after, self.count);
        self.events.insert(at, (member, Box::new(event)));
    }

    fn every(&mut self, name: &'static str, event: fn(&mut World)) {
        let after = self.scenario.time(name);
        if !after.is_zero() {
            self.push(after, None, move |world| {
                event(world);
                world.every(name, event);
            });
        }
    }

    fn join(&mut self, class: PriorityClass, after: Duration) {
        let index = self.actors.len();
        let share = self.scenario.get("share");
        // The goals hold for the runs that these random numbers lead to, so both draws must stay.
        let (id, _) = (self.rng.u64(..), self.rng.u64(..));
        let identity = MemberIdentity {
            id,
            ..MemberIdentity::default()
        };
        let shares = self.scenario.get("waits") == 0.0;
        let is_single = class == PriorityClass::Single;
        self.actors.push(Actor {
            member: RedisMember::new(identity, share, shares),
            class,
            wants: (!is_single).then_some(self.now + after),
            wake: 0,
            killed: false,
            stalled_until: Duration::ZERO,
        });
        if is_single {
            self.call_later(index)
        } else {
            self.push(after, Some(index), move |world| world.pump(index))
        }
    }

    fn call_later(&mut self, index: usize) {
        let after = Duration::from_secs_f64(-4.0 * self.rng.f64().max(1e-9).ln());
        self.push(after, Some(index), move |world| {
            world.actors[index].wants.get_or_insert(world.now);
            world.call_later(index);
            world.pump(index);
        });
    }

    /// Returns a random time of a lognormal distribution with this median.
    fn about(&mut self, median: Duration) -> Duration {
        let (u, v) = (self.rng.f64().max(1e-12), self.rng.f64());
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        median.mul_f64((0.3 * normal).exp())
    }

    fn way_to_server(&mut self) -> Duration {
        self.about(self.scenario.time("one_way") / 1000)
    }

    fn ask_if_due(&mut self, index: usize) {
        let member = &mut self.actors[index].member;
        if member.ask_at(self.now).is_none_or(|at| at > self.now) {
            return;
        }
        let ask = serde_json::to_string(&member.ask(self.now)).unwrap();
        if index < self.scenario.count("cut_off") && (20..40).contains(&self.now.as_secs()) {
            // A question without a reply is abandoned after a second.
            return self.push(SECOND, Some(index), move |world| {
                world.actors[index].member.unanswered(world.now, "cut off");
                world.pump(index);
            });
        }
        let way = self.way_to_server();
        self.push(way, None, move |world| {
            let time = world.epoch + world.now.as_secs_f64();
            let mut call = world.script.key(KEY);
            call.arg(ask).arg(format!("{time:.6}"));
            let reply: String = call.invoke(&mut world.connection).unwrap();
            let way = world.way_to_server();
            world.push(way, Some(index), move |world| {
                let reply = Reply::read(&reply).unwrap();
                world.actors[index].member.received(world.now, &reply);
                world.pump(index);
            });
        });
    }

    /// Sends requests while the member is admitted.
    fn pump(&mut self, index: usize) {
        while !self.actors[index].killed {
            let now = self.now;
            let actor = &mut self.actors[index];
            if actor.wants.is_none() {
                return self.ask_if_due(index);
            }
            let take = actor.member.take(now, actor.class, Endpoint::Api);
            self.ask_if_due(index);
            match take {
                Ok(Admission::Admitted(ticket)) => self.send(index, ticket),
                Ok(Admission::Wait { again, .. }) if again < Duration::MAX => {
                    assert!(again > now, "a wait ends in the future");
                    // Timers fire a little late.
                    let late = MS.mul_f64(self.rng.f64());
                    self.actors[index].wake += 1;
                    let wake = self.actors[index].wake;
                    return self.push(again - now + late, Some(index), move |world| {
                        if world.actors[index].wake == wake {
                            world.pump(index);
                        }
                    });
                }
                _ => return,
            }
        }
    }

    fn is_down(&self) -> bool {
        self.scenario.get("outage") > 0.0 && (10..30).contains(&self.now.as_secs())
    }

    fn send(&mut self, index: usize, ticket: Ticket) {
        let actor = &mut self.actors[index];
        if let Some(since) = actor
            .wants
            .take_if(|_| actor.class == PriorityClass::Single)
        {
            self.run.waits.push(self.now - since);
        }
        self.run.sent += 1;
        self.run.sent_in_outage += u64::from(self.is_down());
        let way = self.about(TO_SERVICE);
        self.push(way, None, move |world| world.arrive(index, ticket));
    }

    fn service_time(&self) -> Duration {
        // The service's clock differs from the clock of the budget's server.
        Duration::from_secs_f64(1.7e9 + 0.4) + self.now
    }

    fn arrive(&mut self, index: usize, ticket: Ticket) {
        let way = self.about(TO_SERVICE);
        let (status, headers) = if self.is_down() {
            (500, RateHeaders::default())
        } else {
            let decision = self.limiter.decide(self.service_time());
            let seconds = decision.reset.as_millis().div_ceil(1000) as u64;
            let headers = RateHeaders {
                limit: Some(self.scenario.count("limit") as u32),
                window: Some(self.scenario.time("window")),
                remaining: Some(decision.remaining.into()),
                reset: Some(Duration::from_secs(seconds)),
                reset_is_integer: true,
                retry_after: None,
            };
            (if decision.admitted { 200 } else { 429 }, headers)
        };
        self.push(way, Some(index), move |world| {
            let actor = &mut world.actors[index];
            if actor.killed {
                return;
            }
            let outcome = RequestOutcome::Answered(status, headers);
            actor.member.report(world.now, ticket, &outcome);
            match status {
                200 => world.run.served.entry(index).or_default().push(world.now),
                _ => {
                    world.run.refused += u64::from(status == 429);
                    actor.wants.get_or_insert(world.now);
                }
            }
            world.pump(index);
        });
    }
}

/// Runs the scenarios of a table.
fn reach(table: &str) {
    let server = Server::valkey();
    for row in &scenarios().rows[table] {
        let scenario = Scenario::with(&row.scenario);
        for (policy, goal) in POLICIES.into_iter().zip(row.goals) {
            let Some(goal) = goal else { continue };
            for seed in 1..=scenario.get("seeds") as u64 {
                let run = World::run(&server, &scenario, policy, seed);
                judge(row, &scenario, policy, run, goal);
            }
        }
    }
}

fn judge(row: &Row, scenario: &Scenario, policy: Policy, mut run: Run, goal: f64) {
    let (seconds, scans) = (scenario.get("seconds") as u64, scenario.count("scans"));
    let share = run.share(0, seconds);
    let unfair = run.unfairness(scans);
    let text = format!(
        "{:?} {policy:22} {share:5.1} % (goal {goal:4.1} %), {} refused, {unfair:.2} of the mean",
        row.scenario, run.refused
    );
    println!("{text}");
    let is_calm = run.refused as f64 <= scenario.get("refused") * run.sent as f64;
    let is_fair = unfair <= scenario.get("unfair");
    assert!(share >= goal && is_calm && is_fair, "{text}");
    run.waits.sort();
    let wait = |percent| {
        let wait = run.waits.get(run.waits.len() * percent / 100);
        wait.map_or(0.0, Duration::as_secs_f64)
    };
    let background = run.count(scans, 0, seconds) / run.count(0, 0, seconds);
    let figures = HashMap::from([
        // Without pauses, a single call waits for at most a quarter of a second, or little longer if it is the first
        // one.
        ("median_wait", wait(50)),
        ("wait_of_95_percent", wait(95)),
        // The requests of a background scan, as a part of those of a scan. Background scans take what is left.
        ("background", background),
        // A single member keeps to its own share.
        ("settled_share", run.share(10, 60)),
        // Members that expired because the clock of the server was set join again.
        ("members", run.members as f64),
        // Members make way for a neighbour that does not share the budget, and use the part that it leaves.
        ("share_without_neighbour", run.share(90, 120)),
        // Few requests are sent while the service is down, and all members continue when it is up again.
        ("sent_in_outage", run.sent_in_outage as f64),
        ("share_after_outage", run.share(40, 60)),
        // Of 300 requests in 20 s, almost all are used.
        ("sent", run.sent as f64),
    ]);
    for (name, [min, max]) in &row.within {
        let figure = figures[name.as_str()];
        println!("{name}: {figure:.3} within {min} and {max}");
        let holds = (*min..=*max).contains(&figure);
        assert!(holds, "{text}: {name} is {figure}, within {min} and {max}");
    }
}

#[test]
fn goals_without_failures() {
    reach("nothing_fails");
}

#[test]
fn goals_with_failures() {
    reach("something_fails");
}

#[test]
fn goals_next_to_others_and_in_an_outage() {
    reach("others_and_outages");
}

/// Foreign values of the key are replaced, and none of them delays a member for longer than a window.
#[test]
fn a_value_that_was_damaged_or_forged_is_replaced() {
    let one = Scenario::with(&[("scans".to_owned(), 1.0)].into());
    for program in PROGRAMS {
        let server = Server::start(program, |_| ());
        assert!(World::run(&server, &one, Policy::TokenBucket, 1).sent > 1000);
        let good: Value = serde_json::from_str(&server.run::<String>(&["GET", KEY])).unwrap();
        let texts = r#"not JSON
            []
            7
            {}
            {"state":7,"members":"x"}
            {"state":{"next":1e300},"members":[{"seen":1700000065,"place":0,"wanted":0}]}
            {"state":{"rate":1e400},"members":{"one":7}}"#;
        let mut texts: Vec<String> = texts.lines().map(|it| it.trim().to_owned()).collect();
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
        let (script, mut connection) = (script(), server.connection());
        for text in texts {
            let () = server.run(&["SET", KEY, &text]);
            let now = 1.7e9 + 65.0;
            let mut member = RedisMember::new(MemberIdentity::default(), 1.0, true);
            let _ = member.take(SECOND, PriorityClass::Scan, Endpoint::Api);
            let ask = serde_json::to_string(&member.ask(SECOND)).unwrap();
            let mut call = script.key(KEY);
            let asked: redis::RedisResult<String> = call.arg(ask).arg(now).invoke(&mut connection);
            let reply = asked.map_err(|error| error.to_string());
            let reply = reply.and_then(|reply| Reply::read(&reply));
            let reply = reply.unwrap_or_else(|reason| panic!("{text}: {reason}"));
            let has_slots = reply.slots > 0;
            let at = if has_slots { reply.first } else { reply.again };
            // An outage is probed within 8 s. A member whose turn comes after others waits for their turns.
            assert!(at <= now + 8.1, "{text}: {reply:?}");
            assert!(reply.pause <= now + 1.0, "{text}: {reply:?}");
        }
        let () = server.run(&["DEL", KEY]);
        let () = server.run(&["HSET", KEY, "a", "hash"]);
        let run = World::run(&server, &one, Policy::TokenBucket, 1);
        assert!(run.share(0, 60) > 90.0);
    }
}
