//! Services at their worst: records without identity, totals that lie, offsets ignored, and lists that
//! change by more than a scan remembers.

use super::lists::{Change, List};
use super::{Outcome, Page, Run, Service, scan};
use crate::error::Result;
use crate::scan::Doubt;
use fastrand::Rng;

/// A list that changes once, after so many requests, and may identify its records in another way.
struct Odd {
    list: List,
    after: u64,
    change: fn(&mut Vec<u64>),
    identity: Box<dyn Fn(u64, u64) -> (u64, bool)>,
    response: fn(page: Page, offset: u64) -> Page,
    requests: u64,
}

impl Odd {
    fn new(size: u64) -> Self {
        Odd {
            list: List::new(size, Change::None, 1),
            after: u64::MAX,
            change: |_| (),
            identity: Box::new(|record, _| (record, true)),
            response: |page, _| page,
            requests: 0,
        }
    }

    fn scan(&mut self, page_size: u64) -> Result<Outcome> {
        scan(self, &Run::of(page_size, 4, false), &mut Rng::with_seed(1))
    }
}

impl Service for Odd {
    fn page(&mut self, offset: u64, limit: u64) -> Page {
        if self.requests == self.after {
            (self.change)(&mut self.list.records);
        }
        self.requests += 1;
        (self.response)(self.list.page(offset, limit), offset)
    }

    fn identity(&mut self, record: u64) -> (u64, bool) {
        (self.identity)(record, self.requests)
    }
}

#[test]
fn records_with_one_identity_are_delivered_and_doubted() {
    for page_size in [100, 50, 7] {
        let mut service = Odd::new(600);
        service.identity = Box::new(|_, _| (0, false));
        let outcome = service.scan(page_size).unwrap();
        assert_eq!(outcome.delivered, service.list.records);
        assert_eq!(outcome.doubts, [Doubt::EqualRecords]);
    }
    // Two that are equal, pages apart or on either side of a seam.
    for (first, second) in [(10, 250), (99, 100), (98, 99)] {
        let outcome = with_twins(first, second, false);
        // Which of the two is meant is not known.
        assert!(outcome.delivered.len() >= 290, "{first}, {second}");
        assert!(!outcome.is_proven(), "{first}, {second}");
    }
    for second in [50, 250] {
        assert!(!with_twins(10, second, true).is_proven(), "{second}");
    }
}

/// A scan of 300 records of which two have the same identity.
fn with_twins(first: u64, second: u64, by_id: bool) -> Outcome {
    let mut service = Odd::new(300);
    let twin = move |record, _| (if record == second { first } else { record }, by_id);
    service.identity = Box::new(twin);
    service.scan(100).unwrap()
}

#[test]
fn records_that_change_at_every_read_and_have_no_id_are_doubted() {
    for size in [250, 3000] {
        let mut service = Odd::new(size);
        service.identity = Box::new(|record, requests| (record << 20 | requests, false));
        let outcome = service.scan(100).unwrap();
        assert!(outcome.doubts.contains(&Doubt::MovedTooFar), "{size}");
        assert!(
            service.requests < 30 + size / 20,
            "{size}: {}",
            service.requests
        );
    }
}

#[test]
fn a_service_that_ignores_the_offset_is_not_believed() {
    let ignore = |page, _| Page {
        records: (0..100).collect(),
        ..page
    };
    let mut service = Odd::new(2500);
    service.response = ignore;
    assert!(!service.scan(100).unwrap().doubts.is_empty());
    assert!(service.requests < 40, "{}", service.requests);
    // The end of a shorter list comes sooner.
    let mut service = Odd::new(250);
    service.response = ignore;
    assert!(!service.scan(100).unwrap().doubts.is_empty());
}

#[test]
fn a_service_without_a_total_and_without_an_end_is_read_once() {
    let mut service = Odd::new(29_500);
    service.response = |page, _| Page {
        total: 0,
        has_more: true,
        ..page
    };
    let outcome = service.scan(100).unwrap();
    assert_eq!(outcome.delivered, service.list.records);
    assert_eq!(outcome.doubts, [Doubt::WrongTotal, Doubt::EmptyPage]);
    assert!(service.requests < 310, "{}", service.requests);
}

#[test]
fn pages_of_one_record_are_read_to_the_end_but_not_proven() {
    for (size, delivered, doubts) in [
        // Then all of it is on a page.
        (2, vec![0, 1], vec![]),
        (4, vec![0, 1, 2, 3], vec![Doubt::NoOverlap]),
    ] {
        let mut service = Odd::new(size);
        service.after = 1;
        service.change = |records| {
            records.remove(0);
        };
        let outcome = service.scan(1).unwrap();
        assert_eq!(outcome.delivered, delivered);
        assert_eq!(outcome.doubts, doubts);
    }
}

#[test]
fn an_end_before_the_total_is_doubted() {
    type Response = fn(Page, u64) -> Page;
    let answers: [(Response, Doubt); 3] = [
        (
            |page, _| Page {
                total: 1000,
                ..page
            },
            Doubt::ShortOfTotal,
        ),
        (
            |_, _| Page {
                records: Vec::new(),
                total: 1000,
                has_more: true,
            },
            Doubt::EmptyPage,
        ),
        (
            |_, _| Page {
                records: Vec::new(),
                total: 1000,
                has_more: false,
            },
            Doubt::ShortOfTotal,
        ),
    ];
    for (response, doubt) in answers {
        let mut service = Odd::new(100);
        service.response = response;
        let outcome = service.scan(100).unwrap();
        assert!(outcome.doubts.contains(&doubt), "{:?}", outcome.doubts);
    }
}

#[test]
fn what_little_is_left_of_the_records_delivered_is_found() {
    // All of them but a few hundred are deleted at once.
    let mut service = Odd::new(40_000);
    service.after = 300;
    service.change = |records| {
        records.drain(5_000..29_000);
    };
    let outcome = service.scan(100).unwrap();
    assert_eq!(outcome.wrong(&service.list), 0);
    assert_eq!(outcome.doubts, []);
}

#[test]
fn everything_delivered_may_vanish() {
    for after in [2, 5, 9] {
        let mut service = Odd::new(400);
        service.after = after;
        service.change = |records| drop(records.drain(..200));
        let outcome = service.scan(20).unwrap();
        assert_eq!(outcome.wrong(&service.list), 0);
        assert_eq!(outcome.doubts, [], "{after}");
    }
}
