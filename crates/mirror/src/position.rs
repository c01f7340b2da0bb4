//! Points in the history of a list (a bookmark, the number of a sync or a time), and the syncs that they denote.

use crate::bookmark::Bookmark;
use crate::options::age;
use crate::receipt::SyncRow;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use std::str::FromStr;
use std::time::SystemTime;
use talentdata_core::internal::utc;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, Result};

/// Returns the error for a copy that the changes in this mirror cannot bring up to date.
fn reload(why: String) -> Error {
    Error::new(ErrorKind::Mismatch, format!("{why} {RELOAD}"))
}

/// The advice to load a copy again.
const RELOAD: &str = "load the list as of its last sync instead of the earlier data, store the bookmark of that sync, and continue with the changes after it";

/// A sync of a list, by its bookmark, its number, or a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncPoint {
    /// The number of the sync; 0 is before all syncs.
    Sync(u64),
    /// The bookmark of the sync.
    Bookmark(Bookmark),
    /// The last sync that ended by this time, in UTC to the microsecond, for example `2026-11-20T06:00:00.000000Z`.
    Time(String),
}

impl FromStr for SyncPoint {
    type Err = Error;

    /// Reads a bookmark, the number of a sync, or a time. A time is in the format of RFC 3339, a date, the word
    /// `yesterday`, or an age, for example `1d`, `12h` or `30m`. A date and `yesterday` mean the beginning of that day.
    /// A time without an offset is in UTC.
    fn from_str(text: &str) -> Result<Self> {
        SyncPoint::at(text, SystemTime::now())
    }
}

impl SyncPoint {
    /// Reads a point. An age is relative to `now`.
    fn at(text: &str, now: SystemTime) -> Result<Self> {
        if let Ok(number) = text.parse() {
            return Ok(SyncPoint::Sync(number));
        }
        if let Some(bookmark) = Bookmark::parse(text) {
            return Ok(SyncPoint::Bookmark(bookmark));
        }
        let time = moment(text, now).ok_or_else(|| {
            Error::invalid(format!(
                "{text:?} is neither a bookmark such as 9c41d0-51d2a7-5f2a03b8c6e1:17, nor the number of a sync, nor a \
                 time such as 2026-11-20T06:00:00Z, 2026-11-20, yesterday, or 1d (a day ago); without an offset, times are \
                 in UTC"
            ))
        })?;
        Ok(SyncPoint::Time(utc(time.into())))
    }
}

/// Reads a time.
fn moment(text: &str, now: SystemTime) -> Option<DateTime<Utc>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.into());
    }
    let now = DateTime::<Utc>::from(now);
    if let Ok(age) = age("since", text) {
        return now.checked_sub_signed(TimeDelta::from_std(age).ok()?);
    }
    let day = if text == "yesterday" {
        now.date_naive().pred_opt()
    } else {
        NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()
    };
    let time = match day {
        Some(day) => Some(day.and_time(NaiveTime::MIN)),
        None => NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").ok(),
    };
    time.map(|time| time.and_utc())
}

/// The kept history of a list in a mirror.
pub(crate) struct History {
    pub(crate) list: ListName,
    /// The kept syncs, oldest first.
    pub(crate) syncs: Vec<SyncRow>,
    pub(crate) last: SyncRow,
    /// The last sync that a copy of the mirror has, too; `None` if the file was never copied or replaced.
    pub(crate) fork: Option<i64>,
}

impl History {
    /// Returns the sync after which all changes are kept; 0 if no history was removed.
    pub(crate) fn before_changes(&self) -> i64 {
        SyncRow::before_changes(&self.syncs)
    }

    fn find(&self, number: i64) -> Option<&SyncRow> {
        self.syncs.iter().find(|row| row.number() == number)
    }

    /// Returns the first sync of the list, or the first one after the list was forgotten.
    fn begun(&self) -> i64 {
        self.syncs.first().map_or(1, |row| row.begun)
    }

    /// Returns the number of the sync after which changes are requested in the argument `name`.
    ///
    /// # Errors
    /// `Mismatch` if the sync is of another history, or not all changes after it are kept; `InvalidArgument` if there
    /// is no such sync yet.
    pub(crate) fn since(&self, name: &str, at: &SyncPoint) -> Result<i64> {
        let since = match at {
            SyncPoint::Sync(0) => 0,
            SyncPoint::Sync(number) => self.plain(name, number.cast_signed())?,
            SyncPoint::Bookmark(bookmark) => self.marked(name, bookmark)?,
            SyncPoint::Time(time) => self.timed(name, time)?,
        };
        let (list, first) = (self.list, self.before_changes());
        if since < first {
            return Err(reload(format!(
                "{name}: not all changes of {list} after sync {since} are kept, only those after sync {first};"
            )));
        }
        Ok(since)
    }

    /// Checks the number of a sync. In a copy, or in a file that replaced another one, any number is ambiguous: it may
    /// have been stored while another file was there.
    fn plain(&self, name: &str, number: i64) -> Result<i64> {
        let (list, last) = (self.list, self.last.number());
        let begun = self.begun();
        if number > last || number < 0 {
            return Err(Error::invalid(format!(
                "{name}: there is no sync {number} of {list} yet, the last one is sync {last}; give the bookmark that you stored, or 0 for all changes, and if the mirror was restored from an earlier copy, {RELOAD}"
            )));
        }
        if number < begun {
            return Err(reload(format!(
                "{name}: sync {number} was before {list} was forgotten and synced again, from sync {begun} on;"
            )));
        }
        if self.fork.is_some() {
            return Err(reload(format!(
                "{name}: two syncs of {list} may have the number {number}, because the mirror is a copy or was restored from one; give the bookmark of the sync instead of its number, or"
            )));
        }
        Ok(number)
    }

    /// Returns the number of the last sync that ended by a time, with all earlier syncs ended by then as well.
    fn timed(&self, name: &str, time: &str) -> Result<i64> {
        let (list, syncs) = (self.list, &self.syncs);
        let before = syncs.iter().take_while(|row| *row.receipt.ended <= *time);
        let before = before.last().map_or(0, SyncRow::number);
        // The exact end time of a sync denotes that sync, even if the clock was set back later.
        if let Some(same) = syncs.iter().find(|row| row.receipt.ended == *time) {
            return Ok(before.min(same.number()));
        }
        let is_left = self.fork == Some(before) && before < self.last.number();
        let is_forgotten = before == 0 && self.begun() > 1;
        if is_left || is_forgotten {
            return Err(reload(format!(
                "{name}: the changes of {list} by {time} are not in this mirror, which was restored from an earlier copy or created again after that time;"
            )));
        }
        Ok(before)
    }

    /// Checks that a bookmark is of this history, and returns the number of its sync. A bookmark of a sync that is no
    /// longer kept passes, because it cannot be checked.
    fn marked(&self, name: &str, bookmark: &Bookmark) -> Result<i64> {
        let (list, number) = (self.list, bookmark.number.cast_signed());
        let known = &self.last.bookmark;
        let why = if bookmark.mirror != known.mirror {
            "is of another mirror; read the mirror that it came from, or".to_owned()
        } else if bookmark.epoch != known.epoch && number < self.begun() {
            format!("is from before {list} was forgotten and synced again, or is of another list;")
        } else if bookmark.epoch != known.epoch {
            format!(
                "is not of {list} in this mirror: it is of another list, or the mirror is a copy or was restored from one;"
            )
        } else if bookmark.number > known.number {
            format!(
                "is of a later sync than {}, the last one of {list}: the mirror is a copy or was restored from an earlier copy;",
                known.number
            )
        } else if self
            .find(number)
            .is_some_and(|row| row.bookmark != *bookmark)
        {
            format!(
                "is of another sync {number} than that of {list} here: the mirror was restored from an earlier copy, or is a \
                 copy that continued elsewhere;"
            )
        } else {
            return Ok(number);
        };
        Err(reload(format!("{name}: the bookmark {bookmark} {why}")))
    }

    /// Returns the sync whose state of the list is requested.
    ///
    /// # Errors
    /// `InvalidArgument` if the sync does not exist, or if the time is ambiguous; `Mismatch` if the sync is of another
    /// history.
    pub(crate) fn as_of(&self, at: &SyncPoint) -> Result<&SyncRow> {
        let found = match at {
            SyncPoint::Sync(number) => self.find(number.cast_signed()),
            SyncPoint::Bookmark(bookmark) => self.find(self.marked("as_of", bookmark)?),
            SyncPoint::Time(time) => self.by_time(time)?,
        };
        found.ok_or_else(|| {
            let (list, last) = (self.list, &self.last);
            let about = |row: &SyncRow| format!("sync {} ({})", row.number(), row.receipt.ended);
            let is_new = matches!(at, SyncPoint::Sync(number) if *number > last.receipt.generation);
            Error::invalid(if is_new {
                let last = about(last);
                format!("as_of: there is no such sync of {list} yet; the last one is {last}; without as_of you get the current list")
            } else {
                let first = about(self.syncs.first().unwrap_or(last));
                format!("as_of: {list} is not kept for that time; the earliest state that can be read is that of {first}")
            })
        })
    }

    /// Returns the last sync that ended by a time, or the one that ended at exactly that time.
    fn by_time(&self, time: &str) -> Result<Option<&SyncRow>> {
        let mut same = self.syncs.iter().filter(|row| row.receipt.ended == time);
        if let (Some(row), None) = (same.next(), same.next()) {
            return Ok(Some(row));
        }
        let before = self
            .syncs
            .iter()
            .take_while(|row| *row.receipt.ended <= *time)
            .last();
        let latest = self.syncs.iter().rfind(|row| *row.receipt.ended <= *time);
        let [from, to] = [before, latest].map(|row| row.map(SyncRow::number));
        if from != to {
            let list = self.list;
            return Err(Error::invalid(format!(
                "as_of: the clock was set back between syncs of {list}, so the time may mean any sync from {} to {}; give the bookmark or the number of one",
                from.unwrap_or(1),
                to.unwrap_or(1)
            )));
        }
        Ok(latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_a_word_and_an_age_are_times_in_utc() {
        let now = DateTime::parse_from_rfc3339("2026-03-01T05:00:00+09:00").unwrap();
        for (text, time) in [
            ("2026-11-20", "2026-11-20T00:00:00.000000Z"),
            ("2026-11-20T06:00:00", "2026-11-20T06:00:00.000000Z"),
            ("2026-11-20T06:00:00.25", "2026-11-20T06:00:00.250000Z"),
            ("yesterday", "2026-02-27T00:00:00.000000Z"),
            ("1d", "2026-02-27T20:00:00.000000Z"),
            ("90m", "2026-02-28T18:30:00.000000Z"),
        ] {
            let point = SyncPoint::at(text, now.into()).unwrap();
            assert_eq!(point, SyncPoint::Time(time.into()), "{text}");
        }
    }

    #[test]
    fn a_point_is_a_number_a_bookmark_or_a_time_with_its_offset() {
        for (text, time) in [
            ("2026-11-20T06:00:00Z", "2026-11-20T06:00:00.000000Z"),
            ("2026-11-20t06:00:00.5z", "2026-11-20T06:00:00.500000Z"),
            ("2026-11-20T06:00:00+01:30", "2026-11-20T04:30:00.000000Z"),
        ] {
            assert_eq!(
                text.parse::<SyncPoint>().unwrap(),
                SyncPoint::Time(time.into()),
                "{text}"
            );
        }
        assert_eq!("17".parse::<SyncPoint>().unwrap(), SyncPoint::Sync(17));
        let bookmark = Bookmark::new(["9c41d07e", "51d2a7", "5f2a03b8c6e19d74"], 17);
        let text = "9c41d0-51d2a7-5f2a03b8c6e1:17";
        assert_eq!(bookmark.to_string(), text);
        assert_eq!(
            text.parse::<SyncPoint>().unwrap(),
            SyncPoint::Bookmark(bookmark)
        );
        let wrong = "noon,,-1,1w,-1d,99999999999d,2026-11,2026-02-30,Yesterday,2026-13-20T06:00:00Z,9c41d0-51d2a7-5f2a03b8c6e1,\
                     9c41d0-51d2a7-5f2a03b8c6e:17,9c41d0--5f2a03b8c6e1:17,9c41d0-51d2a7-5f2a03b8c6e1:-1";
        for wrong in wrong.split(',') {
            assert!(wrong.parse::<SyncPoint>().is_err(), "{wrong}");
        }
    }
}
