//! The memory of a client's pages: how much all of them may take together, and which goes on when it is used up.
//!
//! A page claims memory from before it is asked for until its records are handed on. Pages that were fetched ahead
//! hold what the one that comes before them needs, and are not handed on before it. So one page of each scan may
//! always go on: the one that the scan says it needs, else the first that is not complete.

use crate::clock;
use crate::request::metrics::ScanMetrics;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// What the pages of a client may take together, in bytes. A single page may be as large.
pub(crate) const PAGES: usize = 64 * 1024 * 1024;

/// The memory of one client's pages.
pub(crate) struct Memory {
    most: usize,
    state: Mutex<State>,
    /// Told whenever a page may go on that could not before.
    changed: Notify,
}

#[derive(Default)]
struct State {
    held: usize,
    claims: BTreeMap<Key, Held>,
    claimed: u64,
}

/// A claim: the scan (0 for single pages), where its page is in the list, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    scan: usize,
    offset: u64,
    number: u64,
}

#[derive(Clone, Copy, Default)]
struct Held {
    bytes: usize,
    /// Whether its page is complete.
    complete: bool,
    /// Whether it got more than there was.
    exceeding: bool,
}

impl Memory {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Memory {
            most,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// A claim for the page at `offset` of the scan that `metrics` belongs to; for a single page without one.
    pub(crate) fn claim(
        self: &Arc<Self>,
        metrics: Option<&Arc<ScanMetrics>>,
        offset: u64,
    ) -> Claim {
        let mut state = self.state();
        state.claimed += 1;
        let key = Key {
            scan: metrics.map_or(0, |metrics| Arc::as_ptr(metrics) as usize),
            // Of single pages, none waits for the other.
            offset: metrics.map_or(0, |_| offset),
            number: state.claimed,
        };
        state.claims.insert(key, Held::default());
        Claim {
            memory: Arc::clone(self),
            key,
            metrics: metrics.cloned(),
            waited: Duration::ZERO,
        }
    }

    /// Looks again who may go on, after a scan has said which page it needs.
    pub(crate) fn look_again(&self) {
        self.changed.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Lets a claim have this much; false when it has to wait.
    fn grow(&mut self, key: Key, bytes: usize, most: usize, needed: Option<u64>) -> bool {
        let Some(held) = self.claims.get(&key).copied() else {
            return false;
        };
        if bytes <= held.bytes {
            return true;
        }
        let fits = self.held - held.bytes + bytes <= most;
        if !fits && !self.may_exceed(key, needed) {
            return false;
        }
        self.set(
            key,
            Held {
                bytes,
                exceeding: !fits,
                ..held
            },
        );
        true
    }

    fn may_exceed(&self, key: Key, needed: Option<u64>) -> bool {
        if let Some(needed) = needed {
            return key.offset == needed;
        }
        let of_scan = self
            .claims
            .iter()
            .filter(|(other, _)| other.scan == key.scan);
        let first = of_scan.clone().find(|(_, held)| !held.complete);
        let mut others = of_scan.filter(|(other, _)| **other != key);
        first.is_some_and(|(first, _)| *first == key) && !others.any(|(_, held)| held.exceeding)
    }

    fn set(&mut self, key: Key, held: Held) {
        let before = self.claims.insert(key, held).unwrap_or_default();
        self.held = self.held - before.bytes + held.bytes;
    }
}

/// What one page may take. It is given back when the claim is dropped.
pub(crate) struct Claim {
    memory: Arc<Memory>,
    key: Key,
    metrics: Option<Arc<ScanMetrics>>,
    waited: Duration,
}

impl Claim {
    /// Waits until the page may take this much.
    pub(crate) async fn grow(&mut self, bytes: usize) {
        let memory = Arc::clone(&self.memory);
        let came = clock::now();
        loop {
            let mut changed = std::pin::pin!(memory.changed.notified());
            // What changes from here on is not missed.
            changed.as_mut().enable();
            let needed = self.metrics.as_ref().and_then(|metrics| metrics.needed());
            if memory.state().grow(self.key, bytes, memory.most, needed) {
                break;
            }
            changed.await;
        }
        self.waited += clock::now().saturating_sub(came);
    }

    /// What a page of this scan is likely to take.
    pub(crate) async fn expect(&mut self) {
        let likely = self
            .metrics
            .as_ref()
            .map_or(0, |metrics| metrics.page_bytes());
        self.grow(likely).await;
    }

    /// The page is complete, and takes this much.
    pub(crate) fn complete(&mut self, bytes: usize) {
        if let Some(metrics) = &self.metrics {
            metrics.page_read(bytes);
        }
        let mut state = self.memory.state();
        let held = state.claims.get(&self.key).copied().unwrap_or_default();
        let complete = Held {
            bytes,
            complete: true,
            ..held
        };
        state.set(self.key, complete);
        drop(state);
        self.memory.changed.notify_waiters();
    }

    /// How long it has waited since this was asked last.
    pub(crate) fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.memory.state();
        if let Some(held) = state.claims.remove(&self.key) {
            state.held -= held.bytes;
        }
        drop(state);
        self.memory.changed.notify_waiters();
    }
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Claim").field(&self.key).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a claim may have this much at once.
    async fn may(claim: &mut Claim, bytes: usize) -> bool {
        let waiting = std::pin::pin!(claim.grow(bytes));
        // It is asked once, and only waits when it has to.
        tokio::select! {
            biased;
            () = waiting => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn pages_ahead_wait_and_the_first_always_goes_on() {
        let memory = Memory::new(100);
        let metrics = Arc::new(ScanMetrics::default());
        let mut pages: Vec<_> = (0..4).map(|n| memory.claim(Some(&metrics), n)).collect();
        assert!(may(&mut pages[1], 50).await && may(&mut pages[2], 50).await);
        assert!(!may(&mut pages[3], 1).await && !may(&mut pages[1], 51).await);
        // However much it is.
        assert!(may(&mut pages[0], 500).await);
        pages[0].complete(500);
        // It exceeds what there is, so no other does until it is gone.
        assert!(!may(&mut pages[1], 51).await);
        pages.remove(0);
        assert!(may(&mut pages[0], 60).await && !may(&mut pages[2], 1).await);
    }

    #[tokio::test]
    async fn the_page_that_a_scan_needs_goes_on_wherever_it_is() {
        let memory = Memory::new(100);
        let metrics = Arc::new(ScanMetrics::default());
        let mut first = memory.claim(Some(&metrics), 0);
        let mut other = memory.claim(Some(&metrics), 9);
        assert!(may(&mut first, 200).await);
        first.complete(200);
        assert!(!may(&mut other, 1).await);
        metrics.needs(9);
        assert!(may(&mut other, 300).await);
    }

    #[tokio::test]
    async fn what_is_given_back_wakes_who_waits() {
        let memory = Memory::new(100);
        let mut first = memory.claim(None, 0);
        let mut second = memory.claim(None, 0);
        first.grow(100).await;
        let waiting = tokio::spawn(async move {
            second.grow(40).await;
            second
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        drop(waiting.await.unwrap());
        assert_eq!(memory.state().held, 0);
    }

    #[tokio::test]
    async fn scans_do_not_wait_for_each_other_for_ever() {
        let memory = Memory::new(100);
        let metrics = [
            Arc::new(ScanMetrics::default()),
            Arc::new(ScanMetrics::default()),
        ];
        let mut idle = memory.claim(Some(&metrics[0]), 0);
        idle.grow(100).await;
        idle.complete(100);
        let mut other = memory.claim(Some(&metrics[1]), 0);
        let mut single = memory.claim(None, 0);
        assert!(may(&mut other, 10).await && may(&mut single, 10).await);
    }
}
