//! One strict pass over an answer: checks that it is JSON, and notes where members, records and fields are.
//!
//! A bulk scan reads gigabytes of which it needs hardly more than where records and fields begin and
//! end. General parsers check and cut in separate passes, which together cost several times what
//! reading the bytes costs; this pass does both at once, and none has to follow. What it accepts is
//! what `serde_json` accepts, down to a nesting of 128.

use super::reader::Text;
use memchr::memchr2;

/// Room is made for so many items at most before they are seen.
const MOST_EXPECTED: usize = 1000;

/// A piece of a text of at most 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The piece of `text`, which must be the text that was outlined.
    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.range()).unwrap_or_default()
    }

    /// From the first byte to behind the last.
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// What an answer's object holds.
#[derive(Debug, Default)]
pub(crate) struct Outline {
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

/// A member of the answer's object.
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

/// Outlines a text that is a JSON object; `None` when it is anything else.
pub(crate) fn outline(text: &str) -> Option<Outline> {
    u32::try_from(text.len()).ok()?;
    let text = Text(text.as_bytes());
    let mut pass = Pass {
        text,
        outline: Outline::default(),
        joints: Vec::new(),
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
        pass.outline.members.push(Member {
            name: span(name.start, name.end),
            value: span(value, end),
            items,
        });
        (at, more) = text.more(end, b'}')?;
    }
    // Within strings they are escaped.
    pass.outline.one_line = memchr2(b'\n', b'\r', text.0).is_none();
    text.ends(at).then_some(pass.outline)
}

/// The pass over a text.
struct Pass<'a> {
    text: Text<'a>,
    outline: Outline,
    /// For each layout, what stands before each value, from the record's brace or the last value on.
    /// Where a record has just these bytes, it has these fields.
    joints: Vec<Vec<&'a [u8]>>,
}

impl<'a> Pass<'a> {
    fn items(&mut self, at: usize) -> Option<(usize, Vec<Item>)> {
        let text = self.text;
        let mut items = Vec::new();
        let before = self.outline.values.len();
        let mut guess = 0;
        let (mut at, mut more) = text.open(at, b'[', b']')?;
        while more {
            let (end, fields) = match text.byte(at)? {
                b'{' => {
                    let (end, fields) = self.record(at, guess)?;
                    guess = fields.layout;
                    (end, Some(fields))
                }
                _ => (text.value(at, 2)?, None),
            };
            if items.is_empty() {
                let fields = self.outline.values.len() - before;
                self.expect(&mut items, end - at, fields);
            }
            let json = span(at, end);
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
        self.outline.values.reserve(fields);
    }

    /// Reads the record that begins at `at`; `guess` is the layout that it most likely has.
    fn record(&mut self, mut at: usize, guess: u32) -> Option<(usize, Fields)> {
        let text = self.text;
        let values = &mut self.outline.values;
        let first = values.len();
        let guessed = self.joints.get(guess as usize).map(Vec::as_slice);
        for joint in guessed.unwrap_or_default() {
            let Some(value) = text.passes(at, joint) else {
                break;
            };
            // Where the record before had less white space.
            let value = text.space(value);
            at = text.value(value, 3)?;
            values.push(span(value, at));
        }
        let alike = values.len() - first;
        let mut before = at;
        let mut more;
        (at, more) = match alike {
            0 => text.open(at, b'{', b'}')?,
            _ => text.more(at, b'}')?,
        };
        let mut layout = guess;
        if more || guessed.is_none_or(|joints| joints.len() != alike) {
            let layouts = &self.outline.layouts;
            let mut names = first_of(layouts.get(guess as usize), alike);
            let mut joints = first_of(self.joints.get(guess as usize), alike);
            while more {
                let (name, value) = text.name(at)?;
                names.push(span(name.start, name.end));
                joints.push(text.0.get(before..value)?);
                before = text.value(value, 3)?;
                values.push(span(value, before));
                (at, more) = text.more(before, b'}')?;
            }
            layout = self.layout(names, joints);
        }
        let fields = Fields {
            layout,
            values: first as u32,
        };
        Some((at, fields))
    }

    /// The index of the layout with these names, which is added where there is none.
    fn layout(&mut self, names: Layout, joints: Vec<&'a [u8]>) -> u32 {
        let text = self.text.0;
        let same = |known: &Layout| {
            let known = known.iter().map(|name| name.of(text));
            known.eq(names.iter().map(|name| name.of(text)))
        };
        let layouts = &mut self.outline.layouts;
        let known = layouts.iter().position(same);
        let index = known.unwrap_or_else(|| {
            layouts.push(names);
            self.joints.push(joints);
            layouts.len() - 1
        });
        index as u32
    }
}

fn first_of<T: Clone>(list: Option<&Vec<T>>, count: usize) -> Vec<T> {
    let first = list.and_then(|list| list.get(..count));
    first.unwrap_or_default().to_vec()
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
