//! The end of the general help, below the options: an example, the settings, the exit codes.

use std::collections::BTreeMap;
use talentdata_core::ErrorKind;

const SETTINGS: &str = "\
Settings, in order of precedence:
  1. Flags.
  2. The environment: the variables shown with the flags; TALENTDATA_CLIENT_SECRET is the secret
     itself, and TALENTDATA_LOG a filter such as talentdata_core=debug, in place of -v.
     TALENTDATA_PROGRESS=0 hides the progress of exports and syncs.
  3. The profile file, talentdata/profiles.toml below XDG_CONFIG_HOME or ~/.config, with mode
     0600. It has a section for each profile, whose keys are the flags without --, with _ for -;
     [default] is read when --profile names none:
       [default]
       base_url = \"https://talent.example\"
       client_id = \"...\"
       client_secret = \"...\"
";

/// Returns the text below the options of `--help`.
pub(crate) fn after_all() -> String {
    let mut codes: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
    let fixed = [
        (0, "done"),
        (2, "wrong usage"),
        (130, "Ctrl-C"),
        (143, "SIGTERM"),
    ];
    let kinds = ErrorKind::ALL
        .into_iter()
        .map(|kind| (kind.exit_code(), kind.summary()));
    for (code, meaning) in fixed.into_iter().chain(kinds) {
        codes.entry(code).or_default().push(meaning);
    }
    let codes = codes.into_iter();
    let codes = codes.map(|(code, meanings)| format!("  {code:>3}  {}\n", meanings.join("; ")));
    format!(
        "Example, which needs no account:\n  talentdata export contacts --sandbox --out contacts.jsonl\n\n\
         RESOURCE is the name of a list, as talentdata resources shows it, in any spelling. Where several\n\
         lists are taken, all means every list.\n\n\
         {SETTINGS}\n\
         Data goes to standard output, everything else to standard error.\n\n\
         Exit codes:\n{}",
        codes.collect::<String>()
    )
}
