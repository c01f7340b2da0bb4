//! A sandbox without a rate limit, a client of it, and what the list holds by the plainest of means.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use talentdata_core::Client;
use talentdata_core::types::Resource;
use talentdata_sandbox::{Drift, Options, Sandbox, limit::Policy};

pub(crate) struct Service {
    pub(crate) sandbox: Sandbox,
    pub(crate) client: Client,
}

impl Service {
    /// With so many contacts.
    pub(crate) fn start(contacts: u64) -> Self {
        Self::start_with(contacts, None)
    }

    /// With so many contacts that come and go.
    pub(crate) fn start_with(contacts: u64, drift: Option<Drift>) -> Self {
        let sandbox = Sandbox::start(Options {
            records: [("contacts".to_owned(), contacts)].into(),
            policy: Policy::Unlimited,
            max_limit: 10_000,
            faults: true,
            drift,
            ..Options::default()
        });
        let sandbox = sandbox.unwrap();
        let client = client(
            sandbox.base_url(),
            sandbox.client_id(),
            sandbox.client_secret(),
        );
        Service { sandbox, client }
    }

    /// All contacts as JSON Lines, from a single page.
    pub(crate) async fn lines(&self) -> String {
        let mut scan =
            self.client
                .resource(Resource::Contacts)
                .scan(talentdata_core::ScanOptions {
                    page_size: Some(10_000),
                    ..Default::default()
                });
        let batch = scan.next_batch().await.unwrap().unwrap();
        let lines = batch
            .records
            .iter()
            .map(|record| format!("{}\n", record.as_str()));
        lines.collect()
    }

    /// Sends a request that the client has no word for.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let address = self.sandbox.base_url().trim_start_matches("http://");
        let mut socket = TcpStream::connect(address).unwrap();
        let body = body.to_string();
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        serde_json::from_str(body).unwrap()
    }
}

pub(crate) fn client(base_url: &str, id: &str, secret: &str) -> Client {
    let builder = Client::builder().base_url(base_url).paced(false);
    builder.client_id(id).client_secret(secret).build().unwrap()
}
