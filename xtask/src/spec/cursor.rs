//! Reads a document through cursors, which record the places that were read, and collects the findings. Parts that no
//! cursor has read are not generated.

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

/// Limits the rounds of renaming that make all names different.
const MAX_ROUNDS: u32 = 50;

/// The advice for a file that refers to other files.
pub(super) const BUNDLE: &str =
    "bundle the files first: npx @redocly/cli bundle FILE --output bundled.yaml";

/// A document, the places that were read, and the findings.
#[derive(Default)]
pub(crate) struct Document {
    pub(crate) value: Value,
    read: RefCell<BTreeSet<String>>,
    /// The problems that prevent the generation of anything: sentences with the place (a JSON pointer), the reason and
    /// the remedy.
    refusals: RefCell<IndexSet<String>>,
    /// The notes by topic and cause. A note has all places of its cause.
    notes: RefCell<BTreeMap<&'static str, IndexMap<String, Note>>>,
    /// The number of each item whose name another item has, by the item's key.
    numbers: RefCell<IndexMap<String, (u32, Clash)>>,
    rounds: Cell<u32>,
}

/// A note about a part that is not generated as it is written, or not at all.
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
    /// The reason for the user, which names both items and the name.
    pub(crate) reason: String,
    /// The advice for giving the item its own name.
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

    /// Records a problem that prevents the generation, which fails after the whole document was read.
    pub(crate) fn refuse(&self, at: &str, reason: &str, way_out: &str) {
        let refusal = format!("{at}: {reason}; {way_out}");
        self.refusals.borrow_mut().insert(refusal);
    }

    /// Records, for the user, a part that is not generated: the place, the reason and the remedy.
    pub(crate) fn note(&self, topic: &'static str, at: &str, cause: &str, fix: &str) {
        self.add(topic, format!("{at}: {cause}"), [at, at], cause, fix);
    }

    /// Records a cause that may occur at several places. `places` has the place to show and the place to count.
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
        let [at, counted] = places;
        let mut notes = self.notes.borrow_mut();
        let entry = notes.entry(topic).or_default().entry(key);
        let note = entry.or_insert_with(|| Note {
            text: format!("{at}: {cause}; {fix}"),
            places: BTreeSet::new(),
        });
        note.places.insert(counted.to_owned());
    }

    /// Returns the words of an item's name, with a number if another item has the same name.
    pub(crate) fn numbered(&self, own: &str, words: &str) -> String {
        match self.numbers.borrow().get(own) {
            Some((number, _)) => format!("{words}{number}"),
            None => words.to_owned(),
        }
    }

    /// Gives a number to each item whose name another item has, and resets the document, so that it is read again with
    /// these numbers. Returns whether it must be read again. If both an operation or schema and its parts clash, only
    /// the first clash gets a number, because the names of parts follow from the name of the whole.
    pub(crate) fn number(&self, clashes: Vec<Clash>) -> bool {
        let mut numbers = self.numbers.borrow_mut();
        let mut done = BTreeSet::new();
        self.rounds.set(self.rounds.get() + 1);
        let has_next_round = !clashes.is_empty() && self.rounds.get() < MAX_ROUNDS;
        for clash in clashes {
            let rest = |whole: &String| clash.own.strip_prefix(whole.as_str());
            let is_part = |whole| rest(whole).is_some_and(|rest| rest.starts_with([' ', '/']));
            if has_next_round && done.iter().any(is_part) {
                // The name of a part may be unique after the operation or the schema got a number.
                continue;
            }
            if !has_next_round {
                self.refuse(&clash.at, &clash.reason, &clash.fix);
            } else if done.insert(clash.own.trim_end_matches(NAME).to_owned()) {
                let entry = numbers.entry(clash.own.clone());
                entry.or_insert((1, clash)).0 += 1;
            }
        }
        if has_next_round {
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
        has_next_round
    }

    /// Returns an error with all problems, if there are any. With `strictly`, each part that is not generated is a
    /// problem.
    pub(crate) fn refusals(&self, file: &str, strictly: bool) -> Result<(), String> {
        let mut lines: Vec<String> = self.refusals.borrow().iter().cloned().collect();
        if strictly {
            let notes = self.notes.borrow();
            lines.extend(notes.values().flat_map(IndexMap::values).map(Note::line));
        }
        let named = lines.iter().map(|one| format!("{file}{one}"));
        let text = named.collect::<Vec<_>>().join("\n");
        match lines.len() {
            0 => Ok(()),
            1 => Err(text),
            count => Err(format!("{text}\n{count} problems; nothing was written")),
        }
    }

    /// Returns a list of the parts that are not generated: the notes by topic, and the unread parts by keyword.
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

    /// Refuses a document that refers to other files. Only the first of these references is reported.
    fn refuse_other_files(&self, at: &str, reference: &str) {
        let mut refusals = self.refusals.borrow_mut();
        if !refusals.iter().any(|one| one.ends_with(BUNDLE)) {
            let reason = format!("{reference} is in another file, and one file is read");
            refusals.insert(format!("{at}/$ref: {reason}; {BUNDLE}"));
        }
    }

    /// Returns every value that was not read. Values within an unread value are omitted.
    pub(crate) fn unread(&self) -> Vec<Cursor<'_>> {
        let mut pending: Vec<Cursor> = self.at("").into_iter().collect();
        let mut unread = Vec::new();
        while let Some(one) = pending.pop() {
            if self.read.borrow().contains(&one.at) {
                pending.extend(one.children().into_iter().rev())
            } else {
                unread.push(one)
            }
        }
        unread
    }

    /// Returns the value at a pointer, and marks it as read.
    pub(crate) fn at(&self, pointer: &str) -> Option<Cursor<'_>> {
        let cursor = Cursor {
            document: self,
            value: self.value.pointer(pointer)?,
            at: pointer.to_owned(),
        };
        cursor.mark();
        Some(cursor)
    }

    /// Returns the direct target of a reference, which may be another reference.
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
    /// Records that the value at this place is kept as raw JSON.
    pub(crate) fn raw(&self, reason: &str, way_out: &str) {
        self.document.note(RAW, &self.at, reason, way_out);
    }

    /// Records that this place and all places above it were read.
    pub(crate) fn mark(&self) {
        let mut read = self.document.read.borrow_mut();
        let mut at = self.at.as_str();
        while read.insert(at.to_owned()) {
            at = at.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }

    /// Records that this place and all places below it were read.
    pub(crate) fn mark_all(&self) {
        self.mark();
        self.items().iter().for_each(Cursor::mark_all);
    }

    /// Returns the last step of the place: the name of a field, or the index of an item.
    pub(crate) fn key(&self) -> String {
        let (_, key) = self.at.rsplit_once('/').unwrap_or_default();
        key.replace("~1", "/").replace("~0", "~")
    }

    /// Returns a field of an object, or an item of an array, without marking it as read.
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

    /// Returns the fields of an object, or the items of an array, without marking them as read.
    pub(crate) fn children(&self) -> Vec<Cursor<'a>> {
        let keys: Vec<String> = match self.value {
            Value::Object(map) => map.keys().cloned().collect(),
            Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
            _ => Vec::new(),
        };
        keys.iter().filter_map(|key| self.peek(key)).collect()
    }

    /// Returns the fields of an object, or the items of an array, and marks them as read.
    pub(crate) fn items(&self) -> Vec<Cursor<'a>> {
        let children = self.children();
        children.iter().for_each(Cursor::mark);
        children
    }

    /// Returns the direct target of the reference at this place; `None` if there is no reference. If the target does
    /// not exist, this is recorded, and the result is `None`.
    pub(crate) fn target(&self) -> Option<Cursor<'a>> {
        let reference = self.text("$ref")?;
        if !reference.starts_with('#') && !reference.is_empty() {
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

/// Returns the JSON pointer with these steps.
pub(crate) fn pointer(steps: &[&str]) -> String {
    let escaped = steps
        .iter()
        .map(|step| step.replace('~', "~0").replace('/', "~1"));
    escaped.map(|step| format!("/{step}")).collect()
}
