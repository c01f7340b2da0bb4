//! Files that settings name: read whole within bounds, and refused if they may hold a secret that other users can read.

use crate::error::{Error, Result, system_text};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};
use talentdata_types::Secret;

/// Limits the size of a file that a setting names, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// The time within which the writer of a pipe must write it and end.
const PIPE_TIMEOUT: Duration = Duration::from_secs(10);

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

/// Reads a text file that may hold a secret.
///
/// # Errors
/// `Config` if it cannot be read, is not UTF-8, or other users can read it.
pub(crate) fn read_private(path: &Path) -> Result<String> {
    read_text(read_private_bytes(path)?, &path.display().to_string())
}

/// Reads a file that may hold a secret, and may be no text.
///
/// # Errors
/// `Config` if it cannot be read, or other users can read it.
pub(crate) fn read_private_bytes(path: &Path) -> Result<Vec<u8>> {
    read(path, check_private)
}

/// Reads a text file whose owner is the user or the administrator, even if other users can read it.
///
/// # Errors
/// `Config` if it cannot be read, is not UTF-8, or belongs to another user.
pub(crate) fn read_own(path: &Path) -> Result<String> {
    #[cfg(unix)]
    let check = |path: &Path, _: &File, facts: &Metadata| {
        let user = rustix::process::geteuid().as_raw();
        check_owner(path, std::os::unix::fs::MetadataExt::uid(facts), user)
    };
    #[cfg(not(unix))]
    let check = check_private;
    read_text(read(path, check)?, &path.display().to_string())
}

/// Reads a secret from a file that contains nothing else. A final line break is dropped.
///
/// # Errors
/// `Config` if the file cannot be read or other users can read it.
pub fn read_secret_file(path: &Path) -> Result<Secret> {
    if path.try_exists().is_ok_and(|exists| !exists) {
        return Err(Error::config(
            "there is no file for the secret; the path is not shown, in case it is the secret itself",
        ));
    }
    let text = read_private(path)?;
    Ok(Secret::new(text.trim_end_matches(['\r', '\n'])))
}

/// Reads a public file of at most 1 MiB.
///
/// # Errors
/// `Config` if it cannot be read.
pub(crate) fn read_public(path: &Path) -> Result<Vec<u8>> {
    read(path, |_, _, _| Ok(()))
}

fn read(path: &Path, check: impl Fn(&Path, &File, &Metadata) -> Result<()>) -> Result<Vec<u8>> {
    let shown = path.display();
    let failed =
        |error: io::Error| Error::config(format!("cannot read {shown}: {}", system_text(&error)));
    let file = open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if facts.is_dir() {
        return Err(Error::config(format!(
            "cannot read {shown}: it is a directory"
        )));
    }
    // Anything else, for example the pipe of the shell's <(command), is private to its creator.
    if facts.is_file() {
        check(path, &file, &facts)?;
    }
    let mut bytes = Vec::new();
    let until = Instant::now() + PIPE_TIMEOUT;
    PunctualFile { file, until }
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::config(format!(
            "cannot read {shown}: it is larger than 1 MiB"
        )));
    }
    Ok(bytes)
}

/// Opens a file. Opening a pipe does not wait for its writer.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options.read(true).open(path)
}

/// A file or a pipe that must be read in time.
struct PunctualFile {
    file: File,
    until: Instant,
}

impl Read for PunctualFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        {
            use rustix::event::{PollFd, PollFlags, poll};
            // A regular file is always ready.
            loop {
                let left = self.until.saturating_duration_since(Instant::now());
                let left = left.try_into().map_err(io::Error::other)?;
                match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&left)) {
                    Ok(0) => {
                        let limit = PIPE_TIMEOUT.as_secs();
                        let why =
                            format!("it is a pipe that nobody wrote and closed within {limit} s");
                        return Err(io::Error::other(why));
                    }
                    Ok(_) => break,
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.file.read(buffer)
    }
}

#[cfg(unix)]
fn check_private(path: &Path, file: &File, facts: &Metadata) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    // On a read-only mount, the administrator who mounted it decided who may read the file. Kubernetes and Docker mount
    // the secrets of a container this way.
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
pub(crate) fn check_mode(path: &Path, (owner, user): (u32, u32), mode: u32) -> Result<()> {
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
pub(crate) fn check_owner(path: &Path, owner: u32, user: u32) -> Result<()> {
    if owner == user || owner == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(Error::config(format!(
        "{shown} belongs to another user (user ID {owner}); run: chown {user} '{shown}'"
    )))
}

#[cfg(not(unix))]
fn check_private(_: &Path, _: &File, _: &Metadata) -> Result<()> {
    Ok(())
}
