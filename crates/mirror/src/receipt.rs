//! The receipt of a sync, its row in the mirror, and its limit on deletes.

use crate::bookmark::Bookmark;
use crate::digest::Hash;
use crate::file::{MirrorResult, damaged};
use crate::mark::ListState;
use crate::sql::{run, sql};
use rusqlite::{Connection, named_params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use talentdata_columns::arrow::TableSchema;
use talentdata_core::scan::{Basis, Completeness, Receipt};
use talentdata_core::{Error, ErrorKind};

/// The limit on deletes in one sync. If a sync finds more, it reports none of them.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use talentdata_mirror::MaxDeletes;
///
/// assert_eq!("500".parse::<MaxDeletes>()?, MaxDeletes::Records(500));
/// assert_eq!("25%".parse::<MaxDeletes>()?, MaxDeletes::Share(0.25));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MaxDeletes {
    /// A fifth of the records that the mirror has, rounded up; at least two.
    #[default]
    Usual,
    /// A share of the records that the mirror has, from 0 to 1.
    Share(f64),
    /// A number of records.
    Records(u64),
}

impl MaxDeletes {
    pub(crate) fn allows(self, deletes: u64, records: u64) -> bool {
        match self {
            Self::Usual => deletes <= records.div_ceil(5).max(2),
            Self::Share(share) => deletes as f64 <= share * records as f64,
            Self::Records(max) => deletes <= max,
        }
    }
}

impl FromStr for MaxDeletes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let message = "max_deletes: must be a number of records, such as 500, or a share of them, such as 25%";
        let share = text.strip_suffix('%').and_then(|text| text.parse().ok());
        match (share, text.parse()) {
            (Some(share), _) if (0.0..=100.0).contains(&share) => Ok(Self::Share(share / 100.0)),
            (None, Ok(records)) => Ok(Self::Records(records)),
            _ => Err(Error::invalid(message)),
        }
    }
}

/// The numbers of changes of each kind that a sync found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChangeCounts {
    /// New records.
    pub insert: u64,
    /// Records with other values than before.
    pub update: u64,
    /// Records that are proven to be gone.
    pub delete: u64,
    /// Records that were not delivered, but are not proven to be gone.
    pub missing: u64,
    /// Records that were missing and are in the list again.
    pub reappeared: u64,
    /// Records that were erased, by an erasure or because their delete was older than `keep_deleted`.
    pub erased: u64,
}

/// Deletes that were not reported because they exceed the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// The number of records that would have been deleted.
    pub deletes: u64,
    /// The number of records that the mirror had before.
    pub records: u64,
}

/// The numbers of items that a sync removed because of their age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// The syncs that can no longer be read.
    pub syncs: u64,
    /// The changes up to the first sync that can still be read.
    pub changes: u64,
    /// The earlier versions of records.
    pub versions: u64,
    /// The records whose delete was older than `keep_deleted`, with all their versions and changes.
    #[serde(default)]
    pub records: u64,
}

/// The receipt of a sync.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SyncReceipt {
    /// The number of the sync, counted from 1 for each list.
    pub generation: u64,
    /// The bookmark of the sync, for requesting the changes after it. It identifies this sync of this mirror, even if a
    /// copy of the file continues with other syncs of the same numbers.
    #[serde(default)]
    pub bookmark: String,
    /// The start of the scan by the clock of this machine: a time in UTC, in the format of RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub started: String,
    /// The end of the scan, in the same format.
    #[schemars(extend("format" = "date-time"))]
    pub ended: String,
    /// The changes since the previous sync.
    pub changes: ChangeCounts,
    /// The number of records that were not delivered but are not proven to be gone. The mirror keeps them.
    pub missing: u64,
    /// The withheld deletes; null if there are none.
    #[serde(default)]
    pub withheld: Option<Withheld>,
    /// The removed history, which was older than `keep` or `keep_deleted`; null if there is none.
    #[serde(default)]
    pub removed: Option<Removed>,
    /// The number of records of this sync that were erased later. The list as of this sync lacks them.
    #[serde(default)]
    pub erased_since: u64,
    /// The number of delivered records that were not stored, because they were erased and are kept out.
    #[serde(default)]
    pub kept_out: u64,
    /// True for a dry run, which commits nothing and has no bookmark.
    #[serde(default)]
    pub dry_run: bool,
    /// The previous sync, whose missing records this sync confirmed or found again; null if that was not necessary.
    #[serde(default)]
    pub confirms: Option<Box<SyncReceipt>>,
    /// The reason why the mirror may lack changes, in words; null if everything is proven.
    #[serde(default)]
    pub shortfall: Option<String>,
    /// The receipt of the scan.
    pub scan: Receipt,
}

impl SyncReceipt {
    /// Returns the reason why the mirror may lack changes; `None` if everything is proven.
    pub(crate) fn why(&self) -> Option<String> {
        let what = match self.withheld {
            Some(Withheld { deletes, records }) => format!(
                "{deletes} of the {records} records in the mirror would be deleted; if the list has really shrunk, set \
                 max_deletes to {deletes}, or to 100% to accept any number"
            ),
            None if self.scan.completeness == Completeness::Proven => return None,
            None => {
                let reasons = self.scan.doubts.iter().map(|doubt| doubt.reason());
                let reasons = reasons.collect::<Vec<_>>().join("; ");
                format!("completeness is not proven: {reasons}")
            }
        };
        let (number, missing) = (self.generation, self.missing);
        Some(if self.dry_run {
            format!(
                "{what}; this was a dry run: a sync would delete nothing, and keep the missing records ({missing})"
            )
        } else {
            format!(
                "{what}; sync {number} deleted nothing, and the mirror keeps the missing records ({missing})"
            )
        })
    }

    /// Returns the receipt if the mirror lacks no change.
    ///
    /// # Errors
    /// `Incomplete` with the [`shortfall`](Self::shortfall): the scan is not proven complete, or deletes were withheld.
    pub fn require_proven(self) -> Result<Self, Error> {
        match &self.shortfall {
            Some(why) => Err(Error::new(ErrorKind::Incomplete, why.clone())),
            None => Ok(self),
        }
    }

    /// Returns whether another scan may prove that the missing records are gone.
    pub(crate) fn is_to_be_confirmed(&self) -> bool {
        self.scan.basis == Some(Basis::Joined) && self.missing > 0 && self.withheld.is_none()
    }
}

/// The receipt of a file that was written from a mirror, with its point in the history of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RowsReceipt {
    /// The number of the sync whose records were written, or of the last sync whose changes were written.
    pub generation: u64,
    /// The bookmark of this sync. Store it with the file: the changes after it are the next ones to load.
    pub bookmark: String,
    /// The number of records of this sync that were erased later and therefore not written.
    pub erased_since: u64,
    /// The receipt of the scan of this sync, with the facts about the written file.
    #[serde(flatten)]
    pub export: Receipt,
}

/// The row of a sync in the file, where most fields are stored as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SyncRow {
    pub(crate) receipt: SyncReceipt,
    /// The digest of the records that the sync saw.
    pub(crate) digest: Hash,
    /// The digest of the records that were missing after the sync.
    pub(crate) missing: Hash,
    /// The digest of the changes that the sync reported.
    pub(crate) changes: Hash,
    #[serde(rename = "of")]
    pub(crate) source: ListSource,
    pub(crate) columns: TableSchema,
    /// The random id of the sync, which is stored next to the JSON.
    #[serde(skip)]
    pub(crate) id: String,
    /// The first sync of the list, or the first one after the list was forgotten.
    #[serde(default = "first")]
    pub(crate) begun: i64,
    #[serde(skip)]
    pub(crate) bookmark: Bookmark,
}

fn first() -> i64 {
    1
}

/// The origin of a list, which is stored as an array.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "[String; 2]")]
pub(crate) struct ListSource {
    /// The service and the client.
    pub(crate) service: String,
    /// The parameters of the list, as JSON.
    pub(crate) parameters: String,
}

impl From<ListSource> for [String; 2] {
    fn from(source: ListSource) -> Self {
        [source.service, source.parameters]
    }
}

impl SyncRow {
    /// Returns the number of the sync.
    pub(crate) fn number(&self) -> i64 {
        self.receipt.generation.cast_signed()
    }

    /// Writes the row of a new sync, and its number into the row of its list.
    pub(crate) fn insert(
        &self,
        connection: &Connection,
        list: &str,
        state: &ListState,
    ) -> MirrorResult<()> {
        let values = named_params! {
            ":list": list,
            ":sync": self.number(),
            ":id": self.id,
            ":about": serde_json::to_string(self)?,
            ":epoch": state.epoch,
            ":fork": state.fork,
        };
        run(connection, sql!("write_sync"), values)?;
        run(connection, sql!("reseal_list"), values)?;
        Ok(())
    }

    /// Returns the sync after which all changes are kept; 0 if no history was removed.
    pub(crate) fn before_changes(syncs: &[Self]) -> i64 {
        let first = syncs.first().filter(|first| first.number() > first.begun);
        first.map_or(0, Self::number)
    }

    /// Returns the kept syncs of a list, oldest first.
    ///
    /// # Errors
    /// An error for a damaged file, if the row of a sync was changed or is missing.
    pub(crate) fn all(connection: &Connection, list: &str) -> MirrorResult<Vec<Self>> {
        let mut statement = connection.prepare(sql!("syncs"))?;
        let (mut rows, mut all) = (statement.query(&[(":list", list)])?, Vec::<Self>::new());
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            if !row.get(1)? || all.last().is_some_and(|last| last.number() + 1 != number) {
                let what =
                    format!("the row of sync {number} of {list}, or one before it, was changed");
                return Err(damaged(what).into());
            }
            let [mirror, epoch]: [String; 2] = [row.get(3)?, row.get(4)?];
            let mut found = SyncRow {
                id: row.get(5)?,
                ..serde_json::from_str(row.get_ref(2)?.as_str()?)?
            };
            found.bookmark = Bookmark::new([&mirror, &epoch, &found.id], number);
            found.receipt.bookmark = found.bookmark.to_string();
            all.push(found);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletes_of_more_than_a_fifth_and_more_than_two_are_withheld() {
        let allows = |max: &str, deletes, records| match max {
            "" => MaxDeletes::default().allows(deletes, records),
            max => max.parse::<MaxDeletes>().unwrap().allows(deletes, records),
        };
        for (deletes, records) in [(0, 0), (1, 1), (2, 2), (2, 10), (3, 11), (3, 12), (11, 51)] {
            assert!(allows("", deletes, records), "{deletes} of {records}");
        }
        for (deletes, records) in [(3, 3), (3, 10), (10, 12), (11, 50), (3000, 3000)] {
            assert!(!allows("", deletes, records), "{deletes} of {records}");
        }
        assert!(allows("100%", 3000, 3000) && allows("12", 12, 12) && !allows("12", 13, 1000));
        for wrong in ["", "%", "101%", "-1", "1.5", "many", "NaN%"] {
            let error = wrong.parse::<MaxDeletes>().unwrap_err();
            assert!(error.message().contains("max_deletes"), "{error}");
        }
    }
}
