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
    /// What `spec-diff` says: text, and the levels in the order of the surfaces (`b`, `a`, `d`, or `-` for none).
    #[serde(default)]
    pub(crate) says: Vec<(String, String)>,
    /// The version that it asks for.
    #[serde(default)]
    pub(crate) version: String,
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

pub(crate) fn changed(change: &Change) -> Value {
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
        let removed = match document.pointer_mut(parent).unwrap() {
            Value::Array(items) => Some(items.remove(key.parse().unwrap())),
            other => other.as_object_mut().unwrap().shift_remove(&key),
        };
        assert!(removed.is_some(), "nothing at {place}");
    }
}

/// The table of changes.
pub(crate) fn table() -> Vec<Change> {
    serde_json::from_str(include_str!("tests/changes.json")).unwrap()
}

/// Everything that comes of a spec: refusals, summary, outline, and the whole model.
type Said = (String, String, Vec<String>, String);

fn said(document: &Value, whole: bool) -> Said {
    let document = Document::new(document.clone());
    let api = interface(&document);
    if whole {
        examined(&api, &document, &c::lists(&crate::root()).unwrap());
    }
    let refusals = document.findings().refusals("SPEC").unwrap_or_default();
    let whole = format!("{:?}", api);
    (
        refusals,
        document.findings().summary(&document, "SPEC"),
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
fn all_refusals_come_at_once() {
    let mut document = ours();
    let properties = &mut document["components"]["schemas"]["Contact"]["properties"];
    properties["a"] = json!({"type": "text"});
    properties["b"] = json!({"type": "date"});
    properties["c"] = json!(7);
    let root = crate::root();
    let said = Spec::parse(&root, &document.to_string(), "SPEC")
        .err()
        .unwrap();
    let types = "the types are string, integer, number, boolean, array, object";
    let wanted = format!(
        "\
SPEC/components/schemas/Contact/properties/a/type: there is no type \"text\"; {types}
SPEC/components/schemas/Contact/properties/b/type: there is no type \"date\"; {types}
SPEC/components/schemas/Contact/properties/c: this is not a schema; write an object
3 problems; nothing was written"
    );
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

/// A spec with these schemas, in place of those of ours that nothing refers to.
fn with_schemas(schemas: &[(String, Value)]) -> String {
    let mut document = ours();
    let all = document["components"]["schemas"].as_object_mut().unwrap();
    all.extend(schemas.iter().cloned());
    document.to_string()
}

fn chain(length: usize, last: &str) -> String {
    let link = |number: usize| {
        let next = if number + 1 == length {
            last.to_owned()
        } else {
            format!("Link{}", number + 1)
        };
        let reference = json!({"$ref": format!("#/components/schemas/{next}")});
        (
            format!("Link{number}"),
            json!({"type": "object", "properties": {"next": reference}}),
        )
    };
    with_schemas(&(0..length).map(link).collect::<Vec<_>>())
}

/// Each ends with a message that says what to do, or succeeds; none panics or goes on for ever.
#[test]
fn bad_input_is_refused_with_a_message_or_taken() {
    let nested = |levels: usize, open: &str, close: &str| {
        let mut out = String::from("openapi: 3.1.0\npaths: ");
        out += &open.repeat(levels);
        out += "1";
        out + &close.repeat(levels)
    };
    let deep = (0..200).fold(
        json!({"type": "string"}),
        |held, _| json!({"type": "object", "properties": {"held": held}}),
    );
    let bomb = (1..40).fold("a0: &a0 x\n".to_owned(), |text, number| {
        let before = number - 1;
        text + &format!("a{number}: &a{number} [*a{before}, *a{before}]\n")
    });
    let reference = |to: &str| json!({"$ref": format!("#/components/schemas/{to}")});
    let cycle = [("A", "B"), ("B", "C"), ("C", "A")];
    let cycle = cycle.map(|(name, next)| (name.to_owned(), reference(next)));
    let parts = [("A", "B"), ("B", "A")];
    let parts = parts.map(|(name, next)| (name.to_owned(), json!({"allOf": [reference(next)]})));
    let large =
        |bytes: usize| with_schemas(&[("A".to_owned(), json!({"description": "x".repeat(bytes)}))]);
    let unnamed =
        json!({"type": "object", "properties": {"+": {"type": "string"}, "": {}, "日本": {}}});
    let mut failures = Vec::new();
    for (name, text, wanted) in [
        ("nothing", String::new(), "give one"),
        ("no JSON", "{\"openapi\": ".to_owned(), "not valid JSON"),
        ("no YAML", "a: b: c: [".to_owned(), "neither JSON nor YAML"),
        ("a list", "[1, 2]".to_owned(), "not an OpenAPI document"),
        ("binary", "\u{0}\u{1}\u{fffd}".to_owned(), "unprintable"),
        (
            "two documents",
            "openapi: 3.1.0\n---\nopenapi: 3.1.0\n".to_owned(),
            "give one",
        ),
        (
            "200 levels of JSON",
            with_schemas(&[("Deep".to_owned(), deep)]),
            "give inner schemas names",
        ),
        (
            "200 levels of YAML",
            nested(200, "[", "]"),
            "give inner schemas names",
        ),
        (
            "many levels of YAML",
            nested(100_000, "{a: ", "}"),
            "recursion limit",
        ),
        ("aliases", format!("openapi: 3.1.0\n{bomb}"), "lias"),
        ("200 references", chain(200, "Contact"), ""),
        ("a ring of 200", chain(200, "Link0"), ""),
        (
            "a reference to nothing",
            chain(3, "Nobody"),
            "add it to /components",
        ),
        (
            "a cycle of references",
            with_schemas(&cycle),
            "correct the reference",
        ),
        ("parts in a cycle", with_schemas(&parts), ""),
        (
            "names of nothing",
            with_schemas(&[("A".to_owned(), unnamed)]),
            "",
        ),
        (
            "a schema without a name",
            with_schemas(&[(
                "+".to_owned(),
                json!({"type": "object", "properties": {"a": {}}}),
            )]),
            "rename the schema",
        ),
        ("20 MB", large(20 << 20), ""),
        ("50 MB", large(50 << 20), "at most 32 MB"),
    ] {
        let said = Spec::parse(&crate::root(), &text, "SPEC")
            .err()
            .unwrap_or_default();
        let short: String = said.chars().take(400).collect();
        if !said.contains(wanted) || said.is_empty() != wanted.is_empty() {
            failures.push(format!("{name}: {short}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
