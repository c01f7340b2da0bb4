//! A sandbox without a rate limit, a client of it, and what the list holds by the plainest of means.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use talentdata_core::Client;
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
            max_limit: Some(10_000),
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

    /// How many contacts there are.
    pub(crate) fn count(&self) -> usize {
        self.lines().lines().count()
    }

    /// All contacts as JSON Lines, from a single page, which is larger than the client would ask for.
    pub(crate) fn lines(&self) -> String {
        #[derive(serde::Deserialize)]
        struct Contacts<'a> {
            #[serde(borrow)]
            contacts: Vec<&'a serde_json::value::RawValue>,
        }
        let login = serde_json::json!({
            "clientId": self.sandbox.client_id(),
            "clientSecret": self.sandbox.client_secret(),
        });
        let token = self.ask("POST", "/v1/oauth/token", &login);
        let header = format!(
            "authorization: Bearer {}\r\n",
            token["access_token"].as_str().unwrap()
        );
        let page = self.exchange("GET", "/v1/contacts?limit=10000", &header, "");
        let page: Contacts = serde_json::from_str(&page).unwrap();
        let lines = page.contacts.iter();
        lines.map(|record| format!("{}\n", record.get())).collect()
    }

    /// Sends a request that the client has no word for.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        serde_json::from_str(&self.exchange(method, path, "", &body.to_string())).unwrap()
    }

    fn exchange(&self, method: &str, path: &str, header: &str, body: &str) -> String {
        let address = self.sandbox.base_url().trim_start_matches("http://");
        let mut socket = TcpStream::connect(address).unwrap();
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n{header}content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        body.to_owned()
    }
}

pub(crate) fn client(base_url: &str, id: &str, secret: &str) -> Client {
    let mut builder = Client::builder();
    builder.base_url(base_url).paced(false);
    builder.client_id(id).client_secret(secret).build().unwrap()
}
