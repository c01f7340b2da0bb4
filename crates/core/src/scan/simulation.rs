//! Scans of simulated services on virtual time: lists that change, tie, move, lag or repeat themselves
//! between requests, while pages arrive in any order.

mod extremes;
mod lists;
mod runs;
mod services;

use super::Doubt;
use super::join::{Joiner, Slice};
use super::position::{Resume, ScanState};
use super::sequence::Sequence;
use crate::error::Result;
use crate::record::IdentityKey;
use fastrand::Rng;
use lists::List;
use std::collections::{HashSet, VecDeque};

/// A page as a service sends it: records by number.
struct Page {
    records: Vec<u64>,
    total: u64,
    has_more: bool,
}

/// What answers the requests of a scan.
trait Service {
    fn page(&mut self, offset: u64, limit: u64) -> Page;

    /// Bytes that tell a record from others, and whether they are its `id`.
    fn identity(&mut self, record: u64) -> (u64, bool) {
        (record, true)
    }
}

/// How a scan is run.
struct Run {
    page_size: u64,
    /// Pages read ahead at most.
    ahead: usize,
    /// Whether pages under way are answered in any order.
    reorder: bool,
    resume: Option<Resume>,
    /// After how many requests the scan is stopped.
    stop: Option<u64>,
}

impl Run {
    fn of(page_size: u64, ahead: usize, reorder: bool) -> Self {
        Run {
            page_size,
            ahead,
            reorder,
            resume: None,
            stop: None,
        }
    }
}

/// What a scan has done.
#[derive(Default)]
struct Outcome {
    delivered: Vec<u64>,
    doubts: Vec<Doubt>,
    counted: bool,
    requests: u64,
    /// Where it stands, if it was stopped.
    position: Option<Resume>,
}

impl Outcome {
    fn is_proven(&self) -> bool {
        self.doubts.is_empty()
    }

    fn repeats(&self) -> usize {
        self.delivered.len() - self.delivered.iter().collect::<HashSet<_>>().len()
    }

    /// How many of these were not delivered.
    fn lost<'a>(&self, records: impl IntoIterator<Item = &'a u64>) -> usize {
        let delivered: HashSet<&u64> = self.delivered.iter().collect();
        let records = records.into_iter();
        records.filter(|record| !delivered.contains(record)).count()
    }

    /// How many of the records that were in the list all the time were lost, and how many came twice.
    fn wrong(&self, list: &List) -> usize {
        self.lost(list.stable()) + self.repeats()
    }
}

/// More requests than any scan of these lists may take.
const MOST_REQUESTS: u64 = 100_000;

fn scan(service: &mut impl Service, run: &Run, random: &mut Rng) -> Result<Outcome> {
    let mut joiner = Joiner::default();
    let mut entries = Vec::new();
    let mut key = IdentityKey::random();
    if let Some(resume) = &run.resume {
        joiner.resume(resume, run.page_size);
        (entries, key) = (resume.entries.clone(), resume.state.key);
    }
    let mut sequence: Sequence<Page> = Sequence::new(joiner, run.ahead);
    let mut underway = VecDeque::new();
    let mut outcome = Outcome::default();
    loop {
        while let Some((page, delivery)) = sequence.join()? {
            for (index, entry) in &delivery.fresh {
                outcome.delivered.push(page.records[*index]);
                entries.extend(entry.to_bytes());
            }
            let joiner = &sequence.joiner;
            let evidence = &joiner.evidence;
            outcome.doubts = evidence.doubts.clone();
            outcome.counted = evidence.is_counted();
            if delivery.end {
                return Ok(outcome);
            }
            if run.stop.is_some_and(|stop| outcome.requests >= stop) {
                let state = ScanState {
                    key,
                    edge: joiner.edge,
                    evidence: evidence.clone(),
                };
                // As a checkpoint would have it.
                let state = serde_json::to_string(&state).unwrap();
                let state = serde_json::from_str(&state).unwrap();
                outcome.position = Some(Resume::new(state, entries)?);
                return Ok(outcome);
            }
        }
        while let Some(request) = sequence.want() {
            underway.push_back(request);
        }
        assert!(!underway.is_empty(), "the scan waits for nothing");
        let next = match run.reorder {
            true => random.usize(..underway.len()),
            false => 0,
        };
        let (request, offset) = underway.remove(next).unwrap();
        let page = service.page(offset, run.page_size);
        let identities = page.records.iter().map(|record| {
            let (bytes, by_id) = service.identity(*record);
            key.identify(&bytes.to_le_bytes(), by_id)
        });
        let slice = Slice {
            offset,
            ids: identities.collect(),
            has_more: page.has_more,
            total: page.total,
            sent: 0,
            arrived: 0,
        };
        sequence.arrive(request, Ok((page, slice)));
        outcome.requests += 1;
        assert!(outcome.requests < MOST_REQUESTS, "the scan does not end");
    }
}

/// Scans in several runs, each stopped after as many requests as `stop` says, with `between` after it; the last of them
/// goes to the end.
fn in_runs<S: Service>(
    service: &mut S,
    mut run: Run,
    random: &mut Rng,
    mut stop: impl FnMut(usize, &mut Rng) -> Option<u64>,
    mut between: impl FnMut(&mut S, &mut Rng),
) -> Result<Outcome> {
    let mut whole = Outcome::default();
    for number in 0.. {
        run.stop = stop(number, random);
        let outcome = scan(service, &run, random)?;
        whole.delivered.extend(outcome.delivered);
        whole.requests += outcome.requests;
        whole.doubts = outcome.doubts;
        run.resume = outcome.position;
        if run.resume.is_none() {
            break;
        }
        between(service, random);
    }
    Ok(whole)
}

/// The pages of a list that does not change.
fn pages(records: u64, page_size: u64) -> u64 {
    match page_size {
        1 => records,
        _ => 1 + records.saturating_sub(page_size).div_ceil(page_size - 1),
    }
}
