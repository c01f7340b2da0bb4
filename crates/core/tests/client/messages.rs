//! The whole message of each failure: what was refused, by whom, in its own words, where, and the remedy. The texts are
//! in `messages.txt`.

use crate::stub::{self, PERMISSIONS, TOKEN, reply, tell, token};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use talentdata_core::settings::Builder;

/// Tells the child that it is one.
const CHILD: &str = "TALENTDATA_TEST_MESSAGES";
const HOUR: f64 = 3600.0;

/// A failure: its name, the settings of a client that meets it, and the text that replaces its address.
struct Case {
    name: &'static str,
    settings: Builder,
    address: String,
}

/// Returns the case of a service that issues tokens and gives this answer to all other requests.
fn answering(name: &'static str, answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Case {
    case(name, move |request, socket| {
        if request.asks_for_a_token() {
            reply(socket, 200, "", token(TOKEN, HOUR))
        } else {
            answer(socket)
        }
    })
}

fn case(
    name: &'static str,
    answer: impl Fn(&stub::Request, &mut TcpStream) + Send + Sync + 'static,
) -> Case {
    let address = stub::serve(answer);
    let mut settings = stub::settings(&address);
    settings.max_attempts(1);
    Case {
        name,
        settings,
        address,
    }
}

/// Returns the case of a service whose responses have this status, these headers and this body.
fn status(name: &'static str, status: u16, headers: &'static str, body: &'static str) -> Case {
    answering(name, move |socket| reply(socket, status, headers, body))
}

/// Returns the case of a service whose responses to requests for tokens have this status, these headers and this body.
fn of_token(name: &'static str, status: u16, headers: &'static str, body: &'static str) -> Case {
    case(name, move |request, socket| {
        if request.asks_for_a_token() {
            reply(socket, status, headers, body)
        } else {
            reply(socket, 401, "", "")
        }
    })
}

/// Returns the case of a service that sends these bytes and ends the connection.
fn bytes(name: &'static str, bytes: &'static [u8]) -> Case {
    answering(name, move |socket| {
        let _ = socket.write_all(bytes);
        let _ = socket.shutdown(Shutdown::Both);
    })
}

/// Returns the case of a service behind a proxy, which calls `talk` with each connection.
fn proxy(
    name: &'static str,
    service: &str,
    talk: impl Fn(TcpStream) + Send + Sync + 'static,
) -> Case {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            talk(socket);
        }
    });
    let mut settings = stub::settings(service);
    settings
        .max_attempts(1)
        .budget("process")
        .proxy(address.replace("//", "//user:CANARY-proxy@"));
    Case {
        name,
        settings,
        address,
    }
}

/// Reads the request for a connection, and answers it.
fn answer(socket: &mut TcpStream, answer: &[u8]) {
    let mut bytes = [0; 4096];
    let _ = socket.read(&mut bytes);
    let _ = socket.write_all(answer);
}

/// Returns the case of a proxy that sends this answer and ends the connection.
fn refusing(name: &'static str, text: &'static str) -> Case {
    saying(name, text.as_bytes())
}

fn saying(name: &'static str, bytes: &'static [u8]) -> Case {
    proxy(name, "https://talent.example", move |mut socket| {
        answer(&mut socket, bytes);
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.read_to_end(&mut Vec::new());
    })
}

const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Returns the case of a service that sends these bytes instead of TLS.
fn no_tls(name: &'static str, bytes: &'static [u8]) -> Case {
    proxy(name, "https://talent.example", move |mut socket| {
        answer(&mut socket, CONNECTED);
        answer(&mut socket, bytes);
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.read_to_end(&mut Vec::new());
    })
}

/// Returns the path of a file that `tls/make.sh` created.
fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/client/tls")
        .join(name)
}

/// Returns the case of a service with this certificate and its key.
fn certified(name: &'static str, service: &str, [certificate, key]: [&str; 2]) -> Case {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let certificate = CertificateDer::from_pem_file(file(certificate)).unwrap();
    let key = PrivateKeyDer::from_pem_file(file(key)).unwrap();
    let config = versions.unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
    proxy(name, service, move |mut socket| {
        answer(&mut socket, CONNECTED);
        let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = rustls::Stream::new(&mut tls, &mut socket);
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 418 x\r\ncontent-length: 0\r\n\r\n");
    })
}

fn with(mut case: Case, name: &str, value: impl ToString) -> Case {
    case.settings.set(name, value);
    case
}

fn cases() -> Vec<Case> {
    let page = "<html><head><title>Access Denied</title></head></html>";
    let silence = |socket: &mut TcpStream| {
        let _ = socket.read(&mut [0; 1]);
    };
    let pause = |socket: &mut TcpStream| {
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{");
        let _ = socket.read(&mut [0; 1]);
    };
    let (_taken, nobody) = stub::nobody();
    let nobody = format!("http://127.0.0.1:{nobody}");
    let mut alone = stub::settings(&nobody);
    alone.max_attempts(1);
    let mut behind = stub::settings("https://talent.example");
    behind.max_attempts(1).budget("process").proxy(&nobody);
    let [alone, behind] =
        [("refused", alone), ("proxy-absent", behind)].map(|(name, settings)| Case {
            name,
            settings,
            address: nobody.clone(),
        });
    std::mem::forget(_taken);
    vec![
        alone,
        with(answering("silent", silence), "attempt_timeout", 0.3),
        with(answering("slow-call", silence), "timeout", 0.3),
        with(answering("paused", pause), "idle_timeout", 0.3),
        with(answering("slow", pause), "attempt_timeout", 0.3),
        bytes("closed", b""),
        bytes("cut", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"),
        bytes(
            "cut-chunk",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{",
        ),
        bytes("not-http", b"SSH-2.0-OpenSSH_9.2\r\n"),
        bytes("length", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"),
        bytes(
            "chunk",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        ),
        status("not-gzip", 200, "content-encoding: gzip\r\n", PERMISSIONS),
        status("page", 200, "content-type: text/html\r\n", page),
        status(
            "401-challenge",
            401,
            "www-authenticate: Bearer error_description=\"Expired.\"\r\n",
            "",
        ),
        status("400", 400, "", "limit is too large\nsee the manual"),
        status("401", 401, "", r#"{"message":"The token has expired."}"#),
        status(
            "403",
            403,
            "",
            r#"{"error":{"code":7,"message":"This list is closed."}}"#,
        ),
        status("403-page", 403, "", page),
        status("404", 404, "", r#"{"detail":"No such list."}"#),
        status(
            "409",
            409,
            "",
            r#"{"title":"Conflict","detail":"It has changed."}"#,
        ),
        status(
            "422",
            422,
            "",
            r#"{"errors":[{"detail":"limit must be 50 or less"}]}"#,
        ),
        status(
            "429",
            429,
            "retry-after: 3600\r\n",
            r#"{"message":"Slow down."}"#,
        ),
        status("500", 500, "", r#"{"error":"Database is gone"}"#),
        status("501", 501, "", ""),
        status("503-page", 503, "", page),
        status("511", 511, "", ""),
        status("700", 700, "", ""),
        of_token(
            "token-400",
            400,
            "",
            r#"{"error":"invalid_client","error_description":"The client is disabled."}"#,
        ),
        of_token("token-401", 401, "", r#"{"error":"invalid_client"}"#),
        of_token("token-403-page", 403, "", page),
        of_token("token-404", 404, "", "no route"),
        of_token(
            "token-500",
            500,
            "",
            r#"{"message":"eyJhbGciOiJIUzI1NiIsInR5cCI6 is broken"}"#,
        ),
        of_token("token-page", 200, "", page),
        of_token("token-empty", 200, "", "{}"),
        of_token(
            "token-refusal-200",
            200,
            "",
            r#"{"error":"invalid_client","error_description":"The client is disabled."}"#,
        ),
        of_token("token-of-letters", 200, "", r#"{"access_token":"größe"}"#),
        of_token("token-moved", 307, "location: /oauth/token\r\n", ""),
        of_token(
            "token-type",
            200,
            "",
            r#"{"access_token":"any-token","token_type":"mac"}"#,
        ),
        behind,
        with(
            proxy("proxy-silent", "https://talent.example", |socket| {
                std::mem::forget(socket)
            }),
            "connect_timeout",
            0.3,
        ),
        refusing("proxy-closed", ""),
        refusing(
            "proxy-403",
            "HTTP/1.1 403 Forbidden\r\n\r\n<title>Category: jobs</title>",
        ),
        refusing(
            "proxy-407",
            "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
        ),
        refusing(
            "proxy-407-others",
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nproxy-authenticate: NTLM a=b\r\n\r\n",
        ),
        saying(
            "proxy-latin",
            b"HTTP/1.1 403 Verboten\r\nx-grund: gesch\xfctzt\r\ncontent-length: 24\r\n\r\n<title>jobs only</title>and more",
        ),
        refusing(
            "proxy-chunked",
            "HTTP/1.1 403 No\r\ntransfer-encoding: chunked\r\n\r\n18\r\n<title>jobs only</title>\r\n0\r\n\r\n",
        ),
        refusing("proxy-cut", "HTTP/1.1 20"),
        refusing(
            "proxy-502",
            "HTTP/1.0 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
        ),
        refusing("proxy-429", "HTTP/1.1 429\r\n\r\n"),
        refusing("proxy-garbage", "SSH-2.0-OpenSSH_9.2\r\n"),
        with(
            proxy("tls-silent", "https://talent.example", |mut socket| {
                answer(&mut socket, CONNECTED);
                std::mem::forget(socket);
            }),
            "connect_timeout",
            0.3,
        ),
        no_tls("tls-plain", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        no_tls("tls-old", &[21, 3, 2, 0, 2, 2, 70]),
        no_tls("tls-name", &[21, 3, 3, 0, 2, 2, 112]),
        no_tls("tls-cut", b""),
        certified(
            "tls-good",
            "https://talent.example",
            ["service.pem", "service.key"],
        ),
        certified(
            "tls-unknown",
            "https://talent.example",
            ["itself.pem", "service.key"],
        ),
        certified(
            "tls-expired",
            "https://talent.example",
            ["expired.pem", "service.key"],
        ),
        certified(
            "tls-authority",
            "https://talent.example",
            [
                "../../budget_redis/tls/server.pem",
                "../../budget_redis/tls/server.key",
            ],
        ),
        certified(
            "tls-host",
            "https://other.example",
            ["service.pem", "service.key"],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn act_as_child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut lines = Vec::new();
    for case in cases() {
        let client = case.settings.build().unwrap();
        let outcome = if case.name.starts_with("tls-good") {
            client.version().await.map(drop)
        } else {
            client.permissions().await.map(drop)
        };
        let error = outcome.unwrap_err();
        assert!(!format!("{error:?}").contains("CANARY"), "{error:?}");
        let retry = if error.is_retryable() {
            "retry"
        } else {
            "final"
        };
        let message = error.message().replace(&case.address, "ADDRESS");
        // Remove the number of days.
        let message = message
            .split_once(" expired ")
            .map_or(message.clone(), |(begin, end)| {
                let (_, end) = end.split_once(" days").unwrap();
                format!("{begin} expired N days{end}")
            });
        lines.push(format!(
            "{}: {}, {retry}: {message}\n",
            case.name,
            error.kind().name()
        ));
    }
    tell(&lines.concat());
}

#[test]
fn every_failure_names_its_cause_its_place_and_a_remedy() {
    let authority = file("authority.pem");
    let environment = [(CHILD, "1"), ("SSL_CERT_FILE", authority.to_str().unwrap())];
    let said: String = stub::child("messages::act_as_child", &environment);
    let wanted = include_str!("messages.txt");
    let differs: Vec<_> = said
        .lines()
        .filter(|line| !wanted.lines().any(|it| it == *line))
        .collect();
    assert!(differs.is_empty(), "{}", differs.join("\n"));
    assert_eq!(said, wanted);
    for word in [
        "rustls",
        "hyper",
        "reqwest",
        "InvalidCertificate",
        "UnknownIssuer",
        "Kind",
        "tunnel",
        "os error",
        "eof",
    ] {
        assert!(!said.contains(word), "{word}: {said}");
    }
}
