//! Passwords and users of the server: what they need, and that nobody is shown them.

use crate::members::{access, client, service, shown};
use crate::server::Server;
use std::time::Duration;
use talentdata_core::Client;
use talentdata_sandbox::limit::Policy;

const PASSWORD: &str = "CANARY-of-the-server";

/// The user that docs/budget.md recommends can do all that is needed, and nothing else.
#[tokio::test]
async fn the_documented_user_suffices() {
    let server = Server::valkey(&[]).await;
    let rule = format!(
        "SETUSER talentdata on >{PASSWORD} ~talentdata:budget-5:* resetchannels -@all +select +evalsha +script|load +time +get +set"
    );
    let words: Vec<&str> = ["ACL"].into_iter().chain(rule.split(' ')).collect();
    server.command(&words).await;
    let sandbox = service(Policy::TokenBucket);
    let budget = format!("redis://talentdata:{PASSWORD}@127.0.0.1:{}/1", server.port);
    let one = client(&access(&sandbox), &budget);
    let other = client(&access(&sandbox), &budget);
    for client in [&one, &other, &one] {
        client.version().await.unwrap();
    }
    assert_eq!(other.budget().unreachable_reason, None);
    assert_eq!(other.budget().members, 2);
    let shown = shown(&access(&sandbox), &budget);
    assert_eq!(shown.members.len(), 2, "{shown:?}");
    assert!(!shown.store.contains(PASSWORD), "{shown:?}");
}

#[tokio::test]
async fn a_wrong_password_is_reported_and_not_shown() {
    let server = Server::valkey(&["--requirepass", "another password"]).await;
    let sandbox = service(Policy::TokenBucket);
    let [base_url, id, secret] = access(&sandbox);
    let mut settings = Client::builder();
    settings
        .base_url(base_url)
        .client_id(id)
        .client_secret(secret.as_str())
        .budget(format!("redis://:{PASSWORD}@127.0.0.1:{}", server.port));
    let shares = settings.build().unwrap();
    shares.version().await.unwrap();
    let reason = shares.budget().unreachable_reason.unwrap();
    assert!(reason.contains("authentication failed"), "{reason}");
    settings
        .on_unreachable("wait")
        .max_wait(Duration::from_millis(300));
    let waits = settings.build().unwrap();
    let error = waits.version().await.unwrap_err();
    assert!(error.message().contains("shared budget"), "{error}");
    for shown in [
        reason,
        error.to_string(),
        format!("{error:?} {waits:?} {shares:?}"),
    ] {
        assert!(!shown.contains("CANARY"), "{shown}");
    }
}
