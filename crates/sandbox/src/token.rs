//! Tokens: POST /v1/oauth/token and GET /v1/oauth/token/permissions (sections 4 and 5).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::credentials::{Credentials, random_hex};
use crate::request::Received;

/// The tokens that were given out and have not expired; any number of them are valid at once.
#[derive(Default)]
pub(crate) struct Tokens {
    expiry: HashMap<String, Instant>,
}

impl Tokens {
    /// Remembers a new token, and forgets the expired ones so that memory stays bounded by those alive.
    pub(crate) fn add(&mut self, token: String, now: Instant, lifetime: Duration) {
        self.expiry.retain(|_, expiry| *expiry > now);
        // A lifetime beyond what the clock can hold is taken as a day.
        let expiry = now.checked_add(lifetime);
        let expiry = expiry.unwrap_or(now + Duration::from_secs(86_400));
        self.expiry.insert(token, expiry);
    }

    pub(crate) fn valid(&self, token: &str, now: Instant) -> bool {
        self.expiry.get(token).is_some_and(|expiry| *expiry > now)
    }
}

/// Checks the credentials and makes a token for them.
///
/// The statuses of refusals are the sandbox's choice (section 7: not shown): 415 when the body is not announced as
/// JSON, 400 when it is not an object with the two strings, 401 when they are not the right ones.
pub(crate) fn issue(
    request: &Received,
    credentials: &Credentials,
    lifetime: Duration,
) -> Result<(String, Answer), Answer> {
    let body = json_body(request)?;
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let (Some(id), Some(secret)) = (text("clientId"), text("clientSecret")) else {
        let message = "clientId and clientSecret are both needed, as strings";
        return Err(Answer::error(400, "invalid_request", message));
    };
    if !credentials.are(id, secret) {
        return Err(unauthorized(
            "the credentials are not those of this sandbox",
        ));
    }
    let failed = |_| Answer::error(500, "internal", "no random bytes to be had");
    let token = random_hex::<24>().map_err(failed)?;
    let answer = json!({
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": seconds(lifetime),
    });
    Ok((token, Answer::json(200, &answer)))
}

/// What the token may do. The names are the sandbox's choice; their form is `<action>:<resource>` (section 2).
pub(crate) fn permissions() -> Answer {
    let permissions = [
        "read:contacts",
        "write:contacts",
        "read:vacancies",
        "read:pools",
        "read:job-architecture",
        "read:taxonomy",
    ];
    Answer::json(
        200,
        &json!({"roles": ["sandbox-user"], "permissions": permissions}),
    )
}

/// A token that is missing, wrong or expired, or wrong credentials: 401 is the sandbox's choice (section 7).
pub(crate) fn unauthorized(message: &str) -> Answer {
    Answer::error(401, "unauthorized", message).with("www-authenticate", "Bearer")
}

/// The body of a POST, which has to be announced as JSON (section 4) and be an object.
pub(crate) fn json_body(request: &Received) -> Result<Value, Answer> {
    if !request.says_json() {
        let message = "the content type has to be application/json";
        return Err(Answer::error(415, "unsupported_media_type", message));
    }
    match serde_json::from_slice(&request.body) {
        Ok(body @ Value::Object(_)) => Ok(body),
        _ => {
            let message = "the body has to be a JSON object";
            Err(Answer::error(400, "invalid_request", message))
        }
    }
}

/// Whole seconds as an integer, as every service writes them; only a test's short lifetimes have a fraction.
fn seconds(lifetime: Duration) -> Value {
    if lifetime.subsec_nanos() == 0 {
        lifetime.as_secs().into()
    } else {
        lifetime.as_secs_f64().into()
    }
}
