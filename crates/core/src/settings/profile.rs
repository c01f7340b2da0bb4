//! Files with settings: the profile file, and a file with only the secret.
//!
//! Both may contain a secret, so both are refused if other users can read them.

use super::table::{ENVIRONMENT, PROFILE, SETTINGS, SettingKind};
use super::values::unknown;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use talentdata_types::Secret;
use toml::{Table, Value};

/// The section that is read if none is named.
const DEFAULT: &str = "default";

/// Limits the size of a settings file, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// Reads a section of the profile file. Returns nothing if there is no file and no section was named. A file that cannot
/// be read, or that belongs to others, is an error only if it is needed.
pub(super) fn load(
    name: Option<&str>,
    is_needed: bool,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, Secret)>> {
    let Some(path) = path(environment) else {
        return match name {
            None => Ok(Vec::new()),
            Some(name) => Err(Error::config(format!(
                "profile {name:?}: neither XDG_CONFIG_HOME nor HOME is set"
            ))),
        };
    };
    if name.is_none() && !path.exists() {
        return Ok(Vec::new());
    }
    let text = match read_private(&path) {
        Err(error) if !is_needed => {
            tracing::warn!(reason = error.message(), "the profile file is not used");
            return Ok(Vec::new());
        }
        text => text?,
    };
    let shown = path.display();
    let mut sections: BTreeMap<String, Table> = toml::from_str(&text).map_err(|error| {
        // The parser's own message would quote the line, which may contain the secret.
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Error::config(format!(
            "{shown} line {line}: not a section such as [{DEFAULT}] with settings such as base_url = \"...\""
        ))
    })?;
    let wanted = name.unwrap_or(DEFAULT);
    let Some(section) = sections.remove(wanted) else {
        if name.is_none() {
            return Ok(Vec::new());
        }
        let known: Vec<&str> = sections.keys().map(String::as_str).collect();
        return Err(Error::config(format!(
            "{shown} has no section [{wanted}]; it has: {}",
            known.join(", ")
        )));
    };
    let entries = section.into_iter().map(|(name, value)| entry(name, value));
    entries
        .collect::<Result<_>>()
        .map_err(|error| Error::config(format!("{shown} [{wanted}]: {}", error.message())))
}

/// Returns a setting of a section and its value.
fn entry(name: String, value: Value) -> Result<(String, Secret)> {
    let mut settings = SETTINGS
        .iter()
        .filter(|row| ![PROFILE, ENVIRONMENT].contains(&row.name));
    let Some(setting) = settings.find(|row| row.name == name) else {
        return Err(unknown(&name));
    };
    let is_text = setting.bounds().is_none() && !matches!(setting.kind, SettingKind::Boolean(_));
    let text = match value {
        Value::Table(lists) if matches!(setting.kind, SettingKind::ListPolicies) => {
            serde_json::to_string(&lists).unwrap_or_default()
        }
        Value::String(text) => text,
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) if !is_text => value.to_string(),
        _ => return Err(Error::config(setting.wrong_type_message(value.type_str()))),
    };
    Ok((name, Secret::new(text)))
}

/// Returns the usual path of the profile file, for messages.
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

/// Reads a secret from a file that contains nothing else. A final line break is dropped.
///
/// # Errors
/// `Config` if the file cannot be read or other users can read it.
pub fn read_secret_file(path: &Path) -> Result<Secret> {
    if path.try_exists().is_ok_and(|exists| !exists) {
        return Err(Error::config(
            "there is no file for the secret; what was given is not shown, in case it is the secret itself",
        ));
    }
    let text = read_private(path)?;
    Ok(Secret::new(text.trim_end_matches(['\r', '\n'])))
}

/// Reads text as editors and shells save it: UTF-8, with an optional byte order mark, which is dropped.
///
/// # Errors
/// `Config` for other text. `shown` names its source.
pub fn read_text(bytes: Vec<u8>, shown: &str) -> Result<String> {
    // PowerShell before version 6 redirects the output of a command to a file as UTF-16.
    if matches!(bytes[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) || bytes.contains(&0) {
        return Err(Error::config(format!(
            "cannot read {shown}: it is UTF-16 or binary; save it as UTF-8"
        )));
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| {
        Error::config(format!(
            "cannot read {shown}: it is not UTF-8; save it as UTF-8"
        ))
    })?;
    // Windows editors write a byte order mark at the beginning of files.
    Ok(text
        .strip_prefix('\u{feff}')
        .map_or(text.clone(), str::to_owned))
}

fn read_private(path: &Path) -> Result<String> {
    let shown = path.display();
    let failed = |error: std::io::Error| Error::config(format!("cannot read {shown}: {error}"));
    let file = File::open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if facts.is_dir() {
        return Err(Error::config(format!(
            "cannot read {shown}: it is a directory"
        )));
    }
    // Anything else, for example the pipe of the shell's <(command), is private to its creator.
    if facts.is_file() {
        check_private(path, &file, &facts)?;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::config(format!(
            "cannot read {shown}: it is larger than 1 MiB"
        )));
    }
    read_text(bytes, &shown.to_string())
}

#[cfg(unix)]
fn check_private(path: &Path, file: &File, facts: &std::fs::Metadata) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    // On a read-only mount, whoever mounted it has decided who may read it. Kubernetes and Docker mount the secrets of
    // a container this way.
    let mount = rustix::fs::fstatvfs(file);
    if mount.is_ok_and(|mount| mount.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY)) {
        return Ok(());
    }
    check_mode(
        path,
        (facts.uid(), rustix::process::geteuid().as_raw()),
        facts.permissions().mode() & 0o777,
    )
}

/// Checks the owner and the mode of a file on a writable file system.
#[cfg(unix)]
pub(super) fn check_mode(path: &Path, (owner, user): (u32, u32), mode: u32) -> Result<()> {
    check_owner(path, owner, user)?;
    let shown = path.display();
    // If the administrator owns the file and this user cannot change it, the administrator decides who may read it.
    let (open, advice) = if owner == user {
        (0o077, format!("run: chmod 600 '{shown}'"))
    } else {
        (0o002, "ask the administrator to change that".to_owned())
    };
    if mode & open == 0 {
        return Ok(());
    }
    Err(Error::config(format!(
        "{shown} may hold a secret and other users can reach it (mode {mode:04o}); {advice}"
    )))
}

/// Checks that the owner, who can choose where the secret is sent, is the user or the administrator.
#[cfg(unix)]
pub(super) fn check_owner(path: &Path, owner: u32, user: u32) -> Result<()> {
    if owner == user || owner == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(Error::config(format!(
        "{shown} belongs to another user (user ID {owner}); run: chown {user} '{shown}'"
    )))
}

#[cfg(not(unix))]
fn check_private(_: &Path, _: &File, _: &std::fs::Metadata) -> Result<()> {
    Ok(())
}
