//! One token for all processes of a user on this host, for services that accept only the newest token of a client.
//!
//! It is kept in a file, and one process at a time renews it. Nothing of this makes a call fail: where the file cannot be
//! used, the client has a token of its own.

mod file;
mod lock;
#[cfg(test)]
mod tests;

use super::Token;
use crate::budget::company;
use crate::clock;
use crate::error::Result;
use crate::host::{self, directory};
use crate::settings::{Config, TokenCache};
use file::{Key, TokenFile};
use lock::{Holder, RenewalLock, Watch};
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Of the names of the files. Processes of a version that writes another form have other files.
const PREFIX: &str = "token-1-";
/// While another process renews the token, the file is looked at so often.
const POLL: Duration = Duration::from_millis(20);

/// The token that the processes share.
pub(super) struct SharedToken {
    file: TokenFile,
    lock: RenewalLock,
    /// No renewal by another process is waited for any longer.
    patience: Duration,
    /// Why the file cannot be used; it is logged once.
    trouble: Mutex<Option<String>>,
}

/// What a client does that needs a token.
enum Turn<'a> {
    /// It uses the one that is there.
    Use(Token),
    /// It fetches one; without a lock where none can be had.
    Fetch(Option<Holder<'a>>),
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
        let [base_url, client_id] = company::service_and_client(config);
        let key = file::key([&run_of_host, &base_url, &client_id, secret.expose()]);
        let name = company::name(config, Some(&run_of_host));
        match directory::path(&format!("{PREFIX}{name}")) {
            Ok(path) => Some(SharedToken::at(path, key, config.timeout)),
            Err(error) => {
                tracing::warn!("the token cache of this host cannot be used: {error}");
                None
            }
        }
    }

    fn at(path: PathBuf, key: Key, patience: Duration) -> Self {
        SharedToken {
            lock: RenewalLock::new(path.with_extension("lock")),
            file: TokenFile::new(path, key),
            patience,
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
        let holder = match self.turn(rejected).await {
            Turn::Use(token) => return Ok(token),
            Turn::Fetch(holder) => holder,
        };
        let begun = host::clock::now();
        let mut token = match &holder {
            Some(holder) => holder.beat_during(fetch()).await?,
            None => fetch().await?,
        };
        // Another process took this one for stopped, and has renewed the token meanwhile.
        if holder.as_ref().is_some_and(Holder::is_replaced)
            && let Some(newer) = self.find(rejected)
            && newer.shared_at >= Some(begun)
        {
            return Ok(newer);
        }
        let now = host::clock::now();
        let life = token.life.by_another_clock(clock::now(), now);
        token.shared_at = Some(life.issued_at);
        match self.file.store(&token.secret, life) {
            Ok(()) => *self.reason() = None,
            Err(error) => self.tell(&error),
        }
        Ok(token)
    }

    /// Takes a token that was refused out of the file, unless another process is about to replace it.
    pub(super) fn forget(&self, refused: &Token) {
        let taken = self.lock.take(&mut Watch::default());
        if let Ok(Some(_holder)) = taken {
            self.remove(refused);
        }
    }

    /// Why the file cannot be used.
    pub(super) fn trouble(&self) -> Option<String> {
        self.reason().clone()
    }

    /// Waits for a token, or for the right to renew it.
    async fn turn(&self, rejected: Option<&Token>) -> Turn<'_> {
        let until = clock::now().saturating_add(self.patience);
        let mut watch = Watch::default();
        loop {
            if let Some(token) = self.find(rejected) {
                return Turn::Use(token);
            }
            match self.lock.take(&mut watch) {
                Ok(Some(holder)) => {
                    // Whoever held it before has perhaps just stored one.
                    if let Some(token) = self.find(rejected) {
                        return Turn::Use(token);
                    }
                    rejected.inspect(|refused| self.remove(refused));
                    return Turn::Fetch(Some(holder));
                }
                Ok(None) if clock::now() < until => tokio::time::sleep(POLL).await,
                Ok(None) => return Turn::Fetch(None),
                Err(error) => {
                    self.tell(&error);
                    return Turn::Fetch(None);
                }
            }
        }
    }

    /// The token in the file, if it need not be renewed yet and is newer than the one that was refused.
    fn find(&self, rejected: Option<&Token>) -> Option<Token> {
        let stored = self.file.read()?;
        let now = host::clock::now();
        let is_newer = |old: &Token| {
            stored.secret != old.secret && old.shared_at.is_none_or(|at| stored.life.issued_at > at)
        };
        if !stored.is_fresh(now) || !rejected.is_none_or(is_newer) {
            return None;
        }
        let issued_at = stored.life.issued_at;
        let life = stored.life.by_another_clock(now, clock::now());
        let mut token = Token::new(stored.secret, life)?;
        token.shared_at = Some(issued_at);
        token.from_another = true;
        Some(token)
    }

    /// Removes a token that was refused, for whoever holds the lock.
    fn remove(&self, refused: &Token) {
        let stored = self.file.read();
        if stored.is_some_and(|stored| stored.secret == refused.secret) {
            self.file.remove();
        }
    }

    fn tell(&self, error: &std::io::Error) {
        let mut reason = self.reason();
        if reason.is_none() {
            tracing::warn!("the token cache of this host cannot be used: {error}");
        }
        *reason = Some(error.to_string());
    }

    fn reason(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
