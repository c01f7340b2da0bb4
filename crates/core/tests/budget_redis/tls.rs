//! TLS to the server: a trusted certificate works, another one is refused, and the password is not sent before that.

use crate::certificates::{self, Authority};
use crate::members::{Company, report};
use crate::proxy::Proxy;
use crate::server::{PROGRAMS, Server};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsAcceptor;

const PASSWORD: &str = "CANARY-of-the-server";

/// Returns the path of a file next to this one. The certificates are for `localhost` and 127.0.0.1 and valid until
/// 2120. Nobody has the key of their authority.
fn file(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    directory.join("tests/budget_redis/tls").join(name)
}

/// Returns an acceptor of TLS connections with the server's certificate.
fn acceptor() -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let certificate = CertificateDer::from_pem_file(file("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let config = versions.unwrap().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn holds_password(heard: &[u8]) -> bool {
    let password = PASSWORD.as_bytes();
    heard.windows(password.len()).any(|part| part == password)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_is_sent_once_the_certificate_is_trusted() {
    let server = Server::start(PROGRAMS[0], |command| {
        command.args(["--requirepass", PASSWORD]);
    });
    let company = Company::new();
    for (host, trusted, is_taken) in [
        ("localhost", "authority.pem", true),
        ("127.0.0.1", "authority.pem", true),
        ("localhost", "server.pem", false),
        // The certificate is good, but not for this name of the same host.
        ("127.0.0.2", "authority.pem", false),
    ] {
        if host == "127.0.0.2" && !cfg!(target_os = "linux") {
            continue;
        }
        // The bytes on the network, and those behind TLS, of one page for a process that trusts the certificates in the
        // file.
        let behind = Proxy::with(server.port, Duration::ZERO, Some(acceptor())).await;
        let before = Proxy::to(behind.port, Duration::ZERO).await;
        let budget = format!("rediss://:{PASSWORD}@{host}:{}", before.port);
        let mut member = company.command(&budget, 0);
        member
            .env("SSL_CERT_FILE", file(trusted))
            .env_remove("SSL_CERT_DIR");
        let report = report(member.spawn().unwrap());
        let (before, behind) = (before.heard(), behind.heard());
        assert!(!before.is_empty() && !holds_password(&before));
        let Some(reason) = report.budget["unreachable_reason"].as_str() else {
            assert!(
                is_taken && holds_password(&behind),
                "the server was reached"
            );
            continue;
        };
        for words in ["TLS handshake failed", "setting budget", "ca_file"] {
            assert!(reason.contains(words), "{reason}");
        }
        let is_well_spaced = !reason.contains("  ");
        assert!(is_well_spaced && !reason.contains("CANARY"), "{reason}");
        assert!(!is_taken && behind.is_empty(), "nothing gets through");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_name_the_authority_and_the_certificate_of_the_client() {
    let server = Server::valkey();
    let (company, authority, other) = (Company::new(), Authority::new(), Authority::new());
    let own = authority.issue("localhost");
    let tls = certificates::acceptor(&own, Some(&authority), false);
    let behind = Proxy::with(server.port, Duration::ZERO, Some(tls)).await;
    let budget = format!("rediss://localhost:{}", behind.port);
    let look = |ca: &Authority, client: Option<&Authority>| {
        let mut settings = company.settings(&budget);
        settings.ca_file(ca.file().to_string_lossy());
        if let Some(client) = client.map(|client| client.issue("reports")) {
            settings.client_cert(client.certificate.to_string_lossy());
            settings.client_key(client.key.to_string_lossy());
        }
        let state = settings.config().unwrap().budget_state();
        state.map_err(|error| error.message().to_owned())
    };
    look(&authority, Some(&authority)).unwrap();
    for (ca, client, says) in [
        (
            &other,
            Some(&authority),
            "an authority that this machine does not trust",
        ),
        (
            &authority,
            None,
            "the server accepts only clients with a certificate; set client_cert",
        ),
        (
            &authority,
            Some(&other),
            "does not accept the certificate in client_cert: its issuer",
        ),
    ] {
        let reason = look(ca, client).unwrap_err();
        assert!(reason.contains(says), "{reason}");
    }
}
