//! When a call may be sent: it waits for its turn, its token and the budget.

use super::auth::Token;
use super::call::Call;
use super::queue::{HeadOfQueue, Permit, Priority};
use crate::client::Client;
use crate::clock::{self, Time};
use crate::error::Result;
use crate::gate::{Endpoint, PriorityClass};
use crate::settings;
use std::sync::Arc;
use talentdata_types::CREATE_TOKEN;

/// So many tokens that were refused as soon as they were issued end a call.
const MOST_NEW_REFUSED: u32 = 2;

/// A call that may be sent now.
pub(super) struct Admitted<'a> {
    pub(super) token: Option<Arc<Token>>,
    pub(super) permit: Permit,
    /// When it became the first in the queue.
    pub(super) begun: Time,
    /// The first place in the queue, where this call tries the token: nobody else is sent before the response.
    pub(super) trial: Option<HeadOfQueue<'a>>,
}

/// The tokens of a call that the service refused with 401.
#[derive(Default)]
pub(super) struct Refusals {
    pub(super) latest: Option<Arc<Token>>,
    pub(super) count: u32,
    /// How many of them were as new as a token can be.
    new: u32,
}

impl Refusals {
    /// Notes a refusal, and tells whether another token may be accepted: a service may revoke tokens that worked, as
    /// often as it likes, but two that were refused as soon as they were issued will be followed by more of the kind.
    /// `begun` is when the call became the first in the queue; only a token that it fetched itself is newer.
    pub(super) fn is_worth_another(&mut self, token: &Arc<Token>, begun: Time) -> bool {
        self.latest = Some(Arc::clone(token));
        self.count += 1;
        // One that another client obtained may have been refused long ago.
        let is_old = token.is_from_another() && self.count == 1;
        let is_new = token.is_issued_since(begun) || !token.is_accepted() && !is_old;
        self.new += u32::from(is_new);
        self.new < MOST_NEW_REFUSED
    }
}

impl Client {
    /// Waits for the budget, with a token that is still valid when the request may go, or is as new as one can be;
    /// `refused` is one that the service no longer takes.
    pub(super) async fn admit(
        &self,
        call: &Call,
        priority: Priority,
        asked: Time,
        refused: Option<&Arc<Token>>,
    ) -> Result<Admitted<'_>> {
        // Whoever fetches the token has the turn already, for the call that needs it.
        let head = match call.operation.id == CREATE_TOKEN.id {
            true => None,
            false => Some(self.0.queue.head(priority).await),
        };
        let begun = clock::now();
        let class = match (call.priority, self.0.config.priority) {
            (Priority::Single | Priority::Retry, _) | (_, settings::Priority::Foreground) => {
                PriorityClass::Single
            }
            (Priority::Scan, settings::Priority::Normal) => PriorityClass::Scan,
            (Priority::Scan, settings::Priority::Background) => PriorityClass::Background,
        };
        let endpoint = match call.operation.id == CREATE_TOKEN.id {
            true => Endpoint::Token,
            false => Endpoint::Api,
        };
        loop {
            let token = self.token_for(call.operation, asked, refused).await?;
            let permit = self.0.queue.pass(class, endpoint).await?;
            // The response that brought the token may ask for a wait that is longer than its life. Another token
            // would be no better, and each one costs a request with the secret.
            let usable =
                |token: &Arc<Token>| token.is_valid(clock::now()) || token.is_issued_since(begun);
            if token.as_ref().is_none_or(usable) {
                let is_trial = token.as_ref().is_some_and(|token| token.is_to_be_tried());
                return Ok(Admitted {
                    token,
                    permit,
                    begun,
                    trial: head.filter(|_| is_trial),
                });
            }
        }
    }
}
