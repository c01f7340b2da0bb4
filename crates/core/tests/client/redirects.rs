//! Redirects: a GET request follows a limited number of them within the origin. Credentials go nowhere else.

use crate::stub::{self, PERMISSIONS, Request, reply};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use talentdata_core::types::{CHECK_VERSION, VersionCheckRequest};
use talentdata_core::{Client, Error, ErrorKind};

/// Starts a service that redirects the request for the permissions to `to` with this status. Returns a client of it,
/// and the paths that were requested.
fn service(status: u16, to: &'static str) -> (Client, Arc<Mutex<Vec<String>>>) {
    let paths: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&paths);
    let base_url = stub::serve(move |request: &Request, socket| {
        if request.asks_for_a_token() {
            return reply(socket, 200, "", stub::token(stub::TOKEN, 3600.0));
        }
        seen.lock().unwrap().push(request.path.clone());
        let is_moved = request.path.ends_with('/') || request.path.ends_with("/?a=b");
        match is_moved && !to.ends_with("loop") {
            true if request.token == stub::TOKEN => reply(socket, 200, "", PERMISSIONS),
            true => reply(socket, 401, "", ""),
            false => reply(socket, status, &format!("location: {to}\r\n"), ""),
        }
    });
    (stub::settings(&base_url).build().unwrap(), paths)
}

#[tokio::test]
async fn a_get_request_follows_within_the_origin() {
    for (status, to, path) in [
        (301, "permissions/", "/v1/oauth/token/permissions/"),
        (
            302,
            "/v1/oauth/token/permissions/",
            "/v1/oauth/token/permissions/",
        ),
        (
            303,
            "./permissions/?a=b",
            "/v1/oauth/token/permissions/?a=b",
        ),
        (307, "/elsewhere/", "/elsewhere/"),
        (308, "/v2/permissions/#part", "/v2/permissions/"),
    ] {
        let (client, paths) = service(status, to);
        client.permissions().await.unwrap();
        let wanted = ["/v1/oauth/token/permissions", path];
        assert_eq!(*paths.lock().unwrap(), wanted, "{status} {to}");
    }
}

async fn refused(client: &Client) -> Error {
    let error = client.permissions().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Redirect, "{error}");
    error
}

#[tokio::test]
async fn no_credential_leaves_the_origin_and_no_loop_is_followed_forever() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere: &'static str =
        Box::leak(format!("http://{}/moved?x=1", stranger.local_addr().unwrap()).into());
    stranger.set_nonblocking(true).unwrap();
    let same = "the service redirects to ";
    let origin = elsewhere.trim_end_matches("/moved?x=1");
    for (status, to, asked, says) in [
        (
            307,
            elsewhere,
            1,
            format!(
                "{same}{origin}/moved, where no credential is sent; if the service has moved there, set base_url to {origin}"
            ),
        ),
        (
            302,
            "https://login.example/",
            1,
            format!(
                "{same}https://login.example/, where no credential is sent; if the service has moved there, set base_url to https://login.example"
            ),
        ),
        (
            307,
            "/v1/loop",
            6,
            format!("{same}/v1/loop, and has done so 5 times before"),
        ),
        (
            300,
            "/v1/oauth/x/",
            1,
            format!("{same}/v1/oauth/x/ with a status that is not followed"),
        ),
        (
            307,
            "",
            6,
            format!("{same}/v1/oauth/token/permissions, and has done so 5 times before"),
        ),
        (
            302,
            "mailto:a@b.example",
            1,
            "the service redirects to an address that cannot be used: Location is \"mailto:a@b.example\"".to_owned(),
        ),
    ] {
        let (client, paths) = service(status, to);
        let error = refused(&client).await;
        assert_eq!(error.message(), says);
        assert_eq!(paths.lock().unwrap().len(), asked, "{to}");
    }
    assert!(stranger.accept().is_err());
}

#[tokio::test]
async fn neither_a_post_nor_a_page_without_its_parameters_is_followed() {
    let (client, paths) = service(308, "/v1/version/check/");
    let request = VersionCheckRequest {
        client_version: "1".into(),
        endpoints: Vec::new(),
    };
    let error = client.check_version(&request).await.unwrap_err();
    assert_eq!(
        error.message(),
        "the service redirects to /v1/version/check/, which only GET requests follow; if a part of the path is missing in base_url, add it"
    );
    assert_eq!(
        (error.operation(), error.status()),
        (Some(CHECK_VERSION.id), Some(308))
    );
    let (lists, _) = service(301, "/v1/contacts/");
    let error = stub::count(&lists).await.unwrap_err();
    assert_eq!(
        error.message(),
        "the service redirects to /v1/contacts/ without the parameters of the request, which is not followed"
    );
    assert_eq!(paths.lock().unwrap().len(), 1);
}
