//! What the tests share: a service made of one function, for what the sandbox does not do; tests that run again in a process
//! of their own; and what is in a directory.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use talentdata_core::settings::Builder;
use talentdata_core::{Client, Error};

/// The secret of its clients.
pub(crate) const SECRET: &str = "CANARY-secret";

/// One request.
pub(crate) struct Request {
    /// With the query.
    pub(crate) path: String,
    /// Without `Bearer `; empty when there is none.
    pub(crate) token: String,
}

impl Request {
    /// A number of the query.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let (_, query) = self.path.split_once('?')?;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name)?.1.parse().ok()
    }

    pub(crate) fn asks_for_a_token(&self) -> bool {
        self.path == "/v1/oauth/token"
    }
}

/// Starts the service, which lives as long as the test program; its base URL.
pub(crate) fn serve(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> String {
    serve_on(TcpListener::bind(("127.0.0.1", 0)).unwrap(), answer)
}

/// The same on this socket.
pub(crate) fn serve_on(
    listener: TcpListener,
    answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static,
) -> String {
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || converse(socket, &*answer));
        }
    });
    format!("http://{address}")
}

/// An address that is taken, and where nothing listens, for as long as the socket lives.
pub(crate) fn nobody() -> (tokio::net::TcpSocket, u16) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

/// The token that [`api`] issues.
pub(crate) const TOKEN: &str = "CANARY-token";

/// A service that issues tokens of an hour, and answers all other requests with status, headers and body.
pub(crate) fn api(
    answer: impl Fn(&Request) -> (u16, &'static str, String) + Send + Sync + 'static,
) -> impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static {
    move |request, socket| {
        let (status, headers, body) = if request.asks_for_a_token() {
            (200, "", token(TOKEN, 3600.0))
        } else {
            answer(request)
        };
        reply(socket, status, headers, body);
    }
}

/// Answers the requests of one connection.
fn converse(mut socket: TcpStream, answer: &impl Fn(&Request, &mut TcpStream)) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    while let Some(request) = read(&mut reader) {
        answer(&request, &mut socket);
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    // None where the connection has ended.
    let path = line.split(' ').nth(1)?.to_owned();
    let mut token = String::new();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => token = value.trim().replace("Bearer ", ""),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, token })
}

/// Writes a whole response; `headers` are lines that end with a line break. Whether the client has gone is its business.
pub(crate) fn reply(socket: &mut TcpStream, status: u16, headers: &str, body: impl AsRef<[u8]>) {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\n{headers}content-length: {length}\r\n\r\n");
    let _ = socket.write_all(&[head.as_bytes(), body].concat());
}

/// The response of a token endpoint.
pub(crate) fn token(token: &str, lifetime: f64) -> String {
    format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":{lifetime}}}"#)
}

/// The response to a call for the permissions.
pub(crate) const PERMISSIONS: &str = r#"{"roles":[],"permissions":[]}"#;

/// A page of a list of `total` contacts.
pub(crate) fn contacts(request: &Request, total: u64) -> String {
    let record = |id| format!(r#"{{"id":"{id}","firstName":"A","lastName":"B","email":"c@d.e"}}"#);
    page(request, "contacts", total, 100, record)
}

/// A page, of `max` records at most, of a list of `total`.
pub(crate) fn page(
    request: &Request,
    list: &str,
    total: u64,
    max: u64,
    record: impl Fn(u64) -> String,
) -> String {
    let offset = request.number("offset").unwrap_or(0);
    let limit = request.number("limit").unwrap_or(20).min(max);
    let records: Vec<String> = (offset..total.min(offset + limit)).map(record).collect();
    let count = records.len() as u64;
    let more = offset + count < total;
    format!(
        r#"{{"success":true,"{list}":[{}],"pagination":{{"total":{total},"limit":{count},"offset":{offset},"hasMore":{more}}}}}"#,
        records.join(",")
    )
}

/// Settings of a client of such a service.
pub(crate) fn settings(base_url: &str) -> Builder {
    let mut builder = Client::builder();
    builder
        .base_url(base_url)
        .client_id("me")
        .client_secret(SECRET);
    builder
}

/// How many contacts a scan delivers.
pub(crate) async fn count(client: &Client) -> Result<u64, Error> {
    let mut scan = client.contacts().list();
    let mut records = 0;
    while let Some(record) = scan.next().await {
        record?;
        records += 1;
    }
    Ok(records)
}

/// The outcome of a test of this program that runs again in a process of its own, with these variables.
pub(crate) fn child<T: DeserializeOwned>(test: &str, environment: &[(&str, &str)]) -> T {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]);
    for variable in ["NO_PROXY", "no_proxy"] {
        child.env_remove(variable);
    }
    let output = child.envs(environment.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let outcome = text.lines().find_map(|line| line.strip_prefix(OUTCOME));
    let outcome = outcome.unwrap_or_else(|| panic!("{output:?}"));
    serde_json::from_str(outcome).unwrap()
}

/// The line in which a child tells what came of it begins with this.
const OUTCOME: &str = "outcome: ";

/// Tells the parent what came of it, and ends the child.
pub(crate) fn tell(outcome: &impl Serialize) -> ! {
    // The name of the test may stand in the line before.
    println!("\n{OUTCOME}{}", serde_json::to_string(outcome).unwrap());
    std::process::exit(0);
}

/// The names in a directory, in order.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

pub(crate) fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}
