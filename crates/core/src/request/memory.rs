//! The memory of a client's pages: how much all of them may take together, and which goes on when it is used up.
//!
//! A page claims memory from before it is asked for until its records are handed on. Pages that were fetched ahead wait
//! for memory as for a semaphore. The page that its scan cannot go on without does not wait, and neither does one at a
//! time of the pages that belong to no scan: so each of them goes on in the end.

use crate::clock;
use crate::process::lock;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Mutex as TurnMutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, watch};

/// What the pages of a client may take together, in bytes. A single page may be as large.
pub(crate) const PAGES: usize = 64 * 1024 * 1024;

/// What the calls of a scan have cost so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    pub(crate) retries: u64,
    /// Responses with status 429.
    pub(crate) rate_limited: u64,
    /// How long the head of the queue waited for the budget.
    pub(crate) waited: Duration,
    /// How long failed requests waited before they were sent again.
    pub(crate) backed_off: Duration,
    /// What the page that was read last takes in memory, in bytes.
    page_bytes: usize,
}

/// What the calls of a scan that is under way share, whichever task they run on.
#[derive(Debug, Default)]
pub(crate) struct ScanMetrics {
    pub(crate) counts: Mutex<Counts>,
    /// The offset of the page that the scan cannot go on without, which therefore does not wait for memory.
    pub(crate) needed: watch::Sender<Option<u64>>,
}

/// The memory of one client's pages.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    bytes: Arc<Semaphore>,
    /// Held by the page without a scan that has got more than there was.
    turn: Arc<TurnMutex<()>>,
}

impl Memory {
    pub(crate) fn new(most: usize) -> Self {
        Memory {
            bytes: Arc::new(Semaphore::new(most)),
            turn: Arc::default(),
        }
    }

    /// A claim for the page at `offset` of the scan that `metrics` belongs to; for a single page without one. Waits until
    /// the page may take what a page of this scan is likely to take.
    pub(crate) async fn claim(&self, metrics: Option<Arc<ScanMetrics>>, offset: u64) -> Claim {
        let likely = |metrics: &Arc<ScanMetrics>| lock(&metrics.counts).page_bytes;
        let likely = metrics.as_ref().map_or(0, likely);
        let mut claim = Claim {
            memory: self.clone(),
            metrics,
            offset,
            held: None,
            exceeding: None,
        };
        claim.grow(likely).await;
        claim
    }
}

/// What one page may take. It is given back when the claim is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    memory: Memory,
    /// What the scan counts that the page belongs to.
    pub(crate) metrics: Option<Arc<ScanMetrics>>,
    offset: u64,
    held: Option<OwnedSemaphorePermit>,
    exceeding: Option<OwnedMutexGuard<()>>,
}

impl Claim {
    /// Waits until the page may take this much; for how long it has waited.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Duration {
        let held = self.held.as_ref();
        let held = held.map_or(0, OwnedSemaphorePermit::num_permits);
        let Ok(more @ 1..) = u32::try_from(bytes.saturating_sub(held)) else {
            return Duration::ZERO;
        };
        let came = clock::now();
        if self.exceeding.is_none() {
            let Memory { bytes, turn } = self.memory.clone();
            let (metrics, offset) = (&self.metrics, self.offset);
            let may_exceed = async {
                match metrics {
                    Some(metrics) => {
                        let mut needed = metrics.needed.subscribe();
                        // The sender lives as long as `metrics`, so waiting cannot fail.
                        let _ = needed.wait_for(|needed| *needed == Some(offset)).await;
                        None
                    }
                    None => Some(turn.lock_owned().await),
                }
            };
            tokio::select! {
                biased;
                permit = bytes.acquire_many_owned(more) => match (&mut self.held, permit) {
                    (Some(held), Ok(permit)) => held.merge(permit),
                    (held, permit) => *held = permit.ok(),
                },
                exceeding = may_exceed => self.exceeding = exceeding,
            }
        }
        clock::now().saturating_sub(came)
    }

    /// The page is complete, and takes this much.
    pub(crate) async fn complete(&mut self, bytes: usize) {
        if let Some(metrics) = &self.metrics {
            lock(&metrics.counts).page_bytes = bytes;
        }
        self.grow(bytes).await;
        if let Some(held) = &mut self.held {
            drop(held.split(held.num_permits().saturating_sub(bytes)));
        }
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
            _ = waiting => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn pages_ahead_wait_and_the_one_that_is_needed_goes_on() {
        let memory = Memory::new(100);
        let metrics = Arc::new(ScanMetrics::default());
        let mut pages = Vec::new();
        for offset in 0..4 {
            pages.push(memory.claim(Some(Arc::clone(&metrics)), offset).await);
        }
        metrics.needed.send_replace(Some(0));
        assert!(may(&mut pages[1], 50).await && may(&mut pages[2], 50).await);
        assert!(!may(&mut pages[3], 1).await && !may(&mut pages[1], 51).await);
        // However much it is.
        assert!(may(&mut pages[0], 500).await);
        pages[0].complete(500).await;
        assert!(!may(&mut pages[1], 51).await);
        // What it exceeded is not there for others when it is gone.
        pages.remove(0);
        assert!(!may(&mut pages[2], 1).await);
        metrics.needed.send_replace(Some(3));
        assert!(may(&mut pages[2], 300).await);
        // One that is complete keeps what it takes, and gives back the rest.
        pages[0].complete(20).await;
        assert!(may(&mut pages[1], 80).await && !may(&mut pages[1], 81).await);
    }

    #[tokio::test]
    async fn what_is_given_back_wakes_who_waits() {
        let memory = Memory::new(100);
        let mut first = memory.claim(None, 0).await;
        let mut second = memory.claim(None, 0).await;
        let mut third = memory.claim(None, 0).await;
        first.grow(100).await;
        // Of the pages without a scan, one at a time may exceed what there is.
        assert!(may(&mut second, 10).await);
        let waiting = tokio::spawn(async move {
            third.grow(40).await;
            third
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        drop(waiting.await.unwrap());
        drop(second);
        assert_eq!(memory.bytes.available_permits(), 100);
    }

    #[tokio::test]
    async fn scans_do_not_wait_for_each_other_for_ever() {
        let memory = Memory::new(100);
        let metrics = [(); 2].map(|()| Arc::new(ScanMetrics::default()));
        let mut idle = memory.claim(Some(Arc::clone(&metrics[0])), 0).await;
        let mut other = memory.claim(Some(Arc::clone(&metrics[1])), 0).await;
        idle.grow(100).await;
        idle.complete(100).await;
        metrics[1].needed.send_replace(Some(0));
        let mut single = memory.claim(None, 0).await;
        assert!(may(&mut other, 10).await && may(&mut single, 10).await);
    }
}
