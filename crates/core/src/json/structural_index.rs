//! One strict pass over a response: checks that it is JSON, and notes where members, records and fields are.
//!
//! A bulk scan reads gigabytes of which it needs hardly more than where records and fields begin and
//! end. General parsers check and cut in separate passes, which together cost several times what
//! reading the bytes costs; this pass does both at once, and none has to follow. What it accepts is
//! what `serde_json` accepts, down to a nesting of 127.

use super::key_trie::KeyTrie;
use super::reader::{DEEPEST, Text};
use memchr::memchr2;

/// Room is made for so many items at most before they are seen.
const MOST_EXPECTED: usize = 1000;

/// More items of arrays in a response than this are refused, and more members: a page was asked for, and what is noted of
/// each takes memory.
pub(crate) const MOST_ITEMS: usize = 100_000;
/// So are more fields in a record, for the same reason.
pub(crate) const MOST_FIELDS: usize = 10_000;

/// A piece of a text of at most 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The piece of `text`, which must be the text that was indexed.
    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.range()).unwrap_or_default()
    }

    /// From the first byte to behind the last.
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// What a response's object holds.
#[derive(Debug, Default)]
pub(crate) struct StructuralIndex {
    pub(crate) members: Vec<Member>,
    /// The field names of records; most records of a page share one.
    pub(crate) layouts: Vec<Layout>,
    /// The values of all fields of all records, one after the other.
    pub(crate) values: Vec<Span>,
    /// Whether there is no line break between its tokens.
    pub(crate) one_line: bool,
}

/// Raw field names (without quotes, escapes as they are) in the order of the text.
pub(crate) type Layout = Vec<Span>;

/// A member of the response's object.
#[derive(Debug)]
pub(crate) struct Member {
    /// The raw name.
    pub(crate) name: Span,
    /// The raw value.
    pub(crate) value: Span,
    /// Its items, if it is an array.
    pub(crate) items: Option<Vec<Item>>,
}

/// An item of an array.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) json: Span,
    /// None when it is no object.
    pub(crate) fields: Option<Fields>,
}

/// Where the fields of a record are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// Index of the layout.
    pub(crate) layout: u32,
    /// Index of the value of the first field.
    pub(crate) values: u32,
}

/// Outlines a text that is a JSON object; `None` when it is anything else, or has more than may be.
pub(crate) fn structural_index(text: &str) -> Option<StructuralIndex> {
    u32::try_from(text.len()).ok()?;
    let text = Text(text.as_bytes());
    let mut pass = Pass {
        text,
        structure: StructuralIndex::default(),
        keys: KeyTrie::default(),
        items: 0,
        expected: false,
    };
    let (mut at, mut more) = text.open(text.space(0), b'{', b'}')?;
    while more {
        let (name, value) = text.name(at)?;
        let (end, items) = match text.byte(value)? {
            b'[' => {
                let (end, items) = pass.items(value)?;
                (end, Some(items))
            }
            _ => (text.value(value, 1)?, None),
        };
        if pass.structure.members.len() == MOST_ITEMS {
            return None;
        }
        pass.structure.members.push(Member {
            name: span(name.start, name.end),
            value: span(value, end),
            items,
        });
        (at, more) = text.more(end, b'}')?;
    }
    // Within strings they are escaped.
    pass.structure.one_line = memchr2(b'\n', b'\r', text.0).is_none();
    text.ends(at).then_some(pass.structure)
}

/// The pass over a text.
struct Pass<'a> {
    text: Text<'a>,
    structure: StructuralIndex,
    keys: KeyTrie<'a>,
    /// Items of all arrays so far.
    items: usize,
    /// Whether room was made for the records.
    expected: bool,
}

impl<'a> Pass<'a> {
    /// The items of the array at `at`, which is a member of the response's object.
    fn items(&mut self, at: usize) -> Option<(usize, Vec<Item>)> {
        let text = self.text;
        let mut items = Vec::new();
        let before = self.structure.values.len();
        let mut records = self.keys.begin();
        let (mut at, mut more) = text.open(at, b'[', b']')?;
        while more {
            records = self.keys.again(records);
            let (end, fields) = match text.byte(at)? {
                b'{' => {
                    let (end, fields) = self.record(at, records)?;
                    (end, Some(fields))
                }
                _ => (self.value(at, records, 2)?, None),
            };
            // The first array of objects holds the records; of small arrays there may be no end.
            if items.is_empty() && fields.is_some() && !self.expected {
                self.expected = true;
                let fields = self.structure.values.len() - before;
                self.expect(&mut items, end - at, fields);
            }
            let json = span(at, end);
            if self.items == MOST_ITEMS {
                return None;
            }
            self.items += 1;
            items.push(Item { json, fields });
            (at, more) = text.more(end, b']')?;
        }
        Some((at, items))
    }

    /// Makes room for items that are about as long as the first one, and have as many fields.
    fn expect(&mut self, items: &mut Vec<Item>, length: usize, fields: usize) {
        let likely = (self.text.0.len() / length.max(1)).min(MOST_EXPECTED);
        let likely = likely + likely / 4;
        items.reserve(likely);
        let fields = (likely * fields).next_power_of_two();
        self.structure.values.reserve(fields);
    }

    /// The record at `at`; `begin` is where records begin.
    fn record(&mut self, at: usize, begin: u32) -> Option<(usize, Fields)> {
        let values = self.structure.values.len() as u32;
        let (at, last) = self.object::<true>(at, begin, 2)?;
        let layout = self.keys.layout(last, &mut self.structure.layouts);
        Some((at, Fields { layout, values }))
    }

    /// The object at `at`, at this depth of nesting, and its last separator; notes the values of a `RECORD`.
    #[inline(always)]
    fn object<const RECORD: bool>(
        &mut self,
        mut at: usize,
        begin: u32,
        depth: usize,
    ) -> Option<(usize, u32)> {
        let text = self.text;
        let first = self.structure.values.len();
        let mut step = begin;
        loop {
            let (next, value) = match self.keys.follow(text, step, at) {
                Some(known) => known,
                None => {
                    let (name, more) = match step == begin {
                        true => text.open(at, b'{', b'}')?,
                        false => text.more(at, b'}')?,
                    };
                    if !more {
                        return Some((name, step));
                    }
                    let (name, value) = text.name(name)?;
                    let separator = text.0.get(at..value)?;
                    (
                        self.keys.add(step, separator, span(name.start, name.end)),
                        value,
                    )
                }
            };
            step = next;
            at = self.value(value, step, depth + 1)?;
            if RECORD {
                if self.structure.values.len() - first == MOST_FIELDS {
                    return None;
                }
                self.structure.values.push(span(value, at));
            }
        }
    }

    /// The value at `at`, at this depth of nesting, behind the separator at `step`.
    #[inline(always)]
    fn value(&mut self, at: usize, step: u32, depth: usize) -> Option<usize> {
        match self.text.byte(at)? {
            b'"' => self.text.string(at + 1),
            b'{' | b'[' => self.nested(at, step, depth),
            first => self.text.scalar(at, first),
        }
    }

    /// The same of an object or array.
    fn nested(&mut self, at: usize, step: u32, depth: usize) -> Option<usize> {
        if depth >= DEEPEST {
            return None;
        }
        if self.text.byte(at)? == b'{' {
            if self.keys.is_full() {
                // Names used as data: to remember them would be of no use, and take more memory than they do.
                return self.text.value(at, depth);
            }
            let begin = self.keys.inside(step);
            let (end, _) = self.object::<false>(at, begin, depth)?;
            return Some(end);
        }
        let (mut at, mut more) = self.text.open(at, b'[', b']')?;
        while more {
            let end = self.value(at, step, depth + 1)?;
            (at, more) = self.text.more(end, b']')?;
        }
        Some(at)
    }
}

/// The text is no longer than the numbers of a span reach.
fn span(start: usize, end: usize) -> Span {
    Span {
        start: start as u32,
        end: end as u32,
    }
}

#[cfg(test)]
mod tests;
