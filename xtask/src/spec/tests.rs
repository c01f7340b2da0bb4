//! Tests with single changes of our own spec, and with small specs of vendors. Each change must be generated, reported
//! or refused, never lost.

use super::*;
use crate::generation::{FILE, Spec, examined};
use crate::ledger;
use crate::names::registry::Registry;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A change of our own spec, or a spec as vendors write it, and its expected outcome.
#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Change {
    /// The values to set, by JSON pointer.
    pub(crate) set: BTreeMap<String, Value>,
    /// The values to remove, by JSON pointer.
    pub(crate) remove: Vec<String>,
    /// A spec in YAML.
    yaml: String,
    /// Parts of a spec.
    schemas: Value,
    paths: Value,
    components: Value,
    /// Parts of the lines of refusals.
    pub(crate) refused: Vec<String>,
    /// Parts of the lines of the summary.
    reported: Vec<String>,
    /// Lines of the outline.
    shows: Vec<String>,
    /// Beginnings that no line of the outline may have.
    hides: Vec<String>,
    /// The expected output of `spec-diff`: text, and the levels in the order of the surfaces (`b`, `a`, `d`, or `-` for
    /// none).
    pub(crate) says: Vec<(String, String)>,
    /// The expected next version.
    pub(crate) version: String,
    /// True if it fits into no spec with other changes, and is not compiled with them.
    pub(crate) apart: bool,
    /// True if a C compiler checks what breaks.
    pub(crate) compiled: bool,
}

pub(crate) fn ours() -> Value {
    let text = std::fs::read_to_string(crate::workspace::root().join(FILE)).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn changed(change: &Change) -> Value {
    let mut document = ours();
    apply(change, &mut document);
    document
}

/// Applies a change. A value may be set within one that was set before.
pub(crate) fn apply(change: &Change, document: &mut Value) {
    for (place, value) in &change.set {
        let (parent, key) = place.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent);
        let parent = parent.unwrap_or_else(|| panic!("nothing above {place}"));
        parent[&key.replace("~1", "/")] = value.clone();
    }
    for place in &change.remove {
        let (parent, key) = place.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/");
        let removed = match document.pointer_mut(parent).unwrap() {
            Value::Array(items) => Some(items.remove(key.parse().unwrap())),
            other => other.as_object_mut().unwrap().shift_remove(&key),
        };
        assert!(removed.is_some(), "nothing at {place}");
    }
}

/// The output for a spec: refusals, summary, outline, and the whole model.
type Said = [String; 4];

fn said(document: &Value, whole: bool) -> Said {
    let document = Document::new(document.clone());
    let before = ledger::lists(&crate::workspace::root()).unwrap();
    let (api, _, names) = examined(&document, whole.then_some(&before[..]));
    let refusals = document.refusals("SPEC", false).err().unwrap_or_default();
    let summary = document.summary();
    [refusals, summary, outline(&names), format!("{api:?}")]
}

/// Checks every row of a table, and returns the number of rows.
fn check(table: &str, said: impl Fn(Change) -> Said) -> usize {
    let mut failures = String::new();
    let unchanged = self::said(&ours(), true);
    let rows = serde_json::from_str::<Vec<Value>>(table).unwrap();
    for row in &rows {
        let change: Change = serde_json::from_value(row.clone()).unwrap();
        let shows = change.shows.iter().map(|line| format!("\n{line}\n"));
        let (refused, reported) = (change.refused.clone(), change.reported.clone());
        let hides = change.hides.clone();
        let wanted: [Vec<String>; 3] = [refused, reported, shows.collect()];
        let after = said(change);
        for (wanted, text) in wanted.iter().zip(&after) {
            for missing in wanted.iter().filter(|one| !text.contains(*one)) {
                failures += &format!("{row}\n  lacks {missing:?} in {text}\n");
            }
        }
        for line in hides
            .iter()
            .filter(|line| after[2].contains(&format!("\n{line}")))
        {
            failures += &format!("{row}\n  shows {line:?} in {}\n", after[2]);
        }
        if wanted[0].is_empty() && !after[0].is_empty() {
            failures += &format!("{row}\n  is refused: {}\n", after[0]);
        }
        if after == unchanged {
            failures += &format!("{row}\n  changes nothing, and nothing says so\n");
        }
    }
    assert!(failures.is_empty(), "{failures}");
    rows.len()
}

#[test]
fn only_facts_about_the_document_are_not_generated_from_our_spec() {
    let [refusals, summary, ..] = said(&ours(), true);
    assert_eq!(refusals, "");
    let mut lines = summary.lines();
    assert_eq!(lines.next(), Some("Not generated:"));
    let keys: Vec<&str> = lines
        .map(|line| line.split_once(" (").unwrap().0.trim())
        .collect();
    let wanted =
        "default description headers info openapi pattern required schema security servers tags";
    assert_eq!(keys.join(" "), wanted);
}

#[test]
fn no_change_is_lost() {
    let rows = check(include_str!("tests/changes.json"), |change| {
        said(&changed(&change), true)
    });
    assert!(rows >= 150, "{rows} changes");
}

#[test]
fn specs_of_vendors_are_accepted() {
    check(include_str!("tests/vendors.json"), |row| {
        let mut document =
            json!({"openapi": "3.1.0", "paths": row.paths, "components": row.components});
        if !row.schemas.is_null() {
            document["components"]["schemas"] = row.schemas;
        }
        let text = if row.yaml.is_empty() {
            document.to_string()
        } else {
            row.yaml
        };
        match document::read(&text) {
            Ok(document) => said(&document, false),
            Err(refusal) => [refusal, String::new(), String::new(), String::new()],
        }
    });
}

#[test]
fn a_list_that_is_gone_is_reported_in_every_run() {
    let root = tempfile::tempdir().unwrap();
    let ledger = root.path().join("bindings/c/symbols.txt");
    std::fs::create_dir_all(ledger.parent().unwrap()).unwrap();
    // The content after an earlier run.
    std::fs::write(&ledger, "contacts = list\nja_levels = list\n").unwrap();
    for _ in 0..2 {
        let spec = Spec::parse(root.path(), &ours().to_string(), "SPEC").unwrap();
        let wanted = "lists of earlier versions that are gone (1):\n    /paths: ja_levels: every language loses it; ";
        let summary = spec.document.summary();
        assert!(summary.contains(wanted), "{summary}");
        assert_eq!(summary.matches("every language loses it").count(), 1);
    }
}

/// Each input ends with a message that says what to do, or succeeds. None panics or runs forever.
#[test]
fn bad_input_is_refused_with_a_message_or_accepted() {
    let nested = |levels: usize, open: &str, close: &str| {
        let (open, close) = (open.repeat(levels), close.repeat(levels));
        format!("openapi: 3.1.0\npaths: {open}1{close}")
    };
    let deep = (0..200).fold(
        json!({"type": "string"}),
        |held, _| json!({"type": "object", "properties": {"held": held}}),
    );
    let bomb = (1..40).fold("a0: &a0 x\n".to_owned(), |text, number| {
        let before = number - 1;
        text + &format!("a{number}: &a{number} [*a{before}, *a{before}]\n")
    });
    let with = |schemas: Vec<(String, Value)>| {
        let mut document = ours();
        let all = document["components"]["schemas"].as_object_mut().unwrap();
        all.extend(schemas);
        document.to_string()
    };
    let one = |schema: Value| with(vec![("A".to_owned(), schema)]);
    let large = |bytes| one(json!({"description": "x".repeat(bytes)}));
    let deep = one(deep);
    // Schemas each of which contains the next one; the last one contains `last`.
    let chain = |last: &str| {
        let place = "#/components/schemas/";
        let next = (1..200).map(|number| format!("{place}Link{number}"));
        let next = next.chain([format!("{place}{last}")]).enumerate();
        let link = |(number, next)| {
            let held = json!({"type": "object", "properties": {"next": {"$ref": next}}});
            (format!("Link{number}"), held)
        };
        with(next.map(link).collect())
    };
    let bomb = format!("openapi: 3.1.0\n{bomb}");
    let mut failures = Vec::new();
    for (text, wanted) in [
        (String::new(), "give one"),
        ("[1, 2]".to_owned(), "not an OpenAPI document"),
        ("\u{0}\u{1}\u{fffd}".to_owned(), "unprintable"),
        (deep, "give inner schemas names"),
        (nested(200, "[", "]"), "give inner schemas names"),
        (nested(100_000, "{a: ", "}"), "recursion limit"),
        (bomb, "lias"),
        (chain("Contact"), ""),
        (chain("Link0"), ""),
        (large(20 << 20), ""),
        (large(50 << 20), "at most 32 MB"),
    ] {
        let spec = Spec::parse(&crate::workspace::root(), &text, "SPEC");
        let said = spec.err().unwrap_or_default();
        if !said.contains(wanted) || said.is_empty() != wanted.is_empty() {
            let [text, said] = [text, said].map(|one| one.chars().take(200).collect::<String>());
            failures.push(format!("{text}: {said}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns everything that has a name, with its description, and the names in each scope, with an empty line before
/// each.
fn outline(names: &Registry) -> String {
    let mut out = String::new();
    for (key, subject) in &names.subjects {
        out += &format!("\n{key}: {}\n\n{key}: {}\n", subject.shown, subject.prose);
    }
    let mut scopes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (scope, name) in names.owners.keys() {
        scopes.entry(scope).or_default().push(name);
    }
    let scopes = scopes.iter();
    out.extend(scopes.map(|(scope, names)| format!("\n{scope}: {}\n", names.join(", "))));
    out
}
