//! The fields of records that a scan delivers. Code that receives its pages never sees the others.

use super::options::ScanOptions;
use super::receipt::Receipt;
use crate::error::{Error, Result};
use crate::hash::HashKey;
use crate::json;
use crate::page::Page;
use crate::record::index::PageWriter;
use crate::settings::{Config, ListFields};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use talentdata_types::{ListName, ListShape};

/// The names under which receipts and mirrors record the fields of a list that are kept and dropped.
const KEPT_FIELDS: &str = "kept fields";
const DROPPED_FIELDS: &str = "dropped fields";
/// The name under which receipts and mirrors record the hashed fields of a list.
pub const HASHED_FIELDS: &str = "hashed fields";
/// The name under which checkpoints and mirrors record the name of the key of digests.
pub const KEY_NAME: &str = "hash key";
/// The step of a pointer that stands for every item of an array.
const ITEMS: &str = "*";

/// The action for a field that an option names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldAction {
    /// The field is kept. If any field has this action, others are dropped.
    Keep,
    /// The field is dropped.
    Drop,
    /// A digest takes the place of its value.
    Hash,
}

impl FieldAction {
    /// Each action, and the name of its option.
    const ALL: [(FieldAction, &str); 3] = [
        (FieldAction::Keep, "fields"),
        (FieldAction::Drop, "drop"),
        (FieldAction::Hash, "hash"),
    ];

    /// Returns the option that names such fields.
    fn option(self) -> &'static str {
        let mut all = FieldAction::ALL.iter();
        all.find(|(action, _)| *action == self)
            .map_or("", |(_, option)| option)
    }
}

/// A field, or a part of one, that an option names.
#[derive(Debug)]
struct Pointer {
    action: FieldAction,
    /// The name as the caller wrote it.
    name: String,
    /// The steps of the pointer, their escapes resolved.
    steps: Vec<String>,
}

/// The actions for a value and for its parts.
#[derive(Debug, Default)]
struct Node {
    actions: Vec<FieldAction>,
    /// The parts with actions, by the step that leads to each.
    parts: BTreeMap<String, Node>,
    /// True if a record had this value.
    matched: bool,
}

impl Node {
    fn has(&self, action: FieldAction) -> bool {
        self.actions.contains(&action)
    }

    /// Returns the node to which these steps lead, and creates it if there is none.
    fn at(&mut self, steps: &[String]) -> &mut Node {
        let mut node = self;
        for step in steps {
            node = node.parts.entry(step.clone()).or_default();
        }
        node
    }

    /// Writes the kept parts of an object or array. `is_kept` is true if parts are kept that no pointer names.
    fn write_kept(&mut self, value: &str, is_kept: bool, key: Option<&HashKey>, out: &mut String) {
        let is_object = value.starts_with('{');
        out.push(if is_object { '{' } else { '[' });
        let place = Place {
            is_kept,
            key,
            start: out.len(),
        };
        if is_object {
            json::each_member(value, |name, part| {
                self.write_part(Some(name), part, place, out);
            });
        } else {
            json::each_item(value, |part| self.write_part(None, part, place, out));
        }
        out.push(if is_object { '}' } else { ']' });
    }

    /// Writes a member with this raw name, or an item of an array, unless it is dropped.
    fn write_part(&mut self, name: Option<&str>, part: &str, place: Place<'_>, out: &mut String) {
        let step = name.map_or(Some(ITEMS.into()), json::text);
        let begin = |out: &mut String| {
            if out.len() > place.start {
                out.push(',');
            }
            if let Some(name) = name {
                out.extend(["\"", name, "\":"]);
            }
        };
        let Some(node) = step.and_then(|step| self.parts.get_mut(&*step)) else {
            if place.is_kept {
                begin(out);
                out.push_str(part);
            }
            return;
        };
        node.matched = true;
        let is_hashed = node.has(FieldAction::Hash);
        let is_kept = is_hashed || place.is_kept || node.has(FieldAction::Keep);
        let has_parts = part.starts_with(['{', '[']) && !node.parts.is_empty();
        // A value without parts is not kept because of pointers to its parts.
        if node.has(FieldAction::Drop) || !(is_kept || has_parts) {
            return;
        }
        begin(out);
        match place.key {
            _ if !is_hashed && has_parts => node.write_kept(part, is_kept, place.key, out),
            _ if !is_hashed => out.push_str(part),
            Some(key) if part != "null" => {
                // A digest of what is dropped would let others test guesses.
                let mut rest = String::new();
                if has_parts {
                    node.write_kept(part, is_kept, place.key, &mut rest);
                }
                let digest = key.digest(if has_parts { &rest } else { part });
                out.extend(["\"", &digest, "\""]);
            }
            _ => out.push_str("null"),
        }
    }
}

/// The place of a part that is written.
#[derive(Clone, Copy)]
struct Place<'k> {
    /// True if the part is kept even if no pointer names it.
    is_kept: bool,
    key: Option<&'k HashKey>,
    /// The length of the output before the first part.
    start: usize,
}

/// The fields to keep, to drop and to hash.
#[derive(Debug, Default)]
pub(super) struct FieldPolicy {
    /// True if only named fields are kept.
    keeps: bool,
    pointers: Vec<Pointer>,
    /// The actions of the pointers, from a record on.
    record: Node,
    /// The key of the digests. `None` if nothing is hashed, or nothing is applied.
    key: Option<HashKey>,
}

impl FieldPolicy {
    /// Creates the policy of a scan without the key of digests, for inspection.
    ///
    /// # Errors
    /// `InvalidArgument` for a string that is neither a name nor a pointer, and for `id` in `drop`.
    fn new(options: &ScanOptions) -> Result<Self> {
        let keeps = !options.fields.is_empty();
        let (mut pointers, mut record) = (Vec::new(), Node::default());
        for (action, option) in FieldAction::ALL {
            for name in options.named(action) {
                let steps = steps(option, name)?;
                record.at(&steps).actions.push(action);
                pointers.push(Pointer {
                    action,
                    name: name.clone(),
                    steps,
                });
            }
        }
        let mut dropped = pointers
            .iter()
            .filter(|one| one.action == FieldAction::Drop);
        if dropped.any(|one| one.steps.first().is_some_and(|name| name == "id")) {
            let message = "drop: id cannot be dropped, because it identifies records; remove it from drop, or add it to hash";
            return Err(Error::invalid(message));
        }
        Ok(FieldPolicy {
            keeps,
            pointers,
            record,
            key: None,
        })
    }

    /// Creates the policy of a scan for records, with the key of the settings if a field is hashed.
    ///
    /// # Errors
    /// See [`new`](Self::new); also `Config` if the key is missing or too short.
    pub(super) fn with_key(options: &ScanOptions, config: &Config) -> Result<Self> {
        Ok(FieldPolicy {
            key: options.hash_key(config)?,
            ..Self::new(options)?
        })
    }

    /// Returns the key if a digest takes the place of `id`, which then must not appear anywhere else either.
    pub(super) fn key_of_id(&self) -> Option<&HashKey> {
        let is_id = |one: &Pointer| {
            one.action == FieldAction::Hash && one.steps.first().is_some_and(|name| name == "id")
        };
        self.key
            .as_ref()
            .filter(|_| self.pointers.iter().any(is_id))
    }

    /// Checks that records still have all documented fields, which typed reading needs.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the field and the remedy.
    pub(super) fn check_typed(&self, shape: &ListShape) -> Result<()> {
        let refuse = |action: FieldAction, name: &str, what: &str| {
            Err(Error::invalid(format!(
                "{}: the documented field {name} is {what}, and typed records need it; read raw records or columns",
                action.option()
            )))
        };
        for field in shape.fields {
            let name = field.name;
            let is_kept = |one: &Pointer| one.action == FieldAction::Keep && one.steps.len() == 1;
            if self
                .of_field(name)
                .any(|one| one.action == FieldAction::Hash)
            {
                return refuse(FieldAction::Hash, name, "hashed");
            }
            if self
                .of_field(name)
                .any(|one| one.action == FieldAction::Drop)
            {
                return refuse(FieldAction::Drop, name, "dropped");
            }
            if self.keeps && name != "id" && !self.of_field(name).any(is_kept) {
                return refuse(FieldAction::Keep, name, "dropped");
            }
        }
        Ok(())
    }

    /// Returns the fields of records with this shape that the policy alters.
    fn altered(&self, shape: &ListShape) -> AlteredFields {
        let is_left_out = |name: &&str| {
            let mut own = self.of_field(name);
            let is_missing = self.keeps
                && *name != "id"
                && self
                    .of_field(name)
                    .all(|one| one.action == FieldAction::Drop);
            is_missing || own.any(|one| one.action == FieldAction::Drop && one.steps.len() == 1)
        };
        let names = shape.fields.iter().map(|field| field.name);
        let hashed = self
            .pointers
            .iter()
            .filter(|one| one.action == FieldAction::Hash);
        AlteredFields {
            left_out: names.filter(is_left_out).collect(),
            hashed: hashed.map(|one| one.steps.clone()).collect(),
        }
    }

    /// Returns whether records stay as the service sent them.
    pub(super) fn is_empty(&self) -> bool {
        self.pointers.is_empty()
    }

    /// Returns the pointers to a field or into it.
    fn of_field<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Pointer> {
        let is_own = move |one: &&Pointer| one.steps.first().is_some_and(|first| first == name);
        self.pointers.iter().filter(is_own)
    }

    /// Returns the page with only the kept parts of its records. Each record keeps its place.
    pub(super) fn apply(&mut self, mut page: Page) -> Result<Page> {
        let Some(first) = page.records.first().filter(|_| !self.is_empty()) else {
            return Ok(page);
        };
        let mut writer = PageWriter::new(first.page_text_len());
        for record in &page.records {
            writer.begin();
            record.each_member(|name, value| {
                writer.member(name, |out, start| {
                    let place = Place {
                        is_kept: !self.keeps || json::is_named(name, "id"),
                        key: self.key.as_ref(),
                        start,
                    };
                    self.record.write_part(Some(name), value, place, out);
                });
            });
            writer.end();
        }
        page.records = writer.records(first.offset())?;
        Ok(page)
    }

    /// Returns the fields that no record had.
    pub(super) fn unmatched(&self) -> impl Iterator<Item = &str> {
        let is_unmatched = |pointer: &&Pointer| {
            let mut node = Some(&self.record);
            for step in &pointer.steps {
                node = node.and_then(|node| node.parts.get(step));
                // Nothing is looked for in a value that is dropped.
                if node.is_some_and(|node| node.matched && node.has(FieldAction::Drop)) {
                    return false;
                }
            }
            node.is_some_and(|node| !node.matched)
        };
        let unmatched = self.pointers.iter().filter(is_unmatched);
        unmatched.map(|one| one.name.as_str())
    }
}

/// Reads the name of a field, or a JSON pointer.
fn steps(option: &str, name: &str) -> Result<Vec<String>> {
    let Some(pointer) = name.strip_prefix('/') else {
        if name.is_empty() {
            return Err(Error::invalid(format!(
                "{option}: the name of a field must not be empty"
            )));
        }
        if name.contains('/') {
            return Err(Error::invalid(format!(
                "{option}: {name:?} is neither a name nor a JSON pointer; begin it with / for a field within a field, or write ~1 for the / in a name, as in /a~1b"
            )));
        }
        return Ok(vec![name.to_owned()]);
    };
    if pointer.split('/').skip(1).any(is_index) {
        return Err(Error::invalid(format!(
            "{option}: {name:?} names an item of an array by its number; write * for all items, as in /languages/*/level"
        )));
    }
    let step = |step: &str| {
        let plain = step.replace("~0", "").replace("~1", "");
        if step.is_empty() || plain.contains('~') {
            return Err(Error::invalid(format!(
                "{option}: {name:?} is not a JSON pointer; write it as /languages/*/level, with ~1 for / and ~0 for ~"
            )));
        }
        Ok(step.replace("~1", "/").replace("~0", "~"))
    };
    pointer.split('/').map(step).collect()
}

/// Returns the fields in all lists, sorted and each only once, in their shortest form: `email` and not `/email`. A name
/// that is wrong stays as it is.
fn canonical<const N: usize>(lists: [&Vec<String>; N]) -> Vec<String> {
    let form = |name: &String| match steps("", name).as_deref() {
        Ok([step]) if !step.contains('/') => step.clone(),
        Ok(steps) => pointer(steps),
        Err(_) => name.clone(),
    };
    let sorted: BTreeSet<String> = lists.into_iter().flatten().map(form).collect();
    sorted.into_iter().collect()
}

/// Returns the pointer with these steps.
fn pointer(steps: &[String]) -> String {
    let steps = steps
        .iter()
        .map(|step| format!("/{}", json::pointer_step(step)));
    steps.collect()
}

/// Returns the fields that both lists name, alone or with more around them. A name that is wrong stays as it is.
fn within(names: &[String], allowed: &[String]) -> Vec<String> {
    let mut both = Vec::new();
    for name in names {
        let Ok(own) = steps("", name) else {
            both.push(name.clone());
            continue;
        };
        for other in allowed.iter().filter_map(|other| steps("", other).ok()) {
            if own.starts_with(&other) {
                both.push(pointer(&own));
            } else if other.starts_with(&own) {
                both.push(pointer(&other));
            }
        }
    }
    canonical([&both])
}

/// Returns whether a step of a pointer is the index of an item.
fn is_index(step: &str) -> bool {
    !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit())
}

/// The documented fields that records no longer have, and those that are digests now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlteredFields {
    /// The fields that are dropped completely.
    pub left_out: Vec<&'static str>,
    /// The steps to each hashed value: names of fields, and `*` for the items of an array.
    pub hashed: Vec<Vec<String>>,
}

impl ListFields {
    /// Returns whether the scan of this receipt left out everything that these fields leave out.
    pub fn were_applied(&self, receipt: &Receipt) -> bool {
        let names = |option: &str| {
            let names = receipt.parameters.get(option).and_then(Value::as_array);
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        };
        let options = ScanOptions {
            fields: names(KEPT_FIELDS),
            drop: names(DROPPED_FIELDS),
            hash: names(HASHED_FIELDS),
            ..ScanOptions::default()
        };
        let restricted = options.restricted(self);
        let is_same = |action| {
            canonical([&restricted.named(action).to_vec()])
                == canonical([&options.named(action).to_vec()])
        };
        FieldAction::ALL.iter().all(|(action, _)| is_same(*action))
    }
}

impl ScanOptions {
    /// Returns the names of the fields with this action.
    fn named(&self, action: FieldAction) -> &[String] {
        match action {
            FieldAction::Keep => &self.fields,
            FieldAction::Drop => &self.drop,
            FieldAction::Hash => &self.hash,
        }
    }

    /// Returns the options combined with the setting `lists` for this list. Options can only drop more.
    #[must_use]
    pub fn restricted_by(&self, config: &Config, list: ListName) -> Self {
        match config.lists.of(list) {
            Some(set) => self.restricted(set),
            None => self.clone(),
        }
    }

    /// Returns the options combined with the fields of a setting.
    pub(crate) fn restricted(&self, set: &ListFields) -> Self {
        let mut options = self.clone();
        options.drop = canonical([&self.drop, &set.drop]);
        options.hash = canonical([&self.hash, &set.hash]);
        if !set.fields.is_empty() {
            let allowed = canonical([&set.fields, &set.hash, &vec!["id".to_owned()]]);
            options.hash = canonical([&set.hash, &within(&self.hash, &allowed)]);
            if self.fields.is_empty() {
                options.fields.clone_from(&set.fields);
            } else {
                options.fields = within(&self.fields, &set.fields);
            }
            if options.fields.is_empty() {
                options.fields.push("id".to_owned());
            }
        }
        options
    }

    /// Checks the arguments and the fields of a scan of a list of this shape, before anything is sent.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the parameter or option.
    pub fn check(&self, shape: &ListShape) -> Result<()> {
        FieldPolicy::new(self)?;
        self.arguments.check(shape.operation)
    }

    /// Returns the key of the settings if a field is hashed.
    ///
    /// # Errors
    /// `Config` if the key is missing or too short.
    pub fn hash_key(&self, config: &Config) -> Result<Option<HashKey>> {
        if self.hash.is_empty() {
            return Ok(None);
        }
        config.require_hash_key().map(Some)
    }

    /// Returns the altered fields of records, or none for options that [`check`](Self::check) refuses.
    pub fn altered(&self, shape: &ListShape) -> AlteredFields {
        FieldPolicy::new(self)
            .map_or_else(|_| AlteredFields::default(), |policy| policy.altered(shape))
    }

    /// Returns these options as receipts record them: the values of parameters, and the fields that are kept, dropped
    /// or hashed, under names that no parameter has. The same fields in another order or form are the same.
    fn recorded(&self, shape: &ListShape) -> BTreeMap<String, Value> {
        let mut recorded = self.arguments.recorded(shape.operation);
        for (option, names) in [
            (KEPT_FIELDS, &self.fields),
            (DROPPED_FIELDS, &self.drop),
            (HASHED_FIELDS, &self.hash),
        ] {
            if !names.is_empty() {
                recorded.insert(option.to_owned(), canonical([names]).into());
            }
        }
        recorded
    }

    /// Returns the values that checkpoints and mirrors compare: the options as receipts record them, and the name of
    /// the key.
    ///
    /// # Errors
    /// See [`hash_key`](Self::hash_key).
    pub fn identity(&self, shape: &ListShape, config: &Config) -> Result<BTreeMap<String, Value>> {
        let mut identity = self.recorded(shape);
        if let Some(key) = self.hash_key(config)? {
            identity.insert(KEY_NAME.to_owned(), key.name().into());
        }
        Ok(identity)
    }

    /// Returns the receipt of a scan that has not begun.
    pub fn receipt(&self, resource: ListName) -> Receipt {
        Receipt {
            resource: resource.name().to_owned(),
            parameters: self.recorded(resource.shape()),
            ..Receipt::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::record::RawRecord;
    use crate::request::stats::Hides;
    use crate::request::transport::Response;
    use crate::settings::Builder;
    use talentdata_types::Secret;

    const RECORD: &str = r#"{"id":"1","name":"Ada", "a/b":2,"langs":[{"code":"en", "level":9},"x"],"\u0065mail":"a@b","score":0.50}"#;

    fn fields(names: &[&str]) -> ScanOptions {
        ScanOptions::default().with_fields(names.iter().copied())
    }

    fn drop(names: &[&str]) -> ScanOptions {
        ScanOptions::default().with_drop(names.iter().copied())
    }

    fn key() -> HashKey {
        HashKey::new(&Secret::new("k".repeat(32))).unwrap()
    }

    fn kept(options: &ScanOptions) -> String {
        left(&mut keyed(options), RECORD)
    }

    /// Returns the policy of a scan with a key.
    fn keyed(options: &ScanOptions) -> FieldPolicy {
        let key = Some(key());
        FieldPolicy {
            key,
            ..FieldPolicy::new(options).unwrap()
        }
    }

    /// Returns what is left of a record, after a check that its page is the one that reading the text returns.
    fn left(policy: &mut FieldPolicy, record: &str) -> String {
        let page = r#"{"contacts":[{"id":7},"#.to_owned() + record + "]}";
        let response = Response::of_json(page);
        let page = Page::read(&response, None, 40, Hides::default()).unwrap();
        let written = policy.apply(page).unwrap().records;
        let texts: Vec<&str> = written.iter().map(RawRecord::as_str).collect();
        let read = RawRecord::parse_page(&texts, 40).unwrap();
        for (one, other) in written.iter().zip(&read) {
            let facts = |one: &RawRecord| (one.id().map(str::to_owned), one.offset());
            assert_eq!(one.members(), other.members());
            assert_eq!(facts(one), facts(other));
        }
        assert_eq!(written.len(), 2);
        texts[1].to_owned()
    }

    #[test]
    fn a_dropped_field_is_removed_in_every_notation_of_its_name() {
        let left = r#"{"id":"1","langs":[{"code":"en"},"x"],"score":0.50}"#;
        assert_eq!(
            kept(&drop(&["name", "/a~1b", "/langs/*/level", "email"])),
            left
        );
    }

    #[test]
    fn only_fields_that_are_named_and_the_id_are_kept() {
        let left = r#"{"id":"1","langs":[{"level":9}],"score":0.50}"#;
        assert_eq!(
            kept(&fields(&["score", "/langs/*/level", "/name/first"])),
            left
        );
    }

    #[test]
    fn a_digest_takes_the_place_of_a_hashed_value() {
        let [level, email] = ["9", r#""a@b""#].map(|value| key().digest(value));
        let with_hash = |options: ScanOptions| options.with_hash(["/langs/*/level", "email"]);
        let left = format!(
            r#"{{"id":"1","a/b":2,"langs":[{{"code":"en","level":"{level}"}},"x"],"\u0065mail":"{email}","score":0.50}}"#
        );
        assert_eq!(kept(&with_hash(drop(&["name"]))), left);
        let left = format!(
            r#"{{"id":"1","name":"Ada","langs":[{{"level":"{level}"}}],"\u0065mail":"{email}"}}"#
        );
        assert_eq!(kept(&with_hash(fields(&["name"]))), left);
    }

    #[test]
    fn null_stays_null_and_a_whole_value_is_hashed() {
        let mut policy = keyed(&ScanOptions::default().with_hash(["a", "b"]));
        let wanted = format!(r#"{{"a":null,"b":"{}"}}"#, key().digest(r#"[1,{"c":2}]"#));
        let record = r#"{"a":null,"b":[1, {"c": 2.0}]}"#;
        assert_eq!(left(&mut policy, record), wanted);
    }

    #[test]
    fn what_is_dropped_is_neither_kept_nor_hashed() {
        let options = fields(&["name", "/langs/*/level", "/langs/*/code"])
            .with_drop(["name", "/langs/*/code"]);
        assert_eq!(kept(&options), r#"{"id":"1","langs":[{"level":9}]}"#);
        let options = drop(&["langs", "name", "email", "/a~1b"]).with_hash(["/langs/*/level"]);
        let mut policy = keyed(&options);
        assert_eq!(left(&mut policy, RECORD), r#"{"id":"1","score":0.50}"#);
        assert_eq!(policy.unmatched().count(), 0);
    }

    #[test]
    fn a_digest_says_nothing_about_what_is_dropped() {
        let options = drop(&["/langs/*/level"]).with_hash(["langs", "/name"]);
        let mut policy = keyed(&options);
        let record = |level| format!(r#"{{"langs":[{{"code":"en","level":{level}}}],"name":"a"}}"#);
        let [one, other] = [1, 2].map(|level| left(&mut policy, &record(level)));
        assert_eq!(one, other);
        assert!(one.contains(&key().digest(r#"[{"code":"en"}]"#)), "{one}");
        assert_eq!(policy.unmatched().count(), 0);
    }

    #[test]
    fn options_drop_more_than_the_settings_and_never_less() {
        let lists = r#"{"contacts":{"fields":["a","b"],"hash":["d"]},"pools":{"drop":["c"]}}"#;
        let mut settings = Builder::default();
        settings
            .environment(false)
            .base_url("https://a.example")
            .lists(lists);
        let config = settings.config().unwrap();
        let under = |options: ScanOptions, list| options.restricted_by(&config, list);
        let none = under(ScanOptions::default(), ListName::Contacts);
        assert_eq!(
            (none.fields, none.drop, none.hash),
            (vec!["a".into(), "b".into()], vec![], vec!["d".into()])
        );
        let more = under(
            fields(&["a", "x"]).with_drop(["y"]).with_hash(["d"]),
            ListName::Contacts,
        );
        assert_eq!(
            (more.fields, more.drop, more.hash),
            (vec!["a".into()], vec!["y".into()], vec!["d".into()])
        );
        let kept = under(fields(&["a"]), ListName::Pools);
        assert_eq!(
            (kept.fields, kept.drop),
            (vec!["a".into()], vec!["c".into()])
        );
        assert_eq!(under(fields(&["x"]), ListName::Contacts).fields, ["id"]);
        assert_eq!(under(fields(&["x"]), ListName::Vacancies).fields, ["x"]);
    }

    #[test]
    fn options_name_the_parts_of_what_the_settings_keep_in_any_form() {
        let set = ListFields {
            fields: ["email", "langs", "/address/street"]
                .map(String::from)
                .into(),
            hash: ["phone".to_owned()].into(),
            ..ListFields::default()
        };
        let restricted = |options: ScanOptions| {
            let left = options.restricted(&set);
            (left.fields.join(" "), left.hash.join(" "))
        };
        let fields = |names: &[&str]| restricted(fields(names)).0;
        assert_eq!(
            fields(&["/email", "/langs/*/level"]),
            "/langs/*/level email"
        );
        assert_eq!(fields(&["address"]), "/address/street");
        assert_eq!(fields(&["note", "/addressee"]), "id");
        // An option adds no digest of what the settings drop.
        let hash = |names: &[&str]| {
            let names = names.iter().copied();
            restricted(ScanOptions::default().with_hash(names)).1
        };
        assert_eq!(hash(&["note", "createdAt"]), "phone");
        assert_eq!(hash(&["address", "/id"]), "/address/street id phone");
    }

    #[test]
    fn the_same_fields_in_another_order_or_form_are_the_same() {
        let shape = ListName::Contacts.shape();
        let recorded = |names: &[&str]| drop(names).recorded(shape);
        let one = recorded(&["email", "/a~1b", "/langs/*/level"]);
        assert_eq!(
            one,
            recorded(&["/langs/*/level", "/email", "/a~1b", "email"])
        );
        assert_eq!(
            one["dropped fields"],
            serde_json::json!(["/a~1b", "/langs/*/level", "email"])
        );
    }

    #[test]
    fn settings_keep_or_drop_the_fields_of_a_list() {
        let mut settings = Builder::default();
        settings.environment(false).base_url("https://a.example");
        settings.lists(r#"{"contacts":{"fields":["a"],"drop":["b"]}}"#);
        let error = settings.config().unwrap_err();
        assert_eq!(
            error.message(),
            "lists: contacts has both fields and drop; name either the fields to keep or the fields to drop"
        );
    }

    #[test]
    fn fields_that_no_record_had_are_known() {
        let mut policy = FieldPolicy::new(&drop(&["name", "nmae", "/langs/*/x"])).unwrap();
        left(&mut policy, RECORD);
        assert!(policy.unmatched().eq(["nmae", "/langs/*/x"]));
    }

    #[test]
    fn wrong_fields_are_refused() {
        for wrong in [
            drop(&["id"]),
            drop(&["/id"]),
            drop(&["/a~2"]),
            drop(&["/langs/0"]),
            drop(&["/langs/0/level"]),
            drop(&["langs/*/level"]),
            ScanOptions::default().with_hash([""]),
            drop(&["/"]),
            fields(&[""]),
        ] {
            let error = wrong.check(ListName::Contacts.shape()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong:?}");
        }
    }

    #[test]
    fn typed_reading_needs_documented_fields() {
        let typed = |options: &ScanOptions| {
            FieldPolicy::new(options)
                .unwrap()
                .check_typed(ListName::Contacts.shape())
        };
        assert!(typed(&ScanOptions::default()).is_ok());
        assert!(typed(&drop(&["new"])).is_ok());
        assert!(typed(&drop(&["firstName"])).is_err());
        assert!(typed(&fields(&["id"])).is_err());
        assert!(typed(&ScanOptions::default().with_hash(["/email"])).is_err());
    }
}
