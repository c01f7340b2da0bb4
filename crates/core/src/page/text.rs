//! The text of a page, and where its records and their fields are: parsed once, shared by its records.

use super::schema;
use crate::error::Result;
use crate::json::{Fields, Item, Layout, Outline, Span};
use crate::record::RawRecord;
use crate::scan::Identity;
use bytes::Bytes;
use std::sync::Arc;

/// A page's text with its records.
#[derive(Debug)]
pub(crate) struct PageText {
    text: Bytes,
    /// Offset of the page, in records.
    pub(crate) offset: u64,
    /// Whether there is no line break between its tokens.
    pub(crate) one_line: bool,
    layouts: Vec<Layout>,
    values: Vec<Span>,
    records: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    json: Span,
    fields: Fields,
    identity: Identity,
}

impl PageText {
    /// The records `items` of a text that was outlined; `key` is where they stood, for messages.
    ///
    /// # Errors
    /// `Schema`, when an item is no object.
    pub(super) fn new(
        text: Bytes,
        outline: Outline,
        items: &[Item],
        key: &str,
        offset: u64,
    ) -> Result<Self> {
        let is_id = |name: &Span| name.of(&text) == b"id";
        let ids: Vec<Option<usize>> = outline
            .layouts
            .iter()
            .map(|names| names.iter().position(is_id))
            .collect();
        let mut records = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let Some(fields) = item.fields else {
                return Err(schema(format!("{key}[{index}] is not an object")));
            };
            let id = ids.get(fields.layout as usize).copied().flatten();
            let id = id.and_then(|field| outline.values.get(fields.values as usize + field));
            let id = id.filter(|id| names_something(id.of(&text)));
            records.push(Entry {
                json: item.json,
                fields,
                identity: match id {
                    Some(id) => Identity::of(id.of(&text), true),
                    None => Identity::of(item.json.of(&text), false),
                },
            });
        }
        Ok(PageText {
            text,
            offset,
            one_line: outline.one_line,
            layouts: outline.layouts,
            values: outline.values,
            records,
        })
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
    pub(crate) fn identity(&self, record: usize) -> Identity {
        let entry = self.records.get(record);
        entry.map_or(Identity::of(b"", false), |entry| entry.identity)
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

    /// The raw values of a record's fields, in the order of its layout.
    pub(crate) fn values(&self, record: usize) -> impl ExactSizeIterator<Item = &[u8]> {
        let values = self.spans(record).iter();
        values.map(|value| value.of(&self.text))
    }

    /// The same as text.
    #[cfg(feature = "arrow")]
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

/// Whether a raw value can tell a record from others: a number, or a string that is not empty.
fn names_something(id: &[u8]) -> bool {
    match id.first() {
        Some(b'"') => id != b"\"\"",
        first => matches!(first, Some(b'-' | b'0'..=b'9')),
    }
}

/// The raw values of a record as text, which is checked once for all of them.
#[cfg(feature = "arrow")]
pub(crate) struct Texts<'a> {
    record: &'a str,
    /// Where it begins in the page.
    start: usize,
    values: &'a [Span],
    /// Whether it holds no escapes.
    pub(crate) plain: bool,
}

#[cfg(feature = "arrow")]
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
    use crate::scan::Identity;
    use crate::transport::Answer;

    #[test]
    fn a_record_is_told_by_its_id_else_by_all_of_it() {
        let rows = r#"{"id":"a","x":1},{"x":1,"id":2},{"x":{"id":3}},{"x":1,"id":"b","id":"c"},{"id":null,"x":1},{"id":""},{"id":{}}"#;
        let pagination = r#"{"total":7,"limit":7,"offset":0,"hasMore":false}"#;
        let body = format!("\u{feff}{{\"rows\":[{rows}],\"pagination\":{pagination}}}");
        let page = Page::read(&Answer::of_json(body), None, 0).unwrap();
        let found: Vec<_> = page
            .records
            .iter()
            .map(|record| record.identity())
            .collect();
        assert_eq!(
            found,
            [
                Identity::of(b"\"a\"", true),
                Identity::of(b"2", true),
                Identity::of(br#"{"x":{"id":3}}"#, false),
                Identity::of(b"\"b\"", true),
                Identity::of(br#"{"id":null,"x":1}"#, false),
                Identity::of(br#"{"id":""}"#, false),
                Identity::of(br#"{"id":{}}"#, false),
            ]
        );
        assert_eq!(page.records[0].clone().into_bytes(), r#"{"id":"a","x":1}"#);
    }
}
