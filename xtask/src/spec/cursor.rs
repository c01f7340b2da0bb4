//! Reading a document: a cursor is a value and its pointer; what no cursor has read is what is not generated.

use super::findings::{Findings, Topic};
use serde_json::Value;
use std::cell::{RefCell, RefMut};
use std::collections::BTreeSet;

/// A document, the places of it that were read, and what was found there.
#[derive(Default)]
pub(crate) struct Document {
    pub(crate) value: Value,
    read: RefCell<BTreeSet<String>>,
    findings: RefCell<Findings>,
}

/// A place in a document.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    pub(super) document: &'a Document,
    pub(crate) value: &'a Value,
    /// The JSON pointer of the place.
    pub(crate) at: String,
}

impl Document {
    pub(crate) fn new(value: Value) -> Self {
        Document {
            value,
            ..Document::default()
        }
    }

    pub(crate) fn findings(&self) -> RefMut<'_, Findings> {
        self.findings.borrow_mut()
    }

    pub(crate) fn refuse(&self, at: &str, reason: &str, way_out: &str) {
        self.findings().refuse(at, reason, way_out);
    }

    pub(crate) fn note(&self, topic: Topic, text: impl Into<String>) {
        self.findings().note(topic, text);
    }

    /// What is at a pointer.
    pub(crate) fn at(&self, pointer: &str) -> Option<Cursor<'_>> {
        let cursor = Cursor {
            document: self,
            value: self.value.pointer(pointer)?,
            at: pointer.to_owned(),
        };
        cursor.mark();
        Some(cursor)
    }

    /// Every value that was not read, by its pointer; of one that was not read at all, nothing below it.
    pub(crate) fn unread(&self) -> Vec<(String, &Value)> {
        let read = self.read.borrow();
        let mut waiting = vec![(String::new(), &self.value)];
        let mut out = Vec::new();
        while let Some((at, value)) = waiting.pop() {
            if at.is_empty() || read.contains(&at) {
                let below = children(value).into_iter();
                let below = below.map(|(key, child)| (at.clone() + &pointer(&[&key]), child));
                waiting.extend(below.rev());
            } else {
                out.push((at, value));
            }
        }
        out
    }

    /// The place that following a reference ends at, one step; nothing where it, or a later one, leads nowhere.
    fn target(&self, reference: &str) -> Option<String> {
        let first = target(reference)?;
        let mut next = self.value.pointer(&first)?;
        for _ in 0..100 {
            let Some(reference) = next.get("$ref").and_then(Value::as_str) else {
                return Some(first);
            };
            next = self.value.pointer(&target(reference)?)?;
        }
        None
    }
}

/// The members of an object, or the items of an array.
fn children(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(map) => map.iter().map(|(key, one)| (key.clone(), one)).collect(),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(key, one)| (key.to_string(), one)).collect()
        }
        _ => Vec::new(),
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn refuse(&self, reason: &str, way_out: &str) {
        self.document.refuse(&self.at, reason, way_out);
    }

    /// Notes that the place was read, and with it those that lead to it.
    pub(crate) fn mark(&self) {
        let mut read = self.document.read.borrow_mut();
        let mut at = self.at.as_str();
        while read.insert(at.to_owned()) {
            at = at.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }

    /// Notes that everything at the place was read.
    pub(crate) fn mark_all(&self) {
        self.mark();
        self.items().iter().for_each(Cursor::mark_all);
    }

    /// A member, without reading it yet.
    pub(crate) fn peek(&self, key: &str) -> Option<Cursor<'a>> {
        Some(Cursor {
            value: self.value.get(key)?,
            at: self.at.clone() + &pointer(&[key]),
            ..self.clone()
        })
    }

    pub(crate) fn get(&self, key: &str) -> Option<Cursor<'a>> {
        self.peek(key).inspect(Cursor::mark)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some()
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        let text = self.value.get(key)?.as_str()?;
        self.get(key);
        Some(text)
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        let flag = self.peek(key).filter(|one| one.value.is_boolean());
        flag.inspect(Cursor::mark)
            .is_some_and(|one| *one.value == true)
    }

    /// The texts of an array.
    pub(crate) fn texts(&self, key: &str) -> Vec<&'a str> {
        let items = self.get(key).map(|array| array.items());
        let items = items.into_iter().flatten();
        items.filter_map(|one| one.value.as_str()).collect()
    }

    /// The members of an object, or the items of an array, without reading them yet.
    pub(crate) fn children(&self) -> Vec<(String, Cursor<'a>)> {
        let child = |(key, value): (String, &'a Value)| {
            let at = self.at.clone() + &pointer(&[&key]);
            (
                key,
                Cursor {
                    value,
                    at,
                    ..self.clone()
                },
            )
        };
        children(self.value).into_iter().map(child).collect()
    }

    /// The members of an object, or the items of an array.
    pub(crate) fn entries(&self) -> Vec<(String, Cursor<'a>)> {
        let children = self.children();
        children.iter().for_each(|(_, child)| child.mark());
        children
    }

    /// The same without their names.
    pub(crate) fn items(&self) -> Vec<Cursor<'a>> {
        self.entries().into_iter().map(|(_, child)| child).collect()
    }

    pub(crate) fn keys(&self) -> Vec<&'a str> {
        let members = self.value.as_object().into_iter().flatten();
        members.map(|(key, _)| key.as_str()).collect()
    }

    /// Where the reference at this place leads, one step; nothing where it is none. One that leads nowhere is refused.
    pub(crate) fn target(&self) -> Option<Cursor<'a>> {
        let reference = self.text("$ref")?;
        let found = self.document.target(reference);
        if found.is_none() {
            let reason = format!("there is nothing at {reference}");
            let way = "add it to /components, or correct the reference";
            self.document
                .refuse(&format!("{}/$ref", self.at), &reason, way);
        }
        self.document.at(&found?)
    }

    /// Follows references; what is none is itself.
    pub(crate) fn followed(self) -> Cursor<'a> {
        match self.target() {
            Some(next) => next.followed(),
            None => self,
        }
    }
}

/// A JSON pointer of these steps.
pub(crate) fn pointer(steps: &[&str]) -> String {
    let escaped = steps
        .iter()
        .map(|step| step.replace('~', "~0").replace('/', "~1"));
    escaped.map(|step| format!("/{step}")).collect()
}

/// The JSON pointer of a reference within the document, whose bytes may be percent-encoded.
fn target(reference: &str) -> Option<String> {
    let mut rest = reference.strip_prefix('#')?.as_bytes();
    let mut bytes = Vec::new();
    while let [first, behind @ ..] = rest {
        let code = behind.get(..2).filter(|_| *first == b'%');
        let code = code.filter(|code| code.iter().all(u8::is_ascii_hexdigit));
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn any_byte_of_a_reference_can_be_percent_encoded() {
        for (reference, at) in [
            ("#/a/b", "/a/b"),
            ("#/a%20b%7Bc%7d", "/a b{c}"),
            ("#/%C3%A9%2F~1", "/é/~1"),
            ("#/100%", "/100%"),
            ("#/%+1", "/%+1"),
        ] {
            assert_eq!(target(reference).as_deref(), Some(at), "{reference}");
        }
    }

    #[test]
    fn the_report_is_what_no_cursor_has_read() {
        let document = Document::new(json!({"a": {"b": 1, "c": [2, {"d": 3}]}, "e": 4}));
        let root = document.at("").unwrap();
        root.get("a").unwrap().get("c").unwrap().items()[1].get("d");
        let unread = document.unread();
        let places: Vec<&str> = unread.iter().map(|(at, _)| at.as_str()).collect();
        assert_eq!(places, ["/a/b", "/e"]);
    }
}
