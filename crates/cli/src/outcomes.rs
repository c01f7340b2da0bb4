//! What is said about exports that have ended: failures, and doubts about completeness.

use crate::ending::say;
use crate::names;
use crate::output::remark;
use talentdata_columns::export::{Export, Target};
use talentdata_core::scan::{Completeness, Doubt, Receipt};
use talentdata_core::{Error, ErrorKind};

/// So many fields are named in a line.
const SHOWN: usize = 5;

/// A line for each failure, with the lists it concerns where there are several, and `hint` at the end of the
/// last; returns the kind of the first.
pub(crate) fn say_failures(
    exports: &[Export],
    outcomes: &[Result<Receipt, Error>],
    hint: Option<&str>,
    verbose: bool,
) -> Option<ErrorKind> {
    // Refused credentials fail every list with the same message, which needs to be said once.
    let mut failures: Vec<(&Error, Vec<String>)> = Vec::new();
    for (export, outcome) in exports.iter().zip(outcomes) {
        let Err(error) = outcome else { continue };
        let name = names::dashed(export.resource);
        let same = |known: &&mut (&Error, _)| known.0.to_string() == error.to_string();
        match failures.iter_mut().find(same) {
            Some((_, lists)) => lists.push(name),
            None => failures.push((error, vec![name])),
        }
    }
    for ((error, lists), left) in failures.iter().zip((0..failures.len()).rev()) {
        let place = match exports.len() {
            1 => String::new(),
            _ => format!("{}: ", lists.join(", ")),
        };
        say(error, &place, hint.filter(|_| left == 0), verbose);
    }
    failures.first().map(|(error, _)| error.kind())
}

/// A line for each list whose completeness is not proven; whether there is one.
pub(crate) fn say_doubts(exports: &[Export], outcomes: &[Result<Receipt, Error>]) -> bool {
    let mut doubted = false;
    for (export, outcome) in exports.iter().zip(outcomes) {
        let Ok(receipt) = outcome else { continue };
        if receipt.completeness != Completeness::NotProven {
            continue;
        }
        doubted = true;
        let reasons: Vec<&str> = receipt
            .doubts
            .iter()
            .map(|doubt| Doubt::reason(*doubt))
            .collect();
        let place = match &export.target {
            Target::File(path) => path.display().to_string(),
            Target::Stdout => "standard output".into(),
        };
        remark(&format!(
            "warning: {}: completeness is not proven: {}; {place} was written nevertheless, with {} records",
            names::dashed(export.resource),
            reasons.join("; "),
            receipt.records
        ));
    }
    doubted
}

/// A line for each list whose records differ from the schema that was given.
pub(crate) fn say_differences(exports: &[Export], outcomes: &[Result<Receipt, Error>]) {
    for (export, outcome) in exports.iter().zip(outcomes) {
        let differences = outcome
            .as_ref()
            .ok()
            .and_then(|receipt| receipt.schema.as_ref());
        let Some(differences) = differences else {
            continue;
        };
        let kinds = [
            ("not in the schema", &differences.new_fields),
            ("missing", &differences.missing_fields),
            ("of another type", &differences.other_types),
        ];
        let found = kinds.iter().filter(|(_, fields)| !fields.is_empty());
        let found = found.map(|(what, fields)| {
            let mut names: Vec<&str> = fields.keys().take(SHOWN).map(String::as_str).collect();
            if fields.len() > SHOWN {
                names.push("...");
            }
            format!("{what}: {}", names.join(", "))
        });
        let found: Vec<String> = found.collect();
        if !found.is_empty() {
            remark(&format!(
                "warning: {}: the records differ from the schema ({}); the receipt has counts and examples",
                names::dashed(export.resource),
                found.join("; ")
            ));
        }
    }
}
