//! Proxies that refuse, or behind which nothing answers: every error names them, and none their password.

use crate::stub;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;
use talentdata_core::ErrorKind;

/// The port of a proxy that answers one request so, and ends the connection when `hold` is dropped; and what it was asked.
fn proxy_that_answers(
    answer: &'static str,
    hold: std::sync::mpsc::Receiver<()>,
) -> (u16, std::thread::JoinHandle<String>) {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = proxy.local_addr().unwrap().port();
    let asked = std::thread::spawn(move || {
        let (mut socket, _) = proxy.accept().unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            asked.extend(byte);
        }
        socket.write_all(answer.as_bytes()).unwrap();
        // Nothing is ever sent.
        let _ = hold.recv();
        String::from_utf8(asked).unwrap()
    });
    (port, asked)
}

const REFUSED: &str = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
const CONNECTED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

/// Behind a proxy that has connected, the service does not answer, or ends the connection.
#[tokio::test]
async fn the_proxy_is_named_whatever_happens_behind_it() {
    for (silent, wanted) in [
        (true, "timed out connecting to https://talent.example"),
        (false, "cannot connect to https://talent.example"),
    ] {
        let (hold, held) = std::sync::mpsc::channel();
        let keep = silent.then_some(hold);
        let (port, asked) = proxy_that_answers(CONNECTED, held);
        let mut settings = stub::settings("https://talent.example");
        settings
            // What others meet at this address is theirs.
            .budget("process")
            .proxy(format!("http://127.0.0.1:{port}"))
            .connect_timeout(Duration::from_millis(500))
            .max_attempts(1);
        let error = settings.build().unwrap().version().await.unwrap_err();
        drop(keep);
        asked.join().unwrap();
        let wanted = format!("{wanted} through the proxy http://127.0.0.1:{port}");
        assert!(error.message().starts_with(&wanted), "{error}");
    }
}

#[tokio::test]
async fn an_error_names_the_proxy_and_never_its_password() {
    let (_, held) = std::sync::mpsc::channel();
    let (port, asked) = proxy_that_answers(REFUSED, held);
    let mut settings = stub::settings("https://talent.example");
    settings
        .budget("process")
        .proxy(format!("http://user:CANARY-proxy@127.0.0.1:{port}"))
        .max_attempts(1);
    let client = settings.build().unwrap();
    let refused = client.version().await.unwrap_err();
    let asked = asked.join().unwrap().to_lowercase();
    assert!(asked.starts_with("connect talent.example:443 "), "{asked}");
    assert!(asked.contains("proxy-authorization: basic "), "{asked}");
    // Taken, and nothing listens there.
    let silent = tokio::net::TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nowhere = silent.local_addr().unwrap().port();
    settings.proxy(format!("http://user:CANARY-proxy@127.0.0.1:{nowhere}"));
    let gone = settings.build().unwrap().version().await.unwrap_err();
    for (error, port) in [(refused, port), (gone, nowhere)] {
        let wanted = format!(
            "cannot connect to https://talent.example through the proxy http://127.0.0.1:{port}: "
        );
        assert_eq!(error.kind(), ErrorKind::Connect);
        assert!(error.message().starts_with(&wanted), "{error}");
        assert!(
            !format!("{error:?} {client:?}").contains("CANARY"),
            "{error:?}"
        );
    }
}
