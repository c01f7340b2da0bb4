//! The number of records to request in a page: as many as possible, fewer if the service cannot send them, and later
//! carefully more again. The functions are pure.
//!
//! Services say "too large" in many ways: by a refusal that names the limit or does not, a gateway that gives up
//! waiting, a connection that is cut, or a response beyond all bounds. It may concern all pages, or only those with
//! large records.

use crate::error::failure::CONNECT_TIMEOUT;
use crate::error::{Error, ErrorKind};
use crate::process::lock;
use std::sync::{Arc, Mutex};

/// The number of pages of a reduced size that must arrive before a larger one is tried.
const PAGES_BEFORE_TRIAL: u64 = 4;
/// The factor by which that number grows after each failed trial.
const TRIAL_GAP_GROWTH: u64 = 4;
/// The smallest page that is requested after a refusal that does not mention the size. The refusal may have another
/// reason.
const MIN_SIZE_AFTER_REFUSAL: u64 = 5;
/// The largest page that is requested after a refusal that does not mention the size, if this size worked before.
const MAX_PROBED_SIZE: u64 = 10;
/// The statuses of refusals that may be about the size.
const REFUSAL_STATUSES: [u16; 6] = [200, 400, 413, 414, 416, 422];
/// Words that show that a refusal is about the size.
const ABOUT_SIZE: [&str; 6] = [
    "limit",
    "size",
    "per_page",
    "perpage",
    "too large",
    "too many",
];
/// Words that come before the largest size in a refusal that names it.
const AT_MOST: [&str; 8] = [
    "max", "most", "exceed", "than", "and ", "up to", "limit", "<",
];

/// The size of the pages of one scan, or of a single page.
#[derive(Debug, Default)]
pub(crate) struct PageSize {
    /// Limits the records in a page.
    most: u64,
    /// The current size of most pages.
    now: u64,
    /// The largest size that arrived since the size was reduced.
    worked: u64,
    /// The number of pages that arrived since the size changed.
    pages: u64,
    patience: u64,
    /// True while a larger page is under way as a trial.
    is_tried: bool,
    /// The smallest size that was requested because larger pages did not arrive.
    pub(crate) reduced_to: Option<u64>,
}

/// The size of one page, from the first attempt to the last.
pub(crate) struct PageRequest {
    pub(crate) size: Arc<Mutex<PageSize>>,
    /// The number of records to request.
    pub(crate) limit: u64,
    /// True if the page is a trial of a larger size.
    is_trial: bool,
    offset: u64,
    /// True if other pages arrived at the size at which this one failed. The others then need not become as small.
    is_alone: bool,
    /// True if the page was requested in a small size to see whether its size or its offset is refused.
    is_probed: bool,
    /// The number of failures since the size was reduced.
    failures: u32,
    /// True if the size was reduced.
    is_reduced: bool,
    /// True if the time of the outage that the page waits for is over.
    pub(crate) is_late: bool,
    /// The first refusal. It becomes the error if no smaller page arrives either.
    pub(crate) refusal: Option<Error>,
}

/// The consequence of a failure.
#[derive(Debug, PartialEq)]
pub(crate) enum Smaller {
    /// The failure is not about the size.
    No,
    /// A smaller page is requested at once.
    AtOnce,
    /// A smaller page is requested as soon as the retry rules allow.
    Later,
}

impl PageSize {
    /// Returns the size of pages with at most `most` records.
    pub(crate) fn new(most: u64) -> Self {
        PageSize {
            most,
            now: most,
            patience: PAGES_BEFORE_TRIAL,
            ..PageSize::default()
        }
    }

    /// Returns the limit of the next page, and whether it is a trial.
    fn next(&mut self) -> (u64, bool) {
        if self.now >= self.most || self.pages < self.patience || self.is_tried {
            return (self.now, false);
        }
        self.is_tried = true;
        (self.now.saturating_mul(2).min(self.most), true)
    }

    fn reduce(&mut self, less: u64) {
        (self.now, self.pages) = (less, 0);
        self.worked = self.worked.min(less);
    }
}

impl PageRequest {
    /// Returns a page to request at this offset.
    pub(crate) fn new(size: Arc<Mutex<PageSize>>, offset: u64) -> Self {
        let (limit, is_trial) = lock(&size).next();
        PageRequest {
            size,
            limit,
            is_trial,
            offset,
            is_alone: false,
            is_probed: false,
            failures: 0,
            is_reduced: false,
            is_late: false,
            refusal: None,
        }
    }

    /// Begins an attempt. If other pages reduced the size in the meantime, this page adopts it.
    pub(crate) fn adapt(&mut self) {
        if !self.is_trial {
            self.limit = self.limit.min(lock(&self.size).now);
        }
    }

    /// Records that the page arrived.
    pub(crate) fn arrived(&self) {
        let size = &mut *lock(&self.size);
        if self.is_reduced {
            let least = size.reduced_to.unwrap_or(self.limit);
            size.reduced_to = Some(least.min(self.limit));
        }
        if self.is_alone && self.limit < size.now {
            // The reason may have been the records of this page.
            size.reduce(self.limit.max(size.now / 2));
        }
        size.worked = size.worked.max(self.limit);
        if self.is_trial {
            (size.now, size.pages, size.is_tried) = (self.limit, 0, false);
        } else if self.limit == size.now {
            size.pages += 1;
        }
    }

    /// Notes a failed attempt, and returns whether a smaller page is requested next.
    pub(crate) fn failed(&mut self, error: &Error) -> Smaller {
        let size = &mut *lock(&self.size);
        let has_worked = !self.is_trial && self.limit <= size.worked;
        let named = named(error, self.limit);
        // Pages of one record cannot overlap.
        let (mut least, mut most) = (2, u64::MAX);
        self.failures += 1;
        let (smaller, tolerated) = match (error.kind(), error.status()) {
            (ErrorKind::TooLarge, None) => (Smaller::AtOnce, 0),
            (ErrorKind::BadRequest | ErrorKind::Api, Some(status))
                if REFUSAL_STATUSES.contains(&status) =>
            {
                if status != 413 && named.is_none() && !is_about_size(error) {
                    least = MIN_SIZE_AFTER_REFUSAL;
                    // If pages of this size arrived, the service may refuse the offset. One small page shows that.
                    if self.is_probed {
                        return Smaller::No;
                    }
                    if has_worked && self.offset > 0 {
                        most = MAX_PROBED_SIZE;
                        self.is_probed = true;
                    }
                }
                (Smaller::AtOnce, 0)
            }
            // The time to connect does not depend on the page.
            _ if error.is(CONNECT_TIMEOUT) => return Smaller::No,
            // The timeout was long enough, so this size is not tried again.
            (ErrorKind::Timeout, _) => (Smaller::Later, 0),
            // An unavailable service refuses pages of every size.
            (ErrorKind::Server, Some(503)) => return Smaller::No,
            (ErrorKind::Server | ErrorKind::Transport, _)
                if error.max_attempts() > 1 && error.retry_after().is_none() =>
            {
                // The failure may be temporary.
                (Smaller::Later, 1 + u32::from(has_worked))
            }
            _ => return Smaller::No,
        };
        if self.is_trial {
            (size.is_tried, size.pages) = (false, 0);
            size.patience = size.patience.saturating_mul(TRIAL_GAP_GROWTH);
            self.is_trial = false;
            self.limit = size.now;
        } else if self.failures <= tolerated && !self.is_reduced && !self.is_late {
            return Smaller::No;
        } else {
            let parts = match error.kind() {
                // This is the last attempt, so it shows whether the size is the reason.
                _ if self.is_late && smaller == Smaller::Later => u64::MAX,
                ErrorKind::Timeout => 4,
                _ => 2,
            };
            let part = (self.limit / parts).max(2).min(most);
            let less = named.unwrap_or(part).min(size.now);
            if less >= self.limit || less < least && named.is_none() {
                return Smaller::No;
            }
            self.is_alone |= has_worked && (self.is_probed || smaller == Smaller::Later);
            (self.limit, self.is_reduced) = (less, true);
            if !self.is_alone {
                size.reduce(less);
            }
        }
        if let Some(named) = named {
            size.most = size.most.min(named);
        }
        self.failures = 0;
        if smaller == Smaller::AtOnce {
            self.refusal.get_or_insert_with(|| error.clone());
        }
        smaller
    }
}

/// Returns whether the words of a refusal are about the size.
fn is_about_size(error: &Error) -> bool {
    let body = error.body().unwrap_or_default().to_ascii_lowercase();
    ABOUT_SIZE.iter().any(|word| body.contains(word))
}

/// Returns the largest size that a refusal names, if it is less than what was requested.
fn named(error: &Error, asked: u64) -> Option<u64> {
    let body = error.body()?.to_ascii_lowercase();
    // Go escapes `<` in JSON.
    let body = body.replace("\\u003c", "<");
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let mut numbers = Vec::new();
    let mut before = 0;
    while let Some(start) = body.as_bytes()[before..].iter().position(is_digit) {
        let start = before + start;
        let rest = &body.as_bytes()[start..];
        let end = start
            + rest
                .iter()
                .position(|byte| !is_digit(byte))
                .unwrap_or(rest.len());
        let words = &body[before..start];
        let is_within = |byte: &u8| byte.is_ascii_alphanumeric();
        let is_word = !words.as_bytes().last().is_some_and(is_within)
            && !body.as_bytes().get(end).is_some_and(is_within);
        if is_word && AT_MOST.iter().any(|word| words.contains(word)) {
            numbers.extend(body[start..end].parse::<u64>());
        }
        before = end;
    }
    // A 1 is the beginning of a range.
    let fits = |number: &u64| (2..asked).contains(number);
    numbers.into_iter().filter(fits).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> Error {
        let error = Error::new(ErrorKind::BadRequest, "the service refused the request");
        error.with_response(status, None, Some(body.to_owned()))
    }

    fn failure(kind: ErrorKind) -> Error {
        Error::new(kind, "")
    }

    fn size(most: u64) -> Arc<Mutex<PageSize>> {
        Arc::new(Mutex::new(PageSize::new(most)))
    }

    /// Returns the limits of a page that fails with this error until no smaller page is requested, or `most` times.
    fn limits(size: &Arc<Mutex<PageSize>>, offset: u64, most: usize, error: &Error) -> Vec<u64> {
        let mut page = PageRequest::new(Arc::clone(size), offset);
        let mut limits = vec![page.limit];
        while limits.len() < most && page.failed(error) != Smaller::No {
            limits.push(page.limit);
        }
        limits
    }

    #[test]
    fn every_sign_of_a_page_that_is_too_large_leads_to_a_smaller_one() {
        let halves = [100, 50, 25, 12, 6, 3, 2];
        for error in [
            refusal(413, ""),
            refusal(400, "invalid limit"),
            refusal(422, r#"{"detail":"page size not allowed"}"#),
            failure(ErrorKind::TooLarge),
        ] {
            assert_eq!(limits(&size(100), 0, 99, &error), halves, "{error:?}");
        }
        assert_eq!(
            limits(&size(100), 0, 99, &failure(ErrorKind::Timeout)),
            [100, 25, 6, 2]
        );
        let gateway = failure(ErrorKind::Server).with_response(504, None, None);
        for has_worked in [false, true] {
            let size = size(100);
            let mut page = PageRequest::new(Arc::clone(&size), 0);
            if has_worked {
                page.arrived();
                assert_eq!(page.failed(&gateway), Smaller::No);
            }
            assert_eq!(page.failed(&gateway), Smaller::No);
            let smaller = std::iter::from_fn(|| {
                (page.failed(&gateway) == Smaller::Later).then_some(page.limit)
            });
            assert_eq!(smaller.collect::<Vec<_>>(), halves[1..]);
        }
    }

    #[test]
    fn a_refusal_that_may_be_about_anything_costs_few_requests() {
        let other = refusal(400, r#"{"error":"unknown filter"}"#);
        assert_eq!(limits(&size(100), 0, 99, &other), [100, 50, 25, 12, 6]);
        for error in [
            refusal(405, "limit"),
            failure(ErrorKind::Forbidden),
            failure(ErrorKind::NotFound),
            failure(ErrorKind::Connect),
            failure(ErrorKind::Decode),
            failure(ErrorKind::TooLarge).with_response(200, None, None),
            failure(ErrorKind::Server).with_max_attempts(1),
            failure(ErrorKind::Server).with_response(503, None, None),
            Error::of(CONNECT_TIMEOUT, ""),
        ] {
            assert_eq!(limits(&size(100), 0, 99, &error), [100], "{error:?}");
        }
        // If a page of that size arrived, the service may refuse the offset.
        let size = size(100);
        PageRequest::new(Arc::clone(&size), 0).arrived();
        assert_eq!(limits(&size, 99, 99, &other), [100, 10]);
        let size = lock(&size);
        assert_eq!((size.now, size.reduced_to), (100, None));
    }

    #[test]
    fn a_page_that_fails_alone_makes_others_half_as_large_at_most() {
        let size = size(100);
        PageRequest::new(Arc::clone(&size), 0).arrived();
        let mut page = PageRequest::new(Arc::clone(&size), 99);
        let gateway = failure(ErrorKind::Server).with_response(504, None, None);
        while page.limit > 6 {
            page.failed(&gateway);
            assert_eq!(lock(&size).now, 100);
        }
        page.arrived();
        let size = lock(&size);
        assert_eq!((size.now, size.reduced_to), (50, Some(6)));
    }

    #[test]
    fn a_size_that_a_refusal_names_is_used() {
        for (body, asked, named) in [
            ("limit must be between 1 and 50 (got 100)", 100, Some(50)),
            (
                r#"{"detail":[{"loc":["query","limit"],"msg":"Input should be less than or equal to 50","input":"100"}]}"#,
                100,
                Some(50),
            ),
            ("limit must not be greater than 20", 100, Some(20)),
            (r#"must be \u003c= 25"#, 100, Some(25)),
            ("maximum page size: 40", 100, Some(40)),
            ("Page size is limited to 50", 50, None),
            ("error 42: the limit exceeds its maximum", 100, None),
            (
                r#"{"message":"bad limit","time":"2024-05-12T10:33:21"}"#,
                100,
                None,
            ),
            ("at least 10", 100, None),
            ("limit a50", 100, None),
            ("", 100, None),
        ] {
            assert_eq!(super::named(&refusal(400, body), asked), named, "{body}");
        }
        // It is never exceeded later, regardless of the number of pages.
        let size = size(100);
        let error = refusal(400, "at most 40");
        assert_eq!(limits(&size, 0, 2, &error), [100, 40]);
        assert!((0..999).all(|_| {
            let page = PageRequest::new(Arc::clone(&size), 0);
            page.arrived();
            page.limit == 40
        }));
    }

    #[test]
    fn larger_pages_are_tried_one_at_a_time_and_less_often_after_failures() {
        let size = size(100);
        // The service sends at most 30.
        let error = refusal(413, "");
        assert_eq!(limits(&size, 0, 3, &error), [100, 50, 25]);
        let mut tried = Vec::new();
        for number in 0..1000 {
            let mut page = PageRequest::new(Arc::clone(&size), 0);
            if page.limit > 30 {
                tried.push(number);
                let other = PageRequest::new(Arc::clone(&size), 0);
                assert_eq!(other.limit, 25);
                assert_eq!(
                    (page.limit, page.failed(&error), page.limit),
                    (50, Smaller::AtOnce, 25)
                );
            }
            page.arrived();
        }
        assert_eq!(tried, [4, 20, 84, 340]);
        // If larger pages arrive, the size grows up to the limit.
        let size = self::size(100);
        assert_eq!(limits(&size, 0, 5, &error), [100, 50, 25, 12, 6]);
        let arrived = (0..100).map(|_| {
            let page = PageRequest::new(Arc::clone(&size), 0);
            page.arrived();
            page.limit
        });
        let arrived: Vec<u64> = arrived.collect();
        assert_eq!((arrived[3], arrived[4], arrived[99]), (6, 12, 100));
    }

    #[test]
    fn pages_under_way_adopt_a_size_that_another_page_has_reduced() {
        let size = size(100);
        let mut pages = [(); 2].map(|()| PageRequest::new(Arc::clone(&size), 0));
        assert_eq!(pages[0].failed(&refusal(413, "")), Smaller::AtOnce);
        pages[1].adapt();
        assert_eq!(pages.map(|page| page.limit), [50, 50]);
    }
}
