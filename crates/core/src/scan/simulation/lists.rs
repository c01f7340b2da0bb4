//! A simulated list: what changes between two requests, and in which order a response shows it.

use super::{Page, Service};
use fastrand::Rng;
use std::collections::HashSet;

/// What happens between requests; rates are mean numbers of changes per request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    None,
    Insert(f64),
    Delete(f64),
    InsertAndDelete(f64),
    /// Up to 60 neighbours vanish at once, every so many requests.
    BulkDelete(f64),
    /// One record is deleted, or inserted, at every request: anywhere or at the front.
    DeleteOne,
    DeleteFirst,
    InsertOne,
    InsertFirst,
    Append,
    /// So many neighbours come at once, at every third request.
    BulkInsert(usize),
    /// So many inserts and deletes at every request: before the end of the page asked for last, right at
    /// it, and behind it.
    Around {
        inserts: usize,
        deletes: usize,
    },
    /// Records are updated in a list that is sorted by time of change, or by something else that changes.
    MoveToEnd(f64),
    MoveToFront(f64),
    MoveAnywhere(f64),
    /// At every third request, one record moves anywhere and so many are deleted.
    MoveAndDelete(usize),
    /// Inserts, deletes and moves to the end.
    Everything(f64),
}

/// In which order a response shows the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    Stable,
    /// Runs of so many records come in another order in every response.
    Ties(usize),
    /// One such run straddles the edge of the first page.
    TieAtEdge(usize),
    Random,
}

/// From which copy of the list a response comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Copies {
    One,
    /// Every other response comes from a copy without the second half of the records.
    InTurn,
    /// A response comes from a copy without the last quarter with a probability of one half.
    AtRandom,
    /// One response in ten comes from a copy without records, which has the total all the same.
    Empty,
}

pub(super) struct List {
    pub(super) records: Vec<u64>,
    pub(super) change: Change,
    pub(super) order: Order,
    pub(super) copies: Copies,
    random: Rng,
    next: u64,
    requests: u64,
    /// The end of the page asked for last.
    cursor: usize,
    first: HashSet<u64>,
    pub(super) moved: HashSet<u64>,
}

impl List {
    pub(super) fn new(size: u64, change: Change, seed: u64) -> Self {
        List {
            records: (0..size).collect(),
            change,
            order: Order::Stable,
            copies: Copies::One,
            random: Rng::with_seed(seed),
            next: size,
            requests: 0,
            cursor: 0,
            first: (0..size).collect(),
            moved: HashSet::new(),
        }
    }

    /// The records that were in the list all the time.
    pub(super) fn stable(&self) -> impl Iterator<Item = &u64> {
        let records = self.records.iter();
        records.filter(|record| self.first.contains(record))
    }

    fn times(&mut self, rate: f64) -> usize {
        (0..4).filter(|_| self.random.f64() < rate / 4.0).count()
    }

    pub(super) fn insert(&mut self, at: usize) {
        self.records.insert(at, self.next);
        self.next += 1;
    }

    fn insert_anywhere(&mut self) {
        let at = self.random.usize(..=self.records.len());
        self.insert(at);
    }

    fn take_any(&mut self) -> Option<u64> {
        let length = self.records.len();
        (length > 0).then(|| {
            let from = self.random.usize(..length);
            self.records.remove(from)
        })
    }

    fn around(&mut self) -> usize {
        let (length, cursor) = (self.records.len(), self.cursor.min(self.records.len()));
        let at = match self.random.u8(..3) {
            0 => self.random.usize(..=cursor),
            1 => (cursor + self.random.usize(..3)).saturating_sub(1),
            _ => self.random.usize(cursor..=length),
        };
        at.min(length)
    }

    fn change(&mut self) {
        match self.change {
            Change::None => {}
            Change::BulkInsert(_) | Change::MoveAndDelete(_)
                if !self.requests.is_multiple_of(3) => {}
            Change::Insert(rate) => (0..self.times(rate)).for_each(|_| self.insert_anywhere()),
            Change::Delete(rate) => (0..self.times(rate)).for_each(|_| {
                self.take_any();
            }),
            Change::InsertAndDelete(rate) => {
                (0..self.times(rate)).for_each(|_| {
                    self.take_any();
                });
                (0..self.times(rate)).for_each(|_| self.insert_anywhere());
            }
            Change::BulkDelete(rate) => {
                if self.random.f64() < rate / 10.0 {
                    let from = self.random.usize(..self.records.len().max(1));
                    let to = (from + self.random.usize(..60)).min(self.records.len());
                    self.records.drain(from..to);
                }
            }
            Change::DeleteOne => drop(self.take_any()),
            Change::DeleteFirst if self.records.is_empty() => {}
            Change::DeleteFirst => drop(self.records.remove(0)),
            Change::InsertOne => self.insert_anywhere(),
            Change::InsertFirst => self.insert(0),
            Change::Append => self.insert(self.records.len()),
            Change::BulkInsert(inserts) => {
                let at = self.random.usize(..=self.records.len());
                (0..inserts).for_each(|_| self.insert(at));
            }
            Change::Around { inserts, deletes } => {
                for change in 0..inserts + deletes {
                    let at = self.around();
                    if change < inserts {
                        self.insert(at);
                    } else if !self.records.is_empty() {
                        self.records.remove(at.min(self.records.len() - 1));
                    }
                }
            }
            Change::MoveToEnd(rate) => self.moves(rate, |_, length| length),
            Change::MoveToFront(rate) => self.moves(rate, |_, _| 0),
            Change::MoveAnywhere(rate) => {
                self.moves(rate, |random, length| random.usize(..=length))
            }
            Change::MoveAndDelete(deletes) => {
                self.moves(1.0, |random, length| random.usize(..=length));
                for _ in 0..deletes {
                    self.take_any();
                }
            }
            Change::Everything(rate) => {
                self.moves(rate, |_, length| length);
                (0..self.times(rate)).for_each(|_| {
                    self.take_any();
                });
                (0..self.times(rate)).for_each(|_| self.insert_anywhere());
            }
        }
    }

    fn moves(&mut self, rate: f64, to: fn(&mut Rng, usize) -> usize) {
        for _ in 0..self.times(rate) {
            if let Some(record) = self.take_any() {
                let at = to(&mut self.random, self.records.len());
                self.records.insert(at, record);
                self.moved.insert(record);
            }
        }
    }

    /// The list as the next response shows it.
    fn shown(&mut self, limit: u64) -> Vec<u64> {
        let mut shown = self.records.clone();
        let limit = limit as usize;
        match self.order {
            Order::Stable => {}
            Order::Ties(length) => {
                for run in shown.chunks_mut(length) {
                    self.random.shuffle(run);
                }
            }
            Order::TieAtEdge(length) => {
                let from = limit.saturating_sub(length / 2).min(shown.len());
                let to = (from + length).min(shown.len());
                self.random.shuffle(&mut shown[from..to]);
            }
            Order::Random => self.random.shuffle(&mut shown),
        }
        match self.copies {
            Copies::InTurn if self.requests.is_multiple_of(2) => shown.truncate(shown.len() / 2),
            Copies::AtRandom if self.random.bool() => shown.truncate(shown.len() * 3 / 4),
            _ => {}
        }
        shown
    }
}

impl Service for List {
    fn page(&mut self, offset: u64, limit: u64) -> Page {
        self.change();
        self.requests += 1;
        let shown = self.shown(limit);
        self.cursor = (offset as usize).saturating_add(limit as usize);
        let from = (offset as usize).min(shown.len());
        let to = self.cursor.min(shown.len());
        let is_empty = self.copies == Copies::Empty && self.random.u8(..10) == 0;
        Page {
            records: match is_empty {
                true => Vec::new(),
                false => shown[from..to].to_vec(),
            },
            total: shown.len() as u64,
            has_more: !is_empty && to < shown.len(),
        }
    }
}
