//! No log line, at any level of any library, holds the secret or the token.

use crate::start;
use std::io::Write;
use std::sync::{Mutex, OnceLock};
use talentdata_core::types::Resource;
use talentdata_sandbox::{Options, limit::Policy};

/// What all tests of this program have logged, at the highest level.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// From here on everything is logged.
pub(crate) fn listen() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
        subscriber.with_writer(|| Log).init();
    });
}

#[tokio::test]
async fn the_most_talkative_log_holds_no_secret() {
    let (sandbox, client) = start(Options {
        policy: Policy::Unlimited,
        faults: true,
        ..Options::default()
    });
    client.permissions().await.unwrap();
    client
        .resource(Resource::Contacts)
        .page(None, 0)
        .await
        .unwrap();
    let requests = crate::fault::get(sandbox.base_url(), "/__requests");
    let token = requests
        .split("Bearer ")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert!(token.len() > 10);
    let text = String::from_utf8_lossy(&LOG.lock().unwrap()).into_owned();
    assert!(text.contains("getTokenPermissions"), "{text}");
    assert!(
        !text.contains(sandbox.client_secret()) && !text.contains(token),
        "{text}"
    );
    assert!(!format!("{client:?}").contains(sandbox.client_secret()));
}
