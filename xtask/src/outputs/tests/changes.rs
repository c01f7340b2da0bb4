//! The changes of the table that are generated: they compile, as many of them together as can be made side by side.

use super::super::write;
use super::trial::{CLIPPY, NATIVE, c_and_cpp, cargo, python};
use crate::spec::tests::{Change, apply, ours, table};
use serde_json::{Value, json};
use std::path::Path;

/// Each compilation takes half a minute: a change that fits into none of so many is to be made elsewhere.
const COPIES: usize = 2;

/// Compiles them in a copy of the workspace, which is as it was but for the spec and what follows from it.
pub(super) fn compile(copy: &Path) {
    for document in documents() {
        std::fs::write(copy.join(crate::spec::FILE), document.to_string()).unwrap();
        write(copy).unwrap();
        cargo(copy, CLIPPY);
        c_and_cpp(
            copy,
            &["#include <talentdata.h>\n", "#include <talentdata.hpp>\n"],
        );
        python(copy, &format!("{NATIVE}assert talentdata.Contact.email\n"));
    }
}

/// Our spec with all changes that are not refused, in several documents where they contradict each other.
fn documents() -> Vec<Value> {
    let mut out: Vec<(Value, Vec<String>)> = Vec::new();
    for (number, change) in table().into_iter().enumerate() {
        if !change.refused.is_empty() {
            continue;
        }
        let change = moved(change, number);
        let places: Vec<String> = change.set.keys().chain(&change.remove).cloned().collect();
        let within = |one: &String, two: &String| format!("{one}/").starts_with(&format!("{two}/"));
        let meets = |one: &String| {
            places
                .iter()
                .any(|two| within(one, two) || within(two, one))
        };
        let meets = |taken: &[String]| taken.iter().any(meets);
        let index = out.iter().position(|(_, taken)| !meets(taken));
        let index = index.unwrap_or_else(|| {
            out.push((ours(), Vec::new()));
            out.len() - 1
        });
        assert!(index < COPIES, "{places:?} meets changes in all copies");
        let (document, taken) = &mut out[index];
        apply(&change, document);
        taken.extend(places);
    }
    out.into_iter().map(|(document, _)| document).collect()
}

/// The change at a field, a list or an operation of its own, where it can be made there as well.
fn moved(mut change: Change, number: usize) -> Change {
    for (place, value) in std::mem::take(&mut change.set) {
        let (place, base) = elsewhere(&place, number);
        change.set.extend(base);
        let id = format!("\"doIt{number}\"");
        let renamed = value.to_string().replace("\"doIt\"", &id);
        change
            .set
            .insert(place, serde_json::from_str(&renamed).unwrap());
    }
    for place in std::mem::take(&mut change.remove) {
        let (place, base) = elsewhere(&place, number);
        change.set.extend(base);
        change.remove.push(place);
    }
    change
}

/// Where a change is made instead, and what has to be there before.
fn elsewhere(place: &str, number: usize) -> (String, Vec<(String, Value)>) {
    const FIELD: &str = "/components/schemas/Contact/properties/";
    const LIMIT: &str = "/components/parameters/Limit";
    const PATH: &str = "/paths/~1v1~1";
    let path = format!("{PATH}pools{number}");
    let mut list = ours()["paths"]["/v1/pools"].clone();
    list["get"]["operationId"] = json!(format!("listPools{number}"));
    if let Some(name) = place.strip_prefix(FIELD) {
        return (format!("{FIELD}{name}{number}"), Vec::new());
    }
    if let Some(rest) = place.strip_prefix(LIMIT) {
        let limit = format!("{LIMIT}{number}");
        list["get"]["parameters"][0] = json!({"$ref": format!("#{limit}")});
        let before = ours().pointer(LIMIT).unwrap().clone();
        return (
            format!("{limit}{rest}"),
            vec![(limit, before), (path, list)],
        );
    }
    match place.strip_prefix(&format!("{PATH}pools/")) {
        Some(rest) => (format!("{path}/{rest}"), vec![(path, list)]),
        None if place.starts_with(PATH) && ours().pointer(place).is_none() => {
            let rest = &place[PATH.len()..];
            (format!("{PATH}moved{number}~1{rest}"), Vec::new())
        }
        None => (place.to_owned(), Vec::new()),
    }
}
