//! A document, the findings in it, and cursors, which record what was read. Parts that no cursor has read are not
//! generated.

use indexmap::{IndexMap, IndexSet};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

// The topics of notes, which the summary shows in alphabetical order.
pub(crate) const LIST_GONE: &str = "lists of earlier versions that are gone";
pub(crate) const NO_LIST: &str = "operations that look like a list and are not generated as one";
pub(crate) const RENAMED: &str = "things that get another name than their own";
pub(crate) const OPERATION: &str = "operations without a method of a client";
pub(crate) const PARAMETER: &str = "parameters and bodies that no method takes";
pub(crate) const REFERENCE: &str =
    "references that lead nowhere; what is there is any JSON, or left out";
pub(crate) const SECRET: &str = "secrets that are given like other texts";
pub(crate) const SECURITY: &str = "security schemes that the client does not send";
pub(crate) const SERVER: &str = "servers whose path belongs to the base URL, which users give";
pub(crate) const UNNAMED: &str =
    "values and fields that no language can name; they are delivered like undocumented ones";
pub(crate) const RAW: &str = "values kept as raw JSON";

/// The number of places of a keyword that the summary shows.
const SHOWN: usize = 4;

/// The suffix after an operation's place that identifies its name.
pub(crate) const NAME: &str = " name";
/// The suffix after an operation's place that identifies the name of its list.
pub(crate) const LIST: &str = " list";

/// Limits the rounds of renaming until all names differ.
const MAX_ROUNDS: u32 = 50;

/// The advice for a file that refers to other files.
const BUNDLE: &str = "bundle the files first: npx @redocly/cli bundle FILE --output bundled.yaml";

/// A document, the places that were read, and the findings.
#[derive(Default)]
pub(crate) struct Document {
    pub(crate) value: Value,
    read: RefCell<BTreeSet<String>>,
    /// The reasons why nothing can be generated from the document: sentences with the place (a JSON pointer), the
    /// reason and the remedy.
    refusals: RefCell<IndexSet<String>>,
    /// The notes, by topic and cause: the place, the description, and the other places of the same cause.
    notes: RefCell<BTreeMap<&'static str, IndexMap<String, Note>>>,
    /// The numbers of items whose names others have, by their keys.
    numbers: RefCell<IndexMap<String, (u32, Clash)>>,
    rounds: Cell<u32>,
}

/// A part that is not generated, or not as it is written, and the reason.
struct Note {
    text: String,
    places: BTreeSet<String>,
}

/// An item whose name another item has.
#[derive(Clone, Debug)]
pub(crate) struct Clash {
    /// The key of the item, for [`Document::numbered`].
    pub(crate) own: String,
    pub(crate) at: String,
    /// Both items, and the name.
    pub(crate) reason: String,
    /// The way to give it a name of its own.
    pub(crate) fix: String,
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

    /// Stops generation once everything is read.
    pub(crate) fn refuse(&self, at: &str, reason: &str, way_out: &str) {
        let refusal = format!("{at}: {reason}; {way_out}");
        self.refusals.borrow_mut().insert(refusal);
    }

    /// Notes for the user what is not generated: the place, the reason and the remedy.
    pub(crate) fn note(&self, topic: &'static str, at: &str, cause: &str, fix: &str) {
        self.add(topic, format!("{at}: {cause}"), [at, at], cause, fix);
    }

    /// Notes a cause that occurs at several places, of which the second in `places` is counted.
    pub(crate) fn note_cause(
        &self,
        topic: &'static str,
        places: [&str; 2],
        cause: &str,
        fix: &str,
    ) {
        self.add(topic, cause.to_owned(), places, cause, fix);
    }

    fn add(&self, topic: &'static str, key: String, places: [&str; 2], cause: &str, fix: &str) {
        let [at, met_at] = places;
        let mut notes = self.notes.borrow_mut();
        let note = notes.entry(topic).or_default().entry(key);
        let note = note.or_insert_with(|| Note {
            text: format!("{at}: {cause}; {fix}"),
            places: BTreeSet::new(),
        });
        note.places.insert(met_at.to_owned());
    }

    /// Returns the words of an item, with its number if another item has its name.
    pub(crate) fn numbered(&self, own: &str, words: &str) -> String {
        match self.numbers.borrow().get(own) {
            Some((number, _)) => format!("{words}{number}"),
            None => words.to_owned(),
        }
    }

    /// Gives a number to each item whose name another item has, and forgets what was read, so that it is read again
    /// with these numbers. Names of parts of an operation follow from its first clash.
    pub(crate) fn number(&self, clashes: Vec<Clash>) -> bool {
        let mut numbers = self.numbers.borrow_mut();
        let mut done = BTreeSet::new();
        self.rounds.set(self.rounds.get() + 1);
        let goes_on = !clashes.is_empty() && self.rounds.get() < MAX_ROUNDS;
        for clash in clashes {
            let is_part = |whole: &String| clash.own.starts_with(&format!("{whole} "));
            if goes_on && done.iter().any(is_part) {
                // Its name may be unique once that of the whole is.
                continue;
            }
            if !goes_on {
                self.refuse(&clash.at, &clash.reason, &clash.fix);
            } else if done.insert(clash.own.trim_end_matches(NAME).to_owned()) {
                let entry = numbers.entry(clash.own.clone());
                entry.or_insert((1, clash)).0 += 1;
            }
        }
        if goes_on {
            self.read.borrow_mut().clear();
            self.notes.borrow_mut().clear();
            self.refusals.borrow_mut().clear();
        } else {
            for (
                number,
                Clash {
                    at, reason, fix, ..
                },
            ) in numbers.values()
            {
                let cause = format!("{reason}: it gets the number {number}");
                self.note(RENAMED, at, &cause, fix);
            }
        }
        goes_on
    }

    /// Returns all refusals, if there are any. With `strictly`, everything that is not generated counts as one.
    pub(crate) fn refusals(&self, file: &str, strictly: bool) -> Result<(), String> {
        let mut lines: Vec<String> = self.refusals.borrow().iter().cloned().collect();
        let notes = self.notes.borrow();
        let notes = notes
            .values()
            .flat_map(IndexMap::values)
            .filter(|_| strictly);
        lines.extend(notes.map(Note::line));
        let text = lines.iter().map(|one| format!("{file}{one}"));
        let text = text.collect::<Vec<_>>().join("\n");
        match lines.len() {
            0 => Ok(()),
            1 => Err(text),
            count => Err(format!("{text}\n{count} problems; nothing was written")),
        }
    }

    /// Returns what is not generated: the notes, and unread parts, by keyword.
    pub(crate) fn summary(&self) -> String {
        let mut text = "Not generated:\n".to_owned();
        for (topic, notes) in self.notes.borrow().iter() {
            text += &format!("  {topic} ({}):\n", notes.len());
            text.extend(notes.values().map(|note| format!("    {}\n", note.line())));
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

    /// Refuses a document that is a part of another one. Only the first reference to another file is reported.
    fn refuse_other_files(&self, at: &str, reference: &str) {
        let mut refusals = self.refusals.borrow_mut();
        if !refusals.iter().any(|one| one.ends_with(BUNDLE)) {
            let reason = format!("{reference} is in another file, and one file is read");
            refusals.insert(format!("{at}/$ref: {reason}; {BUNDLE}"));
        }
    }

    /// Returns every value that was not read, without the values below it.
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

    /// Returns the value at a pointer.
    pub(crate) fn at(&self, pointer: &str) -> Option<Cursor<'_>> {
        let cursor = Cursor {
            document: self,
            value: self.value.pointer(pointer)?,
            at: pointer.to_owned(),
        };
        cursor.mark();
        Some(cursor)
    }

    /// Returns the target of a reference, one step away.
    fn follow(&self, reference: &str) -> Option<Cursor<'_>> {
        let fragment = percent_decode_str(reference.strip_prefix('#')?);
        self.at(&fragment.decode_utf8().ok()?)
    }
}

impl Note {
    fn line(&self) -> String {
        match self.places.len() {
            1 => self.text.clone(),
            count => format!("{} (and {} more places)", self.text, count - 1),
        }
    }
}

impl<'a> Cursor<'a> {
    /// Notes that the value here is read as any JSON.
    pub(crate) fn raw(&self, reason: &str, way_out: &str) {
        self.document.note(RAW, &self.at, reason, way_out);
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

    /// Returns the last step to the place: the name of a member, or the number of an item.
    pub(crate) fn key(&self) -> String {
        let (_, key) = self.at.rsplit_once('/').unwrap_or_default();
        key.replace("~1", "/").replace("~0", "~")
    }

    /// Returns a member of an object, or an item of an array, without marking it as read.
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

    /// Returns the strings in an array.
    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        let array = self.get(key);
        let items = array.iter().flat_map(Cursor::items);
        let texts = items.filter_map(|one| one.value.as_str());
        texts.map(str::to_owned).collect()
    }

    /// Returns the members of an object, or the items of an array, without marking them as read.
    pub(crate) fn children(&self) -> Vec<Cursor<'a>> {
        let keys: Vec<String> = match self.value {
            Value::Object(map) => map.keys().cloned().collect(),
            Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
            _ => Vec::new(),
        };
        keys.iter().filter_map(|key| self.peek(key)).collect()
    }

    /// Returns the members of an object, or the items of an array.
    pub(crate) fn items(&self) -> Vec<Cursor<'a>> {
        let children = self.children();
        children.iter().for_each(Cursor::mark);
        children
    }

    /// Returns the target of the reference at this place, one step away; `None` if there is no reference, or if it
    /// leads nowhere, which is noted.
    pub(crate) fn target(&self) -> Option<Cursor<'a>> {
        let reference = self.text("$ref")?;
        if !reference.starts_with('#') {
            self.document.refuse_other_files(&self.at, reference);
            return None;
        }
        let first = self.document.follow(reference);
        let next = |one: &Cursor<'a>| self.document.follow(one.value.get("$ref")?.as_str()?);
        let mut steps = std::iter::successors(first.clone(), next).take(100);
        if steps.all(|one| one.has("$ref")) {
            let reason = format!("there is nothing at {reference}");
            let fix = "add it to /components, or correct the reference";
            let at = self.peek("$ref")?.at;
            self.document
                .note_cause(REFERENCE, [&at, &at], &reason, fix);
            return None;
        }
        first
    }

    /// Follows references. A value that is not a reference is returned unchanged.
    pub(crate) fn followed(self) -> Cursor<'a> {
        match self.target() {
            Some(next) => next.followed(),
            None => self,
        }
    }
}

/// Returns a JSON pointer of these steps.
pub(crate) fn pointer(steps: &[&str]) -> String {
    let escaped = steps
        .iter()
        .map(|step| step.replace('~', "~0").replace('/', "~1"));
    escaped.map(|step| format!("/{step}")).collect()
}
