//! One token for all processes of a user on this host, for services that accept only the newest token of a client.
//!
//! It is a second small value in the file store of the budget. A process renews it while it has the lock of the file; the
//! others wait, and use what it obtains. Nothing of this makes a call fail: where the file cannot be used, the client has
//! a token of its own.
//!
//! The client secret is not part of the file's name, which others may be allowed to list, and so a changed secret replaces
//! the token of the one before. The content is authenticated by a key that is derived from the secret: what was written with
//! another one, or was damaged, or made up, is no token.

#[cfg(test)]
mod tests;

use super::Token;
use super::token::Life;
use crate::budget::identity;
use crate::clock;
use crate::error::Result;
use crate::host::{self, Locked, SharedFile, directory};
use crate::settings::{Config, TokenCache};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use talentdata_types::Secret;

/// Of the names of the files. Processes of a version that writes another form have other files.
const PREFIX: &str = "token-1-";
/// What such a file begins with; another form has another mark, and another name of the file.
const MARK: [u8; 16] = *b"talentdata\0tokn1";
/// For what the key is derived.
const PURPOSE: &str = "talentdata 2026-11-22 content of the token cache";
/// Behind the mark, the content's authentication code.
const HEAD: usize = MARK.len() + blake3::OUT_LEN;
/// No such file is longer.
const MAX_LENGTH: u64 = 32 * 1024;
/// A token from further in the future than this was stored in another run of the host.
const AHEAD: Duration = Duration::from_secs(1);
/// A process that keeps the lock for so many tries, with such pauses, is passed over, for it may have been stopped. If it was
/// not, the service is asked for one token too many.
const TRIES: u32 = 250;
const PAUSE: Duration = Duration::from_millis(20);

/// What authenticates the content.
type Key = [u8; blake3::KEY_LEN];

/// The token that the processes share.
pub(super) struct SharedToken {
    file: SharedFile,
    key: Key,
    max_tries: u32,
    /// Why the file cannot be used; it is logged once.
    trouble: Mutex<Option<String>>,
}

/// A token as it is stored; its times are those of the clock of the host.
#[derive(Serialize, Deserialize)]
struct Stored {
    secret: Secret,
    life: Life,
}

impl SharedToken {
    /// The token that the client of these settings shares; none where they do not ask for it.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let (_, secret) = config
            .client_id
            .as_ref()
            .zip(config.client_secret.as_ref())?;
        if config.token_cache != TokenCache::Host {
            return None;
        }
        let run_of_host = host::clock::run_of_host();
        let [base_url, client_id] = identity::service_and_client(config);
        let key = key([&run_of_host, &base_url, &client_id, secret.expose()]);
        let name = identity::company(config, Some(&run_of_host));
        let path = directory::path(&format!("{PREFIX}{name}"));
        Some(SharedToken::at(path, key, TRIES))
    }

    fn at(path: PathBuf, key: Key, max_tries: u32) -> Self {
        SharedToken {
            file: SharedFile::new(path),
            key,
            max_tries,
            trouble: Mutex::default(),
        }
    }

    /// The token that the processes share, or the one that `fetch` obtains for all; `rejected` is one that the service no
    /// longer takes.
    pub(super) async fn token<F: Future<Output = Result<Token>>>(
        &self,
        rejected: Option<&Token>,
        fetch: impl FnOnce() -> F,
    ) -> Result<Token> {
        if let Some(token) = self.find(rejected) {
            return Ok(token);
        }
        let locked = match self.lock().await {
            Ok(locked) => locked,
            Err(error) => {
                self.tell(&error);
                return fetch().await;
            }
        };
        // The process that had the lock before has perhaps just stored one.
        if let Some(token) = self.find(rejected) {
            return Ok(token);
        }
        rejected.inspect(|refused| self.empty(&locked.file, refused));
        let begun = host::clock::now();
        let mut token = fetch().await?;
        // Another process has passed this one over, and has renewed the token meanwhile.
        if !locked.is_current()
            && let Some(newer) = self.find(rejected)
            && newer.shared_at >= Some(begun)
        {
            return Ok(newer);
        }
        let now = host::clock::now();
        let life = token.life.by_another_clock(clock::now(), now);
        token.shared_at = Some(life.issued_at);
        match self.store(&locked.file, &token.secret, life) {
            Ok(()) => *self.reason() = None,
            Err(error) => self.tell(&error),
        }
        Ok(token)
    }

    /// Takes a token that was refused out of the file.
    pub(super) fn forget(&self, refused: &Token) {
        if let Ok(Some(file)) = self.file.look() {
            self.empty(&file, refused);
        }
    }

    /// Why the file cannot be used.
    pub(super) fn trouble(&self) -> Option<String> {
        self.reason().clone()
    }

    /// Waits for the lock of the file.
    async fn lock(&self) -> io::Result<Locked> {
        let (file, max_tries) = (self.file.clone(), self.max_tries);
        let locked = tokio::task::spawn_blocking(move || file.lock(max_tries, PAUSE));
        locked.await?
    }

    /// The token in the file, if it need not be renewed yet and is newer than the one that was refused.
    fn find(&self, rejected: Option<&Token>) -> Option<Token> {
        let file = self.file.look().ok().flatten()?;
        let Stored { secret, life } = self.read(&file)?;
        let now = host::clock::now();
        let is_newer = |old: &Token| {
            secret != old.secret && old.shared_at.is_none_or(|at| life.issued_at > at)
        };
        let is_fresh = life.issued_at <= now + AHEAD && now < life.renew_at;
        if !is_fresh || !rejected.is_none_or(is_newer) {
            return None;
        }
        let mut token = Token::new(secret, life.by_another_clock(now, clock::now()))?;
        token.shared_at = Some(life.issued_at);
        token.from_another = true;
        Some(token)
    }

    /// What the file contains; none where it is damaged, or of other credentials.
    fn read(&self, file: &File) -> Option<Stored> {
        let mut bytes = Vec::new();
        file.take(MAX_LENGTH).read_to_end(&mut bytes).ok()?;
        let (head, content) = bytes.split_at_checked(HEAD)?;
        let (mark, code) = head.split_at(MARK.len());
        let code: [u8; blake3::OUT_LEN] = code.try_into().ok()?;
        // Hashes are compared in constant time.
        let is_ours = mark == MARK && blake3::keyed_hash(&self.key, content) == code;
        is_ours.then(|| postcard::from_bytes(content).ok())?
    }

    /// Writes a token into the file. Half of it is no token.
    fn store(&self, file: &File, secret: &Secret, life: Life) -> io::Result<()> {
        let secret = secret.clone();
        // No error of it quotes the token.
        let content = postcard::to_stdvec(&Stored { secret, life }).map_err(io::Error::other)?;
        let code = blake3::keyed_hash(&self.key, &content);
        file.write_all_at(&[&MARK[..], code.as_bytes(), &content].concat(), 0)?;
        file.set_len((HEAD + content.len()) as u64)?;
        directory::sweep(self.file.directory());
        Ok(())
    }

    /// Takes a token that was refused out of the file.
    fn empty(&self, file: &File, refused: &Token) {
        if self
            .read(file)
            .is_some_and(|stored| stored.secret == refused.secret)
        {
            // Where it cannot be, the next one is written over it.
            let _ = file.set_len(0);
        }
    }

    fn tell(&self, error: &io::Error) {
        let mut reason = self.reason();
        if reason.is_none() {
            tracing::warn!("the token cache of this host cannot be used: {error}");
        }
        *reason = Some(error.to_string());
    }

    fn reason(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key of the clients that know all of these texts.
fn key(texts: [&str; 4]) -> Key {
    let mut hash = blake3::Hasher::new_derive_key(PURPOSE);
    identity::absorb(&mut hash, texts);
    *hash.finalize().as_bytes()
}
