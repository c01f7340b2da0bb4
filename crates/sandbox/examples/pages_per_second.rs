//! Measures how many pages of 100 contacts a second the sandbox serves over loopback, to clients that only count bytes.
//!
//! `cargo run --release -p talentdata-sandbox --example pages_per_second [CONNECTIONS] [SECONDS]`

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talentdata_sandbox::limit::Policy;
use talentdata_sandbox::{Options, Sandbox};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let connections: usize = arguments.next().map_or(Ok(4), |text| text.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let sandbox = Sandbox::start(Options {
        policy: Policy::Unlimited,
        records: [("contacts".to_owned(), 10_000_000)].into(),
        ..Options::default()
    })?;
    let address = sandbox.base_url().trim_start_matches("http://");
    let token = token(address, &sandbox)?;
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let counts: Vec<Result<(u64, u64), Failure>> = thread::scope(|scope| {
        let fetch = |offset| fetch(address, &token, offset, &stop);
        let threads: Vec<_> = (0..connections)
            .map(|number| scope.spawn(move || fetch(number as u64 * 1_000_000)))
            .collect();
        thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
        let ended = |_| Err("a client thread ended".into());
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(ended))
            .collect()
    });
    let elapsed = start.elapsed().as_secs_f64();
    let (mut pages, mut bytes) = (0, 0);
    for count in counts {
        let (more_pages, more_bytes) = count?;
        pages += more_pages;
        bytes += more_bytes;
    }
    let rate = pages as f64 / elapsed;
    let megabytes = bytes as f64 / elapsed / 1e6;
    println!(
        "{rate:.0} pages/s over {connections} connections, {megabytes:.0} MB/s, {} B a page",
        bytes / pages.max(1)
    );
    Ok(())
}

/// Asks for page after page; the number of pages, and of bytes in their bodies.
fn fetch(
    address: &str,
    token: &str,
    offset: u64,
    stop: &AtomicBool,
) -> Result<(u64, u64), Failure> {
    let mut socket = TcpStream::connect(address)?;
    let mut buffer = vec![0; 1 << 20];
    let (mut pages, mut bytes) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let offset = offset + pages * 100;
        let head = format!(
            "GET /v1/contacts?limit=100&offset={offset} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        bytes += exchange(&mut socket, &head, &mut buffer)?.len() as u64;
        pages += 1;
    }
    Ok((pages, bytes))
}

/// Sends a request and reads its response; the body.
fn exchange<'a>(
    socket: &mut TcpStream,
    request: &str,
    buffer: &'a mut [u8],
) -> Result<&'a [u8], Failure> {
    socket.write_all(request.as_bytes())?;
    let mut filled = 0;
    let (start, end) = loop {
        filled += socket.read(&mut buffer[filled..])?;
        let head = buffer[..filled.min(2048)]
            .windows(4)
            .position(|four| four == b"\r\n\r\n");
        let Some(head) = head else { continue };
        let text = std::str::from_utf8(&buffer[..head])?;
        if !text.starts_with("HTTP/1.1 200") {
            return Err(text.into());
        }
        let length = text
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split('\r').next());
        let length: usize = length.ok_or("no length")?.parse()?;
        break (head + 4, head + 4 + length);
    };
    socket.read_exact(&mut buffer[filled..end])?;
    Ok(&buffer[start..end])
}

fn token(address: &str, sandbox: &Sandbox) -> Result<String, Failure> {
    let body = json!({"clientId": sandbox.client_id(), "clientSecret": sandbox.client_secret()})
        .to_string();
    let head = format!(
        "POST /v1/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut buffer = vec![0; 4096];
    let answer = exchange(
        &mut TcpStream::connect(address)?,
        &(head + &body),
        &mut buffer,
    )?;
    let answer: Value = serde_json::from_slice(answer)?;
    Ok(answer["access_token"]
        .as_str()
        .ok_or("no token")?
        .to_owned())
}
