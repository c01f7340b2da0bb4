//! Scans of simulated services on virtual time. Lists change, tie, move, lag or repeat themselves between requests,
//! while pages arrive in any order.

mod service;

use super::join::Joiner;
use super::position::{Resume, ScanState};
use super::receipt::Doubt;
use super::sequence::Sequence;
use super::slice::Slice;
use crate::record::IdentityKey;
use crate::request::page_size::{PageRequest, PageSize, Smaller};
use fastrand::Rng;
use serde::Deserialize;
use service::{Kind, Page, Service, Serving, Span};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

/// A row of `scenarios.json`: kinds of services, how they are scanned, and what must be true of all these scans.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Scenario {
    kind: String,
    /// The reason for the expectations.
    #[serde(rename = "docs")]
    _docs: String,
    /// The services, used in turn by successive seeds.
    services: Vec<Kind>,
    /// Variants of the pagination and of the page sizes that a service allows. Each is combined with all services in
    /// turn.
    serving: Vec<Serving>,
    /// For each shape: records in the list, records in a page, and the maximum number of pages read ahead.
    shapes: Vec<(Span, Span, usize)>,
    /// The number of scans of each shape. `TALENTDATA_ROUNDS` raises it, unless it is 1.
    seeds: u64,
    /// True if pages under way arrive in random order. Default: for every other seed.
    reorder: Option<bool>,
    /// The number of runs that are stopped before the last run, which goes to the end.
    stopped_runs: u64,
    /// The number of requests after which a run is stopped. Default: at random within the pages of the list.
    stop: Option<Span>,
    /// True if scans may end with an error, which counts like a doubt.
    may_fail: bool,
    must: Must,
}

/// The expectations. A scan is wrong if it counts as proven but lost a record that was in the list all the time, or
/// delivered one twice. Without another expectation, no scan may be wrong.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Must {
    /// Fewer than one in this many scans may be wrong.
    wrong: Option<u64>,
    /// At most one in this many proven scans may be wrong.
    wrong_of_proven: Option<u64>,
    /// Fewer than one in this many scans may have doubts.
    doubted: Option<u64>,
    /// At least this many scans must have doubts.
    min_doubted: u64,
    /// At least this many scans must be proven.
    min_proven: u64,
    /// The exact doubts of each scan.
    doubts: Option<Vec<Doubt>>,
    /// The number of records that each scan loses. It must repeat none.
    loses: Option<usize>,
    /// True if more than nine in ten scans must lose records.
    mostly_loses: bool,
    /// The minimum number of records that each scan delivers.
    min_delivered: usize,
    /// True if each scan must deliver exactly the initial records, in order.
    delivers_in_order: bool,
    /// True if the total must not change, exactly that many records must be delivered, and no page may be read again.
    is_counted: bool,
    /// The maximum number of requests of a scan.
    max_requests: Option<u64>,
    /// The exact number of requests beyond one for each page of a list that does not change.
    requests_again: Option<u64>,
    /// The maximum number of requests for each such page, on average over all scans.
    max_cost: Option<f64>,
}

/// A scan and its conditions.
struct Trial<'a> {
    /// The name for messages.
    name: String,
    service: Service<'a>,
    page_size: u64,
    ahead: usize,
    reorder: bool,
    may_fail: bool,
    random: Rng,
    stops: Vec<u64>,
    max_requests: u64,
}

/// The outcome of a trial.
#[derive(Default)]
struct Outcome {
    delivered: Vec<u64>,
    doubts: Vec<Doubt>,
    counted: bool,
    has_failed: bool,
    requests: u64,
}

impl Outcome {
    fn repeats(&self) -> usize {
        self.delivered.len() - self.delivered.iter().collect::<HashSet<_>>().len()
    }

    /// Returns the number of records that were in the list all the time and were not delivered.
    fn lost(&self, service: &Service) -> usize {
        let delivered: HashSet<&u64> = self.delivered.iter().collect();
        let stable = service.stable();
        stable.filter(|record| !delivered.contains(record)).count()
    }
}

impl Trial<'_> {
    /// Executes all runs of the scan.
    fn run(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let mut resume = None;
        for stop in self.stops.clone().into_iter().chain([u64::MAX]) {
            resume = self.run_once(resume, stop, &mut outcome);
            if resume.is_none() {
                break;
            }
            self.service.change_between_runs();
        }
        outcome
    }

    /// Executes one run. Returns the position of the scan if it was stopped.
    fn run_once(
        &mut self,
        resume: Option<Resume>,
        stop: u64,
        outcome: &mut Outcome,
    ) -> Option<Resume> {
        let mut joiner = Joiner::default();
        let mut entries = Vec::new();
        let mut key = IdentityKey::random();
        if let Some(resume) = resume {
            joiner.resume(&resume, self.page_size);
            (entries, key) = (resume.entries, resume.state.key);
        }
        let mut sequence: Sequence<Page> = Sequence::new(joiner, self.ahead);
        let mut underway = VecDeque::new();
        let mut requests = 0;
        let size = Arc::new(Mutex::new(PageSize::new(self.page_size)));
        loop {
            loop {
                let (page, delivery) = match sequence.join() {
                    Ok(Some(joined)) => joined,
                    Ok(None) => break,
                    Err(error) => {
                        assert!(self.may_fail, "{}: {error}", self.name);
                        outcome.has_failed = true;
                        return None;
                    }
                };
                for (index, entry) in &delivery.fresh {
                    outcome.delivered.push(page.records[*index]);
                    entries.extend(entry.to_bytes());
                }
                let joiner = &sequence.joiner;
                let evidence = &joiner.evidence;
                outcome.doubts.clone_from(&evidence.doubts);
                outcome.counted = evidence.is_counted();
                if delivery.is_end {
                    return None;
                }
                if requests >= stop {
                    let state = ScanState {
                        key,
                        last_offset: joiner.last_offset,
                        offsets: joiner.known_offsets(),
                        evidence: evidence.clone(),
                    };
                    // Convert the state to JSON and back, as a checkpoint does.
                    let state = serde_json::to_string(&state).unwrap();
                    let state = serde_json::from_str(&state).unwrap();
                    return Some(Resume::new(state, entries).unwrap());
                }
            }
            while let Some((request, wanted)) = sequence.want() {
                let page = PageRequest::new(Arc::clone(&size), wanted.offset);
                underway.push_back((request, wanted, page));
            }
            assert!(!underway.is_empty(), "the scan waits for nothing");
            let next = if self.reorder {
                self.random.usize(..underway.len())
            } else {
                0
            };
            let (request, wanted, mut asked) = underway.remove(next).unwrap();
            let page = loop {
                asked.adapt();
                let limit = wanted.limit.unwrap_or(asked.limit);
                requests += 1;
                outcome.requests += 1;
                match self.service.page(wanted.offset, limit) {
                    Ok(page) => break Ok(page),
                    Err(error) if wanted.limit.is_some() => break Err(error),
                    Err(error) if asked.failed(&error) == Smaller::No => {
                        // Only a failure that may be temporary is tried again.
                        if error.status() != Some(504) || limit == 1 {
                            break Err(asked.refusal.take().unwrap_or(error));
                        }
                    }
                    Err(_) => {}
                }
            };
            if page.is_ok() && wanted.limit.is_none() {
                asked.arrived();
            }
            let identity = |record: &u64| {
                let (bytes, by_id) = self.service.identity(*record);
                key.identify(&bytes.to_le_bytes(), by_id)
            };
            let page = page.map(|page| {
                let ids = page.records.iter().map(identity).collect();
                let slice = Slice {
                    asked: wanted.limit.is_none().then_some(asked.limit),
                    ..Slice::new(wanted.offset, ids, page.has_more, page.total)
                };
                (page, slice)
            });
            sequence.arrive(request, page);
            let is_enough = outcome.requests < self.max_requests;
            assert!(is_enough, "{}: too many requests", self.name);
        }
    }
}

/// The results of the scans of a scenario.
#[derive(Debug, Default)]
struct Tally {
    scans: u64,
    wrong: u64,
    doubted: u64,
    /// The number of scans that lost a record, whether or not they had doubts.
    lossy: u64,
    /// The average number of requests for each page of a list that does not change.
    cost: f64,
}

impl Scenario {
    fn trial(&self, (size, page_size, ahead): (Span, Span, usize), seed: u64) -> Trial<'_> {
        let mut random = Rng::with_seed(seed);
        let size = size.draw(&mut random);
        let page_size = page_size.draw(&mut random);
        let kind = &self.services[seed as usize % self.services.len()];
        let servings = seed as usize / self.services.len() % self.serving.len().max(1);
        let serving = self.serving.get(servings).copied().unwrap_or_default();
        let stop = self.stop.unwrap_or(Span::Between(2, size / 99));
        Trial {
            name: format!("{}: pages of {page_size}, seed {seed}", self.kind),
            service: Service::new(kind, serving, size, seed ^ 0x5eed),
            page_size,
            ahead,
            may_fail: self.may_fail,
            reorder: self.reorder.unwrap_or(seed % 2 == 1),
            stops: (0..self.stopped_runs)
                .map(|_| stop.draw(&mut random))
                .collect(),
            max_requests: self.must.max_requests.unwrap_or(100_000),
            random,
        }
    }

    fn judge(&self) {
        let Scenario { kind, must, .. } = self;
        let rounds = std::env::var("TALENTDATA_ROUNDS").ok();
        let rounds = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(0);
        let seeds = match self.seeds {
            1 => 1,
            seeds => seeds.max(rounds),
        };
        let mut tally = Tally::default();
        let shapes = self.shapes.iter();
        for (shape, seed) in shapes.flat_map(|shape| (0..seeds).map(move |seed| (*shape, seed))) {
            let mut trial = self.trial(shape, seed);
            let pages = pages(trial.service.records.len() as u64, trial.page_size);
            tally.scans += 1;
            let outcome = trial.run();
            let what = &trial.name;
            tally.cost += outcome.requests as f64 / pages as f64;
            let lost = outcome.lost(&trial.service);
            tally.lossy += u64::from(lost > 0);
            if !outcome.doubts.is_empty() || outcome.has_failed {
                tally.doubted += 1;
            } else if outcome.repeats() + lost > 0 {
                println!("{what}: wrong");
                tally.wrong += 1;
            }
            if let Some(doubts) = &must.doubts {
                assert_eq!(outcome.doubts, *doubts, "{what}");
            }
            if let Some(loses) = must.loses {
                assert_eq!((lost, outcome.repeats()), (loses, 0), "{what}");
            }
            assert!(outcome.delivered.len() >= must.min_delivered, "{what}");
            let in_order = trial.service.began_as(&outcome.delivered);
            assert!(in_order || !must.delivers_in_order, "{what}");
            assert!(outcome.counted || !must.is_counted, "{what}");
            if let Some(again) = must.requests_again {
                assert_eq!(outcome.requests, pages + again, "{what}");
            }
        }
        tally.cost /= tally.scans as f64;
        println!("{kind}: {tally:?}");
        let proven = tally.scans - tally.doubted;
        let is_fewer = |count: u64, one_of: Option<u64>| one_of.map(|of| count * of < tally.scans);
        let wrong = match must.wrong_of_proven {
            Some(of) => tally.wrong * of <= proven,
            None => is_fewer(tally.wrong, must.wrong).unwrap_or(tally.wrong == 0),
        };
        let holds = tally.scans > 0
            && wrong
            && is_fewer(tally.doubted, must.doubted).unwrap_or(true)
            && tally.doubted >= must.min_doubted
            && proven >= must.min_proven
            && (!must.mostly_loses || tally.lossy * 10 > 9 * tally.scans)
            && must.max_cost.is_none_or(|max| tally.cost <= max);
        assert!(holds, "{kind}: {tally:?}");
    }
}

/// Returns the number of pages of a list that does not change.
fn pages(records: u64, page_size: u64) -> u64 {
    match page_size {
        1 => records,
        _ => 1 + records.saturating_sub(page_size).div_ceil(page_size - 1),
    }
}

/// All scenarios, grouped by the test that runs them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenarios {
    short: Vec<Scenario>,
    long: Vec<Scenario>,
    worst: Vec<Scenario>,
    whole_pages: Vec<Scenario>,
    untold: Vec<Scenario>,
    too_large: Vec<Scenario>,
}

fn scenarios() -> Scenarios {
    serde_json::from_str(include_str!("simulation/scenarios.json")).unwrap()
}

#[test]
fn short_lists_are_proven_unless_their_order_changes() {
    scenarios().short.iter().for_each(Scenario::judge);
}

#[test]
fn long_lists_and_resumed_scans_lose_no_record_without_a_doubt() {
    scenarios().long.iter().for_each(Scenario::judge);
}

#[test]
fn services_with_whole_pages_only_are_read_completely() {
    scenarios().whole_pages.iter().for_each(Scenario::judge);
}

#[test]
fn lists_of_unknown_length_are_proven_unless_their_order_changes() {
    scenarios().untold.iter().for_each(Scenario::judge);
}

#[test]
fn pages_that_are_too_large_are_requested_in_parts() {
    scenarios().too_large.iter().for_each(Scenario::judge);
}

#[test]
fn scans_of_the_worst_services_end_and_are_not_proven() {
    scenarios().worst.iter().for_each(Scenario::judge);
}
