//! The token: one POST regardless of the number of callers that wait, kept until shortly before it expires (section 5).

#[cfg(unix)]
mod shared;
mod token;

pub(crate) use token::{Issued, Token, read_token, refusal};

use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::settings::{Config, TokenCache};
#[cfg(unix)]
use shared::SharedToken;
use std::sync::Arc;
use std::time::Duration;

/// The time for which refused credentials are not tried again. Repeated attempts could lock the account.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// The time for which a failed renewal is not repeated, because each attempt holds up all calls. Callers that were
/// waiting share the failure. A token that is still valid is used.
const FAILED_FOR: Duration = Duration::from_secs(1);

/// The message about a token that was refused as soon as it was issued.
const REFUSED: &str = "the service refused the token right after it was issued; ";
/// Advice if each client has a token of its own.
const TRY_HOST: &str = "another process may have renewed it with the same client_id. If the service accepts only the newest token, set token_cache to host (it is process), and the processes of this user on this host share one";
/// Advice if the processes of a user on a host share one token.
const ALREADY_SHARED: &str = "although token_cache is host, another host, another user, or a client whose token_cache is process may have renewed it with the same client_id";

/// The token cache of one client.
#[derive(Default)]
pub(crate) struct Auth {
    /// Locked while a token is fetched, so that all other callers wait for that token.
    state: tokio::sync::Mutex<TokenState>,
    /// The token that other processes use as well, if the settings ask for it.
    #[cfg(unix)]
    shared: Option<SharedToken>,
}

#[derive(Default)]
struct TokenState {
    token: Option<Arc<Token>>,
    /// The last attempt to get a token, if it failed.
    failure: Option<(Time, Error)>,
}

impl Auth {
    /// Returns the cache that the settings ask for.
    pub(crate) fn new(config: &Config) -> Self {
        Auth {
            #[cfg(unix)]
            shared: SharedToken::of(config),
            ..Auth::default()
        }
    }

    /// Returns the current token, or the one that `fetch` obtains.
    ///
    /// `asked` is the time at which the caller began to wait.
    pub(crate) async fn token(
        &self,
        asked: Time,
        fetch: impl Future<Output = Result<Token>>,
    ) -> Result<Arc<Token>> {
        let mut state = self.state.lock().await;
        if let Some(known) = state.known(clock::now(), asked) {
            return known;
        }
        #[cfg(unix)]
        if let Some(shared) = &self.shared {
            let outcome = shared.token(state.refused(), fetch).await;
            return state.note(clock::now(), outcome);
        }
        state.note(clock::now(), fetch.await)
    }

    /// Drops a token that was refused right after it was issued, and returns advice for the user.
    pub(crate) fn refused(&self, token: &Token, token_cache: TokenCache) -> String {
        let mut advice = REFUSED.to_owned();
        match (&token.unusual_type, token_cache) {
            (Some(kind), _) => {
                advice += &format!(
                    "its token_type is {kind}, and it was sent as Bearer, which is all that this client can do"
                );
            }
            (None, TokenCache::Process) => advice += TRY_HOST,
            (None, TokenCache::Host) => advice += ALREADY_SHARED,
        }
        #[cfg(unix)]
        if let Some(shared) = &self.shared {
            shared.forget(&token.issued);
            if let Some(reason) = shared.trouble() {
                advice += &format!("; the shared token could not be used: {reason}");
            }
        }
        advice
    }
}

impl TokenState {
    /// Returns the latest token if the service no longer accepts it.
    fn refused(&self) -> Option<&Issued> {
        let token = self.token.as_ref().filter(|token| token.is_refused());
        token.map(|token| &token.issued)
    }

    /// Returns the latest token if a request may still be sent with it.
    fn valid(&self, now: Time) -> Option<Arc<Token>> {
        let lasts = |token: &Arc<Token>| now < token.issued.expires_at && !token.is_refused();
        self.token.clone().filter(lasts)
    }

    /// Returns the outcome for a caller that waits since `asked`; `None` if a token must be fetched.
    fn known(&self, now: Time, asked: Time) -> Option<Result<Arc<Token>>> {
        let failure = self.failure.as_ref().filter(|(at, error)| {
            let lasts = match error.kind() {
                ErrorKind::Auth => REFUSED_FOR,
                _ => FAILED_FOR,
            };
            now < *at + lasts
        });
        if let Some(token) = self.valid(now) {
            // A renewal that just failed is not tried again.
            return (now < token.issued.renew_at || failure.is_some()).then_some(Ok(token));
        }
        // Callers that were waiting when a fetch failed share its outcome. Refused credentials are the outcome for all
        // callers.
        let (at, error) = failure?;
        (error.kind() == ErrorKind::Auth || *at >= asked).then(|| Err(error.clone()))
    }

    /// Stores the outcome of a fetch. If a renewal fails, the old token stays in use.
    fn note(&mut self, now: Time, outcome: Result<Token>) -> Result<Arc<Token>> {
        match outcome {
            Ok(mut token) => {
                token.after_refusal = self.refused().is_some();
                let seconds = token.issued.expires_at.saturating_sub(now).as_secs_f64();
                tracing::info!(seconds, "received an access token");
                let token = Arc::new(token);
                self.token = Some(Arc::clone(&token));
                self.failure = None;
                Ok(token)
            }
            Err(error) => {
                self.failure = Some((now, error.clone()));
                self.valid(now).ok_or(error)
            }
        }
    }
}

#[cfg(test)]
mod tests;
