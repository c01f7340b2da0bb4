//! Single changes of our own spec, and their effects on every surface.

use super::*;
use crate::names::registry::Surface;
use crate::spec::tests::{Change as Row, changed, ours};
use serde_json::Value;

/// A program for the previous headers.
const PROGRAM: &str = "
#include <talentdata/service.h>

talentdata_error *of_contact(const talentdata_record *contact, talentdata_text *first, talentdata_text *email) {
  talentdata_error *error = talentdata_contact_first_name(contact, first);
  return error ? error : talentdata_contact_email(contact, email);
}

talentdata_error *of_check(const talentdata_client *client, talentdata_record **check, bool *compatible) {
  talentdata_error *error = talentdata_client_check_version(client, \"{}\", check);
  return error ? error : talentdata_version_check_response_compatible(*check, compatible);
}

talentdata_text list(void) { return TALENTDATA_LIST_POOLS; }
";

fn levels(change: &SpecChange) -> String {
    let level = |surface| change.levels.get(surface).copied();
    let letter = |surface| level(surface).map_or("-", |level| &level.title()[..1]);
    Surface::ALL.iter().map(letter).collect()
}

#[test]
fn every_change_is_reported_with_its_level_for_each_surface() {
    let table: Vec<Value> = serde_json::from_str(include_str!("tests/changes.json")).unwrap();
    let root = crate::workspace::root();
    let spec = |document: &Value| Spec::parse(&root, &document.to_string(), "SPEC").unwrap();
    let before = spec(&ours());
    let mut failures = Vec::new();
    assert!(compiles(&before));
    for value in &table {
        let row: Row = serde_json::from_value(value.clone()).unwrap();
        let after = spec(&changed(&row));
        let changes = changes(&before, &after);
        let said: Vec<(String, String)> = changes
            .iter()
            .map(|change| (change.text.clone(), levels(change)))
            .collect();
        let version = next_version("0.1.0", changes.iter().map(SpecChange::level).max());
        if said != row.says || version != row.version {
            let said = serde_json::to_string(&said).unwrap();
            let (set, remove) = (&value["set"], &value["remove"]);
            failures.push(format!("{set} {remove}\n  says {said}, {version}"));
        }
        // A change breaks C if the program no longer compiles.
        let breaks = said.iter().any(|(_, levels)| levels.as_bytes()[1] == b'b');
        assert!(!row.compiled || compiles(&after) != breaks, "{value}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(table.len() >= 60, "{} changes", table.len());
}

/// Returns whether the program compiles with the headers of a spec.
fn compiles(spec: &Spec) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let [headers, program] = ["talentdata", "program.c"].map(|name| directory.path().join(name));
    std::fs::create_dir(&headers).unwrap();
    crate::outputs::header(spec, &headers).unwrap();
    std::fs::write(&program, PROGRAM).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-fsyntax-only", "-Werror", "-I"]);
    let own = spec.root.join("bindings/c/include");
    compiler.arg(directory.path()).arg("-I").arg(own);
    compiler.arg(program);
    compiler.output().unwrap().status.success()
}

#[test]
fn versions_are_counted_from_the_last_release_by_the_gravest_change() {
    let first = "# Changes\n\n## 0.1.0, not yet released\n\n- All of it.\n";
    assert_eq!(last_release(first), None);
    let later = "## 0.3.0, not yet released\n\n## 0.2.1, 1 May 2026\n\n## 0.2.0, 2 April 2026\n";
    assert_eq!(last_release(later), Some("0.2.1"));
    let text = std::fs::read_to_string(crate::workspace::root().join(CHANGELOG)).unwrap();
    let heading = text.lines().find_map(|line| line.strip_prefix("## "));
    assert!(heading.unwrap().starts_with(env!("CARGO_PKG_VERSION")));
    let levels = [Level::Documentation, Level::Additive, Level::Breaking];
    for (now, next) in [
        ("0.1.2", ["0.1.3", "0.1.3", "0.2.0"]),
        ("1.4.2", ["1.4.3", "1.5.0", "2.0.0"]),
    ] {
        assert_eq!(next_version(now, None), now);
        assert_eq!(levels.map(|level| next_version(now, Some(level))), next);
    }
}

#[test]
fn changes_are_printed_for_people_and_for_programs() {
    let change = |text: &str, levels| SpecChange::new(text.to_owned(), levels);
    let changes = [
        change(
            "field A.b is gone",
            [(Surface::Rust, Level::Breaking)].into(),
        ),
        change("query parameter q of x is new", [].into()),
    ];
    let wanted = "\
breaking: field A.b is gone
    Rust: breaking
documentation: query parameter q of x is new; not generated
next version: 0.2.0 or later
";
    assert_eq!(text(&changes, "0.2.0"), wanted);
    assert_eq!(text(&[], "0.1.0"), "no changes\n");
    let document = document(&changes, "0.2.0");
    assert_eq!(document["next_version"], "0.2.0");
    let surfaces = &document["changes"][0]["surfaces"];
    assert_eq!(*surfaces, serde_json::json!({"Rust": "breaking"}));
}
