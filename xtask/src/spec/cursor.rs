//! A document, what was found in it, and cursors, which record what was read; what no cursor has read is not generated.

use indexmap::IndexSet;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

// What notes are about: the topics of the summary, which come in the order of the alphabet.
pub(crate) const LIST_GONE: &str = "lists of earlier versions that are gone";
pub(crate) const NO_LIST: &str = "operations that look like a list and are not generated as one";
pub(crate) const OPERATION: &str = "operations without a method of a client";
pub(crate) const PARAMETER: &str = "parameters that no method takes";
pub(crate) const SECURITY: &str = "security schemes that the client does not send";
pub(crate) const SERVER: &str = "servers whose path belongs to the base URL, which users give";
pub(crate) const UNNAMED: &str =
    "values and fields that no language can name; they are delivered like undocumented ones";
pub(crate) const RAW: &str = "values kept as raw JSON";

/// How many places of a keyword the summary shows.
const SHOWN: usize = 4;

/// A document, the places of it that were read, and what was found there.
#[derive(Default)]
pub(crate) struct Document {
    pub(crate) value: Value,
    read: RefCell<BTreeSet<String>>,
    /// Sentences with the place (a JSON pointer), the reason and the way out.
    refusals: RefCell<IndexSet<String>>,
    notes: RefCell<BTreeMap<&'static str, BTreeSet<String>>>,
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

    /// Stops generation once everything is read; a shared schema is met once per reference to it.
    pub(crate) fn refuse(&self, at: &str, reason: &str, way_out: &str) {
        let refusal = format!("{at}: {reason}; {way_out}");
        self.refusals.borrow_mut().insert(refusal);
    }

    /// Tells the person who generates what is not generated.
    pub(crate) fn note(&self, topic: &'static str, text: impl Into<String>) {
        let mut notes = self.notes.borrow_mut();
        notes.entry(topic).or_default().insert(text.into());
    }

    /// All refusals, if there are any.
    pub(crate) fn refusals(&self, file: &str) -> Result<(), String> {
        let refusals = self.refusals.borrow();
        let lines = refusals.iter().map(|one| format!("{file}{one}"));
        let lines = lines.collect::<Vec<_>>().join("\n");
        match refusals.len() {
            0 => Ok(()),
            1 => Err(lines),
            count => Err(format!("{lines}\n{count} problems; nothing was written")),
        }
    }

    /// What is not generated: the notes, and what was not read, by keyword.
    pub(crate) fn summary(&self) -> String {
        let mut text = "Not generated:\n".to_owned();
        for (topic, notes) in self.notes.borrow().iter() {
            text += &format!("  {topic} ({}):\n", notes.len());
            text.extend(notes.iter().map(|note| format!("    {note}\n")));
        }
        let mut unread: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for one in self.unread() {
            unread.entry(one.key()).or_default().push(one.at);
        }
        for (key, places) in &unread {
            let (shown, others) = places.split_at(places.len().min(SHOWN));
            text += &format!("  {key} ({}): {}", places.len(), shown.join(" "));
            text += &match others.len() {
                0 => "\n".to_owned(),
                more => format!(" and {more} more\n"),
            };
        }
        text
    }

    /// Every value that was not read; of one that was not read at all, nothing below it.
    pub(crate) fn unread(&self) -> Vec<Cursor<'_>> {
        let mut waiting: Vec<Cursor> = self.at("").into_iter().collect();
        let mut out = Vec::new();
        while let Some(one) = waiting.pop() {
            if self.read.borrow().contains(&one.at) {
                waiting.extend(one.children().into_iter().rev())
            } else {
                out.push(one)
            }
        }
        out
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

    /// What a reference leads to, in one step.
    fn follow(&self, reference: &str) -> Option<Cursor<'_>> {
        let fragment = percent_decode_str(reference.strip_prefix('#')?);
        self.at(&fragment.decode_utf8().ok()?)
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

    /// The last step to the place: the name of a member, or the number of an item.
    pub(crate) fn key(&self) -> String {
        let (_, key) = self.at.rsplit_once('/').unwrap_or_default();
        key.replace("~1", "/").replace("~0", "~")
    }

    /// A member of an object, or an item of an array, without reading it yet.
    pub(crate) fn peek(&self, key: &str) -> Option<Cursor<'a>> {
        let step = pointer(&[key]);
        Some(Cursor {
            document: self.document,
            value: self.value.pointer(&step)?,
            at: self.at.clone() + &step,
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
    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        let array = self.get(key);
        let items = array.iter().flat_map(Cursor::items);
        let texts = items.filter_map(|one| one.value.as_str());
        texts.map(str::to_owned).collect()
    }

    /// The members of an object, or the items of an array, without reading them yet.
    pub(crate) fn children(&self) -> Vec<Cursor<'a>> {
        let keys: Vec<String> = match self.value {
            Value::Object(map) => map.keys().cloned().collect(),
            Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
            _ => Vec::new(),
        };
        keys.iter().filter_map(|key| self.peek(key)).collect()
    }

    /// The members of an object, or the items of an array.
    pub(crate) fn items(&self) -> Vec<Cursor<'a>> {
        let children = self.children();
        children.iter().for_each(Cursor::mark);
        children
    }

    /// Where the reference at this place leads, one step; nothing where it is none. One that leads nowhere is refused.
    pub(crate) fn target(&self) -> Option<Cursor<'a>> {
        let reference = self.text("$ref")?;
        let first = self.document.follow(reference);
        let next = |one: &Cursor<'a>| self.document.follow(one.value.get("$ref")?.as_str()?);
        let mut steps = std::iter::successors(first.clone(), next).take(100);
        if steps.all(|one| one.has("$ref")) {
            let reason = format!("there is nothing at {reference}");
            let fix = "add it to /components, or correct the reference";
            self.peek("$ref")?.refuse(&reason, fix);
            return None;
        }
        first
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
