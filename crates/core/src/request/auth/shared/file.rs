//! The file that holds the shared token. Only a process with the same credentials can read or write it.
//!
//! The client secret is not part of the file's name, which others may be allowed to list, and so a changed secret replaces
//! what the one before has left. The content is authenticated by a key that is derived from the secret: what was written
//! with another one, or was damaged, or made up, is no token.

use crate::budget::company::absorb;
use crate::host::{SharedFile, directory};
use crate::request::auth::token::Life;
use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use talentdata_types::Secret;

/// What such a file begins with; another form has another mark, and another name of the file.
const MARK: [u8; 16] = *b"talentdata\0tokn1";
/// For what the key is derived.
const PURPOSE: &str = "talentdata 2026-11-22 content of the token cache";
/// Behind the mark, the content's authentication code.
const HEAD: usize = MARK.len() + blake3::OUT_LEN;
/// No such file is longer.
const LONGEST: u64 = 32 * 1024;
/// A token from further in the future than this was stored in another run of the host.
const AHEAD: Duration = Duration::from_secs(1);

/// What authenticates the content.
pub(super) type Key = [u8; blake3::KEY_LEN];

/// The file, for clients with the same credentials.
pub(super) struct TokenFile {
    file: SharedFile,
    key: Key,
    /// What is wrong with the file was logged.
    told: AtomicBool,
}

/// A token as it is stored; its times are those of the clock of the host.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) secret: Secret,
    pub(super) life: Life,
}

impl Stored {
    /// Whether it need not be renewed yet.
    pub(super) fn is_fresh(&self, now: Duration) -> bool {
        self.life.issued_at <= now + AHEAD && now < self.life.renew_at
    }
}

/// The key of the clients that know all of these texts.
pub(super) fn key(texts: [&str; 4]) -> Key {
    let mut hash = blake3::Hasher::new_derive_key(PURPOSE);
    absorb(&mut hash, texts);
    *hash.finalize().as_bytes()
}

impl TokenFile {
    pub(super) fn new(path: PathBuf, key: Key) -> Self {
        TokenFile {
            file: SharedFile::new(path),
            key,
            told: AtomicBool::new(false),
        }
    }

    /// The token in the file; none where there is no file, or what cannot be used.
    pub(super) fn read(&self) -> Option<Stored> {
        match self.try_read() {
            Ok(stored) => Some(stored),
            Err(error) => {
                let usual = error.kind() == ErrorKind::NotFound;
                if !usual && !self.told.swap(true, Ordering::Relaxed) {
                    tracing::debug!("no token is taken from the token cache of this host: {error}");
                }
                None
            }
        }
    }

    fn try_read(&self) -> Result<Stored> {
        let foreign = || Error::other("what is there is a link, or another user's file");
        let file = self.file.open_ours()?.ok_or_else(foreign)?;
        if file.metadata()?.mode() & 0o077 != 0 {
            return Err(Error::other("others may read the file"));
        }
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes)?;
        let damaged = || Error::other("the file is damaged, or of other credentials");
        let (head, content) = bytes.split_at_checked(HEAD).ok_or_else(damaged)?;
        let (mark, code) = head.split_at(MARK.len());
        let code: [u8; blake3::OUT_LEN] = code.try_into().map_err(|_| damaged())?;
        // Hashes are compared in constant time.
        if mark != MARK || blake3::keyed_hash(&self.key, content) != code {
            return Err(damaged());
        }
        postcard::from_bytes(content).map_err(|_| damaged())
    }

    /// Puts a token in the place of whatever is there.
    pub(super) fn store(&self, secret: &Secret, life: Life) -> Result<()> {
        let stored = Stored {
            secret: secret.clone(),
            life,
        };
        // No error of it quotes the token.
        let content = postcard::to_stdvec(&stored).map_err(Error::other)?;
        let code = blake3::keyed_hash(&self.key, &content);
        directory::prepare(self.file.directory())?;
        self.file.replace(|mut file| {
            file.write_all(&MARK)?;
            file.write_all(code.as_bytes())?;
            file.write_all(&content)
        })?;
        directory::sweep(self.file.directory());
        Ok(())
    }

    pub(super) fn remove(&self) {
        // It is there no more, or will be replaced.
        let _ = self.file.remove();
    }
}
