//! A company's own certificates: its authority, mutual TLS, and errors that say which certificate is at fault.

use crate::certificates::{Authority, Issued, acceptor};
use crate::stub::{self, PERMISSIONS};
use rcgen::{BasicConstraints, ExtendedKeyUsagePurpose, IsCa, SanType};
use std::path::Path;
use talentdata_core::settings::Builder;
use talentdata_core::{Error, ErrorKind};
use tokio::io::{AsyncReadExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Starts a service behind this acceptor, and returns settings of a client of it.
pub(crate) async fn service(acceptor: TlsAcceptor) -> Builder {
    let plain = stub::serve(stub::api(|_| (200, "", PERMISSIONS.to_owned())));
    let plain = plain.trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, plain) = (acceptor.clone(), plain.clone());
            tokio::spawn(async move {
                match acceptor.accept(socket).into_fallible().await {
                    Ok(mut secured) => {
                        let mut plain = TcpStream::connect(plain).await.unwrap();
                        let _ = copy_bidirectional(&mut secured, &mut plain).await;
                    }
                    // Closed once the client read the alert.
                    Err((_, mut socket)) => drop(socket.read_to_end(&mut Vec::new()).await),
                }
            });
        }
    });
    let mut settings = stub::settings(&format!("https://{address}"));
    settings.max_attempts(1).budget("process");
    settings
}

async fn call(settings: &Builder) -> Result<(), Error> {
    settings.build()?.permissions().await.map(drop)
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_of_ca_file_is_trusted_and_no_other() {
    let (company, other) = (Authority::new(), Authority::new());
    let mut settings = service(acceptor(&company.issue("127.0.0.1"), None, false)).await;
    call(settings.ca_file(path(&company.file()))).await.unwrap();
    let error = call(settings.ca_file(path(&other.file()))).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls);
    for words in [
        "an authority that this machine does not trust",
        "ca_file (",
        "ca.pem) does not contain its root certificate",
    ] {
        assert!(error.message().contains(words), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_certificate_and_one_for_another_host_are_distinguished() {
    let company = Authority::new();
    for (own, says) in [
        (company.issue_until("127.0.0.1", 2021), " expired "),
        (
            company.issue("other.example"),
            "is for other.example, not for 127.0.0.1",
        ),
        (
            company.issue_with("127.0.0.1", |params| {
                params.subject_alt_names = vec![SanType::DnsName("127.0.0.1".try_into().unwrap())];
            }),
            "names 127.0.0.1 as a host, and has to name it as an address",
        ),
        (
            company.issue_with("127.0.0.1", |params| {
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }),
            "is not for servers",
        ),
    ] {
        let mut settings = service(acceptor(&own, None, false)).await;
        let error = call(settings.ca_file(path(&company.file()))).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tls);
        assert!(error.message().contains(says), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_in_ca_file_is_trusted_itself_if_it_is_in_force_and_for_the_host() {
    let company = Authority::new();
    let own = |name: &str, until: i32| {
        company.issue_itself(name, |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.not_after = rcgen::date_time_ymd(until, 1, 1);
        })
    };
    let leaf = company.issue("127.0.0.1");
    for (own, says) in [
        (&own("127.0.0.1", 2100), None),
        (&leaf, None),
        (&own("127.0.0.1", 2021), Some(" expired ")),
        (
            &own("other.example", 2100),
            Some("is for other.example, not for"),
        ),
    ] {
        let mut settings = service(acceptor(own, None, false)).await;
        // Some editors write a byte order mark.
        let marked = format!(
            "\u{feff}{}",
            std::fs::read_to_string(&own.certificate).unwrap()
        );
        std::fs::write(&own.certificate, marked).unwrap();
        let called = call(settings.ca_file(path(&own.certificate))).await;
        match says {
            None => called.unwrap(),
            Some(says) => {
                let error = called.unwrap_err();
                assert!(error.message().contains(says), "{error}");
            }
        }
    }
    // Another certificate with the same name and another key is not the one in the file.
    let mut settings = service(acceptor(&own("127.0.0.1", 2100), None, false)).await;
    let other = own("127.0.0.1", 2100);
    let error = call(settings.ca_file(path(&other.certificate))).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Tls);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_certificate_is_presented_and_its_absence_is_reported() {
    let (company, other) = (Authority::new(), Authority::new());
    let (ours, foreign) = (company.issue("reports"), other.issue("reports"));
    for is_tls_12 in [true, false] {
        let own = company.issue("127.0.0.1");
        let mut settings = service(acceptor(&own, Some(&company), is_tls_12)).await;
        settings.ca_file(path(&company.file()));
        let missing = call(&settings).await.unwrap_err();
        let present = |settings: &mut Builder, issued: &Issued| {
            settings.client_cert(path(&issued.certificate));
            settings.client_key(path(&issued.key));
        };
        present(&mut settings, &foreign);
        let refused = call(&settings).await.unwrap_err();
        present(&mut settings, &ours);
        call(&settings).await.unwrap();
        for (error, says) in [
            (
                missing,
                "the service accepts only clients with a certificate; set client_cert and client_key",
            ),
            (
                refused,
                "the service does not accept the certificate in client_cert: its issuer is unknown there",
            ),
        ] {
            assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
            assert!(error.message().contains(says), "{error}");
        }
    }
}

/// A setting, the text of its file, and what the error says.
const UNUSABLE: &str = "
ca_file | | it contains no certificate in PEM form
ca_file | -----BEGIN CERTIFICATE-----;AAAA;-----END CERTIFICATE----- | its certificate 1 cannot be read
ca_file | -----BEGIN CERTIFICATE-----;A | its PEM form is damaged
client_cert | nothing | it contains no certificate in PEM form
ca_file | -----BEGIN TRUSTED CERTIFICATE-----;AAAA;-----END TRUSTED CERTIFICATE----- | convert each with openssl x509 -in FILE -out FILE
client_key | nothing | it contains no private key in PEM form
client_key | -----BEGIN ENCRYPTED PRIVATE KEY-----;AAAA;-----END ENCRYPTED PRIVATE KEY----- | the private key is encrypted
";

#[test]
fn files_that_cannot_be_used_are_named_when_the_client_is_made() {
    let authority = Authority::new();
    let issued = authority.issue("me");
    let settings = |base_url: &str| {
        let mut settings = stub::settings(base_url);
        settings
            .ca_file(path(&authority.file()))
            .client_cert(path(&issued.certificate))
            .client_key(path(&issued.key));
        settings
    };
    settings("https://talent.example").build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("some.pem");
    let refused = |name: &str, says: &str| {
        // Also if the service is reached without TLS.
        for base_url in ["https://talent.example", "http://127.0.0.1:9"] {
            let error = settings(base_url).set(name, path(&file)).build();
            let error = error.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            let begins = error.message().starts_with(&format!("{name}: "));
            assert!(begins && error.message().contains(says), "{error}");
            assert!(error.message().contains(&path(&file)), "{error}");
        }
    };
    for name in ["ca_file", "client_cert", "client_key"] {
        refused(name, "No such file or directory");
    }
    let rows = UNUSABLE.lines().filter_map(|line| line.split_once(" |"));
    for (name, rest) in rows {
        let (text, says) = rest.split_once("| ").unwrap();
        std::fs::write(&file, text.trim().replace(';', "\n")).unwrap();
        let only_mine = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, only_mine).unwrap();
        refused(name, says);
    }
    std::fs::write(&file, b"0\x82\x01\x00\x02\x00").unwrap();
    for name in ["ca_file", "client_cert", "client_key"] {
        refused(name, "convert a .p12 or .pfx file with openssl pkcs12");
    }
    // Comments need not be UTF-8.
    let key = std::fs::read(&issued.key).unwrap();
    std::fs::write(&file, [b"f\xfcr uns\n", &key[..]].concat()).unwrap();
    let mut settings = settings("https://talent.example");
    settings.client_key(path(&file)).build().unwrap();
}

#[test]
fn a_key_without_its_certificate_is_refused() {
    let authority = Authority::new();
    let (one, other) = (authority.issue("one"), authority.issue("other"));
    let mut settings = stub::settings("https://talent.example");
    settings.client_cert(path(&one.certificate));
    let refused = |settings: &Builder| settings.build().unwrap_err().message().to_owned();
    assert_eq!(
        refused(&settings),
        "client_cert is set, but client_key is not; set both, or neither"
    );
    let unfit = refused(settings.client_key(path(&other.key)));
    assert!(unfit.ends_with(" do not belong together"), "{unfit}");
    assert!(unfit.contains(&path(&one.certificate)) && unfit.contains(&path(&other.key)));
    let mut settings = stub::settings("https://talent.example");
    assert_eq!(
        refused(settings.client_key(path(&one.key))),
        "client_key is set, but client_cert is not; set both, or neither"
    );
}
