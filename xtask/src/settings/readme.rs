//! The table of settings in the README.

use super::table::{PROFILE, Setting};
use super::{SOURCE, sentence};
use crate::spec::Spec;

const FILE: &str = "README.md";

/// The README, with the table as the settings stand.
pub(crate) fn readme(spec: &Spec) -> Result<String, String> {
    let text = std::fs::read_to_string(spec.root.join(FILE))
        .map_err(|error| format!("{FILE}: {error}"))?;
    let begin = format!("<!-- written by `cargo xtask generate` from {SOURCE}; do not edit -->\n");
    let end = "<!-- end of settings -->";
    let parts = text.split_once(&begin);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = parts.ok_or(format!("{FILE} does not say where the settings go"))?;
    let rows: String = spec.settings.iter().map(row).collect();
    Ok(format!(
        "{before}{begin}| Setting | Command line | Environment | Meaning | Values | Default |\n|---|---|---|---|---|---|\n{rows}{end}{after}"
    ))
}

fn row(setting: &Setting) -> String {
    let values = setting.values();
    let default = match setting.name {
        PROFILE => Some("`default`".to_owned()),
        _ => setting.default(),
    };
    format!(
        "| `{}` | `--{}` | `{}` | {} | {values} | {} |\n",
        setting.name,
        setting.flag(),
        setting.variable(),
        sentence(setting.what),
        default.unwrap_or_default()
    )
}
