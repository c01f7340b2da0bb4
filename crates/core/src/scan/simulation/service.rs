//! A simulated service: a list, its changes before each request, and the ways in which responses differ from it.

use crate::error::{Error, ErrorKind};
use fastrand::Rng;
use serde::Deserialize;
use std::collections::HashSet;

/// A fixed number, or the bounds of a random one.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(super) enum Span {
    One(u64),
    Between(u64, u64),
}

impl Default for Span {
    fn default() -> Self {
        Span::One(1)
    }
}

impl Span {
    pub(super) fn draw(self, random: &mut Rng) -> u64 {
        match self {
            Span::One(number) => number,
            Span::Between(min, max) => random.u64(min..=max),
        }
    }

    fn contains(self, number: u64) -> bool {
        match self {
            Span::One(only) => only == number,
            Span::Between(min, max) => (min..=max).contains(&number),
        }
    }
}

/// A kind of service.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Kind {
    /// The changes before each request.
    changes: Vec<Change>,
    /// The changes between two runs of a scan.
    between_runs: Vec<Change>,
    answers: Answers,
    /// The pages that the service has, if it does not honour every offset.
    whole: Option<Whole>,
    /// True if the service refuses pages that begin at the end of the list or after it.
    refuses_beyond: bool,
    /// Records that are in the list although some responses lack them.
    lacks: Vec<Lack>,
    identities: Identities,
    /// True if a moved record need not be delivered, because nothing reveals the move.
    excuses_moves: bool,
}

/// A service that sends whole pages only: offsets must be multiples of the limit.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Whole {
    misplaced: Misplaced,
    /// The size of all pages, regardless of the requested limit.
    size: Option<u64>,
    /// The number of which all offsets must be multiples, for pages of any size.
    step: Option<u64>,
    /// The maximum number of records in a page.
    most: Option<u64>,
    /// True if offsets are multiples of the requested limit; otherwise, of the number of records granted.
    counts_asked: bool,
}

/// The response to an offset that is not a multiple of the page size.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Misplaced {
    /// The page before that offset.
    #[default]
    Down,
    Up,
    Refused,
}

impl Whole {
    /// Returns the offset and the limit of the page that the service sends for a request. `None` if it refuses.
    fn page(&self, offset: u64, limit: u64) -> Option<(u64, u64)> {
        let granted = self
            .size
            .unwrap_or(limit.min(self.most.unwrap_or(u64::MAX)));
        let step = if self.counts_asked { limit } else { granted };
        let step = self.step.unwrap_or(step);
        // If a page is granted fewer records than requested, it is the first part of the requested one.
        match (self.misplaced, offset % step) {
            (_, 0) => Some((offset, granted)),
            (Misplaced::Down, rest) => Some((offset - rest, granted)),
            (Misplaced::Up, rest) => Some((offset - rest + step, granted)),
            (Misplaced::Refused, _) => None,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Change {
    what: What,
    at: Place,
    /// The place to which records are moved.
    to: Place,
    /// The interval in requests between changes.
    every: Option<u64>,
    /// The number of the only request before which the change happens.
    request: Option<u64>,
    /// The average number of changes each time; never more than four.
    rate: Option<f64>,
    /// The number of changes each time, if there is no `rate`.
    times: Span,
    /// The number of neighbouring records that change together.
    neighbours: Span,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    #[default]
    Insert,
    Delete,
    Move,
    Reverse,
    Shuffle,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    #[default]
    Anywhere,
    /// At random before, near or after the end of the page that was requested last.
    AroundPage,
    Front,
    End,
    Index(usize),
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answers {
    #[default]
    Honest,
    /// Runs of this many records have a new order in each response.
    Ties(usize),
    /// One such run straddles the end of the first page.
    TieAtEdge(usize),
    /// Every other response comes from a copy without the second half of the records.
    CopiesInTurn,
    /// Every response comes with a probability of one half from a copy without the last quarter.
    CopiesAtRandom,
    /// One response in ten comes from an empty copy, but has the total of the list.
    EmptyAtTimes,
    OffsetIgnored,
    /// Responses have this total regardless of the list. They may also claim that more records follow or not.
    Claim {
        total: u64,
        has_more: Option<bool>,
        is_empty: bool,
    },
}

/// Responses from a copy that lacks these records. Records are numbered from 0, requests from 1.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lack {
    records: Span,
    requests: Span,
}

/// The pagination that a service reports, and the pages that it can send.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Serving {
    hides: Hidden,
    /// Limits the number of records in a page. Larger pages fail.
    most: Option<u64>,
    /// The offsets to which this limit applies. Default: all.
    region: Option<Span>,
    /// The requests to which this limit applies. Default: all.
    requests: Option<Span>,
    said: TooLarge,
    /// The number of the request from which on the service sends one record per page without saying so.
    one_from: Option<u64>,
}

/// The response to a request for a page that is too large.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TooLarge {
    /// A refusal without a reason.
    #[default]
    Refused,
    /// A refusal that mentions the limit.
    Limit,
    Named,
    /// A timeout of the gateway.
    Gateway,
}

impl Serving {
    fn check(&self, request: u64, offset: u64, limit: u64) -> Result<(), Error> {
        let Some(most) = self.most.filter(|most| limit > *most) else {
            return Ok(());
        };
        let reaches = |region: Span| (offset..offset + limit).any(|one| region.contains(one));
        let is_now = self
            .requests
            .is_none_or(|requests| requests.contains(request));
        if !is_now || !self.region.is_none_or(reaches) {
            return Ok(());
        }
        Err(match self.said {
            TooLarge::Refused => refusal("no"),
            TooLarge::Limit => refusal("limit is wrong"),
            TooLarge::Named => refusal(&format!("limit must be at most {most}")),
            TooLarge::Gateway => Error::new(ErrorKind::Server, "").with_response(504, None, None),
        })
    }
}

fn refusal(body: &str) -> Error {
    let error = Error::new(ErrorKind::BadRequest, "no such page");
    error.with_response(400, None, Some(body.to_owned()))
}

/// The part of the pagination that pages lack.
#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Hidden {
    #[default]
    Nothing,
    Total,
    HasMore,
    Both,
    /// The total is absent, and every page says that no more records follow.
    NeverMore,
    /// The total is absent, and every other page says that no more records follow.
    SeldomMore,
}

impl Hidden {
    fn total(self) -> bool {
        !matches!(self, Self::Nothing | Self::HasMore)
    }

    fn has_more(self) -> bool {
        matches!(self, Self::HasMore | Self::Both)
    }
}

/// The identities of the records.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Identities {
    #[default]
    Id,
    AllEqual,
    /// Every response has new identities.
    Changing,
    /// Two records have the same identity.
    Twins {
        first: u64,
        second: u64,
        by_id: bool,
    },
}

/// A page as a service sends it: records by number.
pub(super) struct Page {
    pub(super) records: Vec<u64>,
    pub(super) total: Option<u64>,
    pub(super) has_more: Option<bool>,
}

pub(super) struct Service<'a> {
    kind: &'a Kind,
    serving: Serving,
    pub(super) records: Vec<u64>,
    random: Rng,
    requests: u64,
    /// The end of the page that was requested last.
    cursor: usize,
    /// The initial number of records. These have the lowest numbers.
    size: u64,
    next: u64,
    moved: HashSet<u64>,
}

impl<'a> Service<'a> {
    pub(super) fn new(kind: &'a Kind, serving: Serving, size: u64, seed: u64) -> Self {
        Service {
            kind,
            serving,
            records: (0..size).collect(),
            random: Rng::with_seed(seed),
            requests: 0,
            cursor: 0,
            size,
            next: size,
            moved: HashSet::new(),
        }
    }

    /// Returns the records that were in the list all the time.
    pub(super) fn stable(&self) -> impl Iterator<Item = &u64> {
        let is_excused = |record| self.kind.excuses_moves && self.moved.contains(record);
        let records = self.records.iter();
        records.filter(move |record| **record < self.size && !is_excused(record))
    }

    /// Returns whether these are exactly the initial records, in order.
    pub(super) fn began_as(&self, records: &[u64]) -> bool {
        records.iter().copied().eq(0..self.size)
    }

    pub(super) fn change_between_runs(&mut self) {
        let kind = self.kind;
        kind.between_runs.iter().for_each(|one| self.change(one));
    }

    fn change(&mut self, change: &Change) {
        let requests = self.requests;
        let is_now = change.request.is_none_or(|at| at == requests);
        if !is_now
            || change
                .every
                .is_some_and(|every| !requests.is_multiple_of(every))
        {
            return;
        }
        let times = match change.rate {
            Some(rate) => (0..4).filter(|_| self.random.f64() < rate / 4.0).count() as u64,
            None => change.times.draw(&mut self.random),
        };
        for _ in 0..times {
            let last = self.records.len().saturating_sub(1);
            match change.what {
                What::Reverse => self.records.reverse(),
                What::Shuffle => self.random.shuffle(&mut self.records),
                What::Insert => {
                    let at = self.index(change.at, self.records.len());
                    let next = self.next + change.neighbours.draw(&mut self.random);
                    self.records.splice(at..at, self.next..next);
                    self.next = next;
                }
                What::Delete | What::Move => {
                    let from = self.index(change.at, last);
                    let count = change.neighbours.draw(&mut self.random) as usize;
                    let to = (from + count).min(self.records.len());
                    let taken: Vec<u64> = self.records.drain(from..to).collect();
                    if matches!(change.what, What::Move) {
                        let to = self.index(change.to, self.records.len());
                        self.moved.extend(&taken);
                        self.records.splice(to..to, taken);
                    }
                }
            }
        }
    }

    fn index(&mut self, place: Place, last: usize) -> usize {
        let index = match (place, self.cursor.min(last)) {
            (Place::Anywhere, _) => self.random.usize(..=last),
            (Place::AroundPage, cursor) => match self.random.u8(..3) {
                0 => self.random.usize(..=cursor),
                1 => (cursor + self.random.usize(..3)).saturating_sub(1),
                _ => self.random.usize(cursor..=last),
            },
            (Place::Front, _) => 0,
            (Place::End, _) => last,
            (Place::Index(index), _) => index,
        };
        index.min(last)
    }

    /// Changes the list and returns a page of it.
    ///
    /// # Errors
    /// The refusal or failure, if there is no such page.
    pub(super) fn page(&mut self, offset: u64, limit: u64) -> Result<Page, Error> {
        let kind = self.kind;
        kind.changes.iter().for_each(|one| self.change(one));
        self.requests += 1;
        self.serving.check(self.requests, offset, limit)?;
        let limit = match self.serving.one_from {
            Some(from) if self.requests >= from => 1,
            _ => limit,
        };
        let whole = kind.whole.as_ref();
        let place = whole.map_or(Some((offset, limit)), |one| one.page(offset, limit));
        let (offset, limit) = place.ok_or_else(|| refusal("no"))?;
        if kind.refuses_beyond && offset > 0 && offset >= self.records.len() as u64 {
            return Err(refusal("no"));
        }
        let (offset, limit) = (offset as usize, limit as usize);
        self.cursor = offset.saturating_add(limit);
        let shown = self.shown(limit);
        let from = offset.min(shown.len());
        let to = self.cursor.min(shown.len());
        let mut page = Page {
            records: shown[from..to].to_vec(),
            total: Some(shown.len() as u64),
            has_more: Some(to < shown.len()),
        };
        match self.kind.answers {
            Answers::EmptyAtTimes if self.random.u8(..10) == 0 => {
                page.records.clear();
                page.has_more = Some(false);
            }
            Answers::OffsetIgnored => page.records = (0..limit as u64).collect(),
            Answers::Claim {
                total,
                has_more,
                is_empty,
            } => {
                page.total = Some(total);
                page.has_more = has_more.or(page.has_more);
                page.records.retain(|_| !is_empty);
            }
            _ => {}
        }
        let hides = self.serving.hides;
        page.total = page.total.filter(|_| !hides.total());
        page.has_more = page.has_more.filter(|_| !hides.has_more());
        let is_denied = match hides {
            Hidden::NeverMore => true,
            Hidden::SeldomMore => self.random.bool(),
            _ => false,
        };
        page.has_more = page.has_more.map(|more| more && !is_denied);
        Ok(page)
    }

    /// Returns the list as this response shows it.
    fn shown(&mut self, limit: usize) -> Vec<u64> {
        let mut shown = self.records.clone();
        for lack in &self.kind.lacks {
            if lack.requests.contains(self.requests) {
                shown.retain(|record| !lack.records.contains(*record));
            }
        }
        let length = shown.len();
        match self.kind.answers {
            Answers::Ties(run) => {
                for tie in shown.chunks_mut(run) {
                    self.random.shuffle(tie);
                }
            }
            Answers::TieAtEdge(run) => {
                let from = limit.saturating_sub(run / 2).min(length);
                let to = (from + run).min(length);
                self.random.shuffle(&mut shown[from..to]);
            }
            Answers::CopiesInTurn if self.requests.is_multiple_of(2) => shown.truncate(length / 2),
            Answers::CopiesAtRandom if self.random.bool() => shown.truncate(length * 3 / 4),
            _ => {}
        }
        shown
    }

    /// Returns the identity of a record as a number, and whether that is its `id`.
    pub(super) fn identity(&self, record: u64) -> (u64, bool) {
        match self.kind.identities {
            Identities::Id => (record, true),
            Identities::AllEqual => (0, false),
            Identities::Changing => (record << 20 | self.requests, false),
            Identities::Twins {
                first,
                second,
                by_id,
            } => (if record == second { first } else { record }, by_id),
        }
    }
}
