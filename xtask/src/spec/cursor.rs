//! Reading a document: a cursor is a value and its pointer; what no cursor has read is what is not generated.

use super::findings::Findings;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A document, and the places of it that were read.
pub(crate) struct Document {
    pub(crate) value: Value,
    read: RefCell<BTreeSet<String>>,
}

/// A place in a document.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    document: &'a Document,
    pub(crate) value: &'a Value,
    /// The JSON pointer of the place.
    pub(crate) at: String,
}

impl Document {
    pub(crate) fn new(value: Value) -> Self {
        Document {
            value,
            read: RefCell::default(),
        }
    }

    pub(crate) fn root(&self) -> Cursor<'_> {
        Cursor {
            document: self,
            value: &self.value,
            at: String::new(),
        }
    }

    /// What is at a pointer.
    pub(crate) fn at(&self, pointer: String) -> Option<Cursor<'_>> {
        let value = self.value.pointer(&pointer)?;
        let cursor = Cursor {
            document: self,
            value,
            at: pointer,
        };
        cursor.mark();
        Some(cursor)
    }

    /// Every value that was not read, by its pointer; of one that was not read at all, nothing below it.
    pub(crate) fn unread(&self) -> Vec<(String, &Value)> {
        let mut out = Vec::new();
        unread(&self.value, String::new(), &self.read.borrow(), &mut out);
        out
    }
}

fn unread<'a>(
    value: &'a Value,
    at: String,
    read: &BTreeSet<String>,
    out: &mut Vec<(String, &'a Value)>,
) {
    let mut each = |key: &str, child: &'a Value| {
        let below = at.clone() + &pointer(&[key]);
        match read.contains(&below) {
            true => unread(child, below, read, out),
            false => out.push((below, child)),
        }
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, child)| each(key, child)),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, child)| each(&index.to_string(), child));
        }
        _ => {}
    }
}

impl<'a> Cursor<'a> {
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
        self.entries()
            .iter()
            .for_each(|(_, child)| child.mark_all());
        self.items().iter().for_each(Cursor::mark_all);
    }

    fn child(&self, key: &str, value: &'a Value) -> Cursor<'a> {
        Cursor {
            document: self.document,
            value,
            at: self.at.clone() + &pointer(&[key]),
        }
    }

    /// A member, without reading it yet.
    pub(crate) fn peek(&self, key: &str) -> Option<Cursor<'a>> {
        let value = self.value.get(key)?;
        Some(self.child(key, value))
    }

    pub(crate) fn get(&self, key: &str) -> Option<Cursor<'a>> {
        let child = self.peek(key)?;
        child.mark();
        Some(child)
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
        let flag = self.value.get(key).and_then(Value::as_bool);
        flag.is_some_and(|_| self.get(key).is_some()) && flag == Some(true)
    }

    /// The texts of an array.
    pub(crate) fn texts(&self, key: &str) -> Vec<&'a str> {
        let items = self.get(key).map(|array| array.items());
        let items = items.into_iter().flatten();
        items.filter_map(|one| one.value.as_str()).collect()
    }

    /// The members of an object.
    pub(crate) fn entries(&self) -> Vec<(&'a str, Cursor<'a>)> {
        let members = self.value.as_object().into_iter().flatten();
        let members = members.map(|(key, value)| (key.as_str(), self.child(key, value)));
        members.inspect(|(_, child)| child.mark()).collect()
    }

    pub(crate) fn keys(&self) -> Vec<&'a str> {
        let keys = self.value.as_object().into_iter().flat_map(Map::keys);
        keys.map(String::as_str).collect()
    }

    /// The items of an array.
    pub(crate) fn items(&self) -> Vec<Cursor<'a>> {
        let items = self.peek_items();
        items.iter().for_each(Cursor::mark);
        items
    }

    /// The items of an array, without reading them yet.
    pub(crate) fn peek_items(&self) -> Vec<Cursor<'a>> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        let items = items.map(|(index, value)| self.child(&index.to_string(), value));
        items.collect()
    }

    /// Where the reference at this place leads, one step; nothing where it is none.
    pub(crate) fn target(&self) -> Option<Cursor<'a>> {
        let reference = self.text("$ref")?;
        self.document.at(target(reference)?)
    }

    /// The same without reading the reference.
    pub(crate) fn peek_target(&self) -> Option<Cursor<'a>> {
        let reference = self.value.get("$ref")?.as_str()?;
        self.document.at(target(reference)?)
    }

    /// Follows references; what is none is itself.
    pub(crate) fn followed(self) -> Cursor<'a> {
        let mut cursor = self;
        // Ends also where references form a cycle, which is refused.
        for _ in 0..100 {
            let Some(next) = cursor.target() else { break };
            cursor = next;
        }
        cursor
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

/// Keywords whose members have names of their own, so that none of these is a keyword.
const NAMED: [&str; 10] = [
    "$defs",
    "callbacks",
    "headers",
    "links",
    "parameters",
    "properties",
    "requestBodies",
    "responses",
    "schemas",
    "securitySchemes",
];

/// Refuses every reference that leads nowhere in this document.
pub(super) fn check_references(document: &Document, findings: &mut Findings) {
    check(document, &document.value, "", findings);
}

fn check(document: &Document, value: &Value, at: &str, findings: &mut Findings) {
    let named = NAMED.contains(&at.rsplit('/').next().unwrap_or_default());
    let each = |(key, child): (String, &Value)| {
        // An example may hold anything, and so may an extension.
        let is_open = key == "example" || key == "examples" || key.starts_with("x-");
        if is_open && !named {
            return;
        }
        let below = format!("{at}{}", pointer(&[&key]));
        match child.as_str().filter(|_| key == "$ref") {
            Some(text) if !leads_somewhere(document, text) => findings.refuse(
                &below,
                &format!("there is nothing at {text}"),
                "add it to /components, or correct the reference",
            ),
            Some(_) => {}
            None => check(document, child, &below, findings),
        }
    };
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, one)| (key.clone(), one))
            .for_each(each),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, one)| (index.to_string(), one))
                .for_each(each);
        }
        _ => {}
    }
}

/// Whether following the reference ends at a value that is no reference itself.
fn leads_somewhere(document: &Document, reference: &str) -> bool {
    let mut next = Some(reference.to_owned());
    for _ in 0..100 {
        let Some(reference) = next else { return true };
        let found = target(&reference).and_then(|at| document.value.pointer(&at));
        let Some(value) = found else { return false };
        next = value.get("$ref").and_then(Value::as_str).map(str::to_owned);
    }
    false
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
        let root = document.root();
        root.get("a").unwrap().get("c").unwrap().items()[1].get("d");
        let unread = document.unread();
        let places: Vec<&str> = unread.iter().map(|(at, _)| at.as_str()).collect();
        assert_eq!(places, ["/a/b", "/e"]);
    }
}
