//! Matches the members of a JSON object with columns, in the same way for a record and for an object within one.

use super::schema::{ABSENT, Column, Empty};
use serde_json::Value;
use talentdata_core::json;

/// An object's members, and which of them the columns stand for.
pub(crate) struct Object<'a> {
    /// Raw names and raw values, as they came.
    members: Vec<(&'a str, &'a str)>,
    /// For each column its member; of a name that occurs twice, the last.
    found: Vec<Option<usize>>,
    /// Members that no column stands for alone: unknown names, and names that occur twice.
    others: Vec<usize>,
    /// Whether the members come in the order of the columns, without white space around them.
    is_plain: bool,
}

/// What the columns do not give back of an object.
#[derive(Default)]
pub(crate) struct Rest<'c> {
    noted: Vec<usize>,
    /// Columns without a member although an empty cell would mean null.
    absent: Vec<&'c str>,
}

impl<'a> Object<'a> {
    pub(crate) fn new(columns: &[Column], text: &'a str) -> Self {
        let members = json::members(text);
        let mut object = Object {
            found: vec![None; columns.len()],
            others: Vec::new(),
            is_plain: true,
            members,
        };
        // The two braces; then of each member two quotes, a colon, and a comma before all but the first.
        let (mut next, mut length) = (0, 2 + object.members.len().saturating_sub(1));
        for (member, (name, value)) in object.members.iter().enumerate() {
            length += name.len() + value.len() + 3;
            let Some(column) = position(columns, next, name) else {
                object.others.push(member);
                continue;
            };
            object.is_plain &= column >= next;
            next = column + 1;
            if let Some(earlier) = object.found[column].replace(member) {
                object.others.extend([earlier, member]);
            }
        }
        object.others.sort_unstable();
        object.others.dedup();
        object.is_plain &= length == text.len();
        object
    }

    /// The value of a column's member, which may be null.
    pub(crate) fn value(&self, column: usize) -> Option<&'a str> {
        self.found[column].map(|member| self.members[member].1)
    }

    /// The members that no column stands for alone, by raw name and raw value.
    pub(crate) fn others(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.others.iter().map(|member| self.members[*member])
    }

    /// Hands each column its value, none where that is null, to be held; `hold` returns whether the column gives it back.
    pub(crate) fn hold<'c>(
        &self,
        columns: &'c [Column],
        mut hold: impl FnMut(usize, Option<&'a str>) -> bool,
    ) -> Rest<'c> {
        let mut rest = Rest {
            noted: self.others.clone(),
            absent: Vec::new(),
        };
        for (at, column) in columns.iter().enumerate() {
            let value = self.value(at).filter(|value| *value != "null");
            let held = hold(at, value) && (value.is_some() || column.empty == Empty::Null);
            match self.found[at] {
                Some(member) if !held && self.others.binary_search(&member).is_err() => {
                    rest.noted.push(member);
                }
                None if column.empty == Empty::Null => rest.absent.push(&column.name),
                _ => {}
            }
        }
        rest
    }

    /// Whether the columns give back the object as it came.
    pub(crate) fn is_whole(&self, rest: &Rest<'_>) -> bool {
        self.is_plain && rest.noted.is_empty() && rest.absent.is_empty()
    }

    /// The text of `_extra`; none where the columns give back every member.
    pub(crate) fn extra(&self, rest: &Rest<'_>) -> Option<String> {
        let members = rest.noted.iter().map(|member| self.members[*member]);
        let mut parts: Vec<String> = members
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        // A field that has the name of the list must not be taken for it.
        let first = rest.noted.first().map(|member| self.members[*member].0);
        if !rest.absent.is_empty() || first.is_some_and(|name| json::is_named(name, ABSENT)) {
            let absent = Value::from(rest.absent.clone());
            parts.insert(0, format!("\"{ABSENT}\":{absent}"));
        }
        (!parts.is_empty()).then(|| format!("{{{}}}", parts.join(",")))
    }
}

/// Which column a member belongs to; `next` is the most likely one, and those behind it come first.
fn position(columns: &[Column], next: usize, raw_name: &str) -> Option<usize> {
    let name = json::text(raw_name)?;
    let (before, behind) = columns.split_at(next);
    let within = |columns: &[Column]| columns.iter().position(|column| column.name == name);
    within(behind)
        .map(|at| next + at)
        .or_else(|| within(before))
}
