//! The settings of a client as flags, one per row of the table.

use clap::{Arg, ArgMatches};
use std::io::{IsTerminal, Read};
use std::path::Path;
use talentdata_core::internal::settings::{
    SECRET_SOURCES, SETTINGS, Scope, Setting, SettingKind, read_secret_file, read_text,
};
use talentdata_core::internal::streams::Patient;
use talentdata_core::internal::system_text;
use talentdata_core::types::Secret;
use talentdata_core::{Builder, Error, Result};

/// The maximum size of a secret.
const LONGEST_SECRET: u64 = 64 * 1024;
/// The settings of the secret, and of the file that contains it.
const SECRET_SETTING: &str = SECRET_SOURCES[0];
const SECRET_FILE: &str = SECRET_SOURCES[1];

/// Returns the value of a setting that was given as a flag.
fn text_of<'a>(matches: &'a ArgMatches, setting: &Setting) -> Option<&'a str> {
    setting.flag()?;
    matches.get_one::<String>(setting.name).map(String::as_str)
}

/// Returns the first flag that was given in this scope.
pub(crate) fn first_of(matches: &ArgMatches, scope: Scope) -> Option<String> {
    let mut rows = SETTINGS.iter();
    let row = rows.find(|row| row.scope() == scope && text_of(matches, row).is_some());
    row.and_then(Setting::flag).map(|flag| format!("--{flag}"))
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
            SettingKind::File if setting.name == SECRET_FILE && text == "-" => {
                builder.set(SECRET_SETTING, read_secret()?.expose())
            }
            SettingKind::Secret if text.is_empty() => {
                return Err(Error::config(format!(
                    "--{} must not be empty; give the path of a file",
                    setting.flag().unwrap_or_default()
                )));
            }
            SettingKind::Secret => {
                let secret = read_secret_file(Path::new(text)).map_err(|error| {
                    Error::config(format!("{}: {}", setting.name, error.message()))
                })?;
                builder.set(setting.name, secret.expose())
            }
            SettingKind::Proxy | SettingKind::Budget if text.contains('@') => {
                return Err(Error::config(format!(
                    "--{} must not contain a user or password, because other users can read arguments; \
                     set {} or add it to the profile file",
                    setting.flag().unwrap_or_default(),
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
    SETTINGS.iter().filter_map(flag)
}

fn flag(setting: &Setting) -> Option<Arg> {
    let long = setting.flag()?;
    let last_word = setting.name.rsplit('_').next().unwrap_or_default();
    let (value, after) = match setting.kind {
        SettingKind::Duration(_) => ("SECONDS".to_owned(), ""),
        SettingKind::Integer(_) | SettingKind::Number(_) => ("N".into(), ""),
        SettingKind::Boolean(_) => ("true|false".into(), ""),
        SettingKind::BaseUrl | SettingKind::Proxy => ("URL".into(), ""),
        SettingKind::Budget => ("process|host|URL".into(), ""),
        SettingKind::ListPolicies => ("JSON".into(), ""),
        SettingKind::Choice(names) => (names.join("|"), ""),
        SettingKind::File if setting.name == SECRET_FILE => {
            ("FILE".into(), "; - is standard input")
        }
        SettingKind::File => ("FILE".into(), ""),
        SettingKind::Command => ("COMMAND".into(), ""),
        SettingKind::Secret => (
            "FILE".into(),
            ", in a file that only you can read (mode 0600)",
        ),
        SettingKind::Text => (last_word.to_uppercase(), ""),
    };
    let default = setting.default();
    let default = default.map_or_else(String::new, |value| {
        format!(" [default: {}]", value.trim_end_matches(" s"))
    });
    let variable = setting.variable();
    let help = format!("{}{after}{default} [env: {variable}]", setting.what);
    let (first, rest) = help.split_at(1);
    let arg = Arg::new(setting.name)
        .help(first.to_uppercase() + rest)
        .value_name(value)
        .long(long)
        .global(true)
        // core refuses wrong numbers, with the same message in every language.
        .allow_negative_numbers(true)
        .hide_short_help(true)
        .hide_long_help(true)
        .help_heading(match setting.scope() {
            Scope::Calls => "Advanced",
            _ => "Connection",
        });
    Some(arg)
}

/// Reads the secret from standard input.
fn read_secret() -> Result<Secret> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let message =
            "--client-secret-file -: the terminal would show the secret; send it through a pipe";
        return Err(Error::config(message));
    }
    let mut bytes = Vec::new();
    let read = Patient(stdin).take(LONGEST_SECRET).read_to_end(&mut bytes);
    read.map_err(|error| {
        Error::config(format!("--client-secret-file -: {}", system_text(&error)))
    })?;
    let text = read_text(bytes, "the secret on standard input")?;
    Ok(Secret::new(text.trim_end_matches(['\r', '\n'])))
}
