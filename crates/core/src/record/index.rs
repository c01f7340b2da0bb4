//! The single pass over the text of a page. It checks that the text is JSON, and finds the places of the records and of
//! their members, which everything else uses.

use super::{PageText, RawRecord, check_length};
use crate::error::Error;
use crate::json::{self, is_named, unquoted};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;

/// Limits the fields of a record, because every reader of a record holds all of them in memory.
pub(super) const MAX_FIELDS: usize = 10_000;

/// The place of a piece of a text, in bytes. A text is shorter than 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn new(start: usize, end: usize) -> Self {
        let place = |index| u32::try_from(index).unwrap_or(u32::MAX);
        Span {
            start: place(start),
            end: place(end),
        }
    }

    /// Returns the place of `piece`, which must be a slice of `text`.
    fn of(piece: &str, text: &str) -> Self {
        let place = json::place(piece, text.as_bytes());
        Span::new(place.start, place.end)
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// An item of an array, with details if it is an object.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) json: Span,
    /// The raw value of the last member called `id`.
    pub(super) id: Option<Span>,
    /// The number of members; `None` for an item that is not an object.
    pub(super) fields: Option<usize>,
    /// The index after its last member. Its first member follows the last member of the previous item.
    pub(super) members_end: usize,
}

/// A member: its raw name (without quotes) and its raw value.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberPlace {
    pub(super) name: Span,
    pub(super) value: Span,
}

/// The items of an array in a text, and the members of those that are objects.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub(super) items: Vec<Item>,
    pub(super) members: Vec<MemberPlace>,
}

impl Items {
    /// Reads a text that is one array. Returns `None` for any other text.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let mut left = usize::MAX;
        let items = ReadItems {
            text,
            start: text.find('[')?,
            left: &mut left,
        };
        let items = reader.deserialize_seq(items).ok()?;
        reader.end().ok()?;
        Some(items)
    }

    /// Returns the number of items.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether all items are objects.
    pub(crate) fn are_objects(&self) -> bool {
        self.items.iter().all(|item| item.fields.is_some())
    }
}

/// A page that is written record by record, with the index of its text.
pub(crate) struct PageWriter {
    text: String,
    index: Items,
    id: Option<Span>,
    /// The index after the opening brace of the current record.
    start: usize,
    /// The number of members before the current record.
    before: usize,
}

impl PageWriter {
    /// Creates a page of about this many bytes.
    pub(crate) fn new(size: usize) -> Self {
        PageWriter {
            text: String::with_capacity(size),
            index: Items::default(),
            id: None,
            start: 0,
            before: 0,
        }
    }

    /// Begins a record.
    pub(crate) fn begin(&mut self) {
        let separator = if self.text.is_empty() { "[{" } else { ",{" };
        self.text.push_str(separator);
        (self.id, self.start, self.before) = (None, self.text.len(), self.index.members.len());
    }

    /// Adds a member with this raw name. `write` appends it to the text, with a comma unless the text has this length,
    /// or appends nothing.
    pub(crate) fn member(&mut self, name: &str, write: impl FnOnce(&mut String, usize)) {
        let at = self.text.len();
        write(&mut self.text, self.start);
        if self.text.len() == at {
            return;
        }
        // Before the name are a quote and, except for the first member, a comma. After it are a quote and a colon.
        let begin = at + 1 + usize::from(at > self.start);
        let end = begin + name.len();
        let value = Span::new(end + 2, self.text.len());
        self.index.members.push(MemberPlace {
            name: Span::new(begin, end),
            value,
        });
        // The last duplicate of a name wins, as everywhere.
        if is_named(name, "id") {
            self.id = Some(value);
        }
    }

    /// Ends a record.
    pub(crate) fn end(&mut self) {
        self.text.push('}');
        self.index.items.push(Item {
            json: Span::new(self.start - 1, self.text.len()),
            id: self.id,
            fields: Some(self.index.members.len() - self.before),
            members_end: self.index.members.len(),
        });
    }

    /// Returns the records of the page, which is at this offset of its list.
    ///
    /// # Errors
    /// `TooLarge` if the text is longer than 4 GiB.
    pub(crate) fn records(mut self, offset: u64) -> Result<Vec<RawRecord>, Error> {
        self.text.push(']');
        check_length(self.text.len())?;
        let page = PageText::new(self.text.into(), self.index, "record", offset, true)?;
        Ok(page.records())
    }
}

/// The value of a member of the outermost object.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// An array whose items may be the records.
    Items(Items),
    /// Any other value, as received.
    Value(&'a str),
}

/// The members of a response's object, in order: raw names (without quotes) and values.
#[derive(Debug)]
pub(crate) struct ObjectIndex<'a> {
    pub(crate) members: Vec<(&'a str, Content<'a>)>,
    /// The kind of item that exceeds its limit, `records` or `members`; `None` if none does.
    pub(crate) excess: Option<&'static str>,
}

impl<'a> ObjectIndex<'a> {
    /// Reads a text that is one object. It keeps at most `most` members, and as many items of arrays. The records are
    /// at `key` if it is known; otherwise each array may be the records.
    ///
    /// # Errors
    /// The reader's error if the text is not one JSON object.
    pub(crate) fn read(text: &'a str, key: Option<&str>, most: usize) -> serde_json::Result<Self> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let index = reader.deserialize_map(ReadObject { text, key, most })?;
        reader.end()?;
        Ok(index)
    }
}

struct ReadObject<'a, 'k> {
    text: &'a str,
    key: Option<&'k str>,
    most: usize,
}

impl<'de> Visitor<'de> for ReadObject<'de, '_> {
    type Value = ObjectIndex<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        // One more than the limit is kept, so that an excess is detected.
        let (mut members, mut left) = (Vec::new(), self.most + 1);
        while let Some(name) = map.next_key::<&RawValue>()? {
            let name = unquoted(name);
            let value = ReadValue {
                text: self.text,
                start: skip(self.text, Span::of(name, self.text).range().end + 1, b':'),
                is_indexed: self.key.is_none_or(|key| is_named(name, key)),
                left: &mut left,
            };
            let value = map.next_value_seed(value)?;
            if members.len() <= self.most {
                members.push((name, value));
            }
        }
        let excess = if left == 0 {
            Some("records")
        } else {
            (members.len() > self.most).then_some("members")
        };
        Ok(ObjectIndex { members, excess })
    }
}

/// Reads the value that begins at `start`.
struct ReadValue<'a, 'l> {
    text: &'a str,
    start: usize,
    is_indexed: bool,
    left: &'l mut usize,
}

impl<'de> DeserializeSeed<'de> for ReadValue<'de, '_> {
    type Value = Content<'de>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        if self.is_indexed && self.text.as_bytes().get(self.start) == Some(&b'[') {
            let items = ReadItems {
                text: self.text,
                start: self.start,
                left: self.left,
            };
            return reader.deserialize_seq(items).map(Content::Items);
        }
        <&RawValue>::deserialize(reader).map(|value| Content::Value(value.get()))
    }
}

/// Reads the array that begins at `start`, and keeps at most `left` items.
struct ReadItems<'a, 'l> {
    text: &'a str,
    start: usize,
    left: &'l mut usize,
}

impl<'de> Visitor<'de> for ReadItems<'de, '_> {
    type Value = Items;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut items = Items::default();
        let mut end = self.start + 1;
        loop {
            let item = ReadItem {
                text: self.text,
                start: skip(self.text, end, b','),
                members: &mut items.members,
            };
            let Some(item) = array.next_element_seed(item)? else {
                return Ok(items);
            };
            end = item.json.range().end;
            if *self.left == 0 {
                items
                    .members
                    .truncate(items.items.last().map_or(0, |last| last.members_end));
                continue;
            }
            *self.left -= 1;
            items.items.push(item);
        }
    }
}

/// Reads the item that begins at `start`, and appends its members.
struct ReadItem<'a, 'm> {
    text: &'a str,
    start: usize,
    members: &'m mut Vec<MemberPlace>,
}

impl<'de> DeserializeSeed<'de> for ReadItem<'de, '_> {
    type Value = Item;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        if self.text.as_bytes().get(self.start) == Some(&b'{') {
            return reader.deserialize_map(self);
        }
        let value = <&RawValue>::deserialize(reader)?.get();
        Ok(Item {
            json: Span::of(value, self.text),
            id: None,
            fields: None,
            members_end: self.members.len(),
        })
    }
}

impl<'de> Visitor<'de> for ReadItem<'de, '_> {
    type Value = Item;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut id, mut fields, mut end) = (None, 0, self.start + 1);
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let name = unquoted(name);
            let value = Span::of(value.get(), self.text);
            end = value.range().end;
            fields += 1;
            if fields <= MAX_FIELDS {
                let name = Span::of(name, self.text);
                self.members.push(MemberPlace { name, value });
            }
            // The last duplicate of a name wins, as everywhere.
            if is_named(name, "id") {
                id = Some(value);
            }
        }
        // The reader fails unless the closing brace is here.
        let end = skip(self.text, end, b' ') + 1;
        Ok(Item {
            json: Span::new(self.start, end),
            id,
            fields: Some(fields),
            members_end: self.members.len(),
        })
    }
}

/// Returns the index of the first byte from `start` on that is neither white space nor `separator`. The reader already
/// checked the skipped bytes.
fn skip(text: &str, start: usize, separator: u8) -> usize {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    let is_skipped =
        |byte: &&u8| **byte == separator || matches!(**byte, b' ' | b'\n' | b'\r' | b'\t');
    start + rest.iter().take_while(is_skipped).count()
}
