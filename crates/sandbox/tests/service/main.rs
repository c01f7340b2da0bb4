//! Tests of the sandbox over real sockets, with a client written for these tests alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod drift;
mod faults;
mod log;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Deref;
use std::time::Duration;
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Sandbox};

/// Returns a table of `tests/cases.json`.
fn table<Rows: DeserializeOwned>(name: &str) -> Rows {
    let mut tables: Value = serde_json::from_str(include_str!("../cases.json")).unwrap();
    serde_json::from_value(tables[name].take()).unwrap()
}

/// Returns the text of the body of a case: JSON, another text, or nothing.
fn text_of(body: &Value) -> String {
    match body {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        body => body.to_string(),
    }
}

/// A sandbox, and a token for it.
struct Service {
    sandbox: Sandbox,
    token: String,
}

impl Deref for Service {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

/// Starts a sandbox without a rate limit, for which a token was issued.
fn start(set: impl FnOnce(&mut Options)) -> Service {
    let mut service = limited(|options| {
        options.policy = Policy::Unlimited;
        set(options);
    });
    service.token = service.new_token();
    service
}

/// Starts a sandbox with these options, without a token.
fn limited(set: impl FnOnce(&mut Options)) -> Service {
    let mut options = Options::default();
    set(&mut options);
    Service {
        sandbox: Sandbox::start(options).unwrap(),
        token: String::new(),
    }
}

/// Starts a sandbox with the fault endpoints and these rules. Only requests of the test meet the rules.
fn faulty(rules: &Value) -> Service {
    let service = limited(|options| {
        options.policy = Policy::Unlimited;
        options.faults = true;
    });
    service.set_rules(rules);
    service
}

#[derive(Debug)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    /// Splits a response into its parts. The body must have the announced length.
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, body) = (&bytes[..end.unwrap()], &bytes[end.unwrap() + 4..]);
        let mut lines = std::str::from_utf8(head).unwrap().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        });
        let reply = Self {
            status: status.parse().unwrap(),
            headers: headers.collect(),
            body: body.to_vec(),
        };
        if let Some(length) = reply.header("content-length") {
            assert_eq!(length, reply.body.len().to_string());
        }
        reply
    }

    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The bytes received on a connection, and its end.
struct Heard {
    bytes: Vec<u8>,
    end: io::Result<()>,
}

fn hear(socket: &mut TcpStream) -> Heard {
    let mut bytes = Vec::new();
    let end = socket.read_to_end(&mut bytes).map(|_| ());
    Heard { bytes, end }
}

/// Returns a request `METHOD /path` as it is sent on a connection that may be kept.
fn request(line: &str, headers: &[(&str, &str)], body: &str) -> String {
    let headers = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let headers: String = headers.collect();
    let length = body.len();
    format!("{line} HTTP/1.1\r\nhost: HOST\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

impl Service {
    fn connect(&self) -> TcpStream {
        let address = self.base_url().strip_prefix("http://").unwrap();
        let socket = TcpStream::connect(address).unwrap();
        // A broken sandbox should fail a test instead of blocking it.
        let patience = Duration::from_secs(30);
        socket.set_read_timeout(Some(patience)).unwrap();
        socket
    }

    /// Returns a connection on which this text was sent, with the sandbox's own `HOST`.
    fn begin(&self, text: &str) -> TcpStream {
        let mut socket = self.connect();
        let host = socket.peer_addr().unwrap().to_string();
        let text = text.replace("HOST", &host);
        socket.write_all(text.as_bytes()).unwrap();
        socket
    }

    fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let headers = [headers, &[("connection", "close")]].concat();
        let heard = hear(&mut self.begin(&request(line, &headers, body)));
        heard.end.unwrap();
        Reply::parse(&heard.bytes)
    }

    /// Sends a request with the token and a JSON body.
    fn ask(&self, line: &str, body: &str) -> Reply {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        self.send(line, &headers, body)
    }

    /// Returns the JSON at a path, which must exist.
    fn get(&self, path: &str) -> Value {
        let reply = self.ask(&format!("GET {path}"), "");
        assert_eq!(reply.status, 200, "{path}");
        reply.json()
    }

    fn version(&self) -> Reply {
        self.send("GET /v1/version", &[], "")
    }

    fn set_rules(&self, rules: &Value) {
        let reply = self.ask("POST /__faults", &json!({"rules": rules}).to_string());
        assert_eq!(reply.status, 200, "{}", reply.json());
    }

    /// Returns the body of a token request with the sandbox's own credentials.
    fn credentials(&self) -> String {
        let (id, secret) = (self.client_id(), self.client_secret());
        json!({"clientId": id, "clientSecret": secret}).to_string()
    }

    fn new_token(&self) -> String {
        let reply = self.ask("POST /v1/oauth/token", &self.credentials());
        assert_eq!(reply.status, 200);
        reply.json()["access_token"].as_str().unwrap().to_owned()
    }
}
