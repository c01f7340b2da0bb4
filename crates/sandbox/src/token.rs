//! Credentials and tokens: the responses to `createToken` and `checkVersion` (sections 2, 4 and 5).
//!
//! Credentials and tokens are random, so that nobody uses a real secret here.

use crate::http::{Answer, failure, unauthorized};
use crate::options::{Options, Tokens};
use crate::samples::samples;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

/// The operation that issues tokens.
pub(crate) const TOKEN_OPERATION: &str = "createToken";

/// The client that a sandbox accepts. Further clients of its company have a client ID that begins with this one and a
/// hyphen, and the same secret.
pub(crate) struct Credentials {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

impl Credentials {
    pub(crate) fn random() -> io::Result<Self> {
        Ok(Self {
            client_id: format!("sandbox-client-{}", random_hex::<8>()?),
            client_secret: format!("sandbox-secret-{}", random_hex::<24>()?),
        })
    }
}

/// Returns `N` bytes from the operating system's generator, in hexadecimal.
fn random_hex<const N: usize>() -> io::Result<String> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.map(|byte| format!("{byte:02x}")).concat())
}

/// Checks the credentials, which are strings as documented, and issues a token for them. Expired tokens are removed, so
/// that memory stays bounded by the valid ones.
///
/// Wrong credentials get the status 401, which is the sandbox's choice (section 7: not shown).
pub(crate) fn issue(
    body: &Value,
    credentials: &Credentials,
    options: &Options,
    expiry: &mut HashMap<String, Instant>,
) -> Result<Value, Answer> {
    let (id, secret) = (&credentials.client_id, &credentials.client_secret);
    let given = body["clientId"]
        .as_str()
        .and_then(|given| given.strip_prefix(id.as_str()));
    let is_known = given.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    if !is_known || body["clientSecret"] != secret.as_str() {
        let message = "the credentials are not those of this sandbox";
        return Err(unauthorized(message));
    }
    let failed = |_| failure(500, "internal", "no random bytes available");
    let token = random_hex::<24>().map_err(failed)?;
    let (now, lifetime) = (Instant::now(), options.token_lifetime);
    match options.tokens {
        Tokens::All => expiry.retain(|_, expiry| *expiry > now),
        Tokens::Newest => expiry.clear(),
    }
    // A lifetime beyond the range of the clock counts as a day.
    let ends = now.checked_add(lifetime);
    expiry.insert(
        token.clone(),
        ends.unwrap_or(now + Duration::from_secs(86_400)),
    );
    // Whole seconds are an integer, as every service writes them. Only short lifetimes of tests have a fraction.
    let seconds: Value = match lifetime.subsec_nanos() {
        0 => lifetime.as_secs().into(),
        _ => lifetime.as_secs_f64().into(),
    };
    Ok(json!({"access_token": token, "token_type": "Bearer", "expires_in": seconds}))
}

/// Returns the version-check response of section 2: one entry per requested category.
///
/// The rules are the sandbox's choice (section 9: not shown): version 1 of the client is compatible, and 1.4 is the
/// oldest supported version. An unknown category is not compatible.
pub(crate) fn version_check(body: &Value) -> Value {
    let version = body["clientVersion"].as_str().unwrap_or_default();
    let names = body["endpoints"].as_array().into_iter().flatten();
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let major = numbers.next().and_then(Result::ok);
    let minor = numbers.next().and_then(Result::ok).unwrap_or(0);
    let compatible = major == Some(1);
    let report = &samples()["version"];
    let entry = |name: &str| {
        let known = report["endpoints"].get(name);
        let version = known.map_or(json!("unknown"), |category| category["version"].clone());
        let mut entry = json!({"compatible": compatible && known.is_some(), "version": version});
        if let Some(model) = known.and_then(|category| category.get("model_version")) {
            entry["model_version"] = model.clone();
        }
        if known.is_none() {
            entry["notes"] = "This category is not known to the sandbox.".into();
        } else if name == "matching" {
            let notes = "Version 2 stays backwards compatible with clients of version 1.";
            entry["notes"] = notes.into();
        }
        entry
    };
    let names = names.filter_map(Value::as_str);
    let entries: Map<String, Value> = names.map(|name| (name.to_owned(), entry(name))).collect();
    json!({
        "compatible": compatible,
        "supported": compatible && minor >= 4,
        "endpointCompatibility": entries,
    })
}
