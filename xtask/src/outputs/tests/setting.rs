//! A setting that is added to a copy of the workspace, by the two edits that it takes: its row and its use.

use super::super::{differing, write_all};
use crate::settings::Kind::Duration;
use crate::settings::{Bounds, Scope, Setting};
use crate::spec::Spec;
use std::path::Path;

/// A row of the table of settings: as a value, and as it is written.
macro_rules! row {
    ($row:expr) => {
        ($row, stringify!($row))
    };
}

/// A setting as one adds it, by a row and a use; nothing else of the copy is edited for it.
const ROW: (Setting, &str) = row!(Setting {
    name: "trial_timeout",
    kind: Duration(Bounds {
        min: 0.001,
        max: 9.0,
        default: 5.0,
    }),
    scope: Scope::Calls,
    what: "the time limit for a trial",
    note: "",
});
/// Where the row goes.
const TABLE: (&str, &str) = (
    "crates/core/src/settings/table.rs",
    "pub const SETTINGS: &[Setting] = &[\n",
);
/// The place that uses it: without one, the compiler warns.
const USE: (&str, &str, &str) = (
    "crates/core/src/client.rs",
    "AdmissionQueue::new(budget, changed, config.max_wait)",
    "AdmissionQueue::new(budget, changed, config.max_wait.max(config.trial_timeout))",
);

/// Makes both edits; the trial calls the setting by its generated names in C, C++ and Python.
pub(super) fn add_setting(copy: &Path) {
    edited(copy, TABLE.0, TABLE.1, &format!("{}{},\n", TABLE.1, ROW.1));
    edited(copy, USE.0, USE.1, USE.2);
}

/// Writes every file of the copy, whose table of settings has a row more than ours.
pub(super) fn generate(copy: &Path) {
    let mut spec = Spec::load(copy).unwrap();
    spec.settings.insert(0, ROW.0);
    write_all(&spec).unwrap();
    assert_eq!(differing(&spec).unwrap(), []);
    let page = std::fs::read_to_string(copy.join("docs/settings.md")).unwrap();
    assert!(page.contains("| `trial_timeout` | `--trial-timeout` | `TALENTDATA_TRIAL_TIMEOUT` |"));
}

pub(super) fn edited(copy: &Path, file: &str, from: &str, to: &str) {
    let path = copy.join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file}");
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
}
