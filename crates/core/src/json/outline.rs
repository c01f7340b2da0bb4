//! One strict pass over an answer: checks that it is JSON, and notes where members, records and ids are.
//!
//! A bulk scan reads gigabytes of which it needs hardly more than where records begin and end. General
//! parsers check and cut in separate passes, which together cost several times what reading the
//! bytes costs; this pass does both at once. What it accepts is what `serde_json` accepts, down to a
//! nesting of 128.

use super::reader::Reader;

/// The members of an answer's object.
pub(crate) struct Outline<'a> {
    pub(crate) members: Vec<Member<'a>>,
    /// The field names of records, raw; most records of a page share one.
    pub(crate) layouts: Vec<Layout<'a>>,
}

/// Raw field names (without quotes, escapes as they are) in the order of the text.
pub(crate) type Layout<'a> = Vec<&'a [u8]>;

/// A member of the answer's object.
pub(crate) struct Member<'a> {
    /// The raw name.
    pub(crate) name: &'a [u8],
    /// The raw value.
    pub(crate) value: &'a [u8],
    /// Its items, if it is an array.
    pub(crate) items: Option<Vec<Item<'a>>>,
}

/// An item of an array.
pub(crate) struct Item<'a> {
    pub(crate) json: &'a [u8],
    /// Index of its layout, if it is an object.
    pub(crate) layout: Option<usize>,
    /// The raw value of its member `id`.
    pub(crate) id: Option<&'a [u8]>,
}

/// Outlines a text that is a JSON object; `None` when it is anything else.
pub(crate) fn outline(text: &str) -> Option<Outline<'_>> {
    let mut reader = Reader::new(text.as_bytes());
    let mut outline = Outline {
        members: Vec::new(),
        layouts: Vec::new(),
    };
    reader.space();
    let mut more = reader.open(b'{', b'}')?;
    while more {
        let name = reader.name()?;
        let start = reader.position();
        let items = match reader.peek()? {
            b'[' => Some(items(&mut reader, &mut outline.layouts)?),
            _ => {
                reader.value(1)?;
                None
            }
        };
        outline.members.push(Member {
            name,
            value: reader.since(start),
            items,
        });
        more = reader.more(b'}')?;
    }
    reader.end().then_some(outline)
}

fn items<'a>(reader: &mut Reader<'a>, layouts: &mut Vec<Layout<'a>>) -> Option<Vec<Item<'a>>> {
    let mut items = Vec::new();
    let mut guess = 0;
    let mut more = reader.open(b'[', b']')?;
    while more {
        let item = match reader.peek()? {
            b'{' => record(reader, layouts, guess)?,
            _ => {
                let start = reader.position();
                reader.value(2)?;
                Item {
                    json: reader.since(start),
                    layout: None,
                    id: None,
                }
            }
        };
        guess = item.layout.unwrap_or(guess);
        items.push(item);
        more = reader.more(b']')?;
    }
    Some(items)
}

/// Reads a record; `guess` is the layout that it most likely has.
fn record<'a>(
    reader: &mut Reader<'a>,
    layouts: &mut Vec<Layout<'a>>,
    guess: usize,
) -> Option<Item<'a>> {
    let start = reader.position();
    let mut id = None;
    // The guess holds for so many fields; after that the names are collected.
    let mut alike = 0;
    let mut other: Option<Layout<'a>> = None;
    let mut more = reader.open(b'{', b'}')?;
    while more {
        let expected = layouts.get(guess).and_then(|names| names.get(alike));
        let name = match expected {
            Some(expected) if other.is_none() => reader.name_like(expected)?,
            _ => reader.name()?,
        };
        let value = reader.position();
        reader.value(3)?;
        if name == b"id" && id.is_none() {
            id = Some(reader.since(value));
        }
        let guessed = layouts.get(guess);
        match &mut other {
            Some(names) => names.push(name),
            None if guessed.and_then(|names| names.get(alike)) == Some(&name) => alike += 1,
            None => {
                let known = guessed
                    .and_then(|names| names.get(..alike))
                    .unwrap_or_default();
                other = Some(known.iter().copied().chain([name]).collect());
            }
        }
        more = reader.more(b'}')?;
    }
    let shorter = layouts.get(guess).is_none_or(|names| names.len() != alike);
    if other.is_none() && shorter {
        other = Some(
            layouts
                .get(guess)
                .and_then(|names| names.get(..alike))
                .unwrap_or_default()
                .to_vec(),
        );
    }
    let layout = match other {
        None => guess,
        Some(names) => layouts
            .iter()
            .position(|known| *known == names)
            .unwrap_or_else(|| {
                layouts.push(names);
                layouts.len() - 1
            }),
    };
    Some(Item {
        json: reader.since(start),
        layout: Some(layout),
        id,
    })
}

#[cfg(test)]
mod tests;
