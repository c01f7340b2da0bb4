//! Matches the members of a JSON object with columns. A record and an object within it are matched in the same way.

use super::schema::{ABSENT, Column, EmptyMeans};
use serde_json::Value;
use talentdata_core::RawRecord;
use talentdata_core::internal::json;

/// The members of an object, and the columns that represent them.
pub(crate) struct Object<'a> {
    members: Vec<Member<'a>>,
    /// The index of the member of each column. If a name occurs twice, the last member wins.
    found: Vec<Option<usize>>,
    /// True if the members come in the order of the columns, without white space around them.
    is_plain: bool,
}

/// A member in its original text.
struct Member<'a> {
    raw_name: &'a str,
    raw_value: &'a str,
    /// True if a column represents only this member: its name is known and does not occur twice.
    has_column: bool,
}

/// The part of an object that its columns do not return.
#[derive(Default)]
pub(crate) struct Rest<'c> {
    noted: Vec<usize>,
    /// The names of columns without a member, although an empty cell would mean null.
    absent: Vec<&'c str>,
}

impl<'a> Object<'a> {
    /// Matches the members of a record, which were parsed when its page arrived.
    pub(crate) fn of_record(columns: &[Column], record: &'a RawRecord) -> Self {
        Self::new(columns, record.as_bytes().len(), |take| {
            record.each_member(take);
        })
    }

    /// Matches the members of an object within a record.
    pub(crate) fn of_value(columns: &[Column], text: &'a str) -> Self {
        Self::new(columns, text.len(), |take| json::each_member(text, take))
    }

    /// Matches the members that `each_member` passes on. `text_length` is the length of the whole object.
    fn new(
        columns: &[Column],
        text_length: usize,
        each_member: impl FnOnce(&mut dyn FnMut(&'a str, &'a str)),
    ) -> Self {
        let mut members: Vec<Member<'a>> = Vec::with_capacity(columns.len());
        let mut found = vec![None; columns.len()];
        // The two braces; then of each member two quotes, a colon, and a comma before all but the first.
        let (mut next, mut length, mut is_plain) = (0, 2, true);
        each_member(&mut |raw_name, raw_value| {
            length += raw_name.len() + raw_value.len() + 3 + usize::from(!members.is_empty());
            let column = position(columns, next, raw_name);
            let mut has_column = column.is_some();
            if let Some(column) = column {
                is_plain &= column >= next;
                next = column + 1;
                if let Some(earlier) = found[column].replace(members.len()) {
                    let earlier: &mut Member<'_> = &mut members[earlier];
                    (earlier.has_column, has_column) = (false, false);
                }
            }
            members.push(Member {
                raw_name,
                raw_value,
                has_column,
            });
        });
        Object {
            is_plain: is_plain && length == text_length,
            members,
            found,
        }
    }

    /// Returns the value of a column's member, which may be null.
    pub(crate) fn value(&self, column: usize) -> Option<&'a str> {
        self.found[column].map(|member| self.members[member].raw_value)
    }

    /// Returns whether a column has a member that is part of the rest.
    pub(crate) fn is_noted(&self, column: usize, rest: &Rest<'_>) -> bool {
        self.found[column].is_some_and(|member| rest.noted.contains(&member))
    }

    /// Returns the raw names and raw values of the members that have no column for themselves.
    pub(crate) fn others(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let others = self.members.iter().filter(|member| !member.has_column);
        others.map(|member| (member.raw_name, member.raw_value))
    }

    /// Calls `hold` with each column and its value, or `None` for null. `hold` stores the value and returns whether the
    /// column returns the same value.
    pub(crate) fn hold<'c>(
        &self,
        columns: &'c [Column],
        mut hold: impl FnMut(usize, Option<&'a str>) -> bool,
    ) -> Rest<'c> {
        let mut rest = Rest::default();
        let members = self.members.iter().enumerate();
        let others = members.filter(|(_, member)| !member.has_column);
        rest.noted.extend(others.map(|(at, _)| at));
        for (at, column) in columns.iter().enumerate() {
            let value = self.value(at).filter(|value| *value != "null");
            let held = hold(at, value) && (value.is_some() || column.empty == EmptyMeans::Null);
            match self.found[at] {
                Some(member) if !held && self.members[member].has_column => rest.noted.push(member),
                None if column.empty == EmptyMeans::Null => rest.absent.push(&column.name),
                _ => {}
            }
        }
        rest
    }

    /// Returns whether the columns return the object with the same text.
    pub(crate) fn is_whole(&self, rest: &Rest<'_>) -> bool {
        self.is_plain && rest.noted.is_empty() && rest.absent.is_empty()
    }

    /// Returns the text of `_extra`; `None` if the columns return every member.
    pub(crate) fn extra(&self, rest: &Rest<'_>) -> Option<String> {
        if rest.noted.is_empty() && rest.absent.is_empty() {
            return None;
        }
        let noted = rest.noted.iter().map(|member| &self.members[*member]);
        let mut parts = Vec::with_capacity(rest.noted.len() + 1);
        // A field that is named like the list of absent fields must not be mistaken for it.
        let first = noted.clone().next();
        if !rest.absent.is_empty() || first.is_some_and(|one| json::is_named(one.raw_name, ABSENT))
        {
            let absent = Value::from(rest.absent.clone());
            parts.push(format!("\"{ABSENT}\":{absent}"));
        }
        parts.extend(noted.map(|member| format!("\"{}\":{}", member.raw_name, member.raw_value)));
        Some(format!("{{{}}}", parts.join(",")))
    }
}

/// Returns the column of a member. `next` is the most likely column. The columns after it are searched before the
/// others.
fn position(columns: &[Column], next: usize, raw_name: &str) -> Option<usize> {
    let name = json::text(raw_name)?;
    let (before, behind) = columns.split_at(next);
    let within = |columns: &[Column]| columns.iter().position(|column| *column.name == *name);
    within(behind)
        .map(|at| next + at)
        .or_else(|| within(before))
}
