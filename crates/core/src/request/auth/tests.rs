//! Tokens: how responses are read, and the consequences of a failed renewal.

use super::*;
use crate::request::transport::Response;
use http::StatusCode;
use talentdata_types::Secret;

/// Returns a token with these times of issue, renewal and expiry.
pub(super) fn token(text: &str, [issued_at, renew_at, expires_at]: [Time; 3]) -> Token {
    let issued = Issued {
        secret: Secret::new(text),
        issued_at,
        renew_at,
        expires_at,
    };
    Token::new(issued).unwrap()
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn waiting_callers_share_a_failure_which_soon_expires() {
    let failed = 100 * SECOND;
    for (kind, lasts) in [(ErrorKind::Server, 1), (ErrorKind::Auth, 10)] {
        let mut state = TokenState::default();
        assert!(state.note(failed, Err(Error::new(kind, "down"))).is_err());
        let known = |after, asked| state.known(failed + after, asked);
        let last = lasts * SECOND - SECOND / 2;
        for after in [SECOND / 2, last] {
            assert!(
                matches!(known(after, failed - SECOND), Some(Err(_))),
                "{kind:?}"
            );
        }
        assert!(known(lasts * SECOND, failed - SECOND).is_none(), "{kind:?}");
        // A later caller asks again, but not with credentials that were just refused.
        let later = known(SECOND / 2, failed + SECOND / 4);
        assert_eq!(later.is_some(), kind == ErrorKind::Auth);
    }
}

#[tokio::test]
async fn a_token_stays_in_use_after_a_failed_renewal() {
    let auth = Auth::default();
    let asked = clock::now();
    // The token is in the last part of its lifetime, in which it is renewed.
    let old = token("old", [Time::ZERO, Time::ZERO, asked + 60 * SECOND]);
    auth.token(asked, async { Ok(old) }).await.unwrap();
    let down = async || Err(Error::new(ErrorKind::Server, "down"));
    // The caller that tries to renew the token, one that waited for the renewal, and a later one.
    for asked in [asked, asked, clock::now() + Duration::from_millis(1)] {
        let token = auth.token(asked, down()).await.unwrap();
        assert_eq!(token.issued.secret.expose(), "old");
    }
    let state = auth.state.lock().await;
    // Later the renewal is tried again. It is necessary once the token has expired.
    for later in [9, 70] {
        assert!(state.known(clock::now() + later * SECOND, asked).is_none());
    }
    drop(state);
    let refused = auth.token(asked, down()).await.unwrap();
    refused.answered(StatusCode::UNAUTHORIZED);
    assert!(auth.token(asked, down()).await.is_err());
}

#[test]
fn lifetimes_are_read_leniently_and_bounded() {
    for (expires, seconds) in [
        ("3600", 3600.0),
        ("3600.0", 3600.0),
        ("\"3600\"", 3600.0),
        ("1e3", 1000.0),
        ("0.5", 1.0),
        ("0", 300.0),
        ("-5", 300.0),
        ("1", 1.0),
        ("1e30", 86_400.0),
        ("9223372036854775808", 86_400.0),
        ("null", 300.0),
        ("\"soon\"", 300.0),
        ("\"NaN\"", 300.0),
        ("true", 300.0),
        ("{}", 300.0),
    ] {
        let body = format!(r#"{{"access_token":"any-token","expires_in":{expires}}}"#);
        let token = read_token(&Response::of_json(body), Time::ZERO).unwrap();
        let issued = token.issued;
        assert_eq!(issued.expires_at.as_secs_f64(), seconds, "{expires}");
        assert!(issued.renew_at < issued.expires_at, "{expires}");
    }
}
