//! The text of a page, and where its records and their fields are: parsed once, shared by its records.

use super::schema;
use crate::error::Result;
use crate::json::{self, Fields, Item, Layout, Span, StructuralIndex};
use crate::record::RawRecord;
use crate::record::{Identity, IdentityKey};
use bytes::Bytes;
use memchr::memchr;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

/// A page's text with its records.
#[derive(Debug)]
pub(crate) struct PageText {
    text: Bytes,
    /// Offset of the page, in records.
    pub(crate) offset: u64,
    /// Whether there is no line break between its tokens.
    pub(crate) one_line: bool,
    layouts: Vec<Layout>,
    /// Whether the names of a layout differ, once that was asked.
    distinct: Vec<OnceLock<bool>>,
    values: Vec<Span>,
    records: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    json: Span,
    fields: Fields,
    /// The raw `id`, if the record has one.
    id: Option<Span>,
}

impl PageText {
    /// The records `items` of a text that was indexed; `key` is where they stood, for messages.
    ///
    /// # Errors
    /// `Schema`, when an item is no object.
    pub(super) fn new(
        text: Bytes,
        structure: StructuralIndex,
        items: &[Item],
        key: &str,
        offset: u64,
    ) -> Result<Self> {
        let is_id = |name: &Span| json::is_named(name.of(&text), "id");
        let ids: Vec<Option<usize>> = structure
            .layouts
            .iter()
            // Of a name that occurs twice the last counts, as everywhere.
            .map(|names| names.iter().rposition(is_id))
            .collect();
        let mut records = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let Some(fields) = item.fields else {
                return Err(schema(format!("{key}[{index}] is not an object")));
            };
            let id = ids.get(fields.layout as usize).copied().flatten();
            let id = id.and_then(|field| structure.values.get(fields.values as usize + field));
            let id = id.filter(|id| names_something(id.of(&text))).copied();
            records.push(Entry {
                json: item.json,
                fields,
                id,
            });
        }
        Ok(PageText {
            text,
            offset,
            one_line: structure.one_line,
            distinct: vec![OnceLock::new(); structure.layouts.len()],
            layouts: structure.layouts,
            values: structure.values,
            records,
        })
    }

    /// What it takes in memory, in bytes.
    pub(super) fn size(&self) -> usize {
        let layouts: usize = self
            .layouts
            .iter()
            .map(|names| size_of_val(&names[..]))
            .sum();
        self.text.len()
            + self.layouts.capacity() * size_of::<Layout>()
            + layouts
            + self.values.capacity() * size_of::<Span>()
            + self.records.capacity() * size_of::<Entry>()
    }

    /// Handles of all the records, in order.
    pub(super) fn records(self) -> Vec<RawRecord> {
        let page = Arc::new(self);
        let record = |index| RawRecord::new(Arc::clone(&page), index);
        (0..page.records.len()).map(record).collect()
    }

    /// The JSON text of a record.
    pub(crate) fn json(&self, record: usize) -> &[u8] {
        let entry = self.records.get(record);
        entry.map_or(b"", |entry| entry.json.of(&self.text))
    }

    /// The same, as a piece of the page.
    pub(crate) fn json_bytes(&self, record: usize) -> Bytes {
        let entry = self.records.get(record);
        entry.map_or(Bytes::new(), |entry| self.text.slice(entry.json.range()))
    }

    /// What tells a record from others.
    pub(crate) fn identity(&self, record: usize, key: &IdentityKey) -> Identity {
        match self.records.get(record).and_then(|entry| entry.id) {
            Some(id) => key.identify(&spelt_out(id.of(&self.text)), true),
            None => key.identify(self.json(record), false),
        }
    }

    /// The raw `id` of a record, if it has one that tells it from others.
    pub(crate) fn id(&self, record: usize) -> Option<&[u8]> {
        let id = self.records.get(record)?.id?;
        Some(id.of(&self.text))
    }

    /// How many layouts the records have.
    pub(crate) fn layouts(&self) -> usize {
        self.layouts.len()
    }

    /// Which of the layouts a record has.
    pub(crate) fn layout(&self, record: usize) -> usize {
        let entry = self.records.get(record);
        entry.map_or(0, |entry| entry.fields.layout as usize)
    }

    /// The raw field names of a layout, in order.
    pub(crate) fn names(&self, layout: usize) -> impl ExactSizeIterator<Item = &[u8]> {
        let names = self.layouts.get(layout).map(Vec::as_slice);
        names
            .unwrap_or_default()
            .iter()
            .map(|name| name.of(&self.text))
    }

    /// Whether no two names of a record are known to be the same: false also where they hold escapes.
    pub(crate) fn has_distinct_names(&self, record: usize) -> bool {
        let layout = self.layout(record);
        let distinct = || {
            let names = self.names(layout);
            let mut seen = HashSet::with_capacity(names.len());
            self.names(layout)
                .all(|name| memchr(b'\\', name).is_none() && seen.insert(name))
        };
        let known = self.distinct.get(layout);
        known.is_some_and(|known| *known.get_or_init(distinct))
    }

    /// The raw values of a record's fields, in the order of its layout.
    pub(crate) fn values(&self, record: usize) -> impl ExactSizeIterator<Item = &[u8]> {
        let values = self.spans(record).iter();
        values.map(|value| value.of(&self.text))
    }

    /// The same as text.
    pub(crate) fn texts(&self, record: usize) -> Texts<'_> {
        let json = self.json(record);
        let entry = self.records.get(record);
        Texts {
            record: simdutf8::basic::from_utf8(json).unwrap_or_default(),
            start: entry.map_or(0, |entry| entry.json.range().start),
            values: self.spans(record),
            plain: memchr::memchr(b'\\', json).is_none(),
        }
    }

    fn spans(&self, record: usize) -> &[Span] {
        let count = self.names(self.layout(record)).len();
        let values = self.records.get(record).and_then(|entry| {
            let first = entry.fields.values as usize;
            self.values.get(first..first + count)
        });
        values.unwrap_or_default()
    }
}

/// The text of an `id`, however it is written: `6` and `"6"` are one.
fn spelt_out(id: &[u8]) -> Cow<'_, [u8]> {
    let text = id
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    match text.and_then(json::text) {
        Some(Cow::Borrowed(text)) => Cow::Borrowed(text.as_bytes()),
        Some(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        None => Cow::Borrowed(text.unwrap_or(id)),
    }
}

/// Whether a raw value can tell a record from others: a number, or a string that is not empty.
fn names_something(id: &[u8]) -> bool {
    match id.first() {
        Some(b'"') => id != b"\"\"",
        first => matches!(first, Some(b'-' | b'0'..=b'9')),
    }
}

/// The raw values of a record as text, which is checked once for all of them.
pub(crate) struct Texts<'a> {
    record: &'a str,
    /// Where it begins in the page.
    start: usize,
    values: &'a [Span],
    /// Whether it holds no escapes.
    pub(crate) plain: bool,
}

impl<'a> Texts<'a> {
    /// The value of the field at this place of the record's layout.
    pub(crate) fn value(&self, field: usize) -> &'a str {
        let text = self.values.get(field).and_then(|value| {
            let range = value.range();
            self.record
                .get(range.start - self.start..range.end - self.start)
        });
        text.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::page::Page;
    use crate::record::IdentityKey;
    use crate::record::RawRecord;
    use crate::request::transport::Response;

    #[test]
    fn a_record_is_told_by_its_id_else_by_all_of_it() {
        let rows = r#"{"id":"a","x":1},{"x":1,"id":2},{"x":{"id":3}},{"x":1,"id":"b","id":"c"},{"id":"d","i\u0064":"e"},{"id":null,"x":1},{"id":""},{"id":{}},{"id":"2"},{"id":"\u0061"}"#;
        let pagination = r#"{"total":10,"limit":10,"offset":0,"hasMore":false}"#;
        let body = format!("\u{feff}{{\"rows\":[{rows}],\"pagination\":{pagination}}}");
        let page = Page::read(&Response::of_json(body), None, 0).unwrap();
        let key = IdentityKey::random();
        let records = page.records.iter();
        let found: Vec<_> = records.map(|record| record.identity(&key)).collect();
        assert_eq!(
            found,
            [
                key.identify(b"a", true),
                key.identify(b"2", true),
                key.identify(br#"{"x":{"id":3}}"#, false),
                // Of a name that occurs twice the last counts.
                key.identify(b"c", true),
                key.identify(b"e", true),
                key.identify(br#"{"id":null,"x":1}"#, false),
                key.identify(br#"{"id":""}"#, false),
                key.identify(br#"{"id":{}}"#, false),
                // However it is written.
                key.identify(b"2", true),
                key.identify(b"a", true),
            ]
        );
        assert_eq!(page.records[0].clone().into_bytes(), r#"{"id":"a","x":1}"#);
        let distinct = page.records.iter().map(RawRecord::has_distinct_names);
        let expected = [true, true, true, false, false, true, true, true, true, true];
        assert!(distinct.eq(expected));
    }
}
