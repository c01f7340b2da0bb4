//! No log line, at any level of any library, and no error contains the secret or the token. `tests/cases` covers
//! secrets in responses.

use crate::stub::{self, PERMISSIONS};
use std::sync::{Mutex, OnceLock};
use talentdata_core::types::ListName;
use tracing_subscriber::fmt::MakeWriter;

/// The log of all tests of this program, at the highest level.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Starts to record the log.
pub(crate) fn listen() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
        subscriber.with_writer(|| LOG.make_writer()).init();
    });
}

#[tokio::test]
async fn the_most_detailed_log_contains_no_secret() {
    listen();
    let base_url = stub::serve(stub::api(|request| {
        if request.path.starts_with("/v1/contacts") {
            (200, "", stub::contacts(request, 9))
        } else {
            // A service that sends back a token in a header.
            let id = "x-request-id: CANARY-token\r\n";
            (200, id, PERMISSIONS.to_owned())
        }
    }));
    let client = stub::settings(&base_url).build().unwrap();
    client.permissions().await.unwrap();
    let contacts = client.resource(ListName::Contacts);
    contacts.page(None, 0).await.unwrap();
    let text = String::from_utf8_lossy(&LOG.lock().unwrap()).into_owned();
    assert!(text.contains("getTokenPermissions"), "{text}");
    for secret in [stub::SECRET, stub::TOKEN] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(!format!("{client:?}").contains(stub::SECRET));
}

#[tokio::test]
async fn no_error_shows_text_that_may_contain_a_short_secret_or_token() {
    let base_url = stub::serve(|request, socket| match request.path.split('?').next() {
        Some("/v1/oauth/token") => stub::reply(socket, 200, "", stub::token("t", 3600.0)),
        Some("/v1/oauth/token/permissions") => {
            assert_eq!(request.token, "t");
            stub::reply(socket, 200, "", PERMISSIONS);
        }
        Some("/v1/contacts") => stub::reply(socket, 200, "", r#"{"Xyz1 t":[{}],"b":[{}]}"#),
        Some("/v1/pools") => {
            let headers = "location: https://xyz1.example/\r\nx-request-id: Xyz1\r\n";
            stub::reply(socket, 302, headers, "Xyz1");
        }
        _ => stub::reply(socket, 400, "x-request-id: Xyz1\r\n", "you sent Xyz1 and t"),
    });
    let client = stub::settings(&base_url)
        .client_secret("Xyz1")
        .build()
        .unwrap();
    client.permissions().await.unwrap();
    for resource in [ListName::Contacts, ListName::Pools, ListName::Vacancies] {
        let error = client.resource(resource).page(None, 0).await.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.to_lowercase().contains("xyz1"), "{shown}");
        assert_eq!((error.body(), error.request_id()), (None, None));
    }
}
