//! The memory of a client's pages: one limit for all of them, and the pages that may exceed it.
//!
//! A page claims memory before it is requested, and releases it when its records are passed on. Pages that are fetched
//! ahead wait for memory at a semaphore. Two kinds of page do not wait, so that every reader makes progress: the page
//! that its scan needs next, and one page at a time that belongs to no scan.

use super::stats::ScanCalls;
use crate::clock;
use crate::process::lock;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex as TurnMutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// Limits the memory that the pages of a client may take together, in bytes. A single page may be as large.
pub(crate) const PAGE_MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// The memory of one client's pages.
#[derive(Clone, Debug)]
pub(crate) struct PageMemory {
    bytes: Arc<Semaphore>,
    /// Held by the one page without a scan that may exceed the limit.
    turn: Arc<TurnMutex<()>>,
}

impl PageMemory {
    pub(crate) fn new(most: usize) -> Self {
        PageMemory {
            bytes: Arc::new(Semaphore::new(most)),
            turn: Arc::default(),
        }
    }

    /// Claims memory for the page at `offset` of a scan, or for a single page if `scan` is `None`. Waits until there is
    /// room for a page as large as the last one of this scan.
    pub(crate) async fn claim(&self, scan: Option<Arc<ScanCalls>>, offset: u64) -> MemoryClaim {
        let likely = |scan: &Arc<ScanCalls>| lock(&scan.stats).page_bytes;
        let likely = scan.as_ref().map_or(0, likely);
        let mut claim = MemoryClaim {
            memory: self.clone(),
            scan,
            offset,
            held: None,
            overdraft: None,
        };
        claim.grow(likely).await;
        claim
    }
}

/// The memory that one page may take. Dropping the claim releases it.
#[derive(Debug)]
pub(crate) struct MemoryClaim {
    memory: PageMemory,
    /// The calls of the scan that the page belongs to.
    pub(crate) scan: Option<Arc<ScanCalls>>,
    offset: u64,
    held: Option<OwnedSemaphorePermit>,
    overdraft: Option<OwnedMutexGuard<()>>,
}

impl MemoryClaim {
    /// Waits until the page may take this much memory in total, and returns the time that it waited.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Duration {
        let held = self.held.as_ref();
        let held = held.map_or(0, OwnedSemaphorePermit::num_permits);
        let Ok(more @ 1..) = u32::try_from(bytes.saturating_sub(held)) else {
            return Duration::ZERO;
        };
        let began = clock::now();
        if self.overdraft.is_none() {
            let PageMemory { bytes, turn } = self.memory.clone();
            let (scan, offset) = (&self.scan, self.offset);
            let may_exceed = async {
                match scan {
                    Some(scan) => {
                        let mut needed = scan.needed.subscribe();
                        // The sender lives as long as `scan`, so waiting cannot fail.
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
                overdraft = may_exceed => self.overdraft = overdraft,
            }
        }
        clock::now().saturating_sub(began)
    }

    /// Notes that the page is complete and takes this much memory.
    pub(crate) async fn complete(&mut self, bytes: usize) {
        if let Some(scan) = &self.scan {
            lock(&scan.stats).page_bytes = bytes;
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

    /// Returns whether a claim can grow to this size without waiting.
    async fn may(claim: &mut MemoryClaim, bytes: usize) -> bool {
        let waiting = std::pin::pin!(claim.grow(bytes));
        // Polled once, which is enough if it need not wait.
        tokio::select! {
            biased;
            _ = waiting => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn pages_ahead_wait_and_the_page_that_is_needed_does_not() {
        let memory = PageMemory::new(100);
        let scan = Arc::new(ScanCalls::default());
        let mut pages = Vec::new();
        for offset in 0..4 {
            pages.push(memory.claim(Some(Arc::clone(&scan)), offset).await);
        }
        scan.needed.send_replace(Some(0));
        assert!(may(&mut pages[1], 50).await && may(&mut pages[2], 50).await);
        assert!(!may(&mut pages[3], 1).await && !may(&mut pages[1], 51).await);
        // The amount does not matter.
        assert!(may(&mut pages[0], 500).await);
        pages[0].complete(500).await;
        assert!(!may(&mut pages[1], 51).await);
        // The memory beyond the limit is not available to others afterwards.
        pages.remove(0);
        assert!(!may(&mut pages[2], 1).await);
        scan.needed.send_replace(Some(3));
        assert!(may(&mut pages[2], 300).await);
        // A complete page keeps the memory that it takes, and releases the rest.
        pages[0].complete(20).await;
        assert!(may(&mut pages[1], 80).await && !may(&mut pages[1], 81).await);
    }

    #[tokio::test]
    async fn released_memory_wakes_a_page_that_waits() {
        let memory = PageMemory::new(100);
        let mut first = memory.claim(None, 0).await;
        let mut second = memory.claim(None, 0).await;
        let mut third = memory.claim(None, 0).await;
        first.grow(100).await;
        // One page at a time without a scan may exceed the limit.
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
    async fn scans_do_not_wait_for_each_other_forever() {
        let memory = PageMemory::new(100);
        let scan = [(); 2].map(|()| Arc::new(ScanCalls::default()));
        let mut idle = memory.claim(Some(Arc::clone(&scan[0])), 0).await;
        let mut other = memory.claim(Some(Arc::clone(&scan[1])), 0).await;
        idle.grow(100).await;
        idle.complete(100).await;
        scan[1].needed.send_replace(Some(0));
        let mut single = memory.claim(None, 0).await;
        assert!(may(&mut other, 10).await && may(&mut single, 10).await);
    }
}
