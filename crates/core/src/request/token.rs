//! The token of a call: whether it needs one, and how one is fetched (sections 4 and 5).

use super::auth::{Token, read_token};
use super::call::{Call, to_json};
use crate::client::Client;
use crate::clock::{self, Time};
use crate::error::Result;
use crate::settings::not_set;
use std::sync::Arc;
use talentdata_types::{CREATE_TOKEN, Operation, TokenRequest, TokenUse};

impl Client {
    /// The token that this operation is to carry, if any.
    pub(super) async fn token_for(
        &self,
        operation: &Operation,
        asked: Time,
        rejected: Option<&Arc<Token>>,
        outage_until: Time,
    ) -> Result<Option<Arc<Token>>> {
        let config = &self.0.config;
        let wanted = match operation.token {
            TokenUse::Never => false,
            TokenUse::Always => true,
            TokenUse::WhenThereIsOne => {
                config.client_id.is_some() && config.client_secret.is_some()
            }
        };
        if !wanted {
            return Ok(None);
        }
        // Boxed, because fetching a token is itself a call.
        let fetch = || Box::pin(self.fetch_token(outage_until));
        self.0.auth.token(asked, rejected, fetch).await.map(Some)
    }

    async fn fetch_token(&self, outage_until: Time) -> Result<Token> {
        let config = &self.0.config;
        let Some(client_id) = config.client_id.clone() else {
            return Err(not_set("client_id"));
        };
        let Some(client_secret) = config.client_secret.clone() else {
            return Err(not_set("client_secret"));
        };
        let body = to_json(&TokenRequest {
            client_id,
            client_secret,
        })?;
        let call = Call {
            body: Some(body),
            outage_until,
            ..Call::to(CREATE_TOKEN)
        };
        self.call(call, |response| read_token(response, clock::now()))
            .await
    }
}
