//! Certificates that a test makes for itself, and servers that use them.

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

/// The number of the next authority.
static NUMBER: AtomicU32 = AtomicU32::new(1);

/// An authority with its directory of PEM files.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    directory: TempDir,
}

/// The files of a certificate and its key.
#[derive(Clone)]
pub(crate) struct Issued {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // Two authorities of one name would look like one whose key changed.
        let name = format!("Authority {number} of the tests");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(directory.path().join("ca.pem"), certificate.pem()).unwrap();
        let issuer = Issuer::new(params, key);
        Authority { issuer, directory }
    }

    /// Returns the file with the authority's own certificate.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// Issues a certificate for a host or a client of this name.
    pub(crate) fn issue(&self, name: &str) -> Issued {
        self.issue_with(name, |_| ())
    }

    /// Issues a certificate that ends with the year before this one.
    pub(crate) fn issue_until(&self, name: &str, year: i32) -> Issued {
        self.issue_with(name, |params| {
            params.not_after = rcgen::date_time_ymd(year, 1, 1)
        })
    }

    /// Issues a certificate with these changes.
    pub(crate) fn issue_with(&self, name: &str, change: impl Fn(&mut CertificateParams)) -> Issued {
        self.write(name, change, |params, key| {
            params.signed_by(key, &self.issuer).unwrap()
        })
    }

    /// Makes a self-signed certificate with these changes.
    pub(crate) fn issue_itself(
        &self,
        name: &str,
        change: impl Fn(&mut CertificateParams),
    ) -> Issued {
        self.write(name, change, |params, key| params.self_signed(key).unwrap())
    }

    fn write(
        &self,
        name: &str,
        change: impl Fn(&mut CertificateParams),
        sign: impl Fn(CertificateParams, &KeyPair) -> Certificate,
    ) -> Issued {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2100, 1, 1);
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = sign(params, &key);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = |end: &str| self.directory.path().join(format!("{name}-{number}.{end}"));
        let issued = Issued {
            certificate: path("pem"),
            key: path("key"),
        };
        std::fs::write(&issued.certificate, certificate.pem()).unwrap();
        std::fs::write(&issued.key, key.serialize_pem()).unwrap();
        let only_mine = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&issued.key, only_mine).unwrap();
        issued
    }
}

/// Returns an acceptor of TLS connections with this certificate. With `clients`, it accepts only clients with a
/// certificate of that authority.
pub(crate) fn acceptor(own: &Issued, clients: Option<&Authority>, is_tls_12: bool) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = [if is_tls_12 { &TLS12 } else { &TLS13 }];
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(&versions).unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            let root = CertificateDer::from_pem_file(authority.file()).unwrap();
            roots.add(root).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let certificate = CertificateDer::from_pem_file(&own.certificate).unwrap();
    let key = PrivateKeyDer::from_pem_file(&own.key).unwrap();
    let config = builder.with_single_cert(vec![certificate], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}
