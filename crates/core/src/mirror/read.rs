//! Reads a mirror: the list now and as it was, and what has changed since. No lock is needed, and no service.

use super::changes::Changes;
use super::files::place;
use super::manifest::{Generation, ListEntry, Manifest, SchemaChange};
use super::manifest_file::{next_path, read_manifest};
use super::order::Order;
use super::records::Records;
use super::texts::{Table, Texts};
use crate::arrow::{Column, TableSchema};
use crate::error::{Error, ErrorKind, Result};
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use talentdata_types::Resource;

/// A mirror as the last sync has left it.
///
/// What syncs do after it was opened is not seen; open it again for that.
#[derive(Clone, Debug)]
pub struct Mirror {
    root: PathBuf,
    manifest: Manifest,
}

/// Which generation of a list is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// The one with this number.
    Generation(u64),
    /// The last one whose sync had ended by this time, in microseconds since 1970.
    Time(i64),
}

impl Mirror {
    /// Reads the manifest of the mirror in a directory.
    ///
    /// # Errors
    /// `Io`, when there is none, or one that this program cannot read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let root = path.as_ref();
        match read_manifest(root)? {
            Some(manifest) => Ok(Mirror {
                root: root.to_owned(),
                manifest,
            }),
            None => {
                let message = format!(
                    "{} is not a mirror: it has no manifest.json; sync a list into it first",
                    root.display()
                );
                Err(Error::new(ErrorKind::Io, message))
            }
        }
    }

    /// The lists that it has.
    pub fn resources(&self) -> Vec<Resource> {
        let names = self.manifest.lists.keys();
        names.filter_map(|name| name.parse().ok()).collect()
    }

    /// The generations of a list that are kept, the oldest first.
    ///
    /// # Errors
    /// `InvalidArgument`, when the mirror does not have the list.
    pub fn generations(&self, resource: Resource) -> Result<&[Generation]> {
        self.list(resource).map(|list| &list.generations[..])
    }

    /// The columns of `current.parquet` and of the changes, without those in front of the record's own.
    ///
    /// # Errors
    /// As [`generations`](Self::generations).
    pub fn schema(&self, resource: Resource) -> Result<&TableSchema> {
        self.list(resource).map(|list| &list.schema)
    }

    /// When fields were new, or had values that their columns cannot hold.
    ///
    /// # Errors
    /// As [`generations`](Self::generations).
    pub fn schema_changes(&self, resource: Resource) -> Result<&[SchemaChange]> {
        self.list(resource).map(|list| &list.schema_changes[..])
    }

    /// Where the Parquet file with the list as of the last sync is.
    ///
    /// # Errors
    /// As [`generations`](Self::generations).
    pub fn current_path(&self, resource: Resource) -> Result<PathBuf> {
        let (list, last) = self.last(resource)?;
        // A sync that was killed right behind its commit point has not renamed it.
        let next = place(&self.root, &next_path(resource.name(), last.generation));
        match next.is_file() {
            true => Ok(next),
            false => Ok(place(&self.root, &list.current.path)),
        }
    }

    /// The records of the list as of the last sync, missing ones included; unless another schema is given, their columns
    /// are those of `current.parquet`.
    ///
    /// # Errors
    /// As [`generations`](Self::generations); `Io`.
    pub fn current(&self, resource: Resource) -> Result<Records> {
        let (list, last) = self.last(resource)?;
        let order = Order::read(&self.root, &last.order_file)?;
        let mut schema = list.schema.clone();
        // A field that this sync has met late has its column from the next one on. `current.parquet` may be replaced
        // at any time; the changes have the same columns and stay.
        if let Some(changes) = &last.changes_file {
            let table = Table::open(place(&self.root, &changes.path))?;
            let written: HashSet<&str> = table.columns().collect();
            let is_written = |column: &Column| written.contains(column.name.as_str());
            schema.fields.retain(is_written);
        }
        let texts = Texts::new(&self.root, list.files());
        let records = Records::new(texts, resource, last.clone(), order, true);
        Ok(records.with_columns(schema))
    }

    /// What has changed after generation `since`, from the oldest change to the newest; 0 for all changes.
    ///
    /// # Errors
    /// As [`generations`](Self::generations); `InvalidArgument` when there is no such generation yet, and when
    /// changes after it are no longer kept.
    pub fn changes(&self, resource: Resource, since: u64) -> Result<Changes> {
        let (list, last) = self.last(resource)?;
        let refuse = |message| Err(Error::new(ErrorKind::InvalidArgument, message));
        if since > last.generation {
            let message = format!(
                "since: {since} is beyond the last generation of {resource}, which is {}",
                last.generation
            );
            return refuse(message);
        }
        let base = list.base.as_ref().map_or(0, |base| base.generation);
        if since < base {
            let message = format!(
                "since: the changes of {resource} up to generation {base} are no longer kept; load the list as of {base} or later, and then the changes since"
            );
            return refuse(message);
        }
        let wanted = list.generations.iter().filter(|one| one.generation > since);
        Ok(Changes::new(&self.root, resource, &list.schema, wanted))
    }

    /// The records of the list as a generation has read them.
    ///
    /// # Errors
    /// As [`generations`](Self::generations); `InvalidArgument` when there was no sync before that time, or none
    /// is kept; `Io`.
    pub fn as_of(&self, resource: Resource, at: AsOf) -> Result<Records> {
        let list = self.list(resource)?;
        let found = match at {
            AsOf::Generation(number) => {
                let mut all = list.generations.iter();
                all.find(|one| one.generation == number)
            }
            AsOf::Time(micros) => {
                let by = |one: &&Generation| {
                    crate::arrow::instant(&one.ended).is_some_and(|ended| ended <= micros)
                };
                list.generations.iter().rev().find(by)
            }
        };
        let Some(found) = found else {
            return Err(self.not_kept(resource, list, at));
        };
        let order = Order::read(&self.root, &found.order_file)?;
        let texts = Texts::new(&self.root, list.files());
        let generation = found.clone();
        Ok(Records::new(texts, resource, generation, order, false))
    }

    fn not_kept(&self, resource: Resource, list: &ListEntry, at: AsOf) -> Error {
        let kept = match (list.generations.first(), list.last()) {
            (Some(first), Some(last)) => format!(
                "{} (ended {}) to {} (ended {})",
                first.generation, first.ended, last.generation, last.ended
            ),
            _ => "none".into(),
        };
        let what = match at {
            AsOf::Generation(number) => format!("there is no generation {number} of {resource}"),
            AsOf::Time(_) => format!("no generation of {resource} had ended by then"),
        };
        let message = format!("as_of: {what}; kept are {kept}");
        Error::new(ErrorKind::InvalidArgument, message)
    }

    fn list(&self, resource: Resource) -> Result<&ListEntry> {
        let found = self.manifest.lists.get(resource.name());
        found.ok_or_else(|| {
            let names: Vec<&str> = self.manifest.lists.keys().map(String::as_str).collect();
            let names = match names.is_empty() {
                true => "none".into(),
                false => names.join(", "),
            };
            let message = format!(
                "resource: the mirror in {} does not have {resource}; it has {names}",
                self.root.display()
            );
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }

    fn last(&self, resource: Resource) -> Result<(&ListEntry, &Generation)> {
        let list = self.list(resource)?;
        let last = list.last().ok_or_else(|| {
            let message = "internal error; please report it (a list of a mirror has no generation)";
            Error::new(ErrorKind::Internal, message)
        })?;
        Ok((list, last))
    }
}

impl FromStr for AsOf {
    type Err = Error;

    /// A number is a generation, anything else a date-time of RFC 3339.
    fn from_str(text: &str) -> Result<Self> {
        if let Ok(number) = text.parse() {
            return Ok(AsOf::Generation(number));
        }
        let instant = crate::arrow::instant(text);
        instant.map(AsOf::Time).ok_or_else(|| {
            let message = format!(
                "as_of: {text:?} is neither a generation such as 17 nor a time such as 2026-11-20T06:00:00Z"
            );
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

impl fmt::Display for AsOf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AsOf::Generation(number) => write!(formatter, "{number}"),
            AsOf::Time(micros) => formatter.write_str(&super::changes::time_text(*micros)),
        }
    }
}
