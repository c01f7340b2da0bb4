//! The settings of a client as flags: one per row of the table.

use clap::{Arg, ArgMatches};
use std::io::{IsTerminal, Read};
use std::path::Path;
use talentdata_core::internal::settings::{
    SETTINGS, Scope, Setting, SettingKind, read_secret_file, read_text,
};
use talentdata_core::internal::streams::Patient;
use talentdata_core::types::Secret;
use talentdata_core::{Builder, Error, Result};

/// Limits the size of a secret. Anything longer is not one.
const LONGEST_SECRET: u64 = 64 * 1024;

/// Returns the value of a setting that was given as a flag; for a secret, the file that contains it.
fn text_of<'a>(matches: &'a ArgMatches, setting: &Setting) -> Option<&'a str> {
    matches.get_one::<String>(setting.name).map(String::as_str)
}

/// Returns the first flag that was given in this scope.
pub(crate) fn first_of(matches: &ArgMatches, scope: Scope) -> Option<String> {
    let mut rows = SETTINGS.iter();
    let row = rows.find(|row| row.scope() == scope && text_of(matches, row).is_some());
    row.map(|row| format!("--{}", row.flag()))
}

/// Sets the settings that were given.
///
/// # Errors
/// `Config` if the file of a secret cannot be read, and for a password on the command line.
pub(crate) fn set(matches: &ArgMatches, builder: &mut Builder) -> Result<()> {
    for setting in SETTINGS {
        let Some(text) = text_of(matches, setting) else {
            continue;
        };
        match setting.kind {
            SettingKind::Secret => {
                builder.set(setting.name, read_secret(Path::new(text))?.expose())
            }
            SettingKind::Proxy | SettingKind::Budget if text.contains('@') => {
                return Err(Error::config(format!(
                    "--{} must not contain a user or password, because other users can read arguments; \
                     set {} or add it to the profile file",
                    setting.flag(),
                    setting.variable()
                )));
            }
            _ => builder.set(setting.name, text),
        };
    }
    Ok(())
}

/// Returns a flag for each setting.
pub(crate) fn flags() -> impl Iterator<Item = Arg> {
    SETTINGS.iter().map(flag)
}

fn flag(setting: &Setting) -> Arg {
    let last_word = setting.name.rsplit('_').next().unwrap_or_default();
    let (value, before) = match setting.kind {
        SettingKind::Duration(_) => ("SECONDS".to_owned(), ""),
        SettingKind::Integer(_) | SettingKind::Number(_) => ("N".into(), ""),
        SettingKind::Boolean(_) => ("true|false".into(), ""),
        SettingKind::BaseUrl | SettingKind::Proxy => ("URL".into(), ""),
        SettingKind::Budget => ("process|host|URL".into(), ""),
        SettingKind::Choice(names) => (names.join("|"), ""),
        SettingKind::File => ("FILE".into(), ""),
        SettingKind::Text => (last_word.to_uppercase(), ""),
        SettingKind::Secret => (
            "FILE".into(),
            "a file (mode 0600), or - for standard input, that contains nothing but ",
        ),
    };
    let default = setting.default();
    let default = default.map_or_else(String::new, |value| format!(" [default: {value}]"));
    let variable = setting.variable();
    let help = format!("{before}{}{default} [env: {variable}]", setting.what);
    let (first, rest) = help.split_at(1);
    Arg::new(setting.name)
        .help(first.to_uppercase() + rest)
        .value_name(value)
        .long(setting.flag())
        .global(true)
        // Wrong numbers are refused by core, with the message of every language.
        .allow_negative_numbers(true)
        .hide_short_help(setting.scope() == Scope::Calls)
        .help_heading(match setting.scope() {
            Scope::Calls => "Advanced",
            _ => "Connection",
        })
}

fn read_secret(path: &Path) -> Result<Secret> {
    if path != Path::new("-") {
        return read_secret_file(path);
    }
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let message =
            "--client-secret-file -: the terminal would show the secret; send it through a pipe";
        return Err(Error::config(message));
    }
    let mut bytes = Vec::new();
    let read = Patient(stdin).take(LONGEST_SECRET).read_to_end(&mut bytes);
    read.map_err(|error| Error::config(format!("--client-secret-file -: {error}")))?;
    let text = read_text(bytes, "the secret on standard input")?;
    Ok(Secret::new(text.trim_end_matches(['\r', '\n'])))
}
