//! Reads a list as it was at one instant: pass after pass, until two in a row agree.
//!
//! Whatever changes between two reads of the same record, or comes or goes between the passes, makes them
//! differ. Nothing is handed out before two agree; until then each pass is kept on disk.

use super::driver::Driver;
use super::position::Batch;
use super::receipt::Doubt;
use super::spool::Spool;
use crate::error::Result;
use siphasher::sip128::Hasher128;
use std::hash::Hasher;
use std::time::SystemTime;
use tokio::sync::mpsc::Sender;

/// How many passes are made at most before the list is said to change too often.
const MOST_PASSES: u32 = 5;

/// One pass over the whole list.
struct Pass {
    /// Of the delivered records and their order.
    digest: u128,
    records: u64,
    has_doubts: bool,
    spool: Spool,
}

impl Pass {
    async fn read(driver: &mut Driver) -> Result<Self> {
        let mut spool = Spool::new()?;
        let mut hasher = driver.identity_key.hasher();
        let mut records = 0;
        loop {
            let joined = driver.next_page().await?;
            for record in joined
                .fresh
                .iter()
                .filter_map(|index| joined.page.records.get(*index))
            {
                // Where one JSON object ends and the next begins needs no mark.
                hasher.write(record.as_bytes());
                records += 1;
            }
            spool.push(&joined.page, &joined.fresh)?;
            if joined.end {
                return Ok(Pass {
                    digest: hasher.finish128().as_u128(),
                    records,
                    has_doubts: !driver.evidence().doubts().is_empty(),
                    spool,
                });
            }
        }
    }

    /// Whether both have read the same list beyond doubt.
    fn agrees_with(&self, other: &Pass) -> bool {
        (self.digest, self.records) == (other.digest, other.records)
            && !self.has_doubts
            && !other.has_doubts
    }
}

/// Reads the list until two passes agree, and hands out the last.
pub(super) async fn read(driver: &mut Driver, batches: &Sender<Result<Batch>>) -> Result<()> {
    let mut pass = Pass::read(driver).await?;
    let mut instant = None;
    for _ in 1..MOST_PASSES {
        let between = SystemTime::now();
        driver.start_over();
        let next = Pass::read(driver).await?;
        let agrees = next.agrees_with(&pass);
        pass = next;
        if agrees {
            instant = Some(between);
            break;
        }
    }
    if instant.is_none() {
        driver.evidence().doubt(Doubt::Unsettled);
    }
    let mut replay = pass.spool.rewind()?;
    while let Some((page, fresh)) = replay.next(driver.records_key.as_deref())? {
        let batch = driver.deliver(page, fresh, 0);
        if batches.send(Ok(batch)).await.is_err() {
            return Ok(());
        }
    }
    driver.conclude(instant);
    Ok(())
}
