//! Reads a list and commits what has changed since the last sync.

use crate::commit::Staging;
use crate::file::{Claim, at};
use crate::receipt::{MaxDeletes, SyncReceipt};
use std::path::PathBuf;
use std::time::Duration;
use talentdata_columns::arrow::OnNew;
use talentdata_core::blocking::{Client as BlockingClient, Job};
use talentdata_core::run::run;
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, Result, ScanOptions};

/// A sync to be run.
#[derive(Clone, Debug)]
pub struct Sync {
    /// The list.
    pub resource: Resource,
    /// The file of the mirror; it is made where there is none.
    pub path: PathBuf,
    /// How the list is read. Leave `resume`, `limit` and `table` as they are.
    pub scan: ScanOptions,
    /// Whether to scan again at once where records are missing from a list that changed during the scan.
    pub confirm: bool,
    /// What to do with fields that the mirror has no columns for, and with values that do not fit theirs. The first sync of a
    /// list decides the columns, and never fails for them.
    pub on_new: OnNew,
    /// How many deletes are too many to be believed.
    pub max_deletes: MaxDeletes,
    /// Changes and earlier versions that are older are removed; all are kept where this is none.
    pub keep: Option<Duration>,
}

/// Reads an age such as `90d`, `12h`, `30m` or `45s`.
///
/// # Errors
/// `InvalidArgument`.
pub fn age(text: &str) -> Result<Duration> {
    let units = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];
    let found = units.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(*unit)?.parse().ok()?;
        number.checked_mul(*seconds)
    });
    let message = "keep: an age is a whole number with d, h, m or s, such as 90d";
    let age = found.map(Duration::from_secs);
    age.ok_or_else(|| Error::invalid(message))
}

impl Sync {
    /// Of a list into a file, with everything else as usual.
    pub fn new(resource: Resource, path: impl Into<PathBuf>) -> Self {
        Sync {
            resource,
            path: path.into(),
            scan: ScanOptions::default(),
            confirm: false,
            on_new: OnNew::default(),
            max_deletes: MaxDeletes::default(),
            keep: None,
        }
    }

    /// Whether these settings go together, before anything is sent or written.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the setting.
    pub fn check(&self) -> Result<()> {
        if self.scan.limit.is_some() || self.scan.resume.is_some() {
            let message = "limit, resume: a sync reads the whole list; leave them out";
            return Err(Error::invalid(message));
        }
        if self.scan.unproven.is_some() {
            let message = "unproven: a sync keeps all records that came, and its receipt says whether completeness is proven; leave it out";
            return Err(Error::invalid(message));
        }
        self.scan.arguments.check(self.resource.shape().operation)
    }

    /// A job for callers without an async runtime; each run of it is a sync of its own. Nothing is sent or written yet.
    ///
    /// # Errors
    /// As [`check`](Self::check); `Closed` when the client was closed.
    pub fn job(self, client: &BlockingClient) -> Result<Job<SyncReceipt>> {
        self.check()?;
        let begin = Receipt {
            resource: self.resource.name().to_owned(),
            ..Receipt::default()
        };
        Job::new(client, "sync", &begin, move |client, stop, progress| {
            let sync = self.clone();
            async move {
                let note = |receipt: &Receipt| progress.note(receipt);
                let finished = sync.run(&client, stop.stopped(), note).await?;
                progress.note(&finished.scan);
                Ok(finished)
            }
        })
    }

    /// Reads the list to its end and commits what has changed, or stops when `stop` completes.
    ///
    /// `progress` is called after each page. Until the commit, and after any error, the mirror is as it was; dropping the
    /// future is like killing the process, and harmless. A sync whose scan is not proven complete is committed too: its
    /// receipt says so ([`SyncReceipt::shortfall`]), and it deletes nothing. The file has a thread of its own; a commit that
    /// has begun is finished.
    ///
    /// # Errors
    /// Those of the scan; `Io` with the path, also when another sync is writing to the mirror, or the file is something
    /// else; `InvalidArgument` when the mirror is of another service or client, or the list was read with other
    /// parameters; `Schema` for a new field or another type where that is to fail; `Cancelled` when stopped.
    pub async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        mut progress: impl FnMut(&Receipt),
    ) -> Result<SyncReceipt> {
        self.check()?;
        let claim = Claim::acquire(&self.path)?;
        let (mut stop, mut confirms) = (std::pin::pin!(stop), None);
        loop {
            let staging = Staging::begin(&claim, self, client.config()).map_err(at(&self.path));
            let scan = |_| client.resource(self.resource).scan(self.scan.clone());
            match run(|| staging, None, scan, stop.as_mut(), &mut progress).await {
                Ok(first) if self.confirm && confirms.is_none() && first.is_to_be_confirmed() => {
                    confirms = Some(Box::new(first));
                }
                Ok(mut receipt) => {
                    receipt.confirms = confirms;
                    return Ok(receipt);
                }
                Err(error) => {
                    claim.abandon();
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("90d").unwrap().as_secs(), 90 * 86_400);
        assert_eq!(age("12h").unwrap().as_secs(), 12 * 3600);
        for wrong in ["90", "d", "-1d", "1.5h", "90 d", "99999999999999999999d"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
