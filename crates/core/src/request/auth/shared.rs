//! One token for all processes of a user on this host, for services that accept only the newest token of a client.
//!
//! The token is a small value in a file, like the state of the budget (`host.rs`). A process renews the token while it
//! has the lock of the file. The others wait, and use the new token. No failure here makes a call fail: if the file
//! cannot be used, the client has a token of its own.
//!
//! The client secret is not part of the file's name, because others may be allowed to list it. So the token of a
//! changed secret replaces the old one. The content is authenticated by a key that is derived from the secret. Content
//! that was written with another secret, damaged or forged is not accepted.

#[cfg(test)]
mod tests;

use super::token::{Issued, Token};
use crate::budget::shared_file::{self, Locked, SharedFile};
use crate::budget::{absorb, company_key};
use crate::clock;
use crate::error::{Result, system_text};
use crate::process::lock;
use crate::settings::{Config, Credential, TokenCache};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The prefix of the files' names. Versions of talentdata that write another form have other files.
const PREFIX: &str = "token-2-";
/// The context for which the key is derived.
const PURPOSE: &str = "talentdata 2026-11-22 content of the token cache";
/// The tolerance for tokens from the future. A token from further ahead was stored during another boot of the host.
const MAX_CLOCK_LEAD: Duration = Duration::from_secs(1);
/// The number of tries for the lock. A process that holds the lock for longer may be stopped, and the others no longer
/// wait for it. If it was not stopped, one token too many is requested.
const TRIES: u32 = 250;
/// The pause between two tries for the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// The token that the processes share.
pub(super) struct SharedToken {
    file: SharedFile,
    client: String,
    /// The secret. All clients that share the token know it.
    credential: Arc<Credential>,
    /// The reason why the file cannot be used. It is logged once.
    trouble: Mutex<Option<String>>,
}

impl SharedToken {
    /// Returns the shared token of the client with these settings; `None` if they do not ask for it.
    pub(super) fn of(config: &Config) -> Option<Self> {
        if config.token_cache != TokenCache::Host {
            return None;
        }
        let (_, credential) = config.credentials().ok()?;
        let client = company_key(&config.client(), Some(&shared_file::boot_id()));
        let path = shared_file::path(&format!("{PREFIX}{client}"));
        Some(SharedToken::at(path, client, Arc::clone(credential)))
    }

    /// Returns the token in this file. Only clients with this client ID that know the secret share it.
    fn at(path: PathBuf, client: String, credential: Arc<Credential>) -> Self {
        SharedToken {
            file: SharedFile::new(path, TRIES, PAUSE),
            client,
            credential,
            trouble: Mutex::default(),
        }
    }

    /// Returns the key that authenticates the content, derived from the secret in use.
    fn key(&self) -> [u8; blake3::KEY_LEN] {
        let mut key = blake3::Hasher::new_derive_key(PURPOSE);
        absorb(
            &mut key,
            [&*self.client, self.credential.current().expose()],
        );
        *key.finalize().as_bytes()
    }

    /// Returns the token that the processes share, or the one that `fetch` obtains for all of them. `rejected` is a
    /// token that the service no longer accepts.
    pub(super) async fn token(
        &self,
        rejected: Option<&Issued>,
        fetch: impl Future<Output = Result<Token>>,
    ) -> Result<Token> {
        if let Some(token) = self.find(rejected) {
            return Ok(token);
        }
        let mut locked = match self.lock().await {
            Ok(locked) => locked,
            Err(error) => {
                self.report_trouble(&error);
                return fetch.await;
            }
        };
        // The process that had the lock before may have stored a token.
        if let Some(token) = self.find(rejected) {
            return Ok(token);
        }
        rejected.inspect(|refused| self.forget(refused));
        let begun = clock::now();
        let token = fetch.await?;
        // Another process did not wait for this one, and renewed the token in the meantime.
        if !locked.is_current()
            && let Some(newer) = self.find(rejected)
            && newer.issued.issued_at >= begun
        {
            return Ok(newer);
        }
        match self.store(&mut locked, &token.issued) {
            Ok(()) => *lock(&self.trouble) = None,
            Err(error) => self.report_trouble(&error),
        }
        Ok(token)
    }

    /// Removes a refused token from the file.
    pub(super) fn forget(&self, refused: &Issued) {
        self.file.remove(|content| {
            let stored = self.decode(content);
            stored.is_some_and(|stored| stored.secret == refused.secret)
        });
    }

    /// Returns the reason why the file cannot be used, if there is one.
    pub(super) fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    /// Waits for the lock of the file.
    async fn lock(&self) -> io::Result<Locked> {
        let file = self.file.clone();
        tokio::task::spawn_blocking(move || file.lock()).await?
    }

    /// Returns the token in the file if it need not be renewed yet and is newer than the rejected one.
    fn find(&self, rejected: Option<&Issued>) -> Option<Token> {
        let content = self.file.look().ok().flatten()?;
        let found = self.decode(&content)?;
        let now = clock::now();
        let is_newer = |old: &Issued| found.secret != old.secret && found.issued_at > old.issued_at;
        let is_fresh = found.issued_at <= now + MAX_CLOCK_LEAD && now < found.renew_at;
        if !is_fresh || !rejected.is_none_or(is_newer) {
            return None;
        }
        let mut token = Token::new(found)?;
        token.from_another = true;
        Some(token)
    }

    /// Returns the token in the content; `None` if it is damaged, or belongs to other credentials.
    fn decode(&self, content: &[u8]) -> Option<Issued> {
        let (code, content) = content.split_first_chunk::<{ blake3::OUT_LEN }>()?;
        // Hashes are compared in constant time.
        let is_ours = blake3::keyed_hash(&self.key(), content) == *code;
        is_ours.then(|| postcard::from_bytes(content).ok())?
    }

    /// Writes a token into the file, and removes any older token from the disk.
    fn store(&self, locked: &mut Locked, issued: &Issued) -> io::Result<()> {
        // No error of the serializer quotes the token.
        let content = postcard::to_stdvec(issued).map_err(io::Error::other)?;
        let code = blake3::keyed_hash(&self.key(), &content);
        self.file.sweep();
        locked.discard();
        locked.write(&[code.as_bytes(), &content[..]].concat())
    }

    fn report_trouble(&self, error: &io::Error) {
        if lock(&self.trouble).replace(system_text(error)).is_none() {
            tracing::warn!(reason = %error, "the token cache of this host cannot be used");
        }
    }
}
