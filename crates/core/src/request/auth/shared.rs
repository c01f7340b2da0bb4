//! One token for all processes of a user on this host, for services that accept only the newest token of a client.
//!
//! It is a small value like the state of the budget (`host.rs`). A process renews it while it has the lock of the file; the
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
use crate::budget::sharing;
use crate::clock;
use crate::error::Result;
use crate::host::{self, Locked, SharedFile};
use crate::process::lock;
use crate::settings::{Config, TokenCache};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;
use talentdata_types::Secret;

/// Of the names of the files. Processes of a version that writes another form have other files.
const PREFIX: &str = "token-2-";
/// For what the key is derived.
const PURPOSE: &str = "talentdata 2026-11-22 content of the token cache";
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
    /// Why the file cannot be used; it is logged once.
    trouble: Mutex<Option<String>>,
}

/// A token as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    secret: Secret,
    life: Life,
}

impl SharedToken {
    /// The token that the client of these settings shares; none where they do not ask for it.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let secret = config.client_secret.as_ref()?;
        if config.token_cache != TokenCache::Host || config.client_id.is_none() {
            return None;
        }
        let run_of_host = host::run_of_host();
        let [base_url, client_id] = sharing::service_and_client(config);
        let key = key([&run_of_host, &base_url, &client_id, secret.expose()]);
        let name = sharing::company(config, Some(&run_of_host));
        let path = host::path(&format!("{PREFIX}{name}"));
        Some(SharedToken::at(path, key))
    }

    fn at(path: PathBuf, key: Key) -> Self {
        SharedToken {
            file: SharedFile::new(path, TRIES, PAUSE),
            key,
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
        let mut locked = match self.lock().await {
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
        rejected.inspect(|refused| self.forget(refused));
        let begun = clock::now();
        let token = fetch().await?;
        // Another process has passed this one over, and has renewed the token meanwhile.
        if !locked.is_current()
            && let Some(newer) = self.find(rejected)
            && newer.life.issued_at >= begun
        {
            return Ok(newer);
        }
        match self.store(&mut locked, &token.secret, token.life) {
            Ok(()) => *lock(&self.trouble) = None,
            Err(error) => self.tell(&error),
        }
        Ok(token)
    }

    /// Takes a token that was refused out of the file.
    pub(super) fn forget(&self, refused: &Token) {
        self.file.remove(|content| {
            let stored = self.decode(content);
            stored.is_some_and(|stored| stored.secret == refused.secret)
        });
    }

    /// Why the file cannot be used.
    pub(super) fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    /// Waits for the lock of the file.
    async fn lock(&self) -> io::Result<Locked> {
        let file = self.file.clone();
        tokio::task::spawn_blocking(move || file.lock()).await?
    }

    /// The token in the file, if it need not be renewed yet and is newer than the one that was refused.
    fn find(&self, rejected: Option<&Token>) -> Option<Token> {
        let content = self.file.look().ok().flatten()?;
        let Stored { secret, life } = self.decode(&content)?;
        let now = clock::now();
        let is_newer = |old: &Token| secret != old.secret && life.issued_at > old.life.issued_at;
        let is_fresh = life.issued_at <= now + AHEAD && now < life.renew_at;
        if !is_fresh || !rejected.is_none_or(is_newer) {
            return None;
        }
        let mut token = Token::new(secret, life)?;
        token.from_another = true;
        Some(token)
    }

    /// What the content says; none where it is damaged, or of other credentials.
    fn decode(&self, content: &[u8]) -> Option<Stored> {
        let (code, content) = content.split_first_chunk::<{ blake3::OUT_LEN }>()?;
        // Hashes are compared in constant time.
        let is_ours = blake3::keyed_hash(&self.key, content) == *code;
        is_ours.then(|| postcard::from_bytes(content).ok())?
    }

    /// Writes a token into the file; none of an older one is left there.
    fn store(&self, locked: &mut Locked, secret: &Secret, life: Life) -> io::Result<()> {
        let secret = secret.clone();
        // No error of it quotes the token.
        let content = postcard::to_stdvec(&Stored { secret, life }).map_err(io::Error::other)?;
        let code = blake3::keyed_hash(&self.key, &content);
        self.file.sweep();
        locked.discard();
        locked.write(&[code.as_bytes(), &content[..]].concat())
    }

    fn tell(&self, error: &io::Error) {
        if lock(&self.trouble).replace(error.to_string()).is_none() {
            tracing::warn!("the token cache of this host cannot be used: {error}");
        }
    }
}

/// The key of the clients that know all of these texts.
fn key(texts: [&str; 4]) -> Key {
    let mut hash = blake3::Hasher::new_derive_key(PURPOSE);
    sharing::absorb(&mut hash, texts);
    *hash.finalize().as_bytes()
}
