//! Shared tools of the tests: a service made of one function, for behaviour that the sandbox does not have; tests that
//! run again in a process of their own; and the names in a directory.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use talentdata_core::settings::Builder;
use talentdata_core::{Client, Error};

/// The secret of the service's clients.
pub(crate) const SECRET: &str = "CANARY-secret";

/// A request.
pub(crate) struct Request {
    /// The path, with the query.
    pub(crate) path: String,
    /// The token, without `Bearer `; empty if there is none.
    pub(crate) token: String,
    /// The media type of the body, and the one that is accepted.
    pub(crate) media: [String; 2],
    pub(crate) body: String,
}

impl Request {
    /// Returns a number in the query.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let (_, query) = self.path.split_once('?')?;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name)?.1.parse().ok()
    }

    pub(crate) fn asks_for_a_token(&self) -> bool {
        self.path == "/v1/oauth/token"
    }
}

/// Starts the service, which runs until the test program ends, and returns its base URL.
pub(crate) fn serve(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> String {
    serve_on(TcpListener::bind(("127.0.0.1", 0)).unwrap(), answer)
}

/// Starts the service on this socket, and returns its base URL.
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

/// Returns an address that is in use, but where nothing listens while the socket exists.
pub(crate) fn nobody() -> (tokio::net::TcpSocket, u16) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

/// The token that [`api`] issues.
pub(crate) const TOKEN: &str = "CANARY-token";

/// Returns a service that issues tokens of an hour, and answers all other requests with status, headers and body.
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
    // `None` if the connection ended.
    let path = line.split(' ').nth(1)?.to_owned();
    let mut token = String::new();
    let mut media = <[String; 2]>::default();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => token = value.trim().replace("Bearer ", ""),
            "content-type" => media[0] = value.trim().to_owned(),
            "accept" => media[1] = value.trim().to_owned(),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Request {
        path,
        token,
        media,
        body,
    })
}

/// Writes a whole response. `headers` are lines that end with a line break. The client may already be gone.
pub(crate) fn reply(socket: &mut TcpStream, status: u16, headers: &str, body: impl AsRef<[u8]>) {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\n{headers}content-length: {length}\r\n\r\n");
    let _ = socket.write_all(&[head.as_bytes(), body].concat());
}

/// Returns the response of a token endpoint.
pub(crate) fn token(token: &str, lifetime: f64) -> String {
    format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":{lifetime}}}"#)
}

/// The response to a call for the permissions.
pub(crate) const PERMISSIONS: &str = r#"{"roles":[],"permissions":[]}"#;

/// Returns a page of a list of `total` contacts.
pub(crate) fn contacts(request: &Request, total: u64) -> String {
    let record = |id| format!(r#"{{"id":"{id}","firstName":"A","lastName":"B","email":"c@d.e"}}"#);
    page(request, "contacts", total, 100, record)
}

/// Returns a page of at most `max` records of a list of `total`.
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

/// Returns settings of a client of such a service.
pub(crate) fn settings(base_url: &str) -> Builder {
    let mut builder = Client::builder();
    builder
        .base_url(base_url)
        .client_id("me")
        .client_secret(SECRET);
    builder
}

/// Returns the number of contacts that a scan delivers.
pub(crate) async fn count(client: &Client) -> Result<u64, Error> {
    let mut scan = client.contacts().list();
    let mut records = 0;
    while let Some(record) = scan.next().await {
        record?;
        records += 1;
    }
    Ok(records)
}

/// Runs a test of this program in a process of its own, with these variables, and returns its outcome.
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

/// The prefix of the line in which a child reports its outcome.
const OUTCOME: &str = "outcome: ";

/// Reports the outcome to the parent, and ends the child.
pub(crate) fn tell(outcome: &impl Serialize) -> ! {
    // The name of the test may be on the previous line.
    println!("\n{OUTCOME}{}", serde_json::to_string(outcome).unwrap());
    std::process::exit(0);
}

/// Returns the names in a directory, in order.
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
