//! A token in use: how it is sent, how long it lasts, and what the service has made of it.

use crate::clock::Time;
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use talentdata_types::Secret;

/// A token in use.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) secret: Secret,
    pub(crate) header: HeaderValue,
    pub(super) life: Life,
    /// Where processes share their tokens: when it was issued, by the clock of the host.
    pub(super) shared_at: Option<Duration>,
    /// Whether another client obtained it.
    pub(super) from_another: bool,
    /// Whether it was fetched because the service had refused another.
    pub(super) after_refusal: bool,
    accepted: AtomicBool,
    refused: AtomicBool,
}

/// The times in the life of a token.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Life {
    pub(super) issued_at: Time,
    pub(super) renew_at: Time,
    pub(super) expires_at: Time,
}

impl Life {
    /// The same life by another clock, which shows `there` when this one shows `here`.
    #[cfg(unix)]
    pub(super) fn by_another_clock(self, here: Duration, there: Duration) -> Self {
        let moved = |time: Duration| there.saturating_add(time).saturating_sub(here);
        Life {
            issued_at: moved(self.issued_at),
            renew_at: moved(self.renew_at),
            expires_at: moved(self.expires_at),
        }
    }
}

impl Token {
    /// A token that nobody has used yet; none where it cannot be sent in a header.
    pub(super) fn new(secret: Secret, life: Life) -> Option<Self> {
        let mut header = HeaderValue::from_str(&format!("Bearer {}", secret.expose())).ok()?;
        header.set_sensitive(true);
        Some(Token {
            secret,
            header,
            life,
            shared_at: None,
            from_another: false,
            after_refusal: false,
            accepted: AtomicBool::new(false),
            refused: AtomicBool::new(false),
        })
    }

    /// Whether a request may still be sent with it.
    pub(crate) fn is_valid(&self, now: Time) -> bool {
        now < self.life.expires_at
    }

    /// Whether it need not be renewed yet.
    pub(super) fn is_fresh(&self, now: Time) -> bool {
        now < self.life.renew_at
    }

    /// How long it is valid.
    pub(super) fn lasts(&self, now: Time) -> Duration {
        self.life.expires_at.saturating_sub(now)
    }

    /// Whether it was issued at this time or later.
    pub(crate) fn is_issued_since(&self, time: Time) -> bool {
        self.life.issued_at >= time
    }

    /// The service has responded to a request that carried it.
    pub(crate) fn answered(&self, status: StatusCode) {
        if status.is_success() {
            self.accepted.store(true, Ordering::Relaxed);
        } else if status == StatusCode::UNAUTHORIZED {
            self.refused.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the service has ever accepted it.
    pub(crate) fn is_accepted(&self) -> bool {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Whether one request is to try it before others carry it. Where a service revokes tokens after a few requests,
    /// the refusals of many that were sent at once may come before the first success, and the token would look like one
    /// that the service never accepted.
    pub(crate) fn is_to_be_tried(&self) -> bool {
        self.after_refusal && !self.is_accepted() && !self.refused.load(Ordering::Relaxed)
    }
}

/// So many tokens that were refused as soon as they were issued end a call.
const MOST_NEW_REFUSED: u32 = 2;

/// The tokens of a call that the service refused with 401.
#[derive(Default)]
pub(crate) struct Refusals {
    pub(crate) latest: Option<Arc<Token>>,
    count: u32,
    /// How many of them were as new as a token can be.
    new: u32,
}

impl Refusals {
    /// Notes a refusal, and tells whether another token may be accepted: a service may revoke tokens that worked, as
    /// often as it likes, but two that were refused as soon as they were issued will be followed by more of the kind.
    /// `begun` is when the call became the first in the queue; only a token that it fetched itself is newer.
    pub(crate) fn is_worth_another(&mut self, token: &Arc<Token>, begun: Time) -> bool {
        self.latest = Some(Arc::clone(token));
        self.count += 1;
        // One that another client obtained may have been refused long ago.
        let is_old = token.from_another && self.count == 1;
        let is_new = token.is_issued_since(begun) || !token.is_accepted() && !is_old;
        self.new += u32::from(is_new);
        self.new < MOST_NEW_REFUSED
    }
}
