//! The help texts that belong to no command: the overview, and the pages of `talentdata help NAME`.

use talentdata_core::ErrorKind;
use talentdata_core::internal::failure::{FAILURES, STATUSES};
use talentdata_core::internal::settings::{SETTINGS, SettingKind};

/// The commands, grouped by task. The commands for operations of the service come from the spec, and are listed after
/// these.
const GROUPS: &[(&str, &[&str])] = &[
    ("Read", &["export", "page", "plan", "schema", "resources"]),
    ("Mirror", &["sync", "changes", "history", "forget"]),
    ("Check", &["doctor", "verify", "budget"]),
    ("Try", &["sandbox"]),
    ("Set up", &["completions", "adbc"]),
];
/// A page: its name, its subject, and the function that writes it.
type Topic = (&'static str, &'static str, fn() -> String);
/// The pages that are not about a kind of error.
const TOPICS: &[Topic] = &[
    (
        "settings",
        "Every setting, as a flag, variable and key",
        settings,
    ),
    (
        "exit-codes",
        "What each exit code means for a script",
        exit_codes,
    ),
    (
        "environment",
        "The other variables and files that are read",
        environment,
    ),
];
/// The longest line of a page.
const WIDTH: usize = 96;

/// Returns the commands in groups, and references to further help.
pub(crate) fn overview(grammar: &clap::Command) -> String {
    let is_grouped = |name| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let of_service = grammar
        .get_subcommands()
        .map(clap::Command::get_name)
        .filter(|name| !is_grouped(name));
    let service = ("Service", of_service.collect::<Vec<_>>());
    let groups = GROUPS.iter().map(|(title, names)| (*title, names.to_vec()));
    let mut text =
        "Try it without an account:\n  talentdata export contacts --sandbox --out contacts.jsonl\n"
            .to_owned();
    for (title, names) in groups.chain([service]) {
        text += &format!("\n{title}:\n");
        for name in names {
            let about = grammar
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text += &format!("  {name:<13} {about}\n");
        }
    }
    text += "\nHelp:\n";
    text += "  COMMAND --help     Examples and flags of a command\n";
    for (name, what, _) in TOPICS {
        text += &format!("  {:<18} {what}\n", format!("help {name}"));
    }
    text + "  help KIND          The page of an error, such as help Auth\n\n\
            RESOURCE in a command is the name of a list, in any spelling. Data goes to standard output,\n\
            everything else to standard error."
}

/// Returns the page of a topic or a kind of error, by its name in any case, or by its exit code or its class in Python.
pub(crate) fn page_of(name: &str) -> Option<String> {
    let mut topics = TOPICS.iter();
    let topic = topics.find(|(topic, ..)| topic.eq_ignore_ascii_case(name));
    topic
        .map(|(_, _, page)| page())
        .or_else(|| page_of_kind(name))
}

/// Returns all pages of topics, for the manual pages.
pub(crate) fn topics() -> String {
    TOPICS.iter().map(|(_, _, page)| page() + "\n").collect()
}

fn settings() -> String {
    let mut text = "Settings, in order of precedence:\n  \
         1. Flags.\n  \
         2. The environment: the variables shown here.\n  \
         3. The profile file, talentdata/profiles.toml below XDG_CONFIG_HOME or ~/.config. It must have\n     \
            mode 0600. Each profile is a section, and --profile selects one:\n       \
              [default]\n       \
              base_url = \"https://talent.example\"\n       \
              client_id = \"...\"\n       \
              client_secret = \"...\"\n"
        .to_owned();
    for setting in SETTINGS {
        let flag = setting.flag().map(|flag| format!("--{flag} "));
        let default = setting.default().map(|value| match setting.kind {
            SettingKind::Duration(_) => format!(" [default: {}]", value.trim_end_matches(" s")),
            _ => format!(" [default: {value}]"),
        });
        let (flag, default) = (flag.unwrap_or_default(), default.unwrap_or_default());
        let unit = if let SettingKind::Duration(_) = setting.kind {
            ", in seconds"
        } else {
            ""
        };
        let (first, rest) = setting.what.split_at(1);
        let what = format!("{}{rest}{unit}. {}", first.to_uppercase(), setting.note);
        text += &format!(
            "\n  {flag}{}{default}\n{}",
            setting.variable(),
            wrapped(&what)
        );
    }
    text
}

fn exit_codes() -> String {
    let mut text = "Exit codes:\n\n  0  Done\n  2  Wrong usage\n\
                    130  Ctrl-C\n143  SIGTERM\n\n"
        .to_owned();
    for kind in ErrorKind::ALL {
        let (code, name) = (kind.exit_code(), kind.name());
        text += &format!("{code:>3}  {name}: {}\n", kind.summary());
        text += &wrapped(kind.remedy().advice());
    }
    text + "\ntalentdata help KIND has the page of each kind.\n"
}

fn environment() -> String {
    "\
Besides the variables of settings (talentdata help settings), these are read:

  TALENTDATA_LOG            A filter of log messages such as talentdata_core=debug, in place of -v
  TALENTDATA_PROGRESS       0 hides the progress of exports and syncs
  XDG_CONFIG_HOME           The place of talentdata/profiles.toml, otherwise ~/.config
  XDG_RUNTIME_DIR           The place of request budgets and tokens that processes share
  XDG_STATE_HOME            Their place if there is no runtime directory, otherwise ~/.local/state
  HTTPS_PROXY, ALL_PROXY    The proxy, if the setting proxy is not set. NO_PROXY excludes hosts
  SSL_CERT_FILE, SSL_CERT_DIR   Root certificates, in place of those of the system
  SQLITE_TMPDIR, TMPDIR     The place of temporary files of mirrors, otherwise /var/tmp
"
    .to_owned()
}

/// Returns a text in indented lines.
fn wrapped(text: &str) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if line.len() + word.len() > WIDTH - 8 {
            out += &format!("      {line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line += " ";
        }
        line += word;
    }
    out + &format!("      {line}\n")
}

fn page_of_kind(name: &str) -> Option<String> {
    let mut kinds = ErrorKind::ALL.into_iter();
    let own = name.strip_suffix("Error").unwrap_or(name);
    let kind = kinds.find(|kind| {
        let is_named = kind.name().eq_ignore_ascii_case(own);
        is_named || kind.exit_code().to_string() == name
    })?;
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
         talentdata help exit-codes lists all kinds of errors.\n",
        kind.name(),
        kind.summary(),
        kind.exit_code(),
        kind.remedy().advice(),
    ))
}
