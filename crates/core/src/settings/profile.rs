//! Files that hold settings: the profile file, and a file with nothing but the secret.
//!
//! Both may hold a secret, so both are refused when other users can read them.

use super::Value;
use super::found::{config, unknown};
use super::table::{PROFILE, SETTINGS};
use crate::error::Result;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use talentdata_types::Secret;
use toml::Table;

/// The section that is read when none is named.
const DEFAULT: &str = "default";

/// A settings file is small; what is larger is not one.
const LARGEST: u64 = 1024 * 1024;

/// Reads a section of the profile file; nothing where there is no file and none was asked for.
pub(super) fn load(
    name: Option<&str>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, Value)>> {
    let Some(path) = path(environment) else {
        return match name {
            None => Ok(Vec::new()),
            Some(name) => Err(config(format!(
                "profile {name:?}: neither XDG_CONFIG_HOME nor HOME is set"
            ))),
        };
    };
    if name.is_none() && !path.exists() {
        return Ok(Vec::new());
    }
    let text = read_private(&path)?;
    let shown = path.display();
    let mut sections: BTreeMap<String, Table> = toml::from_str(&text).map_err(|error| {
        // The parser's own message would quote the line, and the line may hold the secret.
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        config(format!(
            "{shown} line {line}: not a section such as [{DEFAULT}] with settings such as base_url = \"...\""
        ))
    })?;
    let wanted = name.unwrap_or(DEFAULT);
    let Some(section) = sections.remove(wanted) else {
        if name.is_none() {
            return Ok(Vec::new());
        }
        let known: Vec<&str> = sections.keys().map(String::as_str).collect();
        return Err(config(format!(
            "{shown} has no section [{wanted}]; it has: {}",
            known.join(", ")
        )));
    };
    let entries = section.into_iter().map(|(name, value)| entry(name, value));
    entries
        .collect::<Result<_>>()
        .map_err(|error| config(format!("{shown} [{wanted}]: {}", error.message())))
}

/// A setting and its value, as the types of TOML say.
fn entry(name: String, value: toml::Value) -> Result<(String, Value)> {
    let mut settings = SETTINGS.iter().filter(|row| row.name != PROFILE);
    let Some(setting) = settings.find(|row| row.name == name) else {
        return Err(unknown(&name));
    };
    let value = match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::Number(number as f64),
        toml::Value::Float(number) => Value::Number(number),
        toml::Value::Boolean(value) => Value::Boolean(value),
        toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => {
            return Err(config(setting.wrong_type(value.type_str())));
        }
    };
    Ok((name, value))
}

/// Where the profile file usually is, for messages.
pub(super) fn usual_path(environment: impl Fn(&str) -> Option<String>) -> String {
    path(environment)
        .unwrap_or_else(|| "talentdata/profiles.toml".into())
        .display()
        .to_string()
}

fn path(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let directory = environment("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(environment("HOME")?).join(".config")))?;
    Some(directory.join("talentdata").join("profiles.toml"))
}

/// Reads a secret from a file that holds nothing else; a final line break is dropped.
///
/// # Errors
/// `Config` when the file cannot be read or other users can read it.
pub fn read_secret_file(path: &Path) -> Result<Secret> {
    if path.try_exists().is_ok_and(|exists| !exists) {
        return Err(config(
            "there is no file for the secret; what was given is not shown, in case it is the secret itself"
                .into(),
        ));
    }
    let text = read_private(path)?;
    Ok(Secret::new(text.trim_end_matches(['\r', '\n'])))
}

fn read_private(path: &Path) -> Result<String> {
    let shown = path.display();
    let failed = |error: std::io::Error| config(format!("cannot read {shown}: {error}"));
    let file = File::open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if facts.is_dir() {
        return Err(config(format!("cannot read {shown}: it is a directory")));
    }
    // What is no file, such as the pipe of the shell's <(command), is private to whoever made it.
    if facts.is_file() {
        refuse_shared(path, &facts)?;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(config(format!(
            "cannot read {shown}: it is larger than 1 MiB"
        )));
    }
    String::from_utf8(bytes).map_err(|_| config(format!("cannot read {shown}: it is not UTF-8")))
}

#[cfg(unix)]
fn refuse_shared(path: &Path, facts: &std::fs::Metadata) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    refuse_owner(path, facts.uid(), rustix::process::geteuid().as_raw())?;
    let mode = facts.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(config(format!(
        "{shown} may hold a secret and other users can reach it (mode {mode:04o}); run: chmod 600 '{shown}'"
    )))
}

/// Whoever owns the file chooses where the secret goes: that may be the user, or the administrator.
#[cfg(unix)]
fn refuse_owner(path: &Path, owner: u32, user: u32) -> Result<()> {
    if owner == user || owner == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(config(format!(
        "{shown} belongs to another user (user ID {owner}); run: chown {user} '{shown}'"
    )))
}

#[cfg(not(unix))]
fn refuse_shared(_: &Path, _: &std::fs::Metadata) -> Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::settings::tests::directory;

    fn read(directory: &tempfile::TempDir, name: Option<&str>) -> Result<Vec<(String, Value)>> {
        let home = directory.path().to_string_lossy().into_owned();
        load(name, move |variable| {
            (variable == "XDG_CONFIG_HOME").then(|| home.clone())
        })
    }

    const TEXT: &str = "[default]\nclient_id = \"me\"\nclient_secret = \"CANARY\"\n[other]\nbase_url = \"https://b.example\"\n";

    #[test]
    fn sections_are_read_by_name() {
        let directory = directory(TEXT, 0o600);
        let names = |section| -> Vec<String> {
            let found = read(&directory, section).unwrap().into_iter();
            found.map(|(name, _)| name).collect()
        };
        assert_eq!(names(None), ["client_id", "client_secret"]);
        assert_eq!(names(Some("other")), ["base_url"]);
        let error = read(&directory, Some("third")).err().unwrap();
        assert!(error.message().contains("[third]") && error.message().contains("default"));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_way_out() {
        let error = read(&directory(TEXT, 0o644), None).err().unwrap();
        assert!(error.message().contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_file_of_another_user_is_refused_with_the_way_out() {
        let path = Path::new("profiles.toml");
        for (owner, user, taken) in [(7, 7, true), (0, 7, true), (7, 8, false), (7, 0, false)] {
            assert_eq!(
                refuse_owner(path, owner, user).is_ok(),
                taken,
                "{owner} {user}"
            );
        }
        let directory = directory(TEXT, 0o600);
        let file = directory.path().join("talentdata").join("profiles.toml");
        // Only the administrator can give a file away.
        if std::os::unix::fs::chown(&file, Some(12345), None).is_ok() {
            let error = read(&directory, None).err().unwrap();
            assert!(error.message().contains("12345"), "{error}");
            assert!(error.message().contains("chown 0 "), "{error}");
        }
    }

    #[test]
    fn a_malformed_file_names_the_line_and_never_quotes_it() {
        let text = "[default]\nclient_secret = CANARY\n";
        let error = read(&directory(text, 0o600), None).err().unwrap();
        assert!(error.message().contains("line 2"), "{error}");
        assert!(!format!("{error:?}").contains("CANARY"));
    }

    #[test]
    fn what_is_no_setting_is_refused_and_its_value_not_shown() {
        for (line, said) in [
            (
                "client_sceret = \"CANARY\"",
                "\"client_sceret\"; the settings are base_url, ",
            ),
            ("profile = \"other\"", "\"profile\""),
            (
                "client_secret = [\"CANARY\"]",
                "client_secret must be a string (got array)",
            ),
        ] {
            let text = format!("[default]\n{line}\n");
            let error = read(&directory(&text, 0o600), None).err().unwrap();
            let message = error.message();
            assert!(
                message.contains("[default]: ") && message.contains(said),
                "{error}"
            );
            assert!(!message.contains("CANARY"), "{error}");
        }
        let error = read(&directory("client_secret = \"CANARY\"\n", 0o600), None)
            .err()
            .unwrap();
        assert!(error.message().contains("line 1: not a section"), "{error}");
    }

    #[test]
    fn no_file_is_no_profile_unless_one_is_named() {
        let empty = tempfile::tempdir().unwrap();
        assert!(read(&empty, None).unwrap().is_empty());
        assert!(read(&empty, Some("default")).is_err());
    }
}
