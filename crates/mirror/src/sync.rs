//! Reads a list and commits what has changed since the last sync.

use crate::commit::Plan;
use crate::file::{Claim, Fault, stopped};
use crate::staging::Staging;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::pin::Pin;
use std::str::FromStr;
use std::time::{Duration, SystemTime};
use talentdata_core::scan::{Basis, Completeness, Doubt, Receipt};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind, Result, ScanOptions};

/// Up to so many deletes are never withheld, unless the caller says so.
const FEW: u64 = 10;
/// Nor are those of less than one record in so many.
const PART: u64 = 5;

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
    /// How many deletes are too many to be believed.
    pub max_deletes: MaxDeletes,
    /// Changes and earlier versions that are older are removed; all are kept where this is none.
    pub keep: Option<Duration>,
}

/// How many deletes of one sync are reported; of more, none is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MaxDeletes {
    /// A fifth of the records that the mirror has, and ten in any case.
    #[default]
    Usual,
    /// This part of the records that the mirror has, from 0 to 1.
    Share(f64),
    /// So many.
    Records(u64),
}

impl MaxDeletes {
    pub(crate) fn allows(self, deletes: u64, records: u64) -> bool {
        match self {
            Self::Usual => deletes <= FEW || deletes.saturating_mul(PART) <= records,
            Self::Share(share) => deletes as f64 <= share * records as f64,
            Self::Records(max) => deletes <= max,
        }
    }
}

impl FromStr for MaxDeletes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let share = text.strip_suffix('%').and_then(|text| text.parse().ok());
        match (share, text.parse()) {
            (Some(share), _) if (0.0..=100.0).contains(&share) => Ok(Self::Share(share / 100.0)),
            (None, Ok(records)) => Ok(Self::Records(records)),
            _ => {
                let message = format!(
                    "max_deletes: must be a number of records, such as 500, or a share of them, such as 25% (got {text:?})"
                );
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }
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
    found
        .map(Duration::from_secs)
        .ok_or_else(|| Error::new(ErrorKind::InvalidArgument, message))
}

/// How many changes of each kind a sync has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChangeCounts {
    /// Records that were not there.
    pub insert: u64,
    /// Records with other values than before.
    pub update: u64,
    /// Records that are proven to be gone.
    pub delete: u64,
    /// Records that were not delivered, without a proof that they are gone.
    pub missing: u64,
    /// Records that were missing, and are there again.
    pub reappeared: u64,
}

impl ChangeCounts {
    /// All changes together.
    pub(crate) fn total(&self) -> i64 {
        (self.insert + self.update + self.delete + self.missing + self.reappeared).cast_signed()
    }
}

/// Deletes that were not reported, because they are too many to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// The records that would have been deleted.
    pub deletes: u64,
    /// The records that the mirror had before.
    pub records: u64,
}

/// What a sync has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncReceipt {
    /// Its number: the syncs of a list are counted from 1.
    pub generation: u64,
    /// When its scan began: a time in UTC as in RFC 3339, by the clock of this machine.
    #[schemars(extend("format" = "date-time"))]
    pub started: String,
    /// When its scan had ended.
    #[schemars(extend("format" = "date-time"))]
    pub ended: String,
    /// Changes since the sync before.
    pub changes: ChangeCounts,
    /// Records that the mirror has although they were not delivered, because nothing proves that they are gone.
    pub missing: u64,
    /// The deletes that were withheld; null where none were.
    #[serde(default)]
    pub withheld: Option<Withheld>,
    /// The sync right before, whose missing records this one has confirmed or found again; null where there was no need.
    #[serde(default)]
    pub confirms: Option<Box<SyncReceipt>>,
    /// Why the mirror may lack changes, in words; null where all is proven.
    #[serde(default)]
    pub shortfall: Option<String>,
    /// How the scan went.
    pub scan: Receipt,
}

impl SyncReceipt {
    /// Why the mirror may lack changes.
    pub(crate) fn why(&self) -> Option<String> {
        let missing = match self.missing {
            1 => "1 record is missing, and stays in the mirror".to_owned(),
            count => format!("{count} records are missing, and stay in the mirror"),
        };
        if let Some(Withheld { deletes, records }) = self.withheld {
            return Some(format!(
                "{deletes} of the {records} records in the mirror would be deleted; sync {} deleted none of them: {missing}; \
                 if the list has really shrunk, sync with --max-deletes {deletes} (max_deletes), or 100% to accept any number",
                self.generation
            ));
        }
        if self.scan.completeness == Completeness::Proven {
            return None;
        }
        let reasons: Vec<&str> = self
            .scan
            .doubts
            .iter()
            .map(|doubt| Doubt::reason(*doubt))
            .collect();
        Some(format!(
            "completeness is not proven: {}; sync {} deleted nothing: {missing}",
            reasons.join("; "),
            self.generation
        ))
    }

    /// The receipt, where the mirror lacks no change.
    ///
    /// # Errors
    /// `Incomplete` with the [`shortfall`](Self::shortfall): the scan is not proven complete, or deletes were withheld.
    pub fn require_proven(self) -> Result<Self> {
        match &self.shortfall {
            Some(why) => Err(Error::new(ErrorKind::Incomplete, why.clone())),
            None => Ok(self),
        }
    }

    /// Whether the scan alone does not tell what became of the records that are missing, and another one may.
    fn is_to_be_confirmed(&self) -> bool {
        self.scan.basis == Some(Basis::Joined) && self.missing > 0 && self.withheld.is_none()
    }

    /// The JSON Schema of a receipt.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(SyncReceipt).to_value()
    }
}

impl Sync {
    /// Of a list into a file, with everything else as usual.
    pub fn new(resource: Resource, path: impl Into<PathBuf>) -> Self {
        Sync {
            resource,
            path: path.into(),
            scan: ScanOptions::default(),
            confirm: false,
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
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        self.scan.arguments.check(self.resource.shape().operation)
    }

    /// Reads the list to its end and commits what has changed, or stops when `stop` completes.
    ///
    /// `progress` is called after each page. Until the commit, and after any error, the mirror is as it was; dropping the
    /// future is like killing the process, and harmless. A sync whose scan is not proven complete is committed too: its
    /// receipt says so ([`SyncReceipt::shortfall`]), and it deletes nothing. Pages are stored by the calling task, while
    /// others are fetched; the commit has a thread of its own.
    ///
    /// # Errors
    /// Those of the scan; `Io` with the path, also when another sync is writing to the mirror, or the file is something
    /// else; `InvalidArgument` when the mirror is of another service or client, or the list was read with other
    /// parameters; `Cancelled` when stopped.
    pub async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        mut progress: impl FnMut(&Receipt),
    ) -> Result<SyncReceipt> {
        self.check()?;
        let claim = Claim::acquire(&self.path)?;
        let mut stop = std::pin::pin!(stop);
        match self
            .once(client, &claim, stop.as_mut(), &mut progress)
            .await
        {
            Ok(first) if self.confirm && first.is_to_be_confirmed() => {
                let second = self.once(client, &claim, stop, &mut progress).await?;
                Ok(SyncReceipt {
                    confirms: Some(Box::new(first)),
                    ..second
                })
            }
            Ok(receipt) => Ok(receipt),
            Err(error) => {
                claim.abandon();
                Err(error)
            }
        }
    }

    async fn once(
        &self,
        client: &Client,
        claim: &Claim,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        progress: &mut impl FnMut(&Receipt),
    ) -> Result<SyncReceipt> {
        let at = |fault: Fault| fault.at(&claim.path);
        let config = client.config();
        let operation = self.resource.shape().operation;
        let parameters = self.scan.arguments.recorded(operation);
        let parameters = serde_json::to_string(&parameters).unwrap_or_default();
        let of = [
            config.base_url().to_string(),
            config.client_id().unwrap_or("none").to_owned(),
        ];
        let mut staging = Staging::begin(claim, self.resource, of, parameters).map_err(at)?;
        let mut scan = client.resource(self.resource).scan(self.scan.clone());
        loop {
            let batch = tokio::select! {
                biased;
                () = &mut stop => return Err(stopped()),
                batch = scan.next_batch() => batch,
            };
            let Some(batch) = batch.transpose()? else {
                break;
            };
            // What came before it was delivered already, during the scan.
            staging.take(&batch.late, true).map_err(at)?;
            staging.take(&batch.records, false).map_err(at)?;
            progress(batch.receipt());
        }
        let plan = Plan {
            max_deletes: self.max_deletes,
            keep: self.keep,
            ended: SystemTime::now(),
        };
        let receipt = scan.receipt();
        let interrupt = staging.connection.get_interrupt_handle();
        let mut commit = tokio::task::spawn_blocking(move || staging.commit(receipt, &plan));
        let committed = tokio::select! {
            biased;
            committed = &mut commit => committed,
            () = &mut stop => {
                interrupt.interrupt();
                commit.await
            }
        };
        let broken = |_| {
            Error::new(
                ErrorKind::Internal,
                "internal error; please report it (a commit broke off)",
            )
        };
        committed.map_err(broken)?.map_err(at)
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

    #[test]
    fn more_than_a_fifth_and_more_than_ten_are_withheld() {
        let usual = MaxDeletes::default();
        for (deletes, records, allowed) in [
            (10, 10, true),
            (11, 54, false),
            (11, 55, true),
            (3000, 3000, false),
            (0, 0, true),
        ] {
            assert_eq!(
                usual.allows(deletes, records),
                allowed,
                "{deletes} of {records}"
            );
        }
        let all: MaxDeletes = "100%".parse().unwrap();
        assert!(all.allows(3000, 3000));
        let some: MaxDeletes = "12".parse().unwrap();
        assert!(some.allows(12, 12) && !some.allows(13, 1000));
        for wrong in ["", "%", "101%", "-1", "1.5", "many", "NaN%"] {
            let error = wrong.parse::<MaxDeletes>().unwrap_err();
            assert!(error.message().contains("max_deletes"), "{error}");
        }
    }
}
