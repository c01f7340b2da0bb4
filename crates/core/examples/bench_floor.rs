//! The floor of `cargo xtask bench`: fetches the page bytes that a complete scan fetches, and discards them or writes
//! them to a file.
//!
//! Its usage is `bench_floor RECORDS [PATH]`. Address and credentials come from the environment. The HTTP library is
//! reqwest, which builds on the same library as the client. The numbers of threads and of concurrent requests are those
//! of the client. No response is parsed or kept.

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

/// The number of concurrent requests, as in an unpaced scan. Each is followed by the request for the page that is this
/// many pages later.
const UNDER_WAY: usize = 16;
/// The number of records of a page.
const PAGE: usize = 100;
/// The number of records by which the pages of a complete scan overlap.
const OVERLAP: usize = 1;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let records: usize = std::env::args().nth(1).ok_or("give RECORDS")?.parse()?;
    // The library's TLS needs a provider and comes without one, although this program uses plain HTTP only.
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "there is a provider already")?;
    let client = Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .retry(reqwest::retry::never())
        .tcp_nodelay(true)
        .build()?;
    let base_url = std::env::var("TALENTDATA_BASE_URL")?;
    let token = token(&client, &base_url).await?;
    let file = std::env::args().nth(2).map(File::create).transpose()?;
    let file = file.map(Arc::new);
    let offsets = (0..records.saturating_sub(OVERLAP)).step_by(PAGE - OVERLAP);
    let mut readers = JoinSet::<Result<usize, Failure>>::new();
    for first in 0..UNDER_WAY {
        let (client, file, offsets) = (client.clone(), file.clone(), offsets.clone());
        let (base_url, token) = (base_url.clone(), token.clone());
        readers.spawn(async move {
            let mut bytes = 0;
            for offset in offsets.skip(first).step_by(UNDER_WAY) {
                let url = format!("{base_url}/v1/contacts?offset={offset}&limit={PAGE}");
                bytes += read(client.get(url).bearer_auth(&token), file.as_deref()).await?;
            }
            Ok(bytes)
        });
    }
    let mut bytes = 0;
    while let Some(read) = readers.join_next().await {
        bytes += read??;
    }
    println!("{bytes}");
    Ok(())
}

/// Reads a response piece by piece, writes its body to the file if there is one, and returns the size of the body.
async fn read(request: RequestBuilder, mut file: Option<&File>) -> Result<usize, Failure> {
    let mut answer = request.send().await?.error_for_status()?;
    let mut bytes = 0;
    while let Some(piece) = answer.chunk().await? {
        bytes += piece.len();
        if let Some(file) = &mut file {
            file.write_all(&piece)?;
        }
    }
    Ok(bytes)
}

async fn token(client: &Client, base_url: &str) -> Result<String, Failure> {
    let body = json!({
        "clientId": std::env::var("TALENTDATA_CLIENT_ID")?,
        "clientSecret": std::env::var("TALENTDATA_CLIENT_SECRET")?,
    });
    let request = client
        .post(format!("{base_url}/v1/oauth/token"))
        .header("content-type", "application/json")
        .body(body.to_string());
    let answer = request.send().await?.error_for_status()?.bytes().await?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let token = answer["access_token"].as_str();
    Ok(token.ok_or("no token")?.to_owned())
}
