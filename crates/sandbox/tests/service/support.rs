//! A minimal HTTP/1.1 client: one request a connection, everything that comes back until the end.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Sandbox};

/// Starts a sandbox that no test runs into the limit of by chance.
pub(crate) fn unlimited(options: Options) -> Sandbox {
    let policy = Policy::Unlimited;
    Sandbox::start(Options { policy, ..options }).unwrap()
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// What came back on the connection, and how it ended.
pub(crate) struct Heard {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: io::Result<()>,
}

pub(crate) fn connect(sandbox: &Sandbox) -> TcpStream {
    let address = sandbox.base_url().strip_prefix("http://").unwrap();
    let socket = TcpStream::connect(address).unwrap();
    // Only so that a broken sandbox fails a test instead of holding it up.
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    socket
}

/// Reads to the end of the connection.
pub(crate) fn hear(socket: &mut TcpStream) -> Heard {
    let mut bytes = Vec::new();
    let end = socket.read_to_end(&mut bytes).map(|_| ());
    Heard { bytes, end }
}

pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: sandbox\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text + &format!("content-length: {}\r\n\r\n{body}", body.len())
}

/// Sends a request, and hears whatever comes.
pub(crate) fn send_raw(sandbox: &Sandbox, request: &str) -> Heard {
    let mut socket = connect(sandbox);
    let host = format!("host: {}\r\n", socket.peer_addr().unwrap());
    let request = request.replacen("host: sandbox\r\n", &host, 1);
    socket.write_all(request.as_bytes()).unwrap();
    hear(&mut socket)
}

pub(crate) fn send(
    sandbox: &Sandbox,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let headers = [headers, &[("connection", "close")]].concat();
    let heard = send_raw(sandbox, &request(method, path, &headers, body));
    heard.end.unwrap();
    parse(&heard.bytes)
}

/// Splits a response into its parts; the body has to be as long as it says.
pub(crate) fn parse(bytes: &[u8]) -> Reply {
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_ascii_lowercase(), value.to_owned())
    });
    let reply = Reply {
        status: status.parse().unwrap(),
        headers: headers.collect(),
        body: bytes[end + 4..].to_vec(),
    };
    if let Some(length) = reply.header("content-length") {
        assert_eq!(length, reply.body.len().to_string());
    }
    reply
}

pub(crate) fn get(sandbox: &Sandbox, path: &str, token: &str) -> Reply {
    let bearer = format!("Bearer {token}");
    send(sandbox, "GET", path, &[("authorization", &bearer)], "")
}

pub(crate) fn post(sandbox: &Sandbox, path: &str, body: &Value) -> Reply {
    let headers = [("content-type", "application/json")];
    send(sandbox, "POST", path, &headers, &body.to_string())
}

/// The body of a token request with the sandbox's own credentials.
pub(crate) fn credentials(sandbox: &Sandbox) -> Value {
    json!({"clientId": sandbox.client_id(), "clientSecret": sandbox.client_secret()})
}

pub(crate) fn token(sandbox: &Sandbox) -> String {
    let reply = post(sandbox, "/v1/oauth/token", &credentials(sandbox));
    assert_eq!(reply.status, 200);
    reply.json()["access_token"].as_str().unwrap().to_owned()
}

/// A sandbox with the fault endpoints and these rules.
pub(crate) fn faulty(rules: &Value) -> Sandbox {
    let sandbox = unlimited(Options {
        faults: true,
        ..Options::default()
    });
    script(&sandbox, rules);
    sandbox
}

pub(crate) fn script(sandbox: &Sandbox, rules: &Value) {
    let reply = post(sandbox, "/__faults", &json!({"rules": rules}));
    assert_eq!(reply.status, 200, "{}", reply.json());
}

pub(crate) fn version(sandbox: &Sandbox) -> Reply {
    send(sandbox, "GET", "/v1/version", &[], "")
}

/// Asks for the version on a connection that may be kept, and hears whatever comes until it ends.
pub(crate) fn hear_version(sandbox: &Sandbox) -> Heard {
    send_raw(sandbox, &request("GET", "/v1/version", &[], ""))
}

/// The operations of the document: method, path, and the operation itself.
pub(crate) fn operations() -> Vec<(String, String, Value)> {
    let text = include_str!("../../../../spec/openapi.json");
    let document: Value = serde_json::from_str(text).unwrap();
    let mut out = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            out.push((method.to_uppercase(), path.clone(), operation.clone()));
        }
    }
    assert!(out.len() > 10);
    out
}
