//! The last part of the general help (an example, the settings and the exit codes), and the help pages of errors.

use std::collections::BTreeMap;
use talentdata_core::ErrorKind;
use talentdata_core::internal::failure::{FAILURES, STATUSES};

const SETTINGS_HELP: &str = "\
Settings, in order of precedence:
  1. Flags.
  2. The environment: the variables shown with the flags; TALENTDATA_CLIENT_SECRET is the secret
     itself, and TALENTDATA_LOG a filter, for example talentdata_core=debug, instead of -v.
     TALENTDATA_PROGRESS=0 hides the progress of exports and syncs.
  3. The profile file, talentdata/profiles.toml below XDG_CONFIG_HOME or ~/.config, with mode
     0600. It has a section for each profile. The keys are the flags without --, with _ for -;
     [default] is read without --profile:
       [default]
       base_url = \"https://talent.example\"
       client_id = \"...\"
       client_secret = \"...\"
";

/// Returns the help page of a kind of error. The case of the name does not matter.
pub(crate) fn page_of(name: &str) -> Option<String> {
    let mut kinds = ErrorKind::ALL.into_iter();
    let kind = kinds.find(|kind| kind.name().eq_ignore_ascii_case(name))?;
    let retried = if kind.is_retryable() {
        "The same call may succeed later."
    } else {
        "The same call fails again."
    };
    let statuses = STATUSES.iter().map(|(first, last, failure)| {
        let status = match (first, last) {
            (0, _) => "any other status".to_owned(),
            _ if first == last => format!("status {first}"),
            _ => format!("status {first} to {last}"),
        };
        (failure, format!("{status}: {}", failure.what))
    });
    let others = FAILURES
        .iter()
        .map(|failure| (failure, failure.what.replace('`', "")));
    let causes: String = others
        .chain(statuses)
        .filter(|(failure, _)| failure.kind == kind)
        .map(|(failure, what)| {
            let course = failure.course.summary();
            format!("  {what}\n    {course}, because {}\n", failure.why)
        })
        .collect();
    let causes = if causes.is_empty() {
        String::new()
    } else {
        format!("\nCauses, and what happens to the request:\n{causes}")
    };
    Some(format!(
        "{}: {}\n\nThe message of the error says what was refused, and suggests a solution. {retried}\n\
         Exit code {}. In a script: {}\n{causes}\n\
         talentdata doctor checks settings, connection, credentials and permissions step by step.\n\
         See docs/errors.md for all errors.\n",
        kind.name(),
        kind.summary(),
        kind.exit_code(),
        kind.remedy().advice(),
    ))
}

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
         RESOURCE is the name of a list, as talentdata resources shows it, in any spelling. In commands for\n\
         several lists, all means every list.\n\n\
         {SETTINGS_HELP}\n\
         Data goes to standard output, everything else to standard error.\n\n\
         Exit codes:\n{}",
        codes.collect::<String>()
    )
}
