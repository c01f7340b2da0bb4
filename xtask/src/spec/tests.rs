//! Single changes of our own spec, and small specs of vendors: generated, reported or refused, never lost.

mod outline;

use super::*;
use outline::outline;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A change of our own spec, and what becomes of it.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// What stands where, by JSON pointer.
    #[serde(default)]
    pub(crate) set: BTreeMap<String, Value>,
    /// What is gone, by JSON pointer.
    #[serde(default)]
    pub(crate) remove: Vec<String>,
    /// Parts of the lines of refusals.
    #[serde(default)]
    pub(crate) refused: Vec<String>,
    /// Parts of the lines of the summary.
    #[serde(default)]
    reported: Vec<String>,
    /// Lines of the outline.
    #[serde(default)]
    shows: Vec<String>,
}

/// Schemas, as vendors write them, and what becomes of them.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Small {
    /// Where the spec is written in YAML, or else in the fields that follow.
    #[serde(default)]
    yaml: String,
    #[serde(default)]
    schemas: Value,
    #[serde(default)]
    paths: Value,
    #[serde(default)]
    components: Value,
    #[serde(default)]
    refused: Vec<String>,
    #[serde(default)]
    reported: Vec<String>,
    #[serde(default)]
    shows: Vec<String>,
}

pub(crate) fn ours() -> Value {
    let text = std::fs::read_to_string(crate::root().join(FILE)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn changed(change: &Change) -> Value {
    let mut document = ours();
    apply(change, &mut document);
    document
}

/// Makes a change; what it sets may be within what it sets before.
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
        let parent = document.pointer_mut(parent).unwrap();
        let parent = parent.as_object_mut().unwrap();
        assert!(parent.shift_remove(&key).is_some(), "nothing at {place}");
    }
}

/// The table of changes.
pub(crate) fn table() -> Vec<Change> {
    serde_json::from_str(include_str!("tests/changes.json")).unwrap()
}

/// Everything that comes of a spec: refusals, summary, outline, and the whole model.
type Said = (String, String, Vec<String>, String);

fn said(document: &Value, whole: bool) -> Said {
    let mut findings = Findings::default();
    let document = Document::new(document.clone());
    let api = interface(&document, &mut findings);
    if whole {
        let lists = c::lists(&crate::root()).unwrap();
        shape::check_needed(&api, &mut findings);
        view(&api).1.report(&mut findings);
        note_gone(&api, lists, &mut findings);
    }
    let refusals = findings.refusals("SPEC").unwrap_or_default();
    let whole = format!("{:?}", api);
    (
        refusals,
        findings.summary(&document, "SPEC"),
        outline(&api),
        whole,
    )
}

/// What is not as wanted.
fn wrong(
    (refusals, summary, outline, _): &Said,
    refused: &[String],
    reported: &[String],
    shows: &[String],
) -> Vec<String> {
    let mut out = Vec::new();
    for wanted in refused.iter().filter(|wanted| !refusals.contains(*wanted)) {
        out.push(format!("does not refuse {wanted:?}, but {refusals:?}"));
    }
    if refused.is_empty() && !refusals.is_empty() {
        out.push(format!("is refused: {refusals}"));
    }
    for wanted in reported.iter().filter(|wanted| !summary.contains(*wanted)) {
        out.push(format!("does not report {wanted:?}, but {summary:?}"));
    }
    for wanted in shows.iter().filter(|wanted| !outline.contains(wanted)) {
        let changed = outline.iter().filter(|line| line.starts_with(&wanted[..1]));
        let changed: Vec<&str> = changed.map(String::as_str).collect();
        out.push(format!("does not show {wanted:?}, but {changed:?}"));
    }
    out
}

#[test]
fn of_our_own_spec_only_facts_about_the_document_are_not_generated() {
    let (refusals, summary, ..) = said(&ours(), true);
    assert_eq!(refusals, "");
    let mut lines = summary.lines();
    assert_eq!(lines.next(), Some("Not generated from SPEC:"));
    let keys: Vec<&str> = lines
        .map(|line| line.split_once(" (").unwrap().0.trim())
        .collect();
    let wanted = "default description headers info openapi pattern required schema security servers tags writeOnly";
    assert_eq!(keys.join(" "), wanted);
}

#[test]
fn no_change_is_lost() {
    let table: Vec<Value> = serde_json::from_str(include_str!("tests/changes.json")).unwrap();
    let mut failures = Vec::new();
    let before = said(&ours(), true);
    for row in &table {
        let change: Change = serde_json::from_value(row.clone()).unwrap();
        let after = said(&changed(&change), true);
        let mut wrong = wrong(&after, &change.refused, &change.reported, &change.shows);
        if before == after {
            wrong.push("changes nothing, and nothing says so".to_owned());
        }
        failures.extend(wrong.iter().map(|wrong| format!("{row}\n  {wrong}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(table.len() >= 150, "{} changes", table.len());
}

#[test]
fn specs_are_taken_as_vendors_write_them() {
    let table: Vec<Value> = serde_json::from_str(include_str!("tests/vendors.json")).unwrap();
    let mut failures = Vec::new();
    for row in &table {
        let small: Small = serde_json::from_value(row.clone()).unwrap();
        let document = match small.yaml.as_str() {
            "" => {
                let mut document = json!({"openapi": "3.1.0", "paths": small.paths, "components": small.components});
                if document["components"].is_null() {
                    document["components"] = json!({});
                }
                if document["paths"].is_null() {
                    document["paths"] = json!({});
                }
                if !small.schemas.is_null() {
                    document["components"]["schemas"] = small.schemas;
                }
                document.to_string()
            }
            text => text.to_owned(),
        };
        let after = match document::read(&document) {
            Ok(document) => said(&document, false),
            Err(refusal) => (refusal, String::new(), Vec::new(), String::new()),
        };
        let wrong = wrong(&after, &small.refused, &small.reported, &small.shows);
        failures.extend(wrong.iter().map(|wrong| format!("{row}\n  {wrong}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn all_refusals_come_at_once_and_those_of_one_kind_together() {
    let mut document = ours();
    let properties = &mut document["components"]["schemas"]["Contact"]["properties"];
    properties["a"] = json!({"type": "text"});
    properties["b"] = json!({"type": "date"});
    properties["c"] = json!(7);
    let root = crate::root();
    let said = Spec::parse(&root, &document.to_string(), "SPEC")
        .err()
        .unwrap();
    let wanted = "\
2 of one kind; the types are string, integer, number, boolean, array, object:
  SPEC/components/schemas/Contact/properties/a/type: there is no type \"text\"
  SPEC/components/schemas/Contact/properties/b/type: there is no type \"date\"
SPEC/components/schemas/Contact/properties/c: this is not a schema; write an object
3 problems; nothing was written";
    assert_eq!(said, wanted);
}

#[test]
fn a_list_that_is_gone_is_reported_in_every_run() {
    let root = tempfile::tempdir().unwrap();
    let ledger = root.path().join("bindings/c/symbols.txt");
    std::fs::create_dir_all(ledger.parent().unwrap()).unwrap();
    // As it stands after an earlier run.
    std::fs::write(&ledger, "contacts = list\nja_levels = list\n").unwrap();
    for _ in 0..2 {
        let spec = Spec::parse(root.path(), &ours().to_string(), "SPEC").unwrap();
        let wanted = "lists of earlier versions that are gone (1):\n    ja_levels: every language loses it\n";
        assert!(spec.summary.contains(wanted), "{}", spec.summary);
        assert_eq!(spec.summary.matches("every language loses it").count(), 1);
    }
}
