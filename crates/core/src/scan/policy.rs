//! Which fields of records a scan lets through. Nothing behind its pages sees the others.

use super::options::ScanOptions;
use crate::error::{Error, Result};
use crate::json;
use crate::page::Page;
use crate::record::RawRecord;
use serde_json::Value;
use std::collections::BTreeMap;
use talentdata_types::ListShape;

/// The step of a pointer that stands for every item of an array.
const ITEMS: &str = "*";

/// The steps of a pointer, their escapes resolved.
type Steps = Vec<String>;

/// The fields to keep, or those to drop.
#[derive(Debug, Default)]
pub(super) struct FieldPolicy {
    /// True if only these fields are kept, false if all but these are.
    keeps: bool,
    /// The fields as the caller has named them.
    names: Vec<String>,
    steps: Vec<Steps>,
    /// True for each of them that a record had.
    matched: Vec<bool>,
}

impl FieldPolicy {
    /// Creates the policy of a scan.
    ///
    /// # Errors
    /// `InvalidArgument` if both `fields` and `drop` are set, for what is neither a name nor a pointer, and for `id` in `drop`.
    pub(super) fn new(options: &ScanOptions) -> Result<Self> {
        let (keeps, option, names) = match (options.fields.is_empty(), options.drop.is_empty()) {
            (false, false) => {
                let message =
                    "fields, drop: set one of them: the fields to keep, or those to leave out";
                return Err(Error::invalid(message));
            }
            (false, true) => (true, "fields", &options.fields),
            (true, _) => (false, "drop", &options.drop),
        };
        let steps: Vec<Steps> = names
            .iter()
            .map(|name| steps(option, name))
            .collect::<Result<_>>()?;
        if !keeps
            && steps
                .iter()
                .any(|steps| steps.first().is_some_and(|name| name == "id"))
        {
            let message =
                "drop: id cannot be left out, because it tells records apart; leave it out of drop";
            return Err(Error::invalid(message));
        }
        Ok(FieldPolicy {
            keeps,
            names: names.clone(),
            matched: vec![false; steps.len()],
            steps,
        })
    }

    /// Returns whether all fields are kept.
    fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Checks that records still have all documented fields, which typed reading needs.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the field and the way out.
    pub(super) fn check_typed(&self, shape: &ListShape) -> Result<()> {
        let is_whole = |name: &str| {
            let mut own = self.of_field(name);
            if self.keeps {
                name == "id" || own.any(|steps| steps.len() == 1)
            } else {
                own.next().is_none()
            }
        };
        match shape.fields.iter().find(|field| !is_whole(field.name)) {
            Some(field) if !self.is_empty() => Err(Error::invalid(format!(
                "{}: the documented field {} is left out, and typed records need it; read raw records or columns",
                if self.keeps { "fields" } else { "drop" },
                field.name
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the documented fields of which nothing is kept.
    fn left_out(&self, shape: &ListShape) -> Vec<&'static str> {
        let is_left_out = |name: &&str| {
            let mut own = self.of_field(name);
            if self.keeps {
                *name != "id" && own.next().is_none()
            } else {
                own.any(|steps| steps.len() == 1)
            }
        };
        let names = shape.fields.iter().map(|field| field.name);
        names.filter(is_left_out).collect()
    }

    /// Returns the pointers to a field or into it.
    fn of_field<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Steps> {
        let is_own = move |steps: &&Steps| steps.first().is_some_and(|first| first == name);
        self.steps.iter().filter(is_own)
    }

    /// Returns the page with what is kept of its records. Each keeps its place.
    pub(super) fn apply(&mut self, mut page: Page) -> Result<Page> {
        let Some(offset) = page.records.first().map(RawRecord::offset) else {
            return Ok(page);
        };
        if self.is_empty() {
            return Ok(page);
        }
        let kept: Vec<String> = page
            .records
            .iter()
            .map(|record| self.kept(record.as_str()))
            .collect();
        page.records = RawRecord::parse_page(&kept, offset)?;
        Ok(page)
    }

    /// Returns the fields that no record had.
    pub(super) fn unmatched(&self) -> impl Iterator<Item = &str> {
        let names = self.names.iter().zip(&self.matched);
        names
            .filter(|(_, matched)| !**matched)
            .map(|(name, _)| name.as_str())
    }

    /// Returns what is kept of a record.
    fn kept(&mut self, record: &str) -> String {
        let all: Vec<usize> = (0..self.steps.len()).collect();
        let mut out = String::with_capacity(record.len());
        self.value(record, &all, 0, &mut out);
        out
    }

    /// Writes what is kept of a value that the first `depth` steps of these pointers lead to.
    fn value(&mut self, value: &str, pointers: &[usize], depth: usize, out: &mut String) {
        let (open, close) = match value.as_bytes().first() {
            Some(b'{') => ('{', '}'),
            Some(b'[') => ('[', ']'),
            _ => return out.push_str(value),
        };
        let parts = match open {
            '{' => json::members(value)
                .into_iter()
                .map(|(name, value)| (Some(name), value))
                .collect(),
            _ => json::items(value)
                .into_iter()
                .map(|item| (None, item))
                .collect::<Vec<_>>(),
        };
        out.push(open);
        let start = out.len();
        for (raw, part) in parts {
            let name = raw.map_or(Some(ITEMS.into()), json::text);
            let is_next = |at: &usize| {
                let step = self.steps.get(*at).and_then(|steps| steps.get(depth));
                step.is_some_and(|step| name.as_deref() == Some(step))
            };
            let next: Vec<usize> = pointers.iter().copied().filter(is_next).collect();
            let is_last = |at: &usize| {
                self.steps
                    .get(*at)
                    .is_some_and(|steps| steps.len() == depth + 1)
            };
            let (ends, further): (Vec<usize>, Vec<usize>) = next.iter().partition(|at| is_last(at));
            for at in &ends {
                if let Some(matched) = self.matched.get_mut(*at) {
                    *matched = true;
                }
            }
            let is_id = self.keeps && depth == 0 && name.as_deref() == Some("id");
            let is_whole = if self.keeps {
                is_id || !ends.is_empty()
            } else {
                ends.is_empty() && further.is_empty()
            };
            let is_container = part.starts_with(['{', '[']);
            // Of a value without parts, nothing is kept for the sake of its parts.
            if !is_whole
                && (self.keeps && (further.is_empty() || !is_container)
                    || !self.keeps && !ends.is_empty())
            {
                continue;
            }
            if out.len() > start {
                out.push(',');
            }
            if let Some(raw) = raw {
                out.extend(["\"", raw, "\":"]);
            }
            if is_whole {
                out.push_str(part);
            } else {
                self.value(part, &further, depth + 1, out);
            }
        }
        out.push(close);
    }
}

/// Reads the name of a field, or a JSON pointer.
fn steps(option: &str, name: &str) -> Result<Steps> {
    let Some(pointer) = name.strip_prefix('/') else {
        if name.is_empty() {
            return Err(Error::invalid(format!(
                "{option}: the name of a field must not be empty"
            )));
        }
        return Ok(vec![name.to_owned()]);
    };
    let step = |step: &str| {
        let plain = step.replace("~0", "").replace("~1", "");
        if step.is_empty() || plain.contains('~') {
            return Err(Error::invalid(format!(
                "{option}: {name:?} is not a JSON pointer; write it as /languages/*/level, with ~1 for / and ~0 for ~"
            )));
        }
        Ok(step.replace("~1", "/").replace("~0", "~"))
    };
    pointer.split('/').map(step).collect()
}

impl ScanOptions {
    /// Checks the arguments and the fields of a scan of a list of this shape, before anything is sent.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the parameter or option.
    pub fn check(&self, shape: &ListShape) -> Result<()> {
        FieldPolicy::new(self)?;
        self.arguments.check(shape.operation)
    }

    /// Returns the documented fields that are left out of records; none for options that [`check`](Self::check) refuses.
    pub fn left_out(&self, shape: &ListShape) -> Vec<&'static str> {
        FieldPolicy::new(self).map_or_else(|_| Vec::new(), |policy| policy.left_out(shape))
    }

    /// Returns what receipts, checkpoints and mirrors record of these options: the values of parameters, and the fields that are
    /// kept or dropped, under names that no parameter has.
    pub fn recorded(&self, shape: &ListShape) -> BTreeMap<String, Value> {
        let mut recorded = self.arguments.recorded(shape.operation);
        for (option, names) in [
            ("kept fields", &self.fields),
            ("dropped fields", &self.drop),
        ] {
            if !names.is_empty() {
                recorded.insert(option.to_owned(), names.clone().into());
            }
        }
        recorded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use talentdata_types::ListName;

    const RECORD: &str = r#"{"id":"1","name":"Ada", "a/b":2,"langs":[{"code":"en", "level":9},"x"],"\u0065mail":"a@b","score":0.50}"#;

    fn fields(names: &[&str]) -> ScanOptions {
        ScanOptions::default().with_fields(names.iter().copied())
    }

    fn drop(names: &[&str]) -> ScanOptions {
        ScanOptions::default().with_drop(names.iter().copied())
    }

    fn kept(options: &ScanOptions) -> String {
        FieldPolicy::new(options).unwrap().kept(RECORD)
    }

    #[test]
    fn a_dropped_field_is_gone_however_its_name_is_written() {
        let left = r#"{"id":"1","langs":[{"code":"en"},"x"],"score":0.50}"#;
        assert_eq!(
            kept(&drop(&["name", "/a~1b", "/langs/*/level", "email"])),
            left
        );
    }

    #[test]
    fn only_fields_that_are_named_and_the_id_are_kept() {
        let left = r#"{"id":"1","langs":[{"level":9}],"score":0.50}"#;
        assert_eq!(
            kept(&fields(&["score", "/langs/*/level", "/name/first"])),
            left
        );
    }

    #[test]
    fn fields_that_no_record_had_are_known() {
        let mut policy = FieldPolicy::new(&drop(&["name", "nmae", "/langs/*/x"])).unwrap();
        policy.kept(RECORD);
        assert!(policy.unmatched().eq(["nmae", "/langs/*/x"]));
    }

    #[test]
    fn wrong_fields_are_refused() {
        let both = fields(&["a"]).with_drop(["b"]);
        for wrong in [
            both,
            drop(&["id"]),
            drop(&["/id"]),
            drop(&["/a~2"]),
            drop(&["/"]),
            fields(&[""]),
        ] {
            let error = wrong.check(ListName::Contacts.shape()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong:?}");
        }
    }

    #[test]
    fn typed_reading_needs_documented_fields() {
        let typed = |options: &ScanOptions| {
            FieldPolicy::new(options)
                .unwrap()
                .check_typed(ListName::Contacts.shape())
        };
        assert!(typed(&ScanOptions::default()).is_ok());
        assert!(typed(&drop(&["new"])).is_ok());
        assert!(typed(&drop(&["firstName"])).is_err());
        assert!(typed(&fields(&["id"])).is_err());
    }
}
