//! Files that hold settings: the profile file, and a file with nothing but the secret.
//!
//! Both may hold a secret, so both are refused when other users can read them.

use crate::error::{Error, ErrorKind, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use talentdata_types::Secret;

/// The section that is read when none is named.
const DEFAULT: &str = "default";

/// A settings file is small; what is larger is not one.
const LARGEST: u64 = 1024 * 1024;

/// One section of the profile file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    pub(super) base_url: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Secret>,
}

/// Reads a section of the profile file; nothing where there is no file and none was asked for.
pub(super) fn load(
    name: Option<&str>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Profile> {
    let Some(path) = path(environment) else {
        return match name {
            None => Ok(Profile::default()),
            Some(name) => Err(config(format!(
                "profile {name:?}: neither XDG_CONFIG_HOME nor HOME is set"
            ))),
        };
    };
    if name.is_none() && !path.exists() {
        return Ok(Profile::default());
    }
    let text = read_private(&path)?;
    let mut sections: BTreeMap<String, Profile> = toml::from_str(&text).map_err(|error| {
        // The parser's own message would quote the line, and the line may hold the secret.
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        config(format!(
            "{} line {line}: a section holds base_url, client_id and client_secret as strings, nothing else",
            path.display()
        ))
    })?;
    let wanted = name.unwrap_or(DEFAULT);
    match sections.remove(wanted) {
        Some(profile) => Ok(profile),
        None if name.is_none() => Ok(Profile::default()),
        None => {
            let known: Vec<&str> = sections.keys().map(String::as_str).collect();
            Err(config(format!(
                "{} has no section [{wanted}]; it has: {}",
                path.display(),
                known.join(", ")
            )))
        }
    }
}

/// Where the profile file usually is, for messages.
pub(super) fn usual_path(environment: impl Fn(&str) -> Option<String>) -> String {
    path(environment)
        .unwrap_or_else(|| "talentdata/profiles.toml".into())
        .display()
        .to_string()
}

fn path(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let folder = environment("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(environment("HOME")?).join(".config")))?;
    Some(folder.join("talentdata").join("profiles.toml"))
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
        return Err(config(format!("cannot read {shown}: it is a folder")));
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

fn config(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A configuration folder with this text as the profile file.
    #[allow(clippy::unwrap_used)]
    fn folder(text: &str, mode: u32) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talentdata").join("profiles.toml");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        folder
    }

    fn read(folder: &tempfile::TempDir, name: Option<&str>) -> Result<Profile> {
        let home = folder.path().to_string_lossy().into_owned();
        load(name, move |variable| {
            (variable == "XDG_CONFIG_HOME").then(|| home.clone())
        })
    }

    const TEXT: &str = "[default]\nclient_id = \"me\"\nclient_secret = \"CANARY\"\n[other]\nbase_url = \"https://b.example\"\n";

    #[test]
    fn sections_are_read_by_name() {
        let folder = folder(TEXT, 0o600);
        assert_eq!(
            read(&folder, None).unwrap().client_id.as_deref(),
            Some("me")
        );
        assert_eq!(
            read(&folder, Some("other")).unwrap().base_url.as_deref(),
            Some("https://b.example")
        );
        let error = read(&folder, Some("third")).err().unwrap();
        assert!(error.message().contains("[third]") && error.message().contains("default"));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_way_out() {
        let error = read(&folder(TEXT, 0o644), None).err().unwrap();
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
        let folder = folder(TEXT, 0o600);
        let file = folder.path().join("talentdata").join("profiles.toml");
        // Only the administrator can give a file away.
        if std::os::unix::fs::chown(&file, Some(12345), None).is_ok() {
            let error = read(&folder, None).err().unwrap();
            assert!(error.message().contains("12345"), "{error}");
            assert!(error.message().contains("chown 0 "), "{error}");
        }
    }

    #[test]
    fn a_malformed_file_names_the_line_and_never_quotes_it() {
        let text = "[default]\nclient_secret = CANARY\n";
        let error = read(&folder(text, 0o600), None).err().unwrap();
        assert!(error.message().contains("line 2"), "{error}");
        assert!(!format!("{error:?}").contains("CANARY"));
    }

    #[test]
    fn no_file_is_no_profile_unless_one_is_named() {
        let empty = tempfile::tempdir().unwrap();
        assert!(read(&empty, None).unwrap().client_id.is_none());
        assert!(read(&empty, Some("default")).is_err());
    }
}
