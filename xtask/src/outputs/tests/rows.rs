//! A setting, a kind of error and an output format that are added to a copy of the workspace, by the edits that they take.

use super::trial::cargo;
use std::collections::BTreeSet;
use std::path::Path;

/// What is edited: a file, a text in it, and what is put behind the text.
type Edit = (&'static str, &'static str, &'static str);

const KINDS: &str = "crates/core/src/error/kind.rs";
const FORMATS: &str = "crates/columns/src/format.rs";

/// Its row, and its use: without one, the compiler warns.
const SETTING: &[Edit] = &[
    (
        "crates/core/src/settings/table.rs",
        "pub const SETTINGS: &[Setting] = &[\n",
        "    Setting {\n        name: \"trial_timeout\",\n        kind: Duration(bounds(0.001, 9.0, 5.0)),\n        \
         what: \"the time limit for a trial\",\n        note: \"\",\n    },\n",
    ),
    (
        "crates/core/src/client.rs",
        "window: Duration::from_secs(1)",
        ".max(config.trial_timeout)",
    ),
];

/// Its row, and where it is raised.
const ERROR_KIND: &[Edit] = &[
    (
        KINDS,
        "    Mismatch = 26,\n",
        "    /// A trial.\n    Trial = 27,\n",
    ),
    (
        KINDS,
        "(Mismatch, \"Mismatch\", \"a file is not as its receipt says\"),\n",
        "    (Trial, \"Trial\", \"a trial\"),\n",
    ),
    (
        "crates/columns/src/export.rs",
        "    pub fn check(&self) -> Result<()> {\n",
        "        if self.scan.page_size == Some(26) {\n            return Err(talentdata_core::Error::new(talentdata_core::ErrorKind::Trial, \"26\"));\n        }\n",
    ),
];

/// Its row, and its writer.
const FORMAT: &[Edit] = &[
    (
        FORMATS,
        "    Arrow = 4,\n",
        "    /// A trial.\n    Trial = 5,\n",
    ),
    (
        FORMATS,
        "    Arrow => \"arrow\",\n",
        "    Trial => \"trial\",\n",
    ),
    (
        FORMATS,
        "    Jsonl(BufWriter<Target>, Vec<u8>),\n",
        "    Trial(BufWriter<Target>),\n",
    ),
    (
        FORMATS,
        "Format::Jsonl => Writer::Jsonl(buffered(target), Vec::new()),\n",
        "            Format::Trial => Writer::Trial(buffered(target)),\n",
    ),
    (
        FORMATS,
        "    fn write(&mut self, record: &RawRecord) -> Result<()> {\n        match self {\n",
        "            Writer::Trial(output) => output.write_all(b\"trial\\n\").map_err(refused),\n",
    ),
    (
        FORMATS,
        "Some(Writer::Jsonl(output, _)) => output.flush().map_err(refused),\n",
        "            Some(Writer::Trial(output)) => output.flush().map_err(refused),\n",
    ),
    (
        FORMATS,
        "Some(Writer::Jsonl(output, _)) => into_target(output),\n",
        "            Some(Writer::Trial(output)) => into_target(output),\n",
    ),
];

/// Makes the edits, of as many files as ARCHITECTURE.md says.
pub(super) fn add_rows(copy: &Path) {
    for (edits, files) in [(SETTING, 2), (ERROR_KIND, 2), (FORMAT, 1)] {
        let edited: BTreeSet<&str> = edits.iter().map(|(file, _, _)| *file).collect();
        assert_eq!(edited.len(), files);
        for (file, before, row) in edits {
            let path = copy.join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains(before), "{file}");
            let text = text.replacen(before, &format!("{before}{row}"), 1);
            std::fs::write(path, text).unwrap();
        }
    }
}

/// Writes the files of the copy by the command of the copy, which has the kinds of error built in.
pub(super) fn generate(copy: &Path) {
    let manifest = copy.join("xtask/Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    // Beside the one that runs this test.
    let text = text.replacen("[package]\n", "[package]\nautobins = false\n", 1);
    let program = "[[bin]]\nname = \"xtask_trial\"\npath = \"src/main.rs\"\n";
    std::fs::write(&manifest, format!("{text}\n{program}")).unwrap();
    for command in ["generate", "generate --check"] {
        cargo(copy, &format!("run --quiet -p xtask -- {command}"));
    }
    let page = std::fs::read_to_string(copy.join("docs/settings.md")).unwrap();
    assert!(page.contains("| `trial_timeout` | `--trial-timeout` | `TALENTDATA_TRIAL_TIMEOUT` |"));
}
