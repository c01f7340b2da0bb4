//! What the general help teaches below the options: an example, the settings, the exit codes.

use std::collections::BTreeMap;
use talentdata_core::ErrorKind;
use talentdata_core::settings::{PROFILE, SETTINGS};

const PROFILES: &str = "\
  -v                         TALENTDATA_LOG              (a filter such as talentdata_core=debug)

  The profile file is talentdata/profiles.toml below XDG_CONFIG_HOME or ~/.config, with mode 0600
  and a section for each profile; [default] is read when --profile names none:
    [default]
    base_url = \"https://talent.example\"
    client_id = \"...\"
    client_secret = \"...\"
";

/// The text below the options of `--help`.
pub(crate) fn after_all() -> String {
    format!(
        "Example, which needs no account:\n  talentdata export contacts --sandbox --out contacts.jsonl\n\n\
         {}{PROFILES}\n\
         Data goes to standard output, everything else to standard error.\n\n\
         Exit codes:\n{}",
        settings(),
        exit_codes()
    )
}

/// Where each setting comes from.
fn settings() -> String {
    let mut out = "Settings, in order of precedence:\n".to_owned();
    let head = ["flag", "environment", "profile file"].map(str::to_owned);
    let rows = SETTINGS.iter().map(|row| {
        let key = match row.name {
            PROFILE => "",
            name => name,
        };
        [format!("--{}", row.flag()), row.variable(), key.into()]
    });
    for [flag, variable, key] in [head].into_iter().chain(rows) {
        let line = format!("  {flag:<25}  {variable:<26}  {key}");
        out += line.trim_end();
        out.push('\n');
    }
    out
}

fn exit_codes() -> String {
    let mut codes: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
    codes.entry(0).or_default().push("done");
    codes.entry(2).or_default().push("wrong usage");
    codes.entry(130).or_default().push("Ctrl-C");
    codes.entry(143).or_default().push("SIGTERM");
    for kind in ErrorKind::ALL {
        codes
            .entry(kind.exit_code())
            .or_default()
            .push(kind.summary());
    }
    let line =
        |(code, meanings): (u8, Vec<&str>)| format!("  {code:>3}  {}\n", meanings.join("; "));
    codes.into_iter().map(line).collect()
}
