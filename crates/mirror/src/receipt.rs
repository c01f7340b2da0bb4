//! What a sync has done: its receipt, its row in the mirror, and how many deletes it may report.

use crate::bookmark::Bookmark;
use crate::digest::Hash;
use crate::file::{MirrorResult, damaged};
use rusqlite::Connection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use talentdata_columns::arrow::TableSchema;
use talentdata_core::scan::{Basis, Completeness, Receipt};
use talentdata_core::{Error, ErrorKind};

/// How many deletes of one sync are reported; of more, none is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MaxDeletes {
    /// A fifth of the records that the mirror has, rounded up, and two in any case.
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

/// Deletes that were not reported, because they are too many to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// The records that would have been deleted.
    pub deletes: u64,
    /// The records that the mirror had before.
    pub records: u64,
}

/// History that a sync has removed because of its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// The syncs that can no longer be read.
    pub syncs: u64,
    /// The changes that were reported up to the first sync that can still be read.
    pub changes: u64,
    /// The earlier versions of records.
    pub versions: u64,
}

/// What a sync has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncReceipt {
    /// Its number: the syncs of a list are counted from 1.
    pub generation: u64,
    /// Its bookmark: give it when the changes after this sync are asked for. It is of this sync of this mirror alone, even if
    /// a copy of the file goes on with other syncs of the same numbers.
    #[serde(default)]
    pub bookmark: String,
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
    /// The history that was older than `keep` and was removed; null where none was.
    #[serde(default)]
    pub removed: Option<Removed>,
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
        let what = match self.withheld {
            Some(Withheld { deletes, records }) => format!(
                "{deletes} of the {records} records in the mirror would be deleted; if the list has really shrunk, sync with \
                 --max-deletes {deletes} (max_deletes), or 100% to accept any number"
            ),
            None if self.scan.completeness == Completeness::Proven => return None,
            None => {
                let reasons = self.scan.doubts.iter().map(|doubt| doubt.reason());
                let reasons = reasons.collect::<Vec<_>>().join("; ");
                format!("completeness is not proven: {reasons}")
            }
        };
        let (number, missing) = (self.generation, self.missing);
        Some(format!(
            "{what}; sync {number} deleted nothing, and the mirror keeps what is missing (records: {missing})"
        ))
    }

    /// The receipt, where the mirror lacks no change.
    ///
    /// # Errors
    /// `Incomplete` with the [`shortfall`](Self::shortfall): the scan is not proven complete, or deletes were withheld.
    pub fn require_proven(self) -> Result<Self, Error> {
        match &self.shortfall {
            Some(why) => Err(Error::new(ErrorKind::Incomplete, why.clone())),
            None => Ok(self),
        }
    }

    /// Whether the scan alone does not tell what became of the records that are missing, and another one may.
    pub(crate) fn is_to_be_confirmed(&self) -> bool {
        self.scan.basis == Some(Basis::Joined) && self.missing > 0 && self.withheld.is_none()
    }
}

/// What was written of a mirror: the receipt of a file, and where it stands in the history of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RowsReceipt {
    /// The number of the sync as of which the records are, or up to which the changes go.
    pub generation: u64,
    /// The bookmark of this sync, to be noted with what was written: the changes after it are the next ones to load.
    pub bookmark: String,
    /// The receipt of the scan of this sync, with what was written.
    #[serde(flatten)]
    pub export: Receipt,
}

/// What is known of a sync; its row in the file has it as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SyncRow {
    pub(crate) receipt: SyncReceipt,
    /// The digest of the records that it saw.
    pub(crate) digest: Hash,
    /// The digest of those that were missing then.
    pub(crate) missing: Hash,
    /// The digest of its changes.
    pub(crate) changes: Hash,
    /// The service and the client, and how the list is read.
    pub(crate) of: [String; 2],
    pub(crate) columns: TableSchema,
    /// The random id of the sync, which its row has beside the JSON.
    #[serde(skip)]
    pub(crate) id: String,
    /// The first sync of the list since it was begun, or forgotten and begun again.
    #[serde(default = "first")]
    pub(crate) begun: i64,
    #[serde(skip)]
    pub(crate) bookmark: Bookmark,
}

fn first() -> i64 {
    1
}

impl SyncRow {
    /// The number of the sync.
    pub(crate) fn number(&self) -> i64 {
        self.receipt.generation.cast_signed()
    }

    /// The sync after which all changes are kept: the first of these, or none has been removed yet.
    pub(crate) fn before_changes(syncs: &[Self]) -> i64 {
        let first = syncs.first().filter(|first| first.number() > first.begun);
        first.map_or(0, Self::number)
    }

    /// The syncs of a list that are kept, the oldest first.
    ///
    /// # Errors
    /// That the file is damaged, where one of them was changed or is lacking.
    pub(crate) fn all(connection: &Connection, list: &str) -> MirrorResult<Vec<Self>> {
        let sql = "SELECT number, sync.seal = seal(sync.list, number, sync.id, sync.about), sync.about, mirror.id, epoch, sync.id
            FROM sync JOIN list ON name = list JOIN mirror WHERE sync.list = ?1 ORDER BY number";
        let mut statement = connection.prepare(sql)?;
        let (mut rows, mut all) = (statement.query([list])?, Vec::<Self>::new());
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

/// What the digest of changes is made of, and where it is found.
pub(crate) const CHANGES: [&str; 2] = [
    "(sync, seq, op, change.key, change.last_seen, seen, record, text)",
    "FROM change LEFT JOIN record ON record.id = change.record WHERE change.list = ?1",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_fifth_and_more_than_two_are_withheld() {
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
